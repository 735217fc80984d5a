/*
 * Many who append and sync at once, and what happens to the others when one of them is killed,
 * stopped, or the ground is taken away from under them.
 */
#include "audit/test-log.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include "audit/head.h"

struct caller {
	pid_t pid;
	int told; /* a byte when it is where it should be */
};

/* A process that does this with the log, and says so when it is there. */
static struct caller start(struct world *w, void (*act)(struct world *w, int tell))
{
	struct caller c = {.pid = -1};
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		act(w, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	c.told = fds[0];
	return c;
}

static void await(const struct caller *c)
{
	char byte;

	assert_int_equal(read(c->told, &byte, 1), 1);
}

static void end(struct caller *c, int signal)
{
	int status;

	if (signal)
		assert_int_equal(kill(c->pid, signal), 0);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, signal);
	close(c->told);
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

static int open_directory(const struct world *w)
{
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		_exit(1);
	return fd;
}

/* With the lock of who syncs, for ever. */
static void lead_and_stay(struct world *w, int fd)
{
	if (flock(open_directory(w), LOCK_EX) < 0)
		_exit(1);
	tell(fd);
	for (;;)
		(void)pause();
}

/* With the lock of who writes. */
static void lock_and_stay(struct world *w, int fd)
{
	struct head *h = NULL;

	if (head_open(open_directory(w), &h, NULL) < 0 || head_lock(h, NULL) < 0)
		_exit(1);
	tell(fd);
	for (;;)
		(void)pause();
}

static void append_and_sync(struct world *w, int fd)
{
	const struct audit_settings s = {.max_bytes = 30000};
	const struct audit_event e = {.kind = AUDIT_STARTED, .command = "x"};
	struct audit *a = NULL;
	uint64_t seq;
	int r = audit_open(w->state, &s, &a, NULL);

	tell(fd);
	for (int k = 0; r == 0 && k < 50; k++) {
		r = audit_append(a, &e, 1, &seq, NULL);
		if (r == 0)
			r = audit_sync(a, seq, NULL);
		if (r == 0 && !audit_is_synced(a, seq))
			r = -EIO;
	}
	_exit(r == 0 ? 0 : 1);
}

/* Eight processes at once: none waits for ever, nothing is lost, the chain holds. */
static void many_processes_append_and_sync_at_once(void **state)
{
	struct world *w = *state;
	struct caller callers[8];

	open_log(w, &(struct audit_settings){.max_bytes = 30000});
	append(w, "first");
	for (size_t i = 0; i < array_size(callers); i++)
		callers[i] = start(w, append_and_sync);
	for (size_t i = 0; i < array_size(callers); i++)
		end(&callers[i], 0);
	expect_good(w, 0);
	assert_true(verify(w).records >= 8 * 50);
}

static void what_is_synced_is_known_to_all(void **state)
{
	struct world *w = *state;
	scoped(audit_freep) struct audit *other = NULL;
	uint64_t first, second;

	open_log(w, NULL);
	first = append(w, "one");
	assert_int_equal(audit_sync(w->audit, first, NULL), 0);
	second = append(w, "two");
	assert_int_equal(audit_open(w->state, NULL, &other, NULL), 0);
	assert_true(audit_is_synced(other, first));
	assert_false(audit_is_synced(other, second));
	assert_int_equal(audit_sync(other, second, NULL), 0);
	assert_true(audit_is_synced(w->audit, second));
}

/* A process that is stopped keeps its lock: nobody's command waits for it. */
static void a_stopped_leader_stops_nobody(void **state)
{
	struct world *w = *state;
	struct caller leader;
	uint64_t seq;

	open_log(w, NULL);
	seq = append(w, "one");
	leader = start(w, lead_and_stay);
	await(&leader);
	assert_int_equal(audit_sync(w->audit, seq, NULL), 0);
	end(&leader, SIGKILL);
}

static void a_leader_that_was_killed_in_its_turn_is_replaced(void **state)
{
	struct world *w = *state;
	scoped(fd_closep) int fd = -1;
	const uint32_t odd = 1;
	char path[192];
	uint64_t seq;

	open_log(w, NULL);
	seq = append(w, "one");
	path_of(w, "head", path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* As it leaves the words behind; the lock is the kernel's to give back. */
	assert_int_equal(pwrite(fd, &odd, sizeof(odd), HEAD_SYNC_AT + 8), sizeof(odd));
	assert_int_equal(audit_sync(w->audit, seq, NULL), 0);
	assert_true(audit_is_synced(w->audit, seq));
}

/* Who sleeps for the lock is not woken by a holder that was killed, and gets it all the same. */
static void a_killed_holder_of_the_lock_is_noticed(void **state)
{
	struct world *w = *state;
	struct caller holder, writer;

	open_log(w, &(struct audit_settings){.max_bytes = 30000});
	append(w, "one");
	holder = start(w, lock_and_stay);
	await(&holder);
	writer = start(w, append_and_sync);
	await(&writer);
	end(&holder, SIGKILL);
	end(&writer, 0);
	expect_good(w, 0);
}

/* The words that processes sleep on lie in a file that somebody may cut short: an error or a
 * recovery, never a SIGBUS. */
static void a_head_that_is_cut_short_kills_nobody(void **state)
{
	struct world *w = *state;
	struct caller callers[4];
	char path[192];

	open_log(w, &(struct audit_settings){.max_bytes = 30000});
	append(w, "one");
	path_of(w, "head", path);
	for (size_t i = 0; i < array_size(callers); i++)
		callers[i] = start(w, append_and_sync);
	for (size_t i = 0; i < array_size(callers); i++)
		await(&callers[i]);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(truncate(path, i % 2 ? 0 : 600), 0);
		(void)usleep(1000); /* the moment itself is what is tried */
	}
	for (size_t i = 0; i < array_size(callers); i++) {
		int status;

		assert_int_equal(waitpid(callers[i].pid, &status, 0), callers[i].pid);
		assert_true(WIFEXITED(status));
		close(callers[i].told);
	}
	append(w, "two");
	assert_int_equal(audit_sync(w->audit, append(w, "three"), NULL), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make, unmake)
	const struct CMUnitTest tests[] = {
		T(many_processes_append_and_sync_at_once),
		T(what_is_synced_is_known_to_all),
		T(a_stopped_leader_stops_nobody),
		T(a_leader_that_was_killed_in_its_turn_is_replaced),
		T(a_killed_holder_of_the_lock_is_noticed),
		T(a_head_that_is_cut_short_kills_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
