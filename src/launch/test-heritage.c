#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "launch/heritage.h"

static void is_the_same_as_long_as_nothing_changes(void **state)
{
	char name[STANDBY_NAME_MAX + 1], again[STANDBY_NAME_MAX + 1];
	struct digest one, two;

	assert_int_equal(heritage_read(0, &one), 0);
	assert_int_equal(heritage_read(getpid(), &two), 0);
	assert_memory_equal(&one, &two, sizeof(one));
	assert_int_equal(heritage_name(name), 0);
	assert_int_equal(heritage_name(again), 0);
	assert_string_equal(name, again);
	assert_true(strlen(name) > strlen(STANDBY_SUFFIX));
}

static void lower_limit(void)
{
	struct rlimit now;

	(void)getrlimit(RLIMIT_NOFILE, &now);
	now.rlim_cur = now.rlim_cur / 2;
	(void)setrlimit(RLIMIT_NOFILE, &now);
}

static void be_nice(void)
{
	(void)setpriority(PRIO_PROCESS, 0, 7);
}

static void mask(void)
{
	(void)umask(0123);
}

static void be_idle(void)
{
	struct sched_param none = {0};

	(void)sched_setscheduler(0, SCHED_IDLE, &none);
}

/* What a child finds after CHANGE: its exit status, by what differs from ours. */
enum { SAME = 0, HERITAGE = 1, NAME = 2, FAILED = 4 };
static int differs_after(void (*change)(void))
{
	char name[STANDBY_NAME_MAX + 1], other[STANDBY_NAME_MAX + 1];
	struct digest one, two;
	int status = 0;
	pid_t pid;

	assert_int_equal(heritage_read(0, &one), 0);
	assert_int_equal(heritage_name(name), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		change();
		if (heritage_read(0, &two) < 0 || heritage_name(other) < 0)
			_exit(FAILED);
		_exit((memcmp(&one, &two, sizeof(one)) ? HERITAGE : SAME) |
		      (strcmp(name, other) ? NAME : SAME));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void nothing(void)
{
}

static void no_new_privileges(void)
{
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void other_home(void)
{
	(void)setenv("HOME", "/other", 1);
}

static void other_session(void)
{
	(void)setenv("NACRE_SESSION", "other", 1);
}

static void other_secret(void)
{
	(void)setenv("SECRET", "other", 1);
}

static void tells_what_a_child_would_inherit(void **state)
{
	assert_int_equal(differs_after(nothing), SAME);
	assert_int_equal(differs_after(lower_limit), HERITAGE | NAME);
	assert_int_equal(differs_after(be_nice), HERITAGE | NAME);
	assert_int_equal(differs_after(mask), HERITAGE | NAME);
	assert_int_equal(differs_after(be_idle), HERITAGE | NAME);
}

static void the_name_knows_the_variables_that_matter(void **state)
{
	assert_int_equal(differs_after(other_home), NAME);
	assert_int_equal(differs_after(other_session), SAME);
	assert_int_equal(differs_after(other_secret), SAME);
	assert_true(heritage_has_variable("XDG_CONFIG_HOME=/x"));
	assert_false(heritage_has_variable("NACRE_SESSION=x"));
	assert_false(heritage_has_variable("AWS_SECRET_ACCESS_KEY=x"));
}

static void a_process_without_new_privileges_has_none(void **state)
{
	assert_int_equal(differs_after(no_new_privileges), FAILED);
}

static void a_process_that_is_gone_has_none(void **state)
{
	struct digest d;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(heritage_read(pid, &d) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_same_as_long_as_nothing_changes),
		cmocka_unit_test(tells_what_a_child_would_inherit),
		cmocka_unit_test(the_name_knows_the_variables_that_matter),
		cmocka_unit_test(a_process_without_new_privileges_has_none),
		cmocka_unit_test(a_process_that_is_gone_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
