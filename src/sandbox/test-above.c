/* The keeper's own look: these plans are refused whatever the engine has said before. */
#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "sandbox/box.h"
#include "sandbox/plan.h"

struct place {
	char root[64];
	char workspace[160];
	char secret[160], state[160];
	const char *hidden[2];
};

static int place_make(void **state)
{
	static const char *const directories[] = {
		".git",      ".git/hooks", ".git/hooks/deep", ".ssh",
		".ssh/deep", "sub",        "sub/.ci",         "sub/.ci/x",
		"sub/hooks", "sub/linked", "state",           "state/tasks",
	};
	struct place *p = calloc(1, sizeof(*p));
	char path[160];

	assert_non_null(p);
	test_directory_make(p->root);
	for (size_t i = 0; i < array_size(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", p->root, directories[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	snprintf(path, sizeof(path), "%s/.husky", p->root);
	assert_int_equal(symlink("sub/linked", path), 0);
	snprintf(p->secret, sizeof(p->secret), "%s/.ssh", p->root);
	snprintf(p->state, sizeof(p->state), "%s/state", p->root);
	p->hidden[0] = p->state;
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;

	test_directory_remove(p->root);
	free(p);
	return 0;
}

/* 0 or a negative errno; *ret_plan may be NULL. */
static int plan_at(struct place *p, const char *inside, enum sandbox_tier tier,
                   struct sandbox_plan **ret_plan)
{
	static const char *const protected_[] = {".git/hooks", ".husky", ".ci", NULL};
	const char *const secrets[] = {p->secret, NULL};
	struct sandbox_spec spec = {.tier = tier, .secrets = secrets, .protected_ = protected_};
	const struct sandbox_place place = {
		.workspace = p->workspace, .root = p->root, .resolved = true, .hidden = p->hidden};
	struct error err = {0};
	struct sandbox_plan *made = NULL;
	int r;

	snprintf(p->workspace, sizeof(p->workspace), "%s%s%s", p->root, *inside ? "/" : "", inside);
	r = tier == SANDBOX_TIER_NONE ? sandbox_place_check(&spec, &place, &err)
	                              : sandbox_plan_new(&spec, &place, &made, &err);
	assert_true(r == 0 || err.kind == ERROR_INPUT);
	if (ret_plan)
		*ret_plan = made;
	else
		sandbox_plan_free(made);
	return r;
}

static void what_is_secret_or_protected_above_is_no_workspace(void **state)
{
	static const char *const refused[] = {".git/hooks", ".git/hooks/deep", ".ssh",
	                                      ".ssh/deep",  "sub/.ci",         "sub/.ci/x",
	                                      "state",      "state/tasks",     "sub/linked"};
	static const enum sandbox_tier tiers[] = {SANDBOX_TIER_STRICT, SANDBOX_TIER_LANDLOCK,
	                                          SANDBOX_TIER_NONE};

	for (size_t i = 0; i < array_size(refused); i++)
		for (size_t k = 0; k < array_size(tiers); k++)
			assert_int_equal(plan_at(*state, refused[i], tiers[k], NULL), -EPERM);
}

static void other_directories_are(void **state)
{
	static const char *const allowed[] = {"", "sub", "sub/hooks"};

	for (size_t i = 0; i < array_size(allowed); i++)
		assert_int_equal(plan_at(*state, allowed[i], SANDBOX_TIER_STRICT, NULL), 0);
}

static bool holds(const struct sandbox_plan *plan, const char *workspace, const char *inside)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", workspace + 1, inside);
	for (size_t i = 0; i < plan->steps.count; i++)
		if (plan->steps.items[i].kind == BOX_HOLD &&
		    strcmp(plan->steps.items[i].path, path) == 0)
			return true;
	return false;
}

static bool looks_for(const struct sandbox_plan *plan, const char *inside)
{
	for (size_t i = 0; i < plan->protect.absent_count; i++)
		if (strcmp(plan->protect.absent[i].path, inside) == 0)
			return true;
	return false;
}

static void what_the_root_protects_in_the_workspace_stays_so(void **state)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	struct place *p = *state;
	char path[160];

	/* The root's .husky leads to sub/linked, and sub has a .ci of its own. */
	assert_int_equal(plan_at(p, "sub", SANDBOX_TIER_STRICT, &plan), 0);
	assert_true(holds(plan, p->workspace, "linked"));
	assert_true(holds(plan, p->workspace, ".ci"));
	assert_false(holds(plan, p->workspace, "hooks"));
	plan = sandbox_plan_free(plan);

	/* Of the repository above. */
	assert_int_equal(plan_at(p, ".git", SANDBOX_TIER_STRICT, &plan), 0);
	assert_true(holds(plan, p->workspace, "hooks"));
	plan = sandbox_plan_free(plan);
	snprintf(path, sizeof(path), "%s/.git/hooks/deep", p->root);
	assert_int_equal(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(plan_at(p, ".git", SANDBOX_TIER_STRICT, &plan), 0);
	assert_true(looks_for(plan, "hooks"));
}

static void a_root_that_is_not_above_is_refused(void **state)
{
	struct place *p = *state;
	const struct sandbox_place place = {.workspace = p->root, .root = p->state};
	const struct sandbox_spec spec = {0};
	struct sandbox_plan *made = NULL;
	struct error err = {0};

	assert_int_equal(sandbox_plan_new(&spec, &place, &made, &err), -EXDEV);
}

static void the_root_can_be_that_of_the_system(void **state)
{
	struct place *p = *state;
	char path[128];
	const char *const protected_[] = {path + 1, NULL};
	const struct sandbox_spec spec = {.protected_ = protected_};
	const struct sandbox_place hooks = {.workspace = path, .root = "/", .resolved = true};
	const struct sandbox_place sub = {.workspace = p->workspace, .root = "/", .resolved = true};
	struct error err = {0};

	snprintf(path, sizeof(path), "%s/sub/hooks", p->root);
	snprintf(p->workspace, sizeof(p->workspace), "%s/sub", p->root);
	assert_int_equal(sandbox_place_check(&spec, &hooks, &err), -EPERM);
	assert_int_equal(sandbox_place_check(&spec, &sub, &err), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)
	const struct CMUnitTest tests[] = {
		TEST(what_is_secret_or_protected_above_is_no_workspace),
		TEST(other_directories_are),
		TEST(what_the_root_protects_in_the_workspace_stays_so),
		TEST(a_root_that_is_not_above_is_refused),
		TEST(the_root_can_be_that_of_the_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
