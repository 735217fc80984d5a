#include "sandbox/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "base/fd.h"
#include "sandbox/test-child.h"

#define MIB (1ULL << 20)

static const struct limit_value *find(const struct limit_value *list, int count, int resource)
{
	for (int i = 0; i < count; i++)
		if (list[i].resource == resource)
			return &list[i];
	return NULL;
}

static void without_limits_core_files_are_off_and_signals_few(void **state)
{
	struct sandbox_limits none = {0};
	struct limits_place place = {0};
	struct limit_value list[LIMITS_MAX];

	assert_int_equal(limits_fill(&none, &place, list), 2);
	assert_int_equal(list[0].resource, RLIMIT_CORE);
	assert_int_equal(list[0].value.rlim_max, 0);
	assert_int_equal(list[1].resource, RLIMIT_SIGPENDING);
	assert_true(list[1].value.rlim_max <= 4096);
}

static void processes_are_exact_only_in_a_namespace_and_never_for_root(void **state)
{
	struct sandbox_limits limits = {.processes = 64};
	struct limits_place place = {.own_user_namespace = true};
	struct limit_value list[LIMITS_MAX];
	int n = limits_fill(&limits, &place, list);

	assert_int_equal(find(list, n, RLIMIT_NPROC)->value.rlim_cur, 65); /* and the box's init */
	place.waiting = 3;
	n = limits_fill(&limits, &place, list);
	assert_int_equal(find(list, n, RLIMIT_NPROC)->value.rlim_cur, 68);
	place.process_group = true; /* which knows how many commands share the box */
	n = limits_fill(&limits, &place, list);
	assert_null(find(list, n, RLIMIT_NPROC));
	place.waiting = 0; /* it has to strike first: it counts */
	n = limits_fill(&limits, &place, list);
	assert_true(find(list, n, RLIMIT_NPROC)->value.rlim_cur > 65);
	place.kernel_root = true;
	n = limits_fill(&limits, &place, list);
	assert_null(find(list, n, RLIMIT_NPROC));
}

static void memory_is_left_to_the_group_where_there_is_one(void **state)
{
	struct sandbox_limits limits = {.memory_bytes = 256 * MIB};
	struct limits_place place = {0};
	struct limit_value list[LIMITS_MAX];
	int n = limits_fill(&limits, &place, list);

	assert_int_equal(find(list, n, RLIMIT_DATA)->value.rlim_max, 256 * MIB);
	place.memory_group = true;
	n = limits_fill(&limits, &place, list);
	assert_null(find(list, n, RLIMIT_DATA));
	assert_null(find(list, n, RLIMIT_AS));
}

static int fill_below_a_lower_limit(const void *unused)
{
	struct rlimit low = {20, 40};
	struct sandbox_limits limits = {.open_files = 100};
	struct limits_place place = {0};
	struct limit_value list[LIMITS_MAX];
	const struct limit_value *files;
	int n;

	if (setrlimit(RLIMIT_NOFILE, &low) < 0)
		return 1;
	n = limits_fill(&limits, &place, list);
	files = find(list, n, RLIMIT_NOFILE);
	if (!files || files->value.rlim_max != 40 || files->value.rlim_cur != 40)
		return 2;
	return test_outcome(setrlimit(RLIMIT_NOFILE, &files->value));
}

static void limits_are_never_raised(void **state)
{
	assert_int_equal(test_in_child(fill_below_a_lower_limit, NULL), 0);
}

struct trial {
	struct sandbox_limits limits;
	int (*act)(void);
};

static int under_limits(const void *what)
{
	const struct trial *t = what;
	struct limits_place place = {0};
	struct limit_value list[LIMITS_MAX];
	int n = limits_fill(&t->limits, &place, list);

	for (int i = 0; i < n; i++)
		if (setrlimit((__rlimit_resource_t)list[i].resource, &list[i].value) < 0)
			return 250;
	return t->act();
}

static int touch_64_mib(void)
{
	char *p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int reserve_64_gib(void)
{
	char *p = mmap(NULL, 65536 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int write_2_mib(void)
{
	char name[] = "/tmp/nacre-test-limit-XXXXXX";
	int fd = mkstemp(name);
	char chunk[4096] = {0};

	unlink(name);
	for (int i = 0; i < 512; i++)
		if (write(fd, chunk, sizeof(chunk)) != sizeof(chunk))
			return errno;
	return 0;
}

static int spin(void)
{
	volatile unsigned n = 1;

	while (n)
		n |= 1;
	return 0;
}

static void each_limit_holds(void **state)
{
	struct trial memory = {{.memory_bytes = 32 * MIB}, touch_64_mib};
	struct trial reserve = {{.memory_bytes = 32 * MIB}, reserve_64_gib};
	struct trial file = {{.file_bytes = MIB}, write_2_mib};
	struct trial cpu = {{.cpu_seconds = 1}, spin};

	assert_int_equal(test_in_child(under_limits, &memory), ENOMEM);
	assert_int_equal(test_in_child(under_limits, &reserve), 0);
	assert_int_equal(test_in_child(under_limits, &file), TEST_KILLED + SIGXFSZ);
	assert_int_equal(test_in_child(under_limits, &cpu), TEST_KILLED + SIGXCPU);
}

static enum limit_hit judge(struct limits_evidence e)
{
	struct sandbox_limits all = {1, 1, 1, 1, 1, 1};

	return limits_judge(&all, &e);
}

static void a_strike_is_named(void **state)
{
	assert_int_equal(judge((struct limits_evidence){.oom_kills = 1}), LIMIT_HIT_MEMORY);
	assert_int_equal(judge((struct limits_evidence){.wait_status = SIGXCPU}), LIMIT_HIT_CPU);
	assert_int_equal(judge((struct limits_evidence){.wait_status = (128 + SIGXCPU) << 8}),
	                 LIMIT_HIT_CPU);
	assert_int_equal(judge((struct limits_evidence){.wait_status = SIGKILL, .cpu_us = 3000000}),
	                 LIMIT_HIT_CPU);
	assert_int_equal(judge((struct limits_evidence){.cpu_us = 1000000}), LIMIT_HIT_CPU);
	assert_int_equal(judge((struct limits_evidence){.cpu_us = 999999}), LIMIT_HIT_NONE);
	assert_int_equal(judge((struct limits_evidence){.cpu_spent = true}), LIMIT_HIT_CPU);
	assert_int_equal(judge((struct limits_evidence){.wait_status = SIGKILL}), LIMIT_HIT_NONE);
	assert_int_equal(judge((struct limits_evidence){.wait_status = SIGXFSZ}),
	                 LIMIT_HIT_FILE_SIZE);
	assert_int_equal(judge((struct limits_evidence){.forks_denied = 3}), LIMIT_HIT_PROCESSES);
	assert_int_equal(judge((struct limits_evidence){.tmp_full = true}), LIMIT_HIT_TMP);
	assert_int_equal(judge((struct limits_evidence){.wait_status = 1 << 8}), LIMIT_HIT_NONE);
	assert_string_equal(limit_hit_name(LIMIT_HIT_FILE_SIZE), "file_size");
	assert_null(limit_hit_name(LIMIT_HIT_NONE));
}

static void a_limit_that_was_not_set_has_not_struck(void **state)
{
	struct sandbox_limits none = {0};
	struct limits_evidence all = {SIGXCPU, 1 << 30, 1, 1, true, true, false, false};

	assert_int_equal(limits_judge(&none, &all), LIMIT_HIT_NONE);
}

static void a_file_system_with_room_is_not_full(void **state)
{
	assert_false(limits_is_full("/"));
	assert_false(limits_is_full("/proc")); /* it has no blocks at all */
	assert_false(limits_is_full("/nothing/there"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_limits_core_files_are_off_and_signals_few),
		cmocka_unit_test(processes_are_exact_only_in_a_namespace_and_never_for_root),
		cmocka_unit_test(memory_is_left_to_the_group_where_there_is_one),
		cmocka_unit_test(limits_are_never_raised),
		cmocka_unit_test(each_limit_holds),
		cmocka_unit_test(a_strike_is_named),
		cmocka_unit_test(a_limit_that_was_not_set_has_not_struck),
		cmocka_unit_test(a_file_system_with_room_is_not_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
