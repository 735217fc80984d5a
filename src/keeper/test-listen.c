#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/packet.h"
#include "task/control.h"
#include "keeper/listen.h"

struct place {
	char dir[64];
	int fd;
	struct listen listen;
	struct buffer orders; /* what was asked for, as text */
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_directory_make(p->dir);
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listen_init(&p->listen);
	assert_int_equal(listen_open(&p->listen, p->fd), 0);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	listen_close(&p->listen);
	assert_int_equal(faccessat(p->fd, "sock", F_OK, 0), -1);
	close(p->fd);
	buffer_done(&p->orders);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static void on_order(void *owner, uint32_t kind, const char *bytes, size_t n)
{
	struct place *p = owner;

	buffer_printf(&p->orders, "%u:%.*s;", kind, (int)n, bytes);
}

/* One turn of the keeper; it must have something to do. */
static void turn(struct place *p)
{
	struct pollfd fds[LISTEN_POLL_MAX];

	listen_watch(&p->listen, fds);
	assert_true(poll(fds, LISTEN_POLL_MAX, TEST_PATIENCE_MS) > 0);
	listen_serve(&p->listen, fds, on_order, p);
}

static int join(struct place *p)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/sock", p->dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	turn(p);
	return fd;
}

static void order(int fd, uint32_t kind, const char *text)
{
	assert_int_equal(packet_send(fd, &kind, sizeof(kind), text, strlen(text), NULL, 0, 0), 0);
}

static void who_comes_is_greeted_and_may_order(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct place *p = *state;
	enum control_kind kind;
	int a = join(p), b = join(p), pidfd = -1;

	assert_int_equal(control_receive(a, &kind, &text, &pidfd), 1);
	assert_int_equal(kind, CONTROL_HELLO);
	assert_true(pidfd >= 0);
	close(pidfd);
	order(a, CONTROL_STOP, "");
	turn(p);
	order(b, CONTROL_INPUT, "text");
	turn(p);
	close(a); /* and who leaves is no trouble */
	turn(p);
	order(b, CONTROL_STOP_NOW, "");
	turn(p);
	assert_string_equal(buffer_str(&p->orders), "0:;2:text;1:;");
	close(b);
}

static void the_socket_is_private(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(fstatat(p->fd, "sock", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void too_many_are_turned_away_until_one_leaves(void **state)
{
	struct place *p = *state;
	int fds[LISTEN_CLIENTS_MAX], late;
	char byte;

	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		fds[i] = join(p);
	late = join(p);
	assert_int_equal(recv(late, &byte, 1, 0), 0);
	close(late);
	close(fds[3]);
	turn(p);
	late = join(p);
	order(late, CONTROL_STOP, "");
	turn(p);
	assert_string_equal(buffer_str(&p->orders), "0:;");
	close(late);
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		if (i != 3)
			close(fds[i]);
}

static void packets_that_are_no_orders_end_the_connection(void **state)
{
	static char large[LISTEN_ORDER_MAX + 100];
	struct place *p = *state;
	uint32_t kind = CONTROL_INPUT;
	int fd = join(p);

	assert_int_equal(send(fd, "x", 1, 0), 1);
	turn(p);
	assert_int_equal(p->listen.clients[0], -1);
	close(fd);
	fd = join(p);
	assert_int_equal(packet_send(fd, &kind, sizeof(kind), large, sizeof(large), NULL, 0, 0), 0);
	turn(p);
	assert_int_equal(p->listen.clients[0], -1);
	close(fd);
	fd = join(p);
	assert_int_equal(packet_send(fd, &kind, sizeof(kind), NULL, 0, &fd, 1, 0), 0);
	turn(p);
	assert_int_equal(p->listen.clients[0], -1);
	close(fd);
	assert_string_equal(buffer_str(&p->orders), "");
}

static void a_name_that_is_taken_is_an_error(void **state)
{
	struct place *p = *state;
	struct listen second;

	listen_init(&second);
	assert_int_equal(listen_open(&second, p->fd), -EADDRINUSE);
	listen_close(&second);
	assert_int_equal(faccessat(p->fd, "sock", F_OK, 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_comes_is_greeted_and_may_order),
		TEST(the_socket_is_private),
		TEST(too_many_are_turned_away_until_one_leaves),
		TEST(packets_that_are_no_orders_end_the_connection),
		TEST(a_name_that_is_taken_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
