/*
 * Finding a place is tried on directories of our own making; the limits in real groups, where this
 * machine lets us have some.
 */
#include "sandbox/cgroup.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/fd.h"
#include "sandbox/spec.h"
#include "sandbox/test-child.h"

#define MIB (1ULL << 20)

static void put_file(const char *root, const char *path, const char *text)
{
	char full[256];
	scoped(fd_closep) int fd = -1;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(full, 0755);
	}
	fd = open(full, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void expect_path(const struct cgroup_place *p, enum cgroup_controller c, const char *root,
                        const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_string_equal(p->path[c], full);
}

static void version_1_is_found_by_the_path_of_each_controller(void **state)
{
	struct cgroup_place p;
	char root[64];

	test_directory_make(root);
	put_file(root, "memory/a/b/tasks", "");
	put_file(root, "pids/tasks", "");
	cgroup_find_at(root, "9:name=systemd:/x\n8:pids:/\n4:cpu,memory:/a/b\n0::/\n", &p);
	assert_int_equal(p.kind, CGROUP_V1);
	expect_path(&p, CGROUP_MEMORY, root, "/memory/a/b");
	expect_path(&p, CGROUP_PIDS, root, "/pids");
	cgroup_find_at(root, "4:memoryless:/a/b\n", &p);
	assert_int_equal(p.kind, CGROUP_NONE);
	test_directory_remove(root);
}

static void version_2_is_the_nearest_group_that_may_be_divided(void **state)
{
	struct cgroup_place p;
	char root[64];

	test_directory_make(root);
	put_file(root, "cgroup.controllers", "cpu memory pids\n");
	put_file(root, "user/cgroup.procs", "");
	put_file(root, "user/cgroup.subtree_control", "cpu memory pids\n");
	put_file(root, "user/session/cgroup.procs", "");
	put_file(root, "user/session/cgroup.subtree_control", "cpu\n");
	cgroup_find_at(root, "0::/user/session\n", &p);
	assert_int_equal(p.kind, CGROUP_V2);
	expect_path(&p, CGROUP_MEMORY, root, "/user");
	expect_path(&p, CGROUP_PIDS, root, "/user");
	cgroup_find_at(root, "0::/elsewhere/deep\n", &p);
	assert_int_equal(p.kind, CGROUP_NONE);
	test_directory_remove(root);
}

/* A unit in a slice whose children have limits; the limit of the unit is FILE's. */
static void find_in_unit(const char *root, const char *file, const char *text,
                         struct cgroup_place *ret_place)
{
	char path[128];

	put_file(root, "cgroup.controllers", "cpu memory pids\n");
	put_file(root, "slice/cgroup.procs", "");
	put_file(root, "slice/cgroup.subtree_control", "cpu memory pids\n");
	put_file(root, "slice/unit/cgroup.procs", "1\n");
	put_file(root, "slice/unit/cgroup.controllers", "cpu memory pids\n");
	snprintf(path, sizeof(path), "%s/slice/unit/cgroup.subtree_control", root);
	(void)chmod(path, 0644);
	put_file(root, "slice/unit/cgroup.subtree_control", "");
	/* The kernel would refuse the order, since a process lives there. */
	assert_int_equal(chmod(path, 0444), 0);
	for (int i = 0; i < 4; i++) {
		static const char *const files[] = {"memory.max", "memory.high", "cpu.max",
		                                    "pids.max"};
		static const char *const none[] = {"max\n", "max\n", "max 100000\n", "max\n"};

		snprintf(path, sizeof(path), "slice/unit/%s", files[i]);
		put_file(root, path, strcmp(file, files[i]) == 0 ? text : none[i]);
	}
	cgroup_find_at(root, "0::/slice/unit\n", ret_place);
}

static void a_box_does_not_leave_a_unit_that_has_limits(void **state)
{
	static const char *const limits[][2] = {{"memory.max", "67108864\n"},
	                                        {"memory.high", "0\n"},
	                                        {"cpu.max", "50000 100000\n"}};
	struct cgroup_place p;
	char root[64];

	test_directory_make(root);
	find_in_unit(root, "", "", &p);
	assert_int_equal(p.kind, CGROUP_V2);
	expect_path(&p, CGROUP_MEMORY, root, "/slice");
	assert_false(p.bounded);
	assert_int_equal(p.processes, 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		find_in_unit(root, limits[i][0], limits[i][1], &p);
		assert_int_equal(p.kind, CGROUP_NONE);
		assert_true(p.bounded);
	}
	test_directory_remove(root);
}

static void the_limit_of_processes_goes_with_the_box(void **state)
{
	struct cgroup_place p;
	char root[64];

	test_directory_make(root);
	find_in_unit(root, "pids.max", "16\n", &p);
	assert_int_equal(p.kind, CGROUP_V2);
	assert_int_equal(p.processes, 16);
	test_directory_remove(root);
}

static void nonsense_is_no_place(void **state)
{
	static const char *const texts[] = {
		"",      "\n\n",      ":::",   "0:",       "0::",   "0::/../../x\n",
		"0::/x", "4:memory:", "abc\n", "4:memory", "::\n::"};
	struct cgroup_place p;
	char root[64], *longest;

	test_directory_make(root);
	for (size_t i = 0; i < array_size(texts); i++) {
		cgroup_find_at(root, texts[i], &p);
		assert_int_equal(p.kind, CGROUP_NONE);
	}
	assert_true(asprintf(&longest, "0::/%01000d\n", 0) > 0);
	cgroup_find_at(root, longest, &p);
	assert_int_equal(p.kind, CGROUP_NONE);
	free(longest);
	test_directory_remove(root);
}

/* Real groups. */

static bool have(enum cgroup_controller c, struct cgroup_place *place)
{
	const char *must = getenv("NACRE_TEST_MUST");

	cgroup_find(place);
	if (*place->path[c])
		return true;
	assert_false(must && strstr(must, "cgroup"));
	return false;
}

/* Of one owner: other programs may have theirs beside it. */
static int count_groups(const struct cgroup_place *place, enum cgroup_controller c, pid_t owner)
{
	DIR *list = opendir(place->path[c]);
	struct dirent *d;
	char mine[32];
	int count = 0;

	assert_non_null(list);
	snprintf(mine, sizeof(mine), "-%d-", (int)owner);
	while ((d = readdir(list)))
		count += strncmp(d->d_name, "nacre-", 6) == 0 && strstr(d->d_name, mine);
	closedir(list);
	return count;
}

static int enter(const struct cgroup *g)
{
	const int *fds;
	size_t n = cgroup_join_fds(g, &fds);

	return n ? cgroup_join(fds, n) : cgroup_enter(g, getpid(), NULL);
}

static int use_64_mib(const void *what)
{
	char *p;

	if (enter(what) < 0)
		return 250;
	p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 251;
	memset(p, 1, 64 * MIB);
	return 0;
}

static int use_64_mib_as_user(const void *what)
{
	return test_become_user() ? 249 : use_64_mib(what);
}

static void the_memory_limit_strikes_and_is_counted(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 32 * MIB};
	scoped(cgroup_freep) struct cgroup *g = NULL;
	struct cgroup_events events;
	struct cgroup_place place;

	if (!have(CGROUP_MEMORY, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	assert_true(cgroup_limits(g, CGROUP_MEMORY));
	assert_false(cgroup_limits(g, CGROUP_PIDS));
	assert_int_equal(test_in_child(use_64_mib, g), TEST_KILLED + SIGKILL);
	cgroup_read_events(g, &events);
	assert_int_equal(events.oom_kills, 1);
	/* The descriptor carries the right to enter, not the process. */
	assert_int_equal(test_in_child(use_64_mib_as_user, g), TEST_KILLED + SIGKILL);
}

static void a_wide_limit_lets_it_be(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 256 * MIB};
	scoped(cgroup_freep) struct cgroup *g = NULL;
	struct cgroup_events events;
	struct cgroup_place place;

	if (!have(CGROUP_MEMORY, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	assert_int_equal(test_in_child(use_64_mib, g), 0);
	cgroup_read_events(g, &events);
	assert_int_equal(events.oom_kills, 0);
}

/* How many children this one could make, all alive at once. */
static int fork_until_refused(const void *what)
{
	int count = 0;
	pid_t pids[32];

	if (enter(what) < 0)
		return 250;
	while (count < 32 && (pids[count] = fork()) > 0)
		count++;
	if (count < 32 && pids[count] == 0)
		for (;;)
			pause();
	for (int i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return count;
}

static void the_process_limit_strikes_and_is_counted(void **state)
{
	struct sandbox_limits limits = {.processes = 8};
	scoped(cgroup_freep) struct cgroup *g = NULL;
	struct cgroup_events events;
	struct cgroup_place place;

	if (!have(CGROUP_PIDS, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	assert_int_equal(test_in_child(fork_until_refused, g), 8); /* itself stands for init */
	cgroup_read_events(g, &events);
	assert_int_equal(events.forks_denied, 1);
}

static void a_group_is_gone_with_all_in_it(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 64 * MIB, .processes = 8};
	struct cgroup *g = NULL;
	struct cgroup_place place;
	int ready[2], status;
	char byte;
	pid_t pid;

	if (!have(CGROUP_MEMORY, &place))
		skip();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	pid = fork();
	if (pid == 0) {
		byte = enter(g) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		for (;;)
			pause();
	}
	test_wait_readable(ready[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(count_groups(&place, CGROUP_MEMORY, getpid()), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_null(cgroup_free(g));
	assert_int_equal(count_groups(&place, CGROUP_MEMORY, getpid()), 0);
	close(ready[0]);
	close(ready[1]);
}

/* Makes a group in a child that then dies without a word; returns its pid. */
static pid_t abandon_a_group(const struct cgroup_place *place)
{
	struct sandbox_limits limits = {.memory_bytes = 64 * MIB, .processes = 8};
	struct cgroup *g = NULL;
	pid_t pid = fork();

	if (pid == 0) {
		(void)cgroup_new(place, &limits, &g, NULL);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void groups_of_dead_owners_are_swept(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 64 * MIB};
	scoped(cgroup_freep) struct cgroup *living = NULL;
	struct cgroup_place place;
	pid_t dead;

	if (!have(CGROUP_MEMORY, &place) || !have(CGROUP_PIDS, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &living, NULL), 0);
	dead = abandon_a_group(&place);
	/* Whoever else runs here may have swept already; nobody removes the one that lives. */
	cgroup_sweep(&place);
	assert_int_equal(count_groups(&place, CGROUP_MEMORY, dead), 0);
	assert_int_equal(count_groups(&place, CGROUP_PIDS, dead), 0);
	assert_int_equal(count_groups(&place, CGROUP_MEMORY, getpid()), 1); /* the living one's */
}

static int free_a_copy(const void *what)
{
	struct cgroup *copy;

	memcpy(&copy, what, sizeof(struct cgroup *)); /* NOLINT(bugprone-sizeof-expression) */
	return cgroup_free(copy) == NULL ? 0 : 1;
}

static void a_fork_does_not_remove_the_group_of_its_parent(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 64 * MIB};
	scoped(cgroup_freep) struct cgroup *g = NULL;
	struct cgroup_place place;

	if (!have(CGROUP_MEMORY, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	assert_int_equal(test_in_child(free_a_copy, &g), 0);
	assert_int_equal(count_groups(&place, CGROUP_MEMORY, getpid()), 1);
}

static void descriptors_do_not_leak(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 64 * MIB, .processes = 8};
	struct cgroup_place place;
	struct cgroup *g = NULL;
	int before = test_open_fds();

	if (!have(CGROUP_MEMORY, &place))
		skip();
	assert_int_equal(cgroup_new(&place, &limits, &g, NULL), 0);
	assert_true(test_open_fds() > before);
	g = cgroup_free(g);
	assert_int_equal(test_open_fds(), before);
}

static void nothing_to_limit_is_no_group(void **state)
{
	struct sandbox_limits none = {.open_files = 5}, memory = {.memory_bytes = MIB};
	struct cgroup_place nowhere = {0}, place;
	struct cgroup *g = NULL;

	assert_int_equal(cgroup_new(&nowhere, &memory, &g, NULL), -EOPNOTSUPP);
	cgroup_find(&place);
	assert_int_equal(cgroup_new(&place, &none, &g, NULL), -EOPNOTSUPP);
	assert_null(g);
	assert_false(cgroup_limits(NULL, CGROUP_MEMORY));
	assert_int_equal(cgroup_clone_fd(NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_found_by_the_path_of_each_controller),
		cmocka_unit_test(version_2_is_the_nearest_group_that_may_be_divided),
		cmocka_unit_test(a_box_does_not_leave_a_unit_that_has_limits),
		cmocka_unit_test(the_limit_of_processes_goes_with_the_box),
		cmocka_unit_test(nonsense_is_no_place),
		cmocka_unit_test(the_memory_limit_strikes_and_is_counted),
		cmocka_unit_test(a_wide_limit_lets_it_be),
		cmocka_unit_test(the_process_limit_strikes_and_is_counted),
		cmocka_unit_test(a_group_is_gone_with_all_in_it),
		cmocka_unit_test(groups_of_dead_owners_are_swept),
		cmocka_unit_test(a_fork_does_not_remove_the_group_of_its_parent),
		cmocka_unit_test(descriptors_do_not_leak),
		cmocka_unit_test(nothing_to_limit_is_no_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
