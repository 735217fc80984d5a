#include "profile/test-support.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "policy/policy.h"
#include "sandbox/layers.h"
#include "yaml/pack.h"
#include "yaml/yaml.h"

static const struct policy_rule *find_rule(const struct profile *p, const char *id)
{
	for (size_t i = 0; i < p->rules.rule_count; i++)
		if (strcmp(p->rules.rules[i].id, id) == 0)
			return &p->rules.rules[i];
	return NULL;
}

static bool has(const char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static void every_shipped_profile_loads(void **state)
{
	struct place *place = *state;

	assert_true(profile_builtin_count >= 5);
	for (size_t i = 0; i < profile_builtin_count; i++) {
		const struct profile_builtin *b = &profile_builtins[i];
		scoped(profile_freep) struct profile *p = NULL;

		place->request.name = b->agent ? NULL : b->name;
		place->request.agent = b->agent ? b->name : NULL;
		place->request.examples = i % 2;
		if (!profile_builtin_runs(b)) {
			assert_int_equal(profile_load(&place->request, &p, NULL), -EINVAL);
			continue;
		}
		p = place_load(place);
		assert_string_equal(p->name, b->name);
		assert_non_null(p->policy);
		assert_true(*p->description);
		assert_true(has(p->sandbox.secrets, "~/.ssh"));
		assert_true(has(p->sandbox.protected_, PROFILE_PROJECT_FILE));
	}
}

/* What a start reads of them is made when nacre is built. */
static void the_tree_of_a_shipped_profile_is_that_of_its_text(void **state)
{
	for (size_t i = 0; i < profile_builtin_count; i++) {
		const struct profile_builtin *b = &profile_builtins[i];
		scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
		const struct yaml_node *tree = NULL, *text = NULL, *t;
		struct error err = {0};

		assert_int_equal(yaml_unpack(arena, b->tree, b->tree_len, &tree), 0);
		assert_int_equal(yaml_read(arena, b->name, b->text, b->len, &text, &err), 0);
		assert_null(yaml_map_get(tree, "examples"));
		assert_int_equal(tree->count + (yaml_map_get(text, "examples") ? 1 : 0),
		                 text->count);
		t = text->first;
		for (const struct yaml_node *e = tree->first; e; e = e->next, t = t->next) {
			scoped(buffer_donep) struct buffer wanted = {0}, got = {0};

			assert_string_equal(e->key->text, t->key->text);
			yaml_pack(e, &got);
			yaml_pack(t, &wanted);
			assert_int_equal(got.len, wanted.len);
			assert_memory_equal(got.data, wanted.data, got.len);
		}
	}
}

static void the_default_is_the_profile_bash(void **state)
{
	scoped(profile_freep) struct profile *p = place_load(*state);

	assert_string_equal(p->name, "bash");
	assert_string_equal(p->tool, "Bash");
	assert_int_equal(p->timeout.max_ms, 600000);
}

static void a_profile_that_says_nothing_allows_nothing(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->user, "bare.yaml", "profile: bare\n");
	place->request.name = "bare";
	p = place_load(place);
	assert_int_equal(p->rules.fallback, POLICY_VERDICT_DENY);
	assert_int_equal(p->rules.unknown, POLICY_UNKNOWN_DENY);
	assert_int_equal(p->sandbox.tier, SANDBOX_TIER_STRICT);
	assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NONE);
	assert_int_equal(p->sandbox.limits.processes, 512);
	assert_int_equal(p->rules.rule_count, 0);
	assert_false(p->audit.optional);
}

static void a_mode_and_its_tier_have_one_name(void **state)
{
	struct place *place = *state;
	char text[128];

	place->request.name = "tiers";
	for (int tier = 0; tier < SANDBOX_TIER_MAX; tier++) {
		scoped(profile_freep) struct profile *p = NULL;

		snprintf(text, sizeof(text),
		         "profile: tiers\nsandbox: {mode: %s, container: {image: x}}\n",
		         sandbox_tier_names[tier]);
		place_write(place->user, "tiers.yaml", text);
		p = place_load(place);
		assert_int_equal(p->sandbox.tier, tier);
	}
}

static void layers_stand_one_above_the_other(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->system, "mine.yaml",
	            "profile: mine\ndefault: allow\ntimeout: {max: 60s, default: 20s}\n"
	            "deny: [curl]\nallow: [ls]\nsandbox: {readable: [/opt/a]}\n");
	place_write(place->user, "mine.yaml",
	            "timeout: {max: 90s}\ndeny: [wget]\nallow: ['@inherited', cat]\n"
	            "sandbox: {readable: ['@inherited', ~/b], secrets: [/opt/a/key]}\n");
	place_write(place->system, "nacre.yaml", "require_description: true\n");
	place_write(place->user, "nacre.yaml", "deny: [nc]\n");
	place_write(place->workspace, ".nacre.yaml", "timeout: {max: 30s}\ndeny: [make]\n");
	place->request.name = "mine";
	p = place_load(place);
	assert_int_equal(p->timeout.max_ms, 30000);
	assert_int_equal(p->timeout.default_ms, 20000);
	assert_true(p->require_description);
	assert_non_null(find_rule(p, "deny:curl"));
	assert_non_null(find_rule(p, "deny:wget"));
	assert_non_null(find_rule(p, "deny:nc"));
	assert_non_null(find_rule(p, "allow:ls"));
	assert_non_null(find_rule(p, "allow:cat"));
	assert_string_equal(find_rule(p, "deny:make")->place.file, ".nacre.yaml");
	assert_int_equal(find_rule(p, "deny:make")->place.line, 2);
	assert_int_equal(find_rule(p, "deny:make")->place.column, 8);
	assert_ptr_equal(&p->rules.rules[0], find_rule(p, "deny:make")); /* the upper ones first */
	assert_true(has(p->sandbox.readable, "/opt/a"));
	assert_true(has(p->sandbox.readable, "~/b"));
	assert_true(has(p->sandbox.secrets, "/opt/a/key"));
	assert_true(has(p->sandbox.secrets, "~/.ssh"));
	assert_true(has(p->sandbox.denied, "curl"));
}

static void the_files_from_the_root_down_to_the_workspace_all_hold(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;
	char sub[112];

	snprintf(sub, sizeof(sub), "%s/sub", place->workspace);
	assert_int_equal(mkdir(sub, 0700), 0);
	place_write(place->workspace, ".nacre.yaml", "deny: [make]\n");
	place_write(sub, ".nacre.yaml", "deny: [cmake]\n");
	close(place->request.workspace_fd);
	place->request.workspace_fd = open(sub, O_PATH | O_DIRECTORY | O_CLOEXEC);
	place->request.root = place->workspace;
	p = place_load(place);
	assert_string_equal(find_rule(p, "deny:make")->place.file, ".nacre.yaml");
	assert_string_equal(find_rule(p, "deny:cmake")->place.file, "./sub/.nacre.yaml");
	assert_true(profile_is_current(p));
	place_write(place->workspace, ".nacre.yaml", "deny: [ninja]\n");
	assert_false(profile_is_current(p));
}

static void a_lower_maximum_takes_the_default_with_it(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->workspace, ".nacre.yaml", "timeout: {max: 3s}\n");
	p = place_load(place);
	assert_int_equal(p->timeout.default_ms, 3000);
}

static void a_layer_replaces_the_allowed_list(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->user, "readonly.yaml", "allow: [ls]\n");
	place->request.name = "readonly";
	p = place_load(place);
	assert_non_null(find_rule(p, "allow:ls"));
	for (size_t i = 0; i < p->rules.rule_count; i++)
		assert_true(p->rules.rules[i].list != POLICY_ALLOW ||
		            strcmp(p->rules.rules[i].text, "ls") == 0);
	assert_true(has(p->sandbox.programs, "ls"));
	assert_false(has(p->sandbox.programs, "cat"));
}

static void rules_of_lower_layers_can_be_removed_by_id(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->system, "m.yaml", "profile: m\ndeny: [a, b]\nnever: [c]\n");
	place_write(place->user, "m.yaml", "deny: [d]\nremove: ['deny:a']\n");
	place->request.name = "m";
	p = place_load(place);
	assert_null(find_rule(p, "deny:a"));
	assert_non_null(find_rule(p, "deny:b"));
	assert_non_null(find_rule(p, "deny:d"));
	place_write(place->user, "m.yaml", "remove: ['never:c']\n");
	place_refuse(place, "user/m.yaml:1:10: 'never:c' can not be removed: it holds for ever");
	place_write(place->user, "m.yaml", "remove: ['deny:x']\n");
	place_refuse(place, "user/m.yaml:1:10: no rule below has the id 'deny:x', did you mean "
	                    "'deny:a'?");
}

static void entries_of_lists_that_grow_can_be_removed(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->system, "m.yaml",
	            "profile: m\neffects: {deny: [exec, network]}\nsandbox: {require: [seccomp, "
	            "landlock], protected: [a]}\n");
	place_write(place->user, "m.yaml",
	            "remove: ['effects.deny:network', 'sandbox.require:landlock', "
	            "'sandbox.secrets:~/.docker']\nsandbox: {protected: [b]}\n");
	place->request.name = "m";
	p = place_load(place);
	assert_true(has(p->rules.denied_effects, "exec"));
	assert_false(has(p->rules.denied_effects, "network"));
	assert_int_equal(p->sandbox.require, SANDBOX_LAYER_SECCOMP);
	assert_false(has(p->sandbox.secrets, "~/.docker"));
	assert_true(has(p->sandbox.secrets, "~/.ssh"));
	assert_true(has(p->sandbox.protected_, "b"));
	place_write(place->user, "m.yaml", "remove: ['effects.deny:write']\n");
	place_refuse(place, "user/m.yaml:1:10: 'effects.deny' holds no 'write'");
	place_write(place->user, "m.yaml", "remove: ['sandbox.network:none']\n");
	place_refuse(place, "user/m.yaml:1:10: no rule below has the id 'sandbox.network:none'");
}

static void agents_inherit_and_narrow(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;

	place_write(place->user, "agents/poet.yaml",
	            "profile: poet\ninherits: defaults\ncoding: {allow: [wc, pandoc], deny: [tee], "
	            "default_timeout: 30, max_timeout: 1m}\n");
	place->request.agent = "poet";
	p = place_load(place);
	assert_string_equal(p->name, "poet");
	assert_string_equal(p->base, "universal");
	assert_int_equal(p->timeout.default_ms, 30000);
	assert_int_equal(p->timeout.max_ms, 60000);
	assert_int_equal(p->rules.fallback, POLICY_VERDICT_DENY);
	assert_non_null(find_rule(p, "allow:wc"));
	assert_non_null(find_rule(p, "deny:tee"));
	assert_true(p->rules.rule_count > 4); /* those of universal hold, too */
	place->request.name = "bash";
	place_refuse(place, "the agent 'poet' belongs to the profile 'universal', not to 'bash'");
	place->request.agent = NULL;
	place->request.name = "poet"; /* an agent is found by --profile, too */
	profile_free(p);
	p = place_load(place);
	assert_string_equal(p->name, "poet");
}

static void nobody_inherits_himself(void **state)
{
	struct place *place = *state;

	place_write(place->user, "a.yaml", "profile: a\ninherits: b\n");
	place_write(place->user, "b.yaml", "profile: b\ninherits: a\n");
	place->request.name = "a";
	assert_int_equal(profile_load(&place->request, &(struct profile *){NULL}, &place->err),
	                 -ELOOP);
	assert_non_null(strstr(place->err.text, "b.yaml:2:11: 'a' inherits itself"));
	place_write(place->user, "a.yaml", "profile: a\ninherits: bsh\n");
	assert_true(profile_load(&place->request, &(struct profile *){NULL}, &place->err) < 0);
	assert_non_null(strstr(place->err.text, "a.yaml:2:11: there is no profile 'bsh', did you "
	                                        "mean 'bash'?"));
}

static void a_policy_file_is_a_layer_or_a_profile(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/p.yaml", place->root);
	place->request.policy_file = path;
	place_write(place->workspace, ".nacre.yaml", "timeout: {max: 30s}\n");
	place_write(place->root, "p.yaml", "timeout: {max: 50s}\n");
	p = place_load(place);
	assert_string_equal(p->name, "bash");
	assert_int_equal(p->timeout.max_ms, 50000); /* above the file of the project */
	profile_free(p);

	place_write(place->root, "p.yaml", "profile: own\ninherits: verify\ntimeout: {max: 50s}\n");
	p = place_load(place);
	assert_string_equal(p->name, "own");
	assert_string_equal(p->base, "verify");
	assert_int_equal(p->timeout.max_ms, 30000); /* the project tightens the profile */
	place->request.name = "bash";
	place_refuse(place, "p.yaml:2:1: this file is a profile of its own: use it without another "
	                    "profile or agent");
	place_write(place->root, "p.yaml", "profile: verify\n");
	place_refuse(place, "p.yaml:1:10: this file is for the profile 'verify', not for 'bash'");
}

static void names_that_do_not_exist_are_told(void **state)
{
	struct place *place = *state;

	place->request.name = "unversal";
	place_refuse(place, "there is no profile 'unversal', did you mean 'universal'?");
	place->request.name = "../bash";
	place_refuse(place, "there is no profile '../bash'");
	place->request.name = NULL;
	place->request.agent = "zzz";
	place_refuse(place, "there is no agent 'zzz'");
}

static void a_file_is_for_the_profile_of_its_name(void **state)
{
	struct place *place = *state;

	place_write(place->user, "bash.yaml", "profile: verify\n");
	place_refuse(place,
	             "user/bash.yaml:1:10: this file is for the profile 'verify', not for 'bash'");
	place_write(place->user, "bash.yaml", "inherits: verify\n");
	place_refuse(place, "user/bash.yaml:1:1: 'bash' exists below: this file is a layer of it "
	                    "and cannot inherit");
}

static void a_change_of_any_layer_is_noticed(void **state)
{
	static const struct {
		int dir;
		const char *name;
	} files[] = {{0, "bash.yaml"}, {1, "bash.yaml"}, {1, "nacre.yaml"}, {2, ".nacre.yaml"}};
	struct place *place = *state;
	const char *dirs[] = {place->system, place->user, place->workspace};

	for (size_t i = 0; i < array_size(files); i++) {
		scoped(profile_freep) struct profile *before = place_load(place), *after = NULL;
		char path[256];

		assert_true(profile_is_current(before));
		place_write(dirs[files[i].dir], files[i].name, "deny: [nc]\n");
		assert_false(profile_is_current(before));
		after = place_load(place);
		assert_true(profile_is_current(after));
		snprintf(path, sizeof(path), "%s/%s", dirs[files[i].dir], files[i].name);
		assert_int_equal(unlink(path), 0);
		assert_false(profile_is_current(after));
		assert_true(profile_is_current(before));
	}
}

static void leaves_no_descriptor_open(void **state)
{
	int before = test_open_fds();
	struct profile *p = place_load(*state);

	profile_free(p);
	assert_int_equal(test_open_fds(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_shipped_profile_loads),
		TEST(the_tree_of_a_shipped_profile_is_that_of_its_text),
		TEST(the_default_is_the_profile_bash),
		TEST(a_profile_that_says_nothing_allows_nothing),
		TEST(a_mode_and_its_tier_have_one_name),
		TEST(layers_stand_one_above_the_other),
		TEST(the_files_from_the_root_down_to_the_workspace_all_hold),
		TEST(a_lower_maximum_takes_the_default_with_it),
		TEST(a_layer_replaces_the_allowed_list),
		TEST(rules_of_lower_layers_can_be_removed_by_id),
		TEST(entries_of_lists_that_grow_can_be_removed),
		TEST(agents_inherit_and_narrow),
		TEST(nobody_inherits_himself),
		TEST(a_policy_file_is_a_layer_or_a_profile),
		TEST(names_that_do_not_exist_are_told),
		TEST(a_file_is_for_the_profile_of_its_name),
		TEST(a_change_of_any_layer_is_noticed),
		TEST(leaves_no_descriptor_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
