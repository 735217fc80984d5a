#include "sandbox/family.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "sandbox/test-child.h"

#define SKIPPED 199

static void burn(int64_t ms)
{
	struct timespec t;

	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

/* Two that have ended, one below the other, and one that lives. */
static int use_time(const void *unused)
{
	int ends[2];
	uint64_t us;
	char byte;
	pid_t pid;

	if (pipe(ends) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			burn(100);
			_exit(0);
		}
		while (wait(NULL) > 0)
			;
		burn(100);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		return 2;
	pid = fork();
	if (pid == 0) {
		burn(100);
		(void)!write(ends[1], "x", 1);
		for (;;)
			pause();
	}
	if (read(ends[0], &byte, 1) != 1)
		return 3;
	if (family_cpu_us(getpid(), &us) < 0)
		return 4;
	(void)kill(pid, SIGKILL);
	return us >= 250000 && us < 2000000 ? 0 : 5; /* ticks are coarse */
}

static void time_of_the_dead_and_the_living_is_added_up(void **state)
{
	assert_int_equal(test_in_child(use_time, NULL), 0);
}

/* The kernel gives a page of numbers at a time. Who has ended is listed until somebody waits. */
static int have_many_children(const void *count)
{
	static struct family f;
	int made = 0;

	for (; made < *(const int *)count; made++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return SKIPPED;
	}
	return family_read(getpid(), &f) == 0 && f.count == (size_t)made + 1 ? 0 : 1;
}

static void all_of_many_children_are_seen(void **state)
{
	int count = 1500, outcome = test_in_child(have_many_children, &count);

	if (outcome == SKIPPED) /* a limit on processes around us */
		skip();
	assert_int_equal(outcome, 0);
}

static void who_has_ended_has_no_family(void **state)
{
	struct family f;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(family_read(pid, &f), 0);
	assert_int_equal(f.tasks, 0);
}

static int hide_and_look(const void *options)
{
	struct family f;
	pid_t pid;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, options) < 0)
		return SKIPPED;
	if (test_become_user())
		return 1;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			pause();
	}
	for (int i = 0; i < 1000 && family_read(pid, &f) == 0; i++) /* until it has hidden itself */
		(void)usleep(1000);
	if (family_read(pid, &f) != -EACCES)
		return 2;
	(void)kill(pid, SIGKILL);
	return family_is_visible() ? 3 : 0;
}

static void what_proc_hides_is_told_from_what_has_ended(void **state)
{
	static const char *const options[] = {"hidepid=1", "hidepid=2", "hidepid=4"};

	for (size_t i = 0; i < 3; i++) {
		int r = test_in_child(hide_and_look, options[i]);

		if (r == SKIPPED)
			skip();
		assert_int_equal(r, 0);
	}
}

static int look_as_user(const void *unused)
{
	return test_become_user() ? 1 : family_is_visible() ? 0 : 2;
}

static void an_ordinary_proc_shows_all(void **state)
{
	assert_true(family_is_visible());
	assert_int_equal(test_in_child(look_as_user, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_of_the_dead_and_the_living_is_added_up),
		cmocka_unit_test(all_of_many_children_are_seen),
		cmocka_unit_test(who_has_ended_has_no_family),
		cmocka_unit_test(what_proc_hides_is_told_from_what_has_ended),
		cmocka_unit_test(an_ordinary_proc_shows_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
