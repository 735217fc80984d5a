#include "sandbox/memory.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "sandbox/test-child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "sandbox/unseen.h"

#define MIB (1ULL << 20)

struct user {
	pid_t pid;
	int ready[2];
};

/* A child that dies with its parent, also if that is dead before this is asked for: one that stayed
 * would hold the output of the test open for ever. */
static pid_t fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* Calls ACT in a child and returns when it says that it is ready; the child then waits. */
static struct user begin(void (*act)(void))
{
	struct user u;
	char byte;

	assert_int_equal(pipe(u.ready), 0);
	u.pid = fork_bound();
	assert_true(u.pid >= 0);
	if (u.pid == 0) {
		(void)alarm(TEST_PATIENCE_MS / 1000);
		act();
		(void)!write(u.ready[1], "x", 1);
		for (;;)
			pause();
	}
	test_wait_readable(u.ready[0]);
	assert_int_equal(read(u.ready[0], &byte, 1), 1);
	return u;
}

/* All who hold the pipe are gone then, and their memory with them: what the next one takes would
 * otherwise look like what this one gives back. */
static void end(struct user *u)
{
	char byte;

	kill(u->pid, SIGKILL);
	waitpid(u->pid, NULL, 0);
	close(u->ready[1]);
	do
		test_wait_readable(u->ready[0]);
	while (read(u->ready[0], &byte, 1) == 1);
	close(u->ready[0]);
}

static void use(int flags, size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	memset(p, 1, bytes);
}

static void use_nothing(void)
{
}

static void use_private(void)
{
	use(MAP_PRIVATE, 64 * MIB);
}

static void use_shared(void)
{
	use(MAP_SHARED, 64 * MIB);
}

/* Children that do nothing with what they share with their parent. */
static void fork_idle(int count)
{
	for (int i = 0; i < count; i++)
		if (fork_bound() == 0)
			for (;;)
				pause();
}

static void use_private_in_five(void)
{
	use_private();
	fork_idle(4);
}

static void use_in_a_grandchild(void)
{
	int done[2];
	char byte;

	if (pipe(done) < 0 || fork_bound() != 0) {
		(void)!read(done[0], &byte, 1);
		return;
	}
	if (fork_bound() == 0) {
		use_private();
		(void)!write(done[1], "x", 1);
	}
	for (;;)
		pause();
}

static uint64_t measure(void (*act)(void))
{
	struct user u = begin(act);
	struct memory_use use = {0};
	int r = memory_of_tree(u.pid, 0, &use);

	end(&u);
	assert_int_equal(r, 0);
	return use.bytes;
}

static void private_and_shared_memory_is_seen(void **state)
{
	uint64_t base = measure(use_nothing);

	assert_true(base < 32 * MIB);
	assert_in_range(measure(use_private) - base, 60 * MIB, 72 * MIB);
	assert_in_range(measure(use_shared) - base, 60 * MIB, 72 * MIB);
}

static void what_processes_share_is_counted_once(void **state)
{
	uint64_t base = measure(use_nothing);

	assert_in_range(measure(use_private_in_five) - base, 60 * MIB, 90 * MIB);
}

static void descendants_are_found(void **state)
{
	uint64_t base = measure(use_nothing);

	assert_in_range(measure(use_in_a_grandchild) - base, 60 * MIB, 80 * MIB);
}

static void a_cheap_answer_is_enough_below_the_limit(void **state)
{
	struct user u = begin(use_private_in_five);
	struct memory_use cheap, exact;

	assert_int_equal(memory_of_tree(u.pid, UINT64_MAX, &cheap), 0);
	assert_int_equal(memory_of_tree(u.pid, 64 * MIB, &exact), 0);
	end(&u);
	assert_true(cheap.bytes > exact.bytes); /* five times the same pages */
	assert_int_equal(cheap.tasks, 5);
}

static void a_tree_that_is_gone_uses_nothing(void **state)
{
	struct user u = begin(use_nothing);
	struct memory_use use;

	end(&u);
	assert_int_equal(memory_of_tree(u.pid, 0, &use), 0);
	assert_int_equal(use.bytes + use.tasks, 0);
}

/* A child that uses memory, in whatever way. */
static void keep_one_that(void (*hide)(void))
{
	int done[2];
	char byte;

	if (pipe(done) < 0)
		_exit(1);
	if (fork_bound() == 0) {
		hide();
		(void)!write(done[1], "x", 1);
		for (;;)
			pause();
	}
	(void)!read(done[0], &byte, 1);
}

/* A small child, and one that uses much. */
static void keep_a_glutton(void)
{
	fork_idle(1);
	keep_one_that(use_private);
}

static void the_one_that_uses_most_is_killed(void **state)
{
	struct user u = begin(keep_a_glutton);
	struct memory_use before, after;
	int64_t deadline = clock_now_ms() + TEST_PATIENCE_MS;

	assert_int_equal(memory_relieve(u.pid, 512 * MIB, NULL, &before), 0);
	assert_int_equal(memory_relieve(u.pid, 48 * MIB, NULL, &before), 1);
	assert_true(before.bytes > 48 * MIB);
	do
		assert_int_equal(memory_of_tree(u.pid, 0, &after), 0);
	while (after.bytes > 32 * MIB && clock_now_ms() < deadline);
	assert_true(after.bytes < 32 * MIB);
	assert_int_equal(memory_relieve(u.pid, 48 * MIB, NULL, &after), 0);
	assert_int_equal(waitpid(u.pid, NULL, WNOHANG), 0); /* the root is spared */
	end(&u);
}

/* Pages of a shared mapping that are in nobody's page tables. */
static void hide_shared(void)
{
	char *p = mmap(NULL, 256 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	for (size_t at = 0; at < 256 * MIB; at += 4 * MIB) {
		memset(p + at, 1, 4 * MIB);
		(void)madvise(p + at, 4 * MIB, MADV_DONTNEED);
	}
	(void)munmap(p + 4096, 256 * MIB - 4096); /* one page holds them all */
}

/* Reads of a place that nobody wrote to: a page table for each, and no page. */
static void hide_tables(void)
{
	char *p = mmap(NULL, (size_t)64 << 30, PROT_READ,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	(void)madvise(p, (size_t)64 << 30, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < (size_t)64 << 30; at += 2 * MIB)
		(void)*(volatile char *)(p + at);
}

static void hide_in_sockets(void)
{
	static char block[65536];
	int pair[2];

	for (int i = 0; i < 450; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
			return;
		for (int end = 0; end < 2; end++)
			while (write(pair[end], block, sizeof(block)) > 0)
				;
	}
}

/* These go with the process, as messages of System V would not. */
static void hide_in_locks(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	for (int i = 0; i < 900; i++) {
		int fd = memfd_create("locks", MFD_CLOEXEC);

		/* Each before all others, and apart. */
		for (int at = 1500; fd >= 0 && at > 0; at--) {
			lock.l_start = (off_t)at * 2;
			(void)fcntl(fd, F_OFD_SETLK, &lock);
		}
	}
}

static void keep_shared(void)
{
	keep_one_that(hide_shared);
}

static void keep_tables(void)
{
	keep_one_that(hide_tables);
}

static void keep_sockets(void)
{
	keep_one_that(hide_in_sockets);
}

static void keep_locks(void)
{
	keep_one_that(hide_in_locks);
}

/* Whether a tree that hides memory is relieved of it. */
static bool is_seen(void (*act)(void), struct user *ret_user)
{
	struct unseen start;
	struct memory_use use;

	unseen_read(&start);
	*ret_user = begin(act);
	/* The control: it is in no process. */
	assert_int_equal(memory_relieve(ret_user->pid, 64 * MIB, NULL, &use), 0);
	return memory_relieve(ret_user->pid, 64 * MIB, &start, &use) == 1;
}

/* What is in no process is found by what the machine lost, in those who can have it. Others may
 * give back as much in the same moment, and what was freed lately, up to an eighth of the memory,
 * new kernels keep beside their counts for whoever comes next: so those who were not seen stay
 * until one is. */
static void memory_in_no_process_is_seen(void **state)
{
	static void (*const acts[])(void) = {keep_shared, keep_tables, keep_sockets, keep_locks};
	struct user users[24];

	for (size_t i = 0; i < array_size(acts); i++) {
		size_t count = 0;
		bool seen = false;

		while (!seen && count < array_size(users))
			seen = is_seen(acts[i], &users[count++]);
		while (count-- > 0)
			end(&users[count]);
		assert_true(seen);
	}
}

static void what_others_use_is_not_taken_for_the_trees(void **state)
{
	struct unseen start;
	struct memory_use use;
	struct user stranger, u;

	unseen_read(&start);
	stranger = begin(hide_shared);
	u = begin(keep_a_glutton);
	assert_int_equal(memory_relieve(u.pid, 128 * MIB, &start, &use), 0);
	end(&u);
	end(&stranger);
}

static void keep_an_idle_one_and_hide(void)
{
	fork_idle(1);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as the init of a box does */
}

static int watch_as_user(const void *what)
{
	struct unseen start;
	struct memory_use use;
	struct user stranger, u;
	int r = test_become_user();

	if (r != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return 100;
	unseen_read(&start);
	stranger = begin(hide_shared);
	u = begin(keep_an_idle_one_and_hide);
	r = memory_relieve(u.pid, 128 * MIB, &start, &use);
	end(&u);
	end(&stranger);
	return r;
}

/* Into an init an ordinary user cannot look: that is no sign that it holds what others use. */
static void a_root_that_hides_holds_nothing(void **state)
{
	assert_int_equal(test_in_child(watch_as_user, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_and_shared_memory_is_seen),
		cmocka_unit_test(what_processes_share_is_counted_once),
		cmocka_unit_test(descendants_are_found),
		cmocka_unit_test(a_cheap_answer_is_enough_below_the_limit),
		cmocka_unit_test(a_tree_that_is_gone_uses_nothing),
		cmocka_unit_test(the_one_that_uses_most_is_killed),
		cmocka_unit_test(memory_in_no_process_is_seen),
		cmocka_unit_test(what_others_use_is_not_taken_for_the_trees),
		cmocka_unit_test(a_root_that_hides_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
