/* A guard undoes what its parent did not, and nothing else. */
#include "base/test-support.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/guard.h"

static void say(const void *context)
{
	(void)fd_write_all(*(const int *)context, "u", 1);
}

struct seen {
	int fd, theirs;
};

static void pipe_make(struct seen *s)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	s->fd = ends[0];
	s->theirs = ends[1];
}

/* How many bytes there are until no process has the other end any more. */
static int count(struct seen *s)
{
	char bytes[8];
	int n = 0;
	ssize_t got;

	fd_close(s->theirs);
	do {
		test_wait_readable(s->fd);
		got = read(s->fd, bytes, sizeof(bytes));
		n += got > 0 ? (int)got : 0;
	} while (got > 0);
	fd_close(s->fd);
	return n;
}

static void a_dismissed_guard_undoes_nothing(void **state)
{
	struct guard g;
	struct seen s;

	pipe_make(&s);
	assert_int_equal(guard_post(&g, say, &s.theirs, s.theirs), 0);
	guard_dismiss(&g);
	assert_int_equal(g.pid, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it is reaped */
	guard_dismiss(&g);
	assert_int_equal(count(&s), 0);
}

static void a_released_guard_undoes_it_once(void **state)
{
	struct guard g;
	struct seen s;
	pid_t pid;

	pipe_make(&s);
	assert_int_equal(guard_post(&g, say, &s.theirs, s.theirs), 0);
	pid = g.pid;
	guard_release(&g);
	guard_release(&g);
	assert_int_equal(count(&s), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_guard_undoes_what_a_killed_parent_left(void **state)
{
	static const int sent[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE};
	int ready[2], status;
	struct seen s;
	char byte;
	pid_t pid;

	pipe_make(&s);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct guard g;

		(void)setpgid(0, 0);
		if (guard_post(&g, say, &s.theirs, s.theirs) < 0)
			_exit(1);
		/* From then on a signal to our group does not reach the guard. */
		for (int i = test_patience_ms(); i > 0 && getsid(g.pid) != g.pid; i--)
			(void)poll(NULL, 0, 1);
		for (size_t i = 0; i < array_size(sent); i++)
			(void)kill(g.pid, sent[i]);
		(void)fd_write_all(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	fd_close(ready[1]);
	test_wait_readable(ready[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	fd_close(ready[0]);
	assert_int_equal(kill(-pid, SIGKILL), 0); /* the whole group */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(count(&s), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dismissed_guard_undoes_nothing),
		cmocka_unit_test(a_released_guard_undoes_it_once),
		cmocka_unit_test(a_guard_undoes_what_a_killed_parent_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
