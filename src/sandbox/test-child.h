#pragma once
/*
 * Real children for the tests of walls: the forbidden is tried behind the wall and its outcome
 * comes back as an exit code.
 */
#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/test-support.h"

#define TEST_KILLED 200 /* plus the signal, kept apart from error numbers */

/* What TRY returns in a child: 0, or an errno; TEST_KILLED and up if a signal ended it. */
static inline int test_in_child(int (*try)(const void *), const void *what)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(TEST_PATIENCE_MS / 1000);
		_exit(try(what));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? TEST_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The errno of a call that failed, 0 of one that did not. */
static inline int test_outcome(long result)
{
	return result < 0 ? errno : 0;
}

/* An ordinary user for good, without any group. */
static inline int test_become_user(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
	    setresuid(65534, 65534, 65534) < 0)
		return errno;
	return 0;
}
