#include "base/test-support.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"
#include "gateway/relay.h"

/* A client and a server with a relay between them; what the client writes reaches the server. */
struct line {
	int client, server;
	struct relay relay;
};

static struct line line_new(void)
{
	int a[2], b[2];
	struct line l;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b), 0);
	l = (struct line){.client = a[0], .server = b[0], .relay = {.from = a[1], .to = b[1]}};
	return l;
}

static void line_done(struct line *l)
{
	fd_close(l->client);
	fd_close(l->server);
	fd_close(l->relay.from);
	fd_close(l->relay.to);
}

static void bytes_and_the_end_pass(void **state)
{
	struct relay_pool pool;
	struct line l = line_new();
	char got[16];

	(void)state;
	relay_pool_init(&pool);
	assert_int_equal(write(l.client, "hello", 5), 5);
	assert_false(relay_move(&l.relay, &pool));
	assert_int_equal(read(l.server, got, sizeof(got)), 5);
	assert_memory_equal(got, "hello", 5);
	assert_null(l.relay.pipe); /* one that waits holds none */
	assert_int_equal(shutdown(l.client, SHUT_WR), 0);
	relay_move(&l.relay, &pool);
	assert_true(l.relay.done);
	assert_int_equal(read(l.server, got, sizeof(got)), 0);
	assert_int_equal(l.relay.bytes, 5);
	line_done(&l);
	relay_pool_done(&pool);
}

/* Fills the way to the server, which reads nothing, and leaves bytes in the pipe. */
static void stall(struct line *l, struct relay_pool *pool)
{
	char block[65536];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 1000; i++) {
		ssize_t n = write(l->client, block, sizeof(block));

		relay_move(&l->relay, pool);
		if (n < 0 && l->relay.held > 0)
			return;
	}
	fail_msg("the server's socket has no end");
}

/* Given back as it is, the pipe would put these bytes into the next connection. */
static void bytes_of_one_never_reach_another(void **state)
{
	struct relay_pool pool;
	struct line stuck = line_new(), next = line_new();
	char got[16];

	(void)state;
	relay_pool_init(&pool);
	stall(&stuck, &pool);
	relay_stop(&stuck.relay, &pool);
	assert_int_equal(write(next.client, "mine", 4), 4);
	relay_move(&next.relay, &pool);
	assert_int_equal(read(next.server, got, sizeof(got)), 4);
	assert_memory_equal(got, "mine", 4);
	line_done(&stuck);
	line_done(&next);
	relay_pool_done(&pool);
}

static void slow_readers_do_not_stop_the_others(void **state)
{
	struct relay_pool pool;
	struct line stuck[RELAY_PIPES_MAX], next = line_new();
	char got[16];

	(void)state;
	relay_pool_init(&pool);
	for (int i = 0; i < RELAY_PIPES_MAX; i++) {
		stuck[i] = line_new();
		stall(&stuck[i], &pool);
	}
	assert_int_equal(write(next.client, "still", 5), 5);
	relay_move(&next.relay, &pool);
	assert_int_equal(read(next.server, got, sizeof(got)), 5);
	assert_memory_equal(got, "still", 5);
	for (int i = 0; i < RELAY_PIPES_MAX; i++) {
		relay_stop(&stuck[i].relay, &pool);
		line_done(&stuck[i]);
	}
	line_done(&next);
	relay_pool_done(&pool);
}

static void a_reader_that_is_gone_breaks_it(void **state)
{
	struct relay_pool pool;
	struct line l = line_new();

	(void)state;
	relay_pool_init(&pool);
	fd_close(l.server);
	l.server = -1;
	assert_int_equal(write(l.client, "hello", 5), 5);
	relay_move(&l.relay, &pool);
	assert_true(l.relay.broken);
	assert_null(l.relay.pipe);
	line_done(&l);
	relay_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_the_end_pass),
		cmocka_unit_test(bytes_of_one_never_reach_another),
		cmocka_unit_test(slow_readers_do_not_stop_the_others),
		cmocka_unit_test(a_reader_that_is_gone_breaks_it),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
