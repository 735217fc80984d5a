#include "base/test-support.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/clock.h"
/* A ring of parents cannot be made from outside. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "process/tree.c"

/* Processes that write one byte each when they are there and hold the pipe open while they live. */
/* How many one call has killed. */
static int kill_tree(pid_t root)
{
	scoped(tree_toll_done) struct tree_toll toll = {0};

	tree_kill_on(root, &toll);
	return toll.killed;
}

struct family {
	int read, write;
};

static struct family family_begin(void)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	return (struct family){.read = ends[0], .write = ends[1]};
}

static _Noreturn void live(struct family *f)
{
	alarm(2 * TEST_PATIENCE_MS / 1000); /* a failed test leaves nobody for long */
	if (write(f->write, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Each has the next one as its child. */
static _Noreturn void live_as_chain(struct family *f, int length)
{
	while (length > 1 && fork() == 0)
		length--;
	live(f);
}

static void family_wait(struct family *f, int members)
{
	char c;

	for (int i = 0; i < members; i++) {
		test_wait_readable(f->read);
		assert_int_equal(read(f->read, &c, 1), 1);
	}
}

/* No more may join; all must be gone, and are reaped. */
static void family_end(struct family *f)
{
	char c;

	close(f->write);
	test_wait_readable(f->read);
	assert_int_equal(read(f->read, &c, 1), 0);
	close(f->read);
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

static void every_descendant_is_counted_and_killed_exactly_once(void **state)
{
	struct family f = family_begin();

	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			live_as_chain(&f, i + 1);
	family_wait(&f, 10);
	assert_int_equal(tree_count(getpid()), 10);
	assert_int_equal(kill_tree(getpid()), 10);
	family_end(&f);
	assert_int_equal(tree_count(getpid()), 0);
	assert_int_equal(kill_tree(getpid()), 0);
}

static void a_daemon_in_a_session_of_its_own_is_found(void **state)
{
	struct family f = family_begin();
	pid_t child = fork();

	if (child == 0) {
		setsid();
		if (fork() == 0) {
			setsid();
			live(&f);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	family_wait(&f, 1);
	assert_int_equal(kill_tree(getpid()), 1);
	family_end(&f);
}

static void the_root_and_its_other_relatives_are_left_alone(void **state)
{
	struct family f = family_begin();
	pid_t root = fork(), sibling;
	int status;

	if (root == 0)
		live_as_chain(&f, 4);
	sibling = fork();
	if (sibling == 0)
		live(&f);
	family_wait(&f, 5);
	assert_int_equal(kill_tree(root), 3);
	assert_int_equal(waitpid(root, &status, WNOHANG), 0);
	assert_int_equal(waitpid(sibling, &status, WNOHANG), 0);
	/* The killed need a moment to be dead, and who has lost its parent by then is below us, not
	 * below the root; the alarm bounds it. */
	while (tree_count(getpid()) > 2)
		poll(NULL, 0, 1);
	assert_int_equal(kill_tree(getpid()), 2);
	family_end(&f);
}

static void the_dead_are_not_counted(void **state)
{
	pid_t child = fork();
	siginfo_t info;

	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(tree_count(getpid()), 0);
	assert_int_equal(tree_signal(getpid(), SIGTERM), 0);
	assert_int_equal(kill_tree(getpid()), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_name_that_looks_like_fields_hides_nobody(void **state)
{
	struct family f = family_begin();

	if (fork() == 0) {
		prctl(PR_SET_NAME, ") Z 1 1\n(", 0, 0, 0);
		live(&f);
	}
	family_wait(&f, 1);
	assert_int_equal(kill_tree(getpid()), 1);
	family_end(&f);
}

static void a_stopped_process_gets_its_signal_too(void **state)
{
	struct family f = family_begin();
	pid_t child = fork();
	int status;

	if (child == 0)
		live(&f);
	family_wait(&f, 1);
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(tree_signal(getpid(), SIGTERM), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	family_end(&f);
}

/* Says that it is there, and then one byte for each SIGUSR1. */
static _Noreturn void answer_signals(struct family *f)
{
	sigset_t set;
	int signal;

	alarm(2 * TEST_PATIENCE_MS / 1000);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (write(f->write, "x", 1) == 1)
		sigwait(&set, &signal);
	_exit(1);
}

static void a_signal_is_sent_once_to_each(void **state)
{
	struct family f = family_begin();
	char bytes[8];

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			answer_signals(&f);
	family_wait(&f, 3);
	assert_int_equal(tree_signal(getpid(), SIGUSR1), 3);
	family_wait(&f, 3);
	assert_int_equal(kill_tree(getpid()), 3);
	close(f.write);
	f.write = -1;
	test_wait_readable(f.read);
	assert_int_equal(read(f.read, bytes, sizeof(bytes)), 0); /* no fourth answer */
	family_end(&f);
}

/* A process that leaves a child in its place at once is never long under one number. */
static void a_process_that_keeps_changing_its_number_is_caught(void **state)
{
	struct family f = family_begin();
	int64_t deadline = clock_now_ms() + TEST_PATIENCE_MS;
	int killed = 0;
	pid_t pid;

	if (fork() == 0) {
		if (write(f.write, "x", 1) != 1)
			_exit(1);
		while (clock_now_ms() < deadline)
			if (fork() > 0)
				_exit(0);
		_exit(0);
	}
	family_wait(&f, 1);
	do {
		int n = kill_tree(getpid());

		assert_true(n >= 0);
		killed += n;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		assert_true(clock_now_ms() < deadline);
	} while (pid == 0);
	assert_true(killed >= 1);
	family_end(&f);
}

static void a_root_that_does_not_exist_has_nobody(void **state)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(tree_count(child), 0);
	assert_int_equal(tree_signal(child, SIGTERM), 0);
	assert_int_equal(kill_tree(child), 0);
}

static void a_ring_of_parents_ends_and_is_outside(void **state)
{
	struct entry entries[] = {{.pid = 10, .parent = 12}, {.pid = 11, .parent = 10},
	                          {.pid = 12, .parent = 11}, {.pid = 13, .parent = 12},
	                          {.pid = 20, .parent = 20}, {.pid = 30, .parent = 50},
	                          {.pid = 31, .parent = 30}, {.pid = 50, .parent = 1}};
	struct census c = {.entries = entries, .count = array_size(entries)};

	census_mark(&c, 50);
	for (size_t i = 0; i < c.count; i++)
		assert_int_equal(entries[i].inside, entries[i].pid == 30 || entries[i].pid == 31);
}

static void knows_who_is_below_and_who_is_not(void **state)
{
	struct family f = family_begin();
	pid_t first = fork(), other;

	if (first == 0)
		live_as_chain(&f, 3);
	other = fork();
	if (other == 0)
		live(&f);
	family_wait(&f, 4);
	assert_true(tree_has(getpid(), first));
	assert_true(tree_has(getpid(), other));
	assert_true(tree_has(first, first) == false);
	assert_false(tree_has(first, other));
	assert_false(tree_has(first, getpid()));
	assert_false(tree_has(getpid(), getpid()));
	assert_false(tree_has(getpid(), getppid()));
	assert_false(tree_has(getpid(), 1));
	assert_false(tree_has(getpid(), 0));
	assert_false(tree_has(getpid(), -first));
	assert_true(kill_tree(getpid()) >= 4);
	family_end(&f);
	assert_false(tree_has(getpid(), first));
}

static void signals_one_group_of_the_tree(void **state)
{
	struct family f = family_begin();
	pid_t pids[4];
	int status;

	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			if (setpgid(0, i < 2 ? 0 : pids[1]) < 0)
				_exit(1);
			live(&f);
		}
		family_wait(&f, 1);
	}
	assert_int_equal(tree_signal_group(getpid(), 0, 0, 0), 4);
	assert_int_equal(tree_signal_group(getpid(), pids[1], pids[3], SIGTERM), 2);
	assert_int_equal(waitpid(pids[1], &status, 0), pids[1]);
	assert_int_equal(waitpid(pids[2], &status, 0), pids[2]);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(tree_signal_group(getpid(), 1, 0, SIGTERM), 0);
	assert_int_equal(tree_signal_group(getpid(), 0, 0, SIGKILL), 2);
	family_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_who_is_below_and_who_is_not),
		cmocka_unit_test(signals_one_group_of_the_tree),
		cmocka_unit_test(every_descendant_is_counted_and_killed_exactly_once),
		cmocka_unit_test(a_daemon_in_a_session_of_its_own_is_found),
		cmocka_unit_test(the_root_and_its_other_relatives_are_left_alone),
		cmocka_unit_test(the_dead_are_not_counted),
		cmocka_unit_test(a_name_that_looks_like_fields_hides_nobody),
		cmocka_unit_test(a_stopped_process_gets_its_signal_too),
		cmocka_unit_test(a_signal_is_sent_once_to_each),
		cmocka_unit_test(a_process_that_keeps_changing_its_number_is_caught),
		cmocka_unit_test(a_root_that_does_not_exist_has_nobody),
		cmocka_unit_test(a_ring_of_parents_ends_and_is_outside),
	};

	alarm(2 * TEST_PATIENCE_MS / 1000);
	/* What the tests fork must stay below this process. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
