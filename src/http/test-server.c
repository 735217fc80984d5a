/* A client and the server in one process: the loop turns, the client's socket does not block. */
#include "base/test-support.h"
#include "http/server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"

struct world {
	char dir[64];
	struct sockaddr_un address;
	struct loop *loop;
	struct http_server *server;
	struct loop_timer tick;
	struct http_exchange *kept, *ends;
	int begun, requests, gone, drained;
	char body[64];
	size_t body_len;
	bool echo, refuse;
};

static void on_begin(void *owner, struct http_exchange *x)
{
	struct world *w = owner;

	w->begun++;
	if (w->refuse)
		http_answer(x, &(struct http_answer){.status = 403});
}

static void on_request(void *owner, struct http_exchange *x)
{
	struct world *w = owner;
	const char *body = http_body(x, &w->body_len);

	w->requests++;
	memcpy(w->body, body, w->body_len < sizeof(w->body) ? w->body_len : sizeof(w->body));
	w->kept = x;
	if (w->ends) {
		http_stream_end(w->ends);
		http_answer(x, &(struct http_answer){.status = 204});
	}
	if (w->echo) {
		struct buffer text = {0};

		buffer_puts(&text, http_path(x));
		http_answer(x, &(struct http_answer){
				       .status = 200, .type = "text/plain", .body = &text});
	}
}

static void on_drained(void *owner, struct http_exchange *x)
{
	struct world *w = owner;

	w->drained++;
}

static void on_gone(void *owner, struct http_exchange *x)
{
	struct world *w = owner;

	w->gone++;
	w->kept = NULL;
}

static const struct http_ops ops = {on_begin, on_request, on_drained, on_gone};

static int on_tick(struct loop_timer *t)
{
	loop_stop(t->loop);
	return 0;
}

/* The loop for this long. */
static void turn(struct world *w, int64_t ms)
{
	assert_int_equal(loop_timer_set(w->loop, &w->tick, clock_now_ms() + ms, on_tick), 0);
	assert_int_equal(loop_run(w->loop), 0);
}

static void turn_until(struct world *w, const int *count, int wanted)
{
	int64_t end = clock_now_ms() + TEST_PATIENCE_MS;

	while (*count < wanted && clock_now_ms() < end)
		turn(w, 2);
	assert_int_equal(*count, wanted);
}

static void setup(struct world *w, const struct http_limits *limits)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*w = (struct world){.address = {.sun_family = AF_UNIX}};
	test_directory_make(w->dir);
	snprintf(w->address.sun_path, sizeof(w->address.sun_path), "%s/sock", w->dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&w->address, sizeof(w->address)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	assert_int_equal(http_server_new(w->loop, limits, &ops, w, &w->server, NULL), 0);
	assert_int_equal(http_server_listen(w->server, fd, 7, NULL), 0);
}

static void teardown(struct world *w)
{
	http_server_free(w->server);
	loop_timer_clear(&w->tick);
	loop_free(w->loop);
	test_directory_remove(w->dir);
}

static int dial(struct world *w)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&w->address, sizeof(w->address)), 0);
	assert_int_equal(fd_set_nonblocking(fd), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What came up to now, after it holds WORDS (or, with NULL, after the end). */
static void hear(struct world *w, int fd, const char *words, struct buffer *into)
{
	int64_t end = clock_now_ms() + TEST_PATIENCE_MS;
	char bytes[4096];
	ssize_t n;

	while (clock_now_ms() < end) {
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n > 0)
			buffer_append(into, bytes, (size_t)n);
		if (words ? strstr(buffer_str(into), words) != NULL
		          : n == 0 || (n < 0 && errno != EAGAIN))
			return;
		turn(w, 1);
	}
	fail_msg("not heard: %s; but: %s", words ? words : "the end", buffer_str(into));
}

/* So many bytes of whatever it is, at the pace of the server. */
static void say_much(struct world *w, int fd, size_t n)
{
	static const char bytes[4096];
	int64_t end = clock_now_ms() + TEST_PATIENCE_MS;

	while (n > 0 && clock_now_ms() < end) {
		ssize_t sent = send(fd, bytes, n < sizeof(bytes) ? n : sizeof(bytes), MSG_NOSIGNAL);

		if (sent > 0)
			n -= (size_t)sent;
		turn(w, 1);
	}
	assert_int_equal(n, 0);
}

static void answers_and_keeps_the_connection(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	w.echo = true;
	fd = dial(&w);
	for (int i = 1; i <= 3; i++) {
		buffer_clear(&got);
		say(fd, "POST /x?y=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
		hear(&w, fd, "\r\n\r\n/x", &got);
		assert_non_null(strstr(got.data, "HTTP/1.1 200"));
		turn_until(&w, &w.gone, i);
	}
	assert_int_equal(w.body_len, 5);
	assert_memory_equal(w.body, "hello", 5);
	fd_close(fd);
	teardown(&w);
}

static void a_client_that_says_no_more_is_not_kept(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	w.echo = true;
	fd = dial(&w);
	say(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	hear(&w, fd, NULL, &got);
	assert_non_null(strstr(buffer_str(&got), "HTTP/1.1 200"));
	assert_int_equal(http_server_connections(w.server), 0);
	fd_close(fd);
	teardown(&w);
}

static void an_answer_may_come_later(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	fd = dial(&w);
	say(fd, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	turn(&w, 20);
	assert_int_equal(w.gone, 0);
	http_answer(w.kept, &(struct http_answer){.status = 204});
	hear(&w, fd, "HTTP/1.1 204", &got);
	turn_until(&w, &w.gone, 1);
	fd_close(fd);
	teardown(&w);
}

static void a_client_that_leaves_is_noticed_while_the_owner_thinks(void **state)
{
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	fd = dial(&w);
	say(fd, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	turn(&w, 5);
	fd_close(fd);
	turn_until(&w, &w.gone, 1);
	teardown(&w);
}

static void a_refusal_comes_although_the_body_is_still_sent(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	w.refuse = true;
	fd = dial(&w);
	say(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
	turn(&w, 20);
	say(fd, "56789");
	hear(&w, fd, "HTTP/1.1 403", &got);
	turn_until(&w, &w.gone, 1);
	assert_int_equal(w.requests, 0);
	fd_close(fd);
	teardown(&w);
}

static void a_body_beyond_its_limit_is_413(void **state)
{
	struct http_limits limits = http_limits_default;
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	limits.body_bytes = 8;
	setup(&w, &limits);
	w.echo = true;
	fd = dial(&w);
	say(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n012345678");
	hear(&w, fd, "HTTP/1.1 413", &got);
	fd_close(fd);
	fd = dial(&w);
	buffer_clear(&got);
	say(fd, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	        "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n");
	hear(&w, fd, "HTTP/1.1 413", &got);
	assert_int_equal(w.requests, 0);
	fd_close(fd);
	fd = dial(&w);
	buffer_clear(&got);
	say(fd, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	        "4\r\n0123\r\n4\r\n4567\r\n0\r\n\r\n");
	hear(&w, fd, "HTTP/1.1 200", &got);
	assert_int_equal(w.body_len, 8);
	fd_close(fd);
	teardown(&w);
}

static void a_slow_head_and_a_slow_body_have_an_end(void **state)
{
	struct http_limits limits = http_limits_default;
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	limits.head_ms = 50;
	limits.body_ms = 50;
	setup(&w, &limits);
	fd = dial(&w);
	say(fd, "GET / HTTP/1.1\r\nHo");
	hear(&w, fd, NULL, &got);
	fd_close(fd);
	fd = dial(&w);
	say(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01");
	hear(&w, fd, NULL, &got);
	fd_close(fd);
	fd = dial(&w);
	hear(&w, fd, NULL, &got); /* says nothing at all */
	fd_close(fd);
	assert_int_equal(w.requests, 0);
	assert_int_equal(w.gone, w.begun);
	teardown(&w);
}

static void a_stream_carries_events_and_a_heartbeat(void **state)
{
	struct http_limits limits = http_limits_default;
	scoped(buffer_donep) struct buffer got = {0};
	struct world w;
	int fd;

	limits.heartbeat_ms = 20;
	setup(&w, &limits);
	fd = dial(&w);
	say(fd, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	http_stream(w.kept, &(struct http_answer){.status = 200, .type = "text/event-stream"});
	assert_true(http_stream_event(w.kept, "1", "hello", "{}", 2));
	hear(&w, fd, "id: 1\nevent: hello\ndata: {}\n\n", &got);
	hear(&w, fd, "\r\n:\n\n\r\n", &got);
	assert_true(w.drained > 0);
	assert_true(http_stream_event(w.kept, NULL, NULL, "2", 1));
	hear(&w, fd, "data: 2\n\n", &got);
	http_stream_end(w.kept);
	hear(&w, fd, "\r\n0\r\n\r\n", &got);
	turn_until(&w, &w.gone, 1);
	fd_close(fd);
	teardown(&w);
}

static void a_client_that_does_not_read_costs_a_bounded_buffer(void **state)
{
	struct http_limits limits = http_limits_default;
	static char bytes[65536];
	struct world w;
	int fd, sent = 0;

	limits.stream_bytes = 256 << 10;
	setup(&w, &limits);
	fd = dial(&w);
	say(fd, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	http_stream(w.kept, &(struct http_answer){.status = 200, .type = "text/event-stream"});
	memset(bytes, 'x', sizeof(bytes));
	while (sent < 100 && http_stream_write(w.kept, bytes, sizeof(bytes))) {
		sent++;
		turn(&w, 1);
	}
	assert_true(sent >= 4 && sent < 100);
	turn_until(&w, &w.gone, 1);
	fd_close(fd);
	teardown(&w);
}

static void one_request_may_end_the_stream_of_another(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	struct http_exchange *follower;
	struct world w;
	int fds[2];

	setup(&w, &http_limits_default);
	for (int i = 0; i < 2; i++)
		fds[i] = dial(&w);
	say(fds[0], "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	follower = w.kept;
	http_stream(follower, &(struct http_answer){.status = 200, .type = "text/event-stream"});
	turn(&w, 10);
	w.ends = follower;
	say(fds[1], "GET /end HTTP/1.1\r\nHost: a\r\n\r\n");
	hear(&w, fds[0], "\r\n0\r\n\r\n", &got);
	turn_until(&w, &w.gone, 2);
	for (int i = 0; i < 2; i++)
		fd_close(fds[i]);
	teardown(&w);
}

static void a_vanished_follower_is_noticed(void **state)
{
	struct world w;
	int fd;

	setup(&w, &http_limits_default);
	fd = dial(&w);
	say(fd, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	http_stream(w.kept, &(struct http_answer){.status = 200, .type = "text/event-stream"});
	turn(&w, 20);
	assert_int_equal(w.gone, 0);
	fd_close(fd);
	turn_until(&w, &w.gone, 1);
	teardown(&w);
}

/* Some of these the library leaves without a word, to us and to the client. */
static void a_request_that_cannot_be_read_leaves_nothing(void **state)
{
	static const char *const ends[] = {"", "A: b\r\n c\r\n", " folded: x\r\n"};
	struct world w;

	setup(&w, &http_limits_default);
	w.echo = true;
	for (size_t i = 0; i < array_size(ends); i++) {
		for (int names = 0; names <= 800; names += 50) {
			scoped(buffer_donep) struct buffer text = {0}, got = {0};
			int fd = dial(&w);

			buffer_puts(&text,
			            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: ");
			for (int k = 0; k < names; k++)
				buffer_puts(&text, "Cookie: a=b; ");
			buffer_printf(&text, "\r\n%s\r\n", ends[i]);
			(void)!send(fd, text.data, text.len, MSG_NOSIGNAL);
			hear(&w, fd, NULL, &got);
			fd_close(fd);
		}
	}
	turn(&w, 10);
	assert_int_equal(http_server_connections(w.server), 0);
	assert_int_equal(http_server_exchanges(w.server), 0);
	teardown(&w);
}

/* Two large bodies do not fit; small ones always do. */
static void all_that_is_large_together_has_a_bound(void **state)
{
	static const char large[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
	struct http_limits limits = http_limits_default;
	scoped(buffer_donep) struct buffer got = {0};
	int fds[3];
	struct world w;

	limits.held_bytes = 200000;
	setup(&w, &limits);
	w.echo = true;
	for (int i = 0; i < 3; i++)
		fds[i] = dial(&w);
	say(fds[0], large);
	say_much(&w, fds[0], 190000);
	say(fds[1], large);
	say_much(&w, fds[1], 200000);
	hear(&w, fds[1], "HTTP/1.1 503", &got);
	assert_int_equal(w.requests, 0);
	buffer_clear(&got);
	say(fds[2], "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
	hear(&w, fds[2], "\r\n\r\n/small", &got);
	fd_close(fds[0]); /* what it held is free again */
	turn_until(&w, &w.gone, 3);
	fd_close(fds[1]);
	fds[1] = dial(&w);
	buffer_clear(&got);
	say(fds[1], large);
	say_much(&w, fds[1], 200000);
	hear(&w, fds[1], "HTTP/1.1 200", &got);
	fd_close(fds[1]);
	fd_close(fds[2]);
	teardown(&w);
}

static void an_answer_that_does_not_fit_is_503(void **state)
{
	struct http_limits limits = http_limits_default;
	scoped(buffer_donep) struct buffer got = {0}, text = {0};
	struct world w;
	int fd;

	limits.held_bytes = 1000;
	setup(&w, &limits);
	fd = dial(&w);
	for (int i = 1; i <= 2; i++) {
		say(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		turn_until(&w, &w.requests, i);
		buffer_clear(&text);
		memset(buffer_reserve(&text, 200000), 'x', 200000);
		text.len = i == 1 ? HTTP_SMALL + 1000 : HTTP_SMALL + 1001;
		http_answer(w.kept, &(struct http_answer){
					    .status = 200, .type = "text/plain", .body = &text});
		hear(&w, fd, i == 1 ? "HTTP/1.1 200" : "HTTP/1.1 503", &got);
		while (w.gone < i)
			hear(&w, fd, "x", &got);
		buffer_clear(&got);
	}
	fd_close(fd);
	teardown(&w);
}

static void the_end_of_the_server_ends_what_waits(void **state)
{
	struct world w;
	int fds[3];

	setup(&w, &http_limits_default);
	for (int i = 0; i < 3; i++)
		fds[i] = dial(&w);
	say(fds[0], "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 1);
	http_stream(w.kept, &(struct http_answer){.status = 200});
	say(fds[1], "GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
	turn_until(&w, &w.requests, 2);
	say(fds[2], "GET /c HTT");
	turn(&w, 10);
	teardown(&w);
	assert_int_equal(w.gone, 2);
	for (int i = 0; i < 3; i++)
		fd_close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_keeps_the_connection),
		cmocka_unit_test(a_client_that_says_no_more_is_not_kept),
		cmocka_unit_test(an_answer_may_come_later),
		cmocka_unit_test(a_client_that_leaves_is_noticed_while_the_owner_thinks),
		cmocka_unit_test(a_refusal_comes_although_the_body_is_still_sent),
		cmocka_unit_test(a_body_beyond_its_limit_is_413),
		cmocka_unit_test(a_slow_head_and_a_slow_body_have_an_end),
		cmocka_unit_test(a_stream_carries_events_and_a_heartbeat),
		cmocka_unit_test(a_client_that_does_not_read_costs_a_bounded_buffer),
		cmocka_unit_test(one_request_may_end_the_stream_of_another),
		cmocka_unit_test(a_vanished_follower_is_noticed),
		cmocka_unit_test(a_request_that_cannot_be_read_leaves_nothing),
		cmocka_unit_test(all_that_is_large_together_has_a_bound),
		cmocka_unit_test(an_answer_that_does_not_fit_is_503),
		cmocka_unit_test(the_end_of_the_server_ends_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
