/*
 * The real programs are tests/integration/test_quiet.py; here each child does one thing.
 */
#include "base/test-support.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/quiet.h"

typedef void (*deed)(int gate);

/* Looks at a child that does DEED until the answer has these words. */
static void expect(deed d, const char *words)
{
	int64_t deadline = clock_now_ms() + TEST_PATIENCE_MS;
	char text[QUIET_TEXT_MAX] = "";
	int gate[2];
	pid_t pid;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "deed\033");
		d(gate[0]);
		_exit(0);
	}
	while (!strstr(text, words) && clock_now_ms() < deadline)
		quiet_look(getpid(), text);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	close(gate[0]);
	close(gate[1]);
	assert_non_null(strstr(text, words));
}

static void read_input(int gate)
{
	char byte;

	(void)dup2(gate, 0);
	(void)!read(0, &byte, 1);
}

static void poll_input(int gate)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};

	(void)dup2(gate, 0);
	(void)poll(&p, 1, -1);
}

static void select_input(int gate)
{
	fd_set set;

	(void)dup2(gate, 0);
	FD_ZERO(&set);
	FD_SET(0, &set);
	(void)select(1, &set, NULL, NULL, NULL);
}

static void sleep_long(int gate)
{
	(void)nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
}

static void spin(int gate)
{
	for (;;)
		__asm__ volatile("");
}

static void stop(int gate)
{
	(void)raise(SIGSTOP);
}

static void listen_long(int gate)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(s, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(s, 1) == 0)
		(void)accept(s, NULL, NULL);
}

static void wait_for_silence(int gate)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t n = sizeof(a);
	int s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int c = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	if (bind(s, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(s, 1) == 0 &&
	    getsockname(s, (struct sockaddr *)&a, &n) == 0 &&
	    connect(c, (struct sockaddr *)&a, n) == 0)
		(void)!read(c, &byte, 1);
}

static void lock_again(int gate)
{
	char path[] = "/tmp/nacre-test-lock-XXXXXX";
	int a = mkostemp(path, O_CLOEXEC), b = open(path, O_RDWR | O_CLOEXEC);

	(void)unlink(path);
	if (flock(a, LOCK_EX) == 0)
		(void)flock(b, LOCK_EX);
}

static void each_is_told_from_the_others(void **state)
{
	expect(read_input, "waiting for input on standard input: deed? reads it");
	expect(poll_input, "waiting for input on standard input: deed?");
	expect(select_input, "waiting for input on standard input: deed?");
	expect(sleep_long, "sleeping: deed?");
	expect(spin, "busy: deed? has used ");
	expect(stop, "stopped by a signal: deed?");
	expect(listen_long,
	       "waiting for the network: deed? waits for somebody to connect to 127.0.0.1:");
	expect(lock_again, "waiting for a lock: deed? wants /tmp/nacre-test-lock-");
}

static void an_address_of_six_words(void **state)
{
	int s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool have = s >= 0 && bind(s, (struct sockaddr *)&a, sizeof(a)) == 0;

	fd_close(s);
	if (!have)
		skip();
	expect(wait_for_silence, "waiting for the network: deed? has no answer from [::1]:");
}

static void nothing_below_says_nothing(void **state)
{
	char text[QUIET_TEXT_MAX], names[32];

	quiet_look(getpid(), text);
	assert_string_equal(text, "");
	quiet_names(getpid(), names, sizeof(names));
	assert_string_equal(names, "");
}

static void names_are_as_many_as_fit(void **state)
{
	char names[12];
	pid_t pids[3];

	for (int i = 0; i < 3; i++) {
		int ready[2];
		char byte;

		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)prctl(PR_SET_NAME, "name");
			(void)!write(ready[1], "", 1);
			pause();
			_exit(0);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
	}
	quiet_names(getpid(), names, sizeof(names));
	for (int i = 0; i < 3; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	assert_string_equal(names, "name\nname\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_below_says_nothing),
		cmocka_unit_test(each_is_told_from_the_others),
		cmocka_unit_test(an_address_of_six_words),
		cmocka_unit_test(names_are_as_many_as_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
