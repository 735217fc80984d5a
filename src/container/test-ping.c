#include "base/test-support.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "base/fd.h"
#include "container/ping.h"

static char dir[64], path[96];

static int make_place(void **state)
{
	test_directory_make(dir);
	snprintf(path, sizeof(path), "%s/sock", dir);
	return 0;
}

static int drop_place(void **state)
{
	test_directory_remove(dir);
	return 0;
}

static int listen_at(const char *where, int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", where);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

/* A peer that takes one connection, reads the request and says these words. */
static pid_t answer_with(int listener, const char *words)
{
	pid_t pid = fork();
	char bytes[512];
	int fd;

	if (pid != 0)
		return pid;
	fd = accept(listener, NULL, NULL);
	if (read(fd, bytes, sizeof(bytes)) <= 0 ||
	    memcmp(bytes, "GET /_ping HTTP/1.0\r\n", 21) != 0)
		_exit(1);
	(void)fd_write_all(fd, words, strlen(words));
	_exit(0);
}

static struct docker_answer ask(int64_t timeout_ms, int64_t young_ms)
{
	struct docker_answer a;

	docker_ping(path, timeout_ms, young_ms, &a);
	return a;
}

static struct docker_answer ask_one_that_says(const char *words)
{
	scoped(fd_closep) int listener = listen_at(path, 4);
	pid_t pid = answer_with(listener, words);
	struct docker_answer a = ask(TEST_PATIENCE_MS, 0);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return a;
}

static void an_engine_says_who_it_is(void **state)
{
	struct docker_answer a = ask_one_that_says("HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n"
	                                           "Server: Docker/20.10.24 (linux)\r\n\r\nOK");

	assert_int_equal(a.state, DOCKER_READY);
	assert_string_equal(a.engine, "Docker/20.10.24");
	assert_string_equal(a.api, "1.41");
}

static void one_that_is_not_ready_yet_is_starting(void **state)
{
	assert_int_equal(
		ask_one_that_says("HTTP/1.1 503 Service Unavailable\r\n\r\nstarting").state,
		DOCKER_STARTING);
}

static void one_that_hangs_up_is_starting(void **state)
{
	assert_int_equal(ask_one_that_says("").state, DOCKER_STARTING);
}

static void something_else_is_strange(void **state)
{
	assert_int_equal(ask_one_that_says("SSH-2.0-OpenSSH_9.2\r\n").state, DOCKER_STRANGE);
}

static void no_socket_is_absent(void **state)
{
	assert_int_equal(ask(1000, 0).state, DOCKER_ABSENT);
}

static void a_socket_without_a_listener_is_stale(void **state)
{
	fd_close(listen_at(path, 4));
	assert_int_equal(ask(1000, 0).state, DOCKER_STALE);
}

static void a_file_is_stale(void **state)
{
	test_file_write(path, "");
	assert_int_equal(ask(1000, 0).state, DOCKER_STALE);
}

static void silence_is_hung_or_starting_by_the_age_of_the_socket(void **state)
{
	scoped(fd_closep) int listener = listen_at(path, 4);
	int64_t begun = clock_now_ms();

	assert_true(listener >= 0);
	assert_int_equal(ask(60, 0).state, DOCKER_HUNG);
	assert_in_range(clock_now_ms() - begun, 50, TEST_PATIENCE_MS);
	assert_int_equal(ask(60, 600000).state, DOCKER_STARTING);
}

static void a_full_queue_is_hung_within_the_bound(void **state)
{
	scoped(fd_closep) int listener = listen_at(path, 0);
	int64_t begun;

	assert_true(listener >= 0);
	/* Its connection stays in the queue, which takes one more than asked for. */
	(void)ask(30, 0);
	(void)ask(30, 0);
	begun = clock_now_ms();
	assert_int_equal(ask(60, 0).state, DOCKER_HUNG);
	assert_in_range(clock_now_ms() - begun, 0, TEST_PATIENCE_MS);
}

static void expect_read(const char *bytes, enum docker_state wanted)
{
	struct docker_answer a;

	docker_ping_read(bytes, strlen(bytes), &a);
	assert_int_equal(a.state, wanted);
}

static void answers_are_read_with_care(void **state)
{
	struct docker_answer a;
	char large[4096];

	expect_read("HTTP/1.1 200 OK\r\n\r\nOK", DOCKER_STRANGE); /* no engine has no version */
	expect_read("HTTP/1.1 404 Not Found\r\nApi-Version: 1.41\r\n\r\n", DOCKER_STRANGE);
	expect_read("HTTP/1.1 403 Forbidden\r\n\r\n", DOCKER_FORBIDDEN);
	expect_read("HTTP/1.1 200", DOCKER_STRANGE);
	/* A header behind the end of the headers is none. */
	expect_read("HTTP/1.1 200 OK\r\n\r\nApi-Version: 1.41\r\n", DOCKER_STRANGE);
	memset(large, 'x', sizeof(large));
	memcpy(large, "HTTP/1.1 200 OK\r\nApi-Version: ", 30);
	docker_ping_read(large, sizeof(large), &a);
	assert_int_equal(a.state, DOCKER_READY);
	assert_int_equal(strlen(a.api), sizeof(a.api) - 1);
	docker_ping_read("HTTP/1.1 200 OK\nserver:Evil\x1b[2J\napi-version:  1.4\n\n", 50, &a);
	assert_string_equal(a.engine, "Evil");
	assert_string_equal(a.api, "1.4");
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(an_engine_says_who_it_is),
		IN_PLACE(one_that_is_not_ready_yet_is_starting),
		IN_PLACE(one_that_hangs_up_is_starting),
		IN_PLACE(something_else_is_strange),
		IN_PLACE(no_socket_is_absent),
		IN_PLACE(a_socket_without_a_listener_is_stale),
		IN_PLACE(a_file_is_stale),
		IN_PLACE(silence_is_hung_or_starting_by_the_age_of_the_socket),
		IN_PLACE(a_full_queue_is_hung_within_the_bound),
		cmocka_unit_test(answers_are_read_with_care),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
