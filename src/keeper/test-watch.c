#include "keeper/watch.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/test-support.h"
#include "sandbox/memory.h"
#include "sandbox/spec.h"

#define MIB (1ULL << 20)

struct root {
	pid_t pid;
	int fd;
};

/* A root with COUNT children, each of which uses 32 MiB; told when all are there. */
static struct root begin(int count)
{
	int ready[2];
	char byte;
	pid_t root;

	assert_int_equal(pipe(ready), 0);
	root = fork();
	assert_true(root >= 0);
	for (int i = 0; root == 0 && i < count; i++)
		if (fork() == 0) {
			char *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE,
			               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			memset(p, 1, 32 * MIB);
			(void)!write(ready[1], "x", 1);
			for (;;)
				pause();
		}
	if (root == 0)
		for (;;)
			pause();
	for (int i = 0; i < count; i++) {
		test_wait_readable(ready[0]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
	}
	close(ready[0]);
	close(ready[1]);
	return (struct root){root, pidfd_open(root, 0)};
}

static void end(struct root *root)
{
	kill(root->pid, SIGKILL);
	waitpid(root->pid, NULL, 0);
	close(root->fd);
}

static void too_much_memory_ends_as_many_as_it_takes(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 80 * MIB};
	struct memory_use use = {.bytes = UINT64_MAX};
	struct root root = begin(4);
	struct watch w;

	watch_init(&w, &limits, false, true, -1);
	assert_int_equal(watch_wait_ms(&w, 0), WATCH_LOOK_MS);
	watch_look(&w, root.fd, 1000);
	assert_int_equal(w.memory_kills, 2);               /* of four with 32 MiB each */
	watch_look(&w, root.fd, 1000 + WATCH_LOOK_MS - 1); /* not yet time */
	assert_int_equal(w.memory_kills, 2);
	for (int patience = 0; patience < 100000 && use.bytes > 80 * MIB; patience++)
		assert_int_equal(memory_of_tree(root.pid, 0, &use), 0);
	watch_look(&w, root.fd, 1000 + WATCH_LOOK_MS); /* what is left is within the limit */
	end(&root);
	assert_int_equal(w.memory_kills, 2);
	assert_false(w.crowded);
}

static void a_tree_within_its_limits_is_left_alone(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 512 * MIB, .processes = 8};
	struct root root = begin(4);
	struct watch w;

	watch_init(&w, &limits, false, false, -1);
	watch_look(&w, root.fd, 1000);
	end(&root);
	assert_int_equal(w.memory_kills, 0);
	assert_false(w.crowded);
}

static void what_grows_fast_is_looked_at_sooner(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 200 * MIB};
	struct root root = begin(4);
	struct watch w;

	watch_init(&w, &limits, false, true, -1);
	w.next_look = w.last_look = 1000 - WATCH_LOOK_MS; /* when there was nothing */
	watch_look(&w, root.fd, 1000);                    /* 128 MiB since then */
	assert_int_equal(watch_wait_ms(&w, 1000), WATCH_HURRY_MS);
	assert_int_equal(w.next_look, 1000 + WATCH_HURRY_MS);
	watch_look(&w, root.fd, 1000 + WATCH_HURRY_MS); /* none since then */
	end(&root);
	assert_int_equal(watch_wait_ms(&w, 1000 + WATCH_HURRY_MS), WATCH_LOOK_MS);
	assert_int_equal(w.memory_kills, 0);
}

static void a_full_house_is_noticed(void **state)
{
	struct sandbox_limits limits = {.processes = 4};
	struct root root = begin(4);
	struct watch w;

	watch_init(&w, &limits, true, false, -1);
	watch_look(&w, root.fd, 1000);
	end(&root);
	assert_true(w.crowded);
	assert_false(w.too_many);
	assert_int_equal(w.memory_kills, 0);
}

static void one_more_than_allowed_is_too_many(void **state)
{
	struct sandbox_limits limits = {.processes = 3};
	struct root root = begin(4);
	struct watch w;

	watch_init(&w, &limits, true, false, -1);
	watch_look(&w, root.fd, 1000);
	end(&root);
	assert_true(w.too_many);
}

static void a_root_that_is_gone_is_nobody(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 1, .processes = 1};
	struct root root = begin(1);
	struct watch w;

	kill(root.pid, SIGKILL);
	waitpid(root.pid, NULL, 0);
	watch_init(&w, &limits, false, false, -1);
	watch_look(&w, root.fd, 1000);
	close(root.fd);
	assert_int_equal(w.memory_kills, 0);
	assert_false(w.crowded);
}

static void what_a_group_holds_is_not_watched(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = MIB, .processes = 1}, none = {0};
	struct watch w;

	watch_init(&w, &limits, true, true, -1);
	assert_int_equal(watch_wait_ms(&w, 0), INT64_MAX);
	watch_init(&w, &none, false, false, -1);
	assert_int_equal(watch_wait_ms(&w, 0), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_much_memory_ends_as_many_as_it_takes),
		cmocka_unit_test(a_tree_within_its_limits_is_left_alone),
		cmocka_unit_test(what_grows_fast_is_looked_at_sooner),
		cmocka_unit_test(a_full_house_is_noticed),
		cmocka_unit_test(one_more_than_allowed_is_too_many),
		cmocka_unit_test(a_root_that_is_gone_is_nobody),
		cmocka_unit_test(what_a_group_holds_is_not_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
