#include "sandbox/probe.h"

#include <string.h>
#include <sys/stat.h>
#include "sandbox/landlock.h"
#include "sandbox/test-child.h"

static bool must(const char *what)
{
	const char *list = getenv("NACRE_TEST_MUST");

	return list && strstr(list, what);
}

static void the_short_probe_says_what_the_kernel_says(void **state)
{
	struct sandbox_probe p;

	sandbox_probe_read(&p);
	assert_int_equal(p.landlock_abi, landlock_abi());
	assert_true(p.seccomp); /* no kernel of these years is without */
}

static void the_survey_leaves_nothing_behind(void **state)
{
	int fds = test_open_fds();
	struct sandbox_survey s;
	char before[64], after[64];
	ssize_t n = readlink("/proc/self/ns/user", before, sizeof(before));
	struct stat here, still;

	assert_true(n > 0);
	assert_int_equal(stat("/tmp", &here), 0);
	sandbox_survey_read("/tmp", &s);
	assert_int_equal(stat("/tmp", &still), 0);
	assert_int_equal(here.st_dev, still.st_dev); /* nothing is mounted over it */
	assert_int_equal(test_open_fds(), fds);
	assert_int_equal(readlink("/proc/self/ns/user", after, sizeof(after)), n);
	assert_memory_equal(before, after, (size_t)n);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void what_fails_comes_with_a_remedy(void **state)
{
	struct sandbox_survey s;

	sandbox_survey_read("/", &s);
	assert_true(s.kernel.release[0]);
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++) {
		assert_non_null(sandbox_trial_name(k));
		assert_int_equal(s.trials[k].tried, k != SANDBOX_TRIAL_IDMAP || geteuid() == 0);
		if (s.trials[k].sys == 0)
			assert_null(s.trials[k].remedy);
		else if (k != SANDBOX_TRIAL_CLONE3)
			assert_non_null(s.trials[k].remedy);
	}
	if (must("userns"))
		assert_int_equal(sandbox_survey_tier(&s), SANDBOX_TIER_STRICT);
}

static int survey_as_user(const void *unused)
{
	struct sandbox_survey s;

	if (test_become_user())
		return 250;
	sandbox_survey_read("/", &s);
	if (s.root || s.trials[SANDBOX_TRIAL_IDMAP].tried)
		return 1;
	return s.trials[SANDBOX_TRIAL_MOUNTS].sys;
}

static void an_ordinary_user_can_ask_too(void **state)
{
	int r = test_in_child(survey_as_user, NULL);

	assert_true(must("userns") ? r == 0 : r < 200 && r != 1);
}

/* A machine made of answers. */
static struct sandbox_survey machine(bool namespaces, int abi, bool root)
{
	struct sandbox_survey s = {.probe = {abi, true}, .root = root, .has_proc = true};

	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++)
		s.trials[k] = (struct sandbox_trial){.tried = true, .sys = namespaces ? 0 : EPERM};
	s.trials[SANDBOX_TRIAL_CLOSE].sys = 0;
	return s;
}

static struct sandbox_standing stand(const struct sandbox_survey *s, enum sandbox_tier tier)
{
	struct sandbox_spec spec = {.tier = tier,
	                            .exec = SANDBOX_EXEC_LISTED,
	                            .limits = {.memory_bytes = 1, .processes = 1}};
	struct sandbox_standing st;

	sandbox_survey_stand(s, &spec, &st);
	return st;
}

static void the_tier_is_the_weaker_of_wish_and_machine(void **state)
{
	struct sandbox_survey good = machine(true, 7, false), poor = machine(false, 7, false);
	struct sandbox_survey old = machine(false, 0, false);

	assert_int_equal(stand(&good, SANDBOX_TIER_STRICT).tier, SANDBOX_TIER_STRICT);
	assert_int_equal(stand(&good, SANDBOX_TIER_LANDLOCK).tier, SANDBOX_TIER_LANDLOCK);
	assert_int_equal(stand(&good, SANDBOX_TIER_NONE).tier, SANDBOX_TIER_NONE);
	assert_int_equal(stand(&poor, SANDBOX_TIER_STRICT).tier, SANDBOX_TIER_LANDLOCK);
	assert_int_equal(stand(&old, SANDBOX_TIER_STRICT).tier, SANDBOX_TIER_NONE);
	assert_int_equal(stand(&old, SANDBOX_TIER_STRICT).layers, SANDBOX_LAYER_NO_NEW_PRIVS);
}

static void without_one_namespace_a_box_that_needs_it_has_none(void **state)
{
	struct sandbox_survey s = machine(true, 7, false);
	struct sandbox_spec online = {.tier = SANDBOX_TIER_STRICT, .network = SANDBOX_NETWORK_HOST};
	struct sandbox_standing st;

	s.trials[SANDBOX_TRIAL_NETWORK].sys = ENOSPC;
	assert_int_equal(sandbox_survey_tier(&s), SANDBOX_TIER_LANDLOCK);
	assert_int_equal(stand(&s, SANDBOX_TIER_STRICT).tier, SANDBOX_TIER_LANDLOCK);
	sandbox_survey_stand(&s, &online, &st);
	assert_int_equal(st.tier, SANDBOX_TIER_STRICT);
}

static void an_obstacle_leaves_no_tier(void **state)
{
	struct sandbox_survey bare = machine(true, 7, false), old = machine(true, 0, false);

	assert_null(sandbox_survey_obstacle(&bare));
	bare.has_proc = false;
	assert_non_null(strstr(sandbox_survey_obstacle(&bare), "/proc"));
	assert_int_equal(sandbox_survey_tier(&bare), SANDBOX_TIER_NONE);
	old.trials[SANDBOX_TRIAL_CLOSE] = (struct sandbox_trial){true, EINVAL, "kernel 5.12"};
	assert_string_equal(sandbox_survey_obstacle(&old), "kernel 5.12");
	assert_int_equal(stand(&old, SANDBOX_TIER_STRICT).tier, SANDBOX_TIER_NONE);
}

static void layers_are_counted_as_they_are(void **state)
{
	struct sandbox_survey user = machine(true, 7, false), root = machine(true, 7, true);
	struct sandbox_survey old = machine(true, 1, false), poor = machine(false, 7, true);

	assert_int_equal(stand(&user, SANDBOX_TIER_STRICT).missing, 0);
	assert_int_equal(stand(&root, SANDBOX_TIER_STRICT).missing, 0);
	root.trials[SANDBOX_TRIAL_IDMAP].sys = EINVAL;
	assert_int_equal(stand(&root, SANDBOX_TIER_STRICT).missing,
	                 SANDBOX_LAYER_PROCESSES | SANDBOX_LAYER_UNPRIVILEGED);
	strcpy(root.cgroup.path[CGROUP_MEMORY], "/x");
	strcpy(root.cgroup.path[CGROUP_PIDS], "/x");
	assert_int_equal(stand(&root, SANDBOX_TIER_STRICT).missing, SANDBOX_LAYER_UNPRIVILEGED);
	assert_true(stand(&old, SANDBOX_TIER_STRICT).missing & SANDBOX_LAYER_LANDLOCK);
	assert_int_equal(stand(&poor, SANDBOX_TIER_STRICT).missing,
	                 SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_PROGRAMS |
	                         SANDBOX_LAYER_PROCESSES | SANDBOX_LAYER_UNPRIVILEGED);
}

static void a_spec_asks_only_for_what_it_limits(void **state)
{
	struct sandbox_spec spec = {.network = SANDBOX_NETWORK_HOST};
	uint32_t layers = sandbox_spec_layers(&spec);

	assert_false(layers &
	             (SANDBOX_LAYER_NETWORK | SANDBOX_LAYER_PROGRAMS | SANDBOX_LAYER_PROCESSES));
	assert_true(layers & SANDBOX_LAYER_NAMESPACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_short_probe_says_what_the_kernel_says),
		cmocka_unit_test(the_survey_leaves_nothing_behind),
		cmocka_unit_test(what_fails_comes_with_a_remedy),
		cmocka_unit_test(an_ordinary_user_can_ask_too),
		cmocka_unit_test(the_tier_is_the_weaker_of_wish_and_machine),
		cmocka_unit_test(without_one_namespace_a_box_that_needs_it_has_none),
		cmocka_unit_test(an_obstacle_leaves_no_tier),
		cmocka_unit_test(layers_are_counted_as_they_are),
		cmocka_unit_test(a_spec_asks_only_for_what_it_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
