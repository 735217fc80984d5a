#include "base/test-support.h"

#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include "base/fd.h"
#include "process/clone.h"

static void the_child_runs_and_its_end_shows_on_the_pidfd(void **state)
{
	scoped(fd_closep) int pidfd = -1;
	pid_t pid = process_clone(&pidfd);
	int status;

	if (pid == 0)
		_exit(pidfd == -1 ? 7 : 8); /* set in the parent only */
	assert_true(pid > 0);
	test_wait_readable(pidfd);
	assert_int_equal(waitpid(pid, &status, 0), pid); /* a plain wait sees it: SIGCHLD is sent */
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void the_pidfd_is_close_on_exec_and_names_the_child(void **state)
{
	scoped(fd_closep) int pidfd = -1;
	pid_t pid = process_clone(&pidfd);
	int status;

	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pidfd_send_signal(pidfd, SIGKILL, NULL, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void memory_is_the_childs_own(void **state)
{
	volatile int value = 1;
	int pidfd = -1, status;
	pid_t pid = process_clone(&pidfd);

	if (pid == 0) {
		value = 2;
		_exit(value);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 2);
	assert_int_equal(value, 1);
	fd_close(pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_child_runs_and_its_end_shows_on_the_pidfd),
		cmocka_unit_test(the_pidfd_is_close_on_exec_and_names_the_child),
		cmocka_unit_test(memory_is_the_childs_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
