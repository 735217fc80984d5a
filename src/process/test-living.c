#include "base/test-support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process/living.h"

/* A child that listens on this many ports, told by a pipe. */
static pid_t start_server(int ports, uint16_t into[])
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(2 * TEST_PATIENCE_MS / 1000);
		(void)prctl(PR_SET_NAME, "a ) server", 0, 0, 0);
		for (int i = 0; i < ports; i++) {
			struct sockaddr_in at = {.sin_family = AF_INET,
			                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
			socklen_t n = sizeof(at);
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			uint16_t port;

			if (bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 1) < 0 ||
			    getsockname(fd, (struct sockaddr *)&at, &n) < 0 || dup(fd) < 0)
				_exit(1);
			port = ntohs(at.sin_port);
			if (write(ends[1], &port, sizeof(port)) != (ssize_t)sizeof(port))
				_exit(1);
		}
		for (;;)
			pause();
	}
	for (int i = 0; i < ports; i++)
		assert_int_equal(read(ends[0], &into[i], sizeof(into[i])), sizeof(into[i]));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void tells_who_lives_and_where_they_listen(void **state)
{
	uint16_t ports[2];
	struct living l;
	pid_t pid = start_server(2, ports);

	living_look(getpid(), &l);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.list[0].pid, pid);
	assert_int_equal(l.list[0].inner, pid);
	assert_string_equal(l.list[0].name, "a?)?server");
	assert_int_equal(l.list[0].port_count, 2); /* each once, although it has each twice */
	assert_true(l.list[0].ports[0] < l.list[0].ports[1]);
	for (int i = 0; i < 2; i++)
		assert_true(ports[i] == l.list[0].ports[0] || ports[i] == l.list[0].ports[1]);
	end(pid);
	living_look(getpid(), &l);
	assert_int_equal(l.count, 0);
}

static void the_dead_are_not_told(void **state)
{
	siginfo_t info;
	struct living l;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	living_look(getpid(), &l);
	assert_int_equal(l.count, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_start_is_told_once(void **state)
{
	uint16_t port;
	pid_t pid = start_server(1, &port);

	assert_true(living_start(pid) > 0);
	assert_true(living_start(pid) == living_start(pid));
	assert_true(living_start(getpid()) <= living_start(pid));
	end(pid);
	assert_true(living_start(pid) == 0);
}

static void lines_are_read_back(void **state)
{
	struct living l = {
		.count = 2,
		.list = {{.inner = 7, .name = "python3", .ports = {80, 8080}, .port_count = 2},
	                 {.inner = 9, .name = "sleep"}}};
	struct living_process p;
	char text[64];
	const char *at;

	living_print(&l, text, sizeof(text));
	assert_string_equal(text, "7 python3 80 8080\n9 sleep\n");
	at = living_parse(text, &p);
	assert_non_null(at);
	assert_int_equal(p.inner, 7);
	assert_string_equal(p.name, "python3");
	assert_int_equal(p.port_count, 2);
	assert_int_equal(p.ports[1], 8080);
	at = living_parse(at, &p);
	assert_non_null(at);
	assert_string_equal(p.name, "sleep");
	assert_int_equal(p.port_count, 0);
	assert_null(living_parse(at, &p));
	living_print(&l, text, 20); /* whole lines only */
	assert_string_equal(text, "7 python3 80 8080\n");
	assert_null(living_parse("", &p));
	assert_null(living_parse("x y\n", &p));
	assert_null(living_parse("1 a-name-that-is-too-long 1\n", &p));
}

static void more_than_fit_are_counted(void **state)
{
	pid_t pids[LIVING_MAX + 3];
	struct living l;

	for (size_t i = 0; i < array_size(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			alarm(2 * TEST_PATIENCE_MS / 1000);
			for (;;)
				pause();
		}
	}
	living_look(getpid(), &l);
	assert_int_equal(l.count, LIVING_MAX);
	assert_int_equal(l.more, 3);
	for (size_t i = 0; i < array_size(pids); i++)
		end(pids[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_who_lives_and_where_they_listen),
		cmocka_unit_test(the_dead_are_not_told),
		cmocka_unit_test(a_start_is_told_once),
		cmocka_unit_test(lines_are_read_back),
		cmocka_unit_test(more_than_fit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
