#include "base/test-packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "task/control.h"
#include "task/report.h"

struct pair {
	int a, b;
};

static struct pair make(void)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	return (struct pair){sockets[0], sockets[1]};
}

static void pair_done(struct pair *p)
{
	fd_close(p->a);
	fd_close(p->b);
}

static void packets_come_whole_and_in_order(void **state)
{
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {0};
	enum control_kind kind = CONTROL_REPORT;
	int fd = 42;

	assert_int_equal(control_send(p.a, CONTROL_OUTPUT, NULL, 0, -1), 0);
	assert_int_equal(control_send(p.a, CONTROL_REPORT, "a\0b", 3, -1), 0);
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 1);
	assert_int_equal(kind, CONTROL_OUTPUT);
	assert_int_equal(fd, -1);
	assert_int_equal(text.len, 0);
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 1);
	assert_int_equal(kind, CONTROL_REPORT);
	assert_int_equal(text.len, 3);
	assert_memory_equal(text.data, "a\0b", 3);
}

static void the_text_replaces_what_was_in_the_buffer(void **state)
{
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {0};
	enum control_kind kind;
	int fd;

	buffer_puts(&text, "older and longer");
	assert_int_equal(control_send(p.a, CONTROL_REPORT, "new", 3, -1), 0);
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 1);
	assert_string_equal(buffer_str(&text), "new");
}

static void a_descriptor_travels_along_and_is_close_on_exec(void **state)
{
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int sent = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	scoped(fd_closep) int came = -1;
	enum control_kind kind;
	struct stat a, b;

	assert_int_equal(control_send(p.a, CONTROL_REPORT, "x", 1, sent), 0);
	assert_int_equal(control_receive(p.b, &kind, &text, &came), 1);
	assert_true(came >= 0 && came != sent);
	assert_int_equal(fcntl(came, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(sent, &a), 0);
	assert_int_equal(fstat(came, &b), 0);
	assert_int_equal(a.st_rdev, b.st_rdev);
}

static void nothing_yet_is_not_the_end(void **state)
{
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {0};
	enum control_kind kind;
	int fd;

	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 0);
	assert_int_equal(control_send(p.a, CONTROL_REPORT, "last", 4, -1), 0);
	fd_close(take_fd(&p.a));
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 1); /* sent before the end */
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), -EPIPE);
}

static void sending_never_waits(void **state)
{
	scoped(pair_done) struct pair p = make();
	int sent = 0, r;

	while ((r = control_send(p.a, CONTROL_OUTPUT, NULL, 0, -1)) == 0 && sent < 100000)
		sent++;
	assert_int_equal(r, -EAGAIN);
	fd_close(take_fd(&p.b));
	assert_int_equal(control_send(p.a, CONTROL_OUTPUT, NULL, 0, -1), -EPIPE);
}

static void damaged_packets_are_told_apart_and_leave_nothing_open(void **state)
{
	static char large[REPORT_BYTES_MAX + CONTROL_CAPTURE_MAX + 5];
	static const struct {
		const char *bytes;
		size_t n, descriptors;
	} packets[] = {
		{"\1\0\0", 3, 0},           {"x", 1, 1},
		{"\10\0\0\0text", 8, 0},    {"\10\0\0\0text", 8, 1},
		{"\377\377\377\377", 4, 0}, {large, sizeof(large), 0},
		{large, sizeof(large), 1},  {"\1\0\0\0text", 8, 2},
		{"\1\0\0\0text", 8, 3},     {"\1\0\0\0text", 8, 8},
	};
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	enum control_kind kind;
	int before = test_open_fds(), fd = -1;

	for (size_t i = 0; i < array_size(packets); i++) {
		test_packet_send(p.a, packets[i].bytes, packets[i].n, null, packets[i].descriptors);
		if (control_receive(p.b, &kind, &text, &fd) != -EBADMSG)
			fail_msg("packet %zu was accepted", i);
		assert_int_equal(fd, -1);
		if (test_open_fds() != before)
			fail_msg("packet %zu left a descriptor open", i);
	}
}

static void the_longest_text_fits(void **state)
{
	scoped(pair_done) struct pair p = make();
	scoped(buffer_donep) struct buffer text = {.max = REPORT_BYTES_MAX};
	static char longest[REPORT_BYTES_MAX];
	enum control_kind kind;
	int fd;

	memset(longest, 'x', sizeof(longest));
	assert_int_equal(control_send(p.a, CONTROL_REPORT, longest, sizeof(longest), -1), 0);
	assert_int_equal(control_receive(p.b, &kind, &text, &fd), 1);
	assert_int_equal(text.len, sizeof(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_come_whole_and_in_order),
		cmocka_unit_test(the_text_replaces_what_was_in_the_buffer),
		cmocka_unit_test(a_descriptor_travels_along_and_is_close_on_exec),
		cmocka_unit_test(nothing_yet_is_not_the_end),
		cmocka_unit_test(sending_never_waits),
		cmocka_unit_test(damaged_packets_are_told_apart_and_leave_nothing_open),
		cmocka_unit_test(the_longest_text_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
