#include "base/test-support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"

static void make(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void bytes_and_descriptors_come_as_they_went(void **state)
{
	int ends[2], pipe_ends[2], fds[PACKET_FDS_MAX];
	char bytes[16];
	size_t count;

	make(ends);
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(packet_send(ends[0], "ab", 2, "cde", 3, pipe_ends, 2, 0), 0);
	assert_int_equal(packet_receive(ends[1], bytes, sizeof(bytes), fds, &count, 0), 5);
	assert_memory_equal(bytes, "abcde", 5);
	assert_int_equal(count, 2);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(read(pipe_ends[0], bytes, 1), 1);
	for (int i = 0; i < 2; i++) {
		fd_close(fds[i]);
		fd_close(pipe_ends[i]);
		fd_close(ends[i]);
	}
}

static void a_packet_that_does_not_fit_is_refused_and_its_descriptors_are_closed(void **state)
{
	int ends[2], fds[PACKET_FDS_MAX], probe;
	char bytes[4];
	size_t count = 7;

	make(ends);
	assert_int_equal(packet_send(ends[0], "abcdef", 6, NULL, 0, ends, 1, 0), 0);
	probe = dup(ends[0]); /* the lowest number that is free */
	fd_close(probe);
	assert_int_equal(packet_receive(ends[1], bytes, sizeof(bytes), fds, &count, 0), -EBADMSG);
	assert_int_equal(count, 0);
	assert_int_equal(dup(ends[0]), probe);
	fd_close(probe);
	fd_close(ends[0]);
	fd_close(ends[1]);
}

static void the_end_of_the_peer_is_no_packet(void **state)
{
	int ends[2], fds[PACKET_FDS_MAX];
	char bytes[4];
	size_t count;

	make(ends);
	assert_int_equal(packet_receive(ends[1], bytes, 4, fds, &count, MSG_DONTWAIT), -EAGAIN);
	fd_close(ends[0]);
	assert_int_equal(packet_receive(ends[1], bytes, 4, fds, &count, 0), 0);
	assert_int_equal(packet_send(ends[1], "x", 1, NULL, 0, NULL, 0, 0), -EPIPE);
	fd_close(ends[1]);
}

static void bytes_alone_go_and_come_without_a_signal(void **state)
{
	int ends[2], fds[PACKET_FDS_MAX], probe;
	char bytes[4];

	make(ends);
	assert_int_equal(packet_put(ends[0], "abc", 3, MSG_DONTWAIT), 3);
	assert_int_equal(packet_get(ends[1], bytes, sizeof(bytes), 0), 3);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(packet_get(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	/* Descriptors that nobody asked for do not stay open. */
	fds[0] = ends[0];
	assert_int_equal(packet_send(ends[0], "d", 1, NULL, 0, fds, 1, 0), 0);
	probe = dup(ends[0]);
	fd_close(probe);
	assert_int_equal(packet_get(ends[1], bytes, sizeof(bytes), 0), 1);
	assert_int_equal(dup(ends[0]), probe);
	fd_close(probe);
	fd_close(ends[1]);
	assert_int_equal(packet_put(ends[0], "x", 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	fd_close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_descriptors_come_as_they_went),
		cmocka_unit_test(
			a_packet_that_does_not_fit_is_refused_and_its_descriptors_are_closed),
		cmocka_unit_test(the_end_of_the_peer_is_no_packet),
		cmocka_unit_test(bytes_alone_go_and_come_without_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
