#include "keeper/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"
#include "base/test-support.h"
#include "task/control.h"

#define MORE_THAN_A_PIPE ((size_t)300000)

static struct relay open_relay(int *ret_reader)
{
	struct relay r = RELAY_NONE;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	r.fd = ends[1];
	*ret_reader = ends[0];
	return r;
}

static size_t read_all(int fd, char *into, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n < size && (got = read(fd, into + n, size - n)) > 0)
		n += (size_t)got;
	return n;
}

static void what_the_reader_does_not_take_waits(void **state)
{
	scoped(freep) char *bytes = malloc(MORE_THAN_A_PIPE), *seen = malloc(MORE_THAN_A_PIPE);
	scoped(fd_closep) int reader = -1;
	struct relay r = open_relay(&reader);
	size_t n = 0;

	assert_non_null(bytes);
	assert_non_null(seen);
	for (size_t i = 0; i < MORE_THAN_A_PIPE; i++)
		bytes[i] = (char)(i * 7 + i / 256);
	relay_put(&r, bytes, MORE_THAN_A_PIPE - 10);
	assert_true(relay_waits(&r));
	relay_put(&r, bytes + MORE_THAN_A_PIPE - 10, 10); /* behind what waits */
	while (relay_waits(&r)) {
		n += read_all(reader, seen + n, MORE_THAN_A_PIPE - n);
		relay_push(&r);
	}
	relay_close(&r);
	n += read_all(reader, seen + n, MORE_THAN_A_PIPE - n);
	assert_int_equal(n, MORE_THAN_A_PIPE);
	assert_memory_equal(seen, bytes, MORE_THAN_A_PIPE);
}

static void a_reader_who_is_gone_is_noticed(void **state)
{
	int reader;
	struct relay r = open_relay(&reader);

	fd_close(reader);
	relay_put(&r, "x", 1);
	assert_true(r.broken);
	assert_int_equal(r.fd, -1);
	relay_put(&r, "x", 1); /* and then nothing happens any more */
	relay_push(&r);
	assert_false(relay_waits(&r));
}

static void without_a_pipe_nothing_waits(void **state)
{
	struct relay r = RELAY_NONE;

	relay_put(&r, "x", 1);
	assert_false(relay_waits(&r));
	assert_false(r.broken);
	relay_close(&r);
}

static void send_pipes(int socket, uint32_t kind, size_t count)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(packet_send(socket, &kind, sizeof(kind), NULL, 0,
	                             (const int[]){ends[1], ends[1]}, count, MSG_NOSIGNAL),
	                 0);
	fd_close(ends[0]);
	fd_close(ends[1]);
}

static void only_the_pipes_that_are_wanted_are_taken(void **state)
{
	struct relay one = RELAY_NONE, other = RELAY_NONE;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(relay_receive(sockets[0], false, &one, &other), -EAGAIN);
	send_pipes(sockets[1], CONTROL_RELAY, 1);
	assert_int_equal(relay_receive(sockets[0], false, &one, &other), -EPROTO);
	send_pipes(sockets[1], CONTROL_STOP, 2);
	assert_int_equal(relay_receive(sockets[0], false, &one, &other), -EPROTO);
	assert_int_equal(one.fd, -1);
	send_pipes(sockets[1], CONTROL_RELAY, 2);
	assert_int_equal(relay_receive(sockets[0], false, &one, &other), 0);
	assert_true(one.fd >= 0 && other.fd >= 0);
	relay_close(&one);
	relay_close(&other);
	send_pipes(sockets[1], CONTROL_RELAY, 1);
	assert_int_equal(relay_receive(sockets[0], true, &one, &other), 0);
	assert_int_equal(other.fd, -1);
	relay_close(&one);
	fd_close(sockets[0]);
	fd_close(sockets[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_reader_does_not_take_waits),
		cmocka_unit_test(a_reader_who_is_gone_is_noticed),
		cmocka_unit_test(without_a_pipe_nothing_waits),
		cmocka_unit_test(only_the_pipes_that_are_wanted_are_taken),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
