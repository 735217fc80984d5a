#include "profile/test-support.h"

#include "policy/policy.h"
#include "profile/keys.h"
#include "profile/lint.h"

/* The user's layer of "bash" has this text. */
static void refuse(void **state, const char *text, const char *words)
{
	struct place *place = *state;
	char all[256];

	place_write(place->user, "bash.yaml", text);
	snprintf(all, sizeof(all), "user/bash.yaml:%s", words);
	place_refuse(place, all);
}

static void refuse_project(void **state, const char *profile, const char *text, const char *words)
{
	struct place *place = *state;
	char all[256];

	place->request.name = profile;
	place_write(place->workspace, ".nacre.yaml", text);
	snprintf(all, sizeof(all), ".nacre.yaml:%s", words);
	place_refuse(place, all);
}

static struct profile *load_project(void **state, const char *profile, const char *text)
{
	struct place *place = *state;

	place->request.name = profile;
	place_write(place->workspace, ".nacre.yaml", text);
	return place_load(place);
}

static struct profile *load_own(void **state, const char *text)
{
	struct place *place = *state;

	place_write(place->user, "own.yaml", text);
	place->request.name = "own";
	return place_load(place);
}

static void unknown_keys_are_errors_with_a_hint(void **state)
{
	refuse(state, "alow: [x]\n", "1:1: unknown key 'alow', did you mean 'allow'?");
	refuse(state, "timeout:\n  dfault: 3s\n",
	       "2:3: unknown key 'dfault', did you mean 'default'?");
	refuse(state, "sandbox: {limits: {memroy: 1G}}\n",
	       "1:20: unknown key 'memroy', did you mean 'memory'?");
	refuse(state, "completely: different\n", "1:1: unknown key 'completely'");
	refuse(state, "sandbox: {zzzzzz: 1}\n", "1:11: unknown key 'zzzzzz' in 'sandbox'");
	refuse(state, "deny: [{comands: [x]}]\n",
	       "1:9: unknown key 'comands', did you mean 'commands'?");
	refuse(state, "<<: {deny: [x]}\n", "1:1: unknown key '<<'");
}

static void wrong_types_are_errors(void **state)
{
	refuse(state, "deny: sudo\n", "1:7: 'deny' wants a list of rules, not a text");
	refuse(state, "deny:\n", "1:6: 'deny' wants a list of rules, not nothing");
	refuse(state, "deny: [[x]]\n", "1:8: 'deny' wants a text or a map, not a list");
	refuse(state, "deny: [12]\n", "1:8: 'deny' wants a text, not a number: write \"12\"");
	refuse(state, "require_description: yes\n",
	       "1:22: 'require_description' wants true or false, not a text");
	refuse(state, "require_description: 'true'\n",
	       "1:22: 'require_description' wants true or false, not a text");
	refuse(state, "timeout: 5s\n", "1:10: 'timeout' wants a map, not a text");
	refuse(state, "timeout: {max: 5}\n", "1:16: 'timeout.max': 5 has no unit; write 5s or 5ms");
	refuse(state, "timeout: {max: 5 apples}\n",
	       "1:16: 'timeout.max': '5 apples' is no time such as 500ms, 5s, 2m");
	refuse(state, "timeout: {max: [5s]}\n",
	       "1:16: 'timeout.max' wants a time such as 500ms, 5s, 2m, not a list");
	refuse(state, "output: {limit: 5X}\n",
	       "1:17: 'output.limit': '5X' is no size such as 4096, 64K, 2G");
	refuse(state, "sandbox: {limits: {processes: 1.5}}\n",
	       "1:31: 'sandbox.limits.processes' wants a whole number, not a number with a point");
	refuse(state, "sandbox: {limits: {processes: -1}}\n",
	       "1:31: 'sandbox.limits.processes': '-1' is no whole number");
	refuse(state, "description: 5\n",
	       "1:14: 'description' wants a text, not a number: write \"5\"");
	refuse(state, "environment: {set: [A]}\n",
	       "1:20: 'environment.set' wants a map of names and texts, not a list");
	refuse(state, "- deny\n", "1:1: a map is wanted, not a list");
	refuse(state, "just a text\n", "1:1: a map is wanted, not a text");
}

static void values_out_of_range_are_errors(void **state)
{
	refuse(state, "timeout: {max: 0}\n",
	       "1:16: 'timeout.max': 0 is out of range (1ms to 86400s)");
	refuse(state, "timeout: {max: 25h}\n",
	       "1:16: 'timeout.max': 25h is out of range (1ms to 86400s)");
	refuse(state, "output: {file_cap: 1K}\n",
	       "1:20: 'output.file_cap': 1K is out of range (4K to 1T)");
	refuse(state, "sandbox: {limits: {open_files: 99999999999999999999}}\n",
	       "1:32: 'sandbox.limits.open_files': 99999999999999999999 is out of range (0 to "
	       "1048576)");
	refuse(state, "timeout: {default: 30s, max: 20s}\n",
	       "1:20: the default of the timeout is above its maximum");
}

static void words_are_checked(void **state)
{
	refuse(state, "default: alow\n",
	       "1:10: 'default' does not know 'alow', did you mean 'allow'?");
	refuse(state, "unknown: everything\n",
	       "1:10: 'unknown' does not know 'everything'; it knows sandbox, ask, deny");
	refuse(state, "sandbox: {require: [secomp]}\n",
	       "1:21: 'sandbox.require' does not know 'secomp', did you mean 'seccomp'?");
	refuse(state, "effects: {deny: [wriet]}\n",
	       "1:18: 'effects.deny' does not know 'wriet', did you mean 'write'?");
	refuse(state, "deny: ['@shels']\n",
	       "1:8: 'deny': there is no set '@shels', did you mean '@shells'?");
	refuse(state, "deny: [{commands: ['@nothing-like-it']}]\n",
	       "1:20: 'deny.commands': there is no set '@nothing-like-it'");
	refuse(state, "sets: {shells: [x]}\n", "1:8: the set 'shells' is built in");
	refuse(state, "sandbox: {readable: [opt]}\n",
	       "1:22: 'sandbox.readable': 'opt' is no absolute path, nor one that begins with ~/");
	refuse(state, "sandbox: {writable: [/a/../..]}\n",
	       "1:22: 'sandbox.writable': '/a/../..' holds '..'");
	refuse(state, "sandbox: {protected: [/etc]}\n",
	       "1:23: 'sandbox.protected': '/etc' is no path below the workspace");
	refuse(state, "environment: {pass: ['A=B']}\n",
	       "1:22: 'environment.pass': 'A=B' is no name of a variable");
	refuse(state, "environment: {set: {'A B': c}}\n",
	       "1:21: 'environment.set': 'A B' is no name of a variable");
}

static void rules_must_make_sense(void **state)
{
	refuse(state, "deny: ['']\n", "1:8: an empty rule");
	refuse(state, "deny: ['curl | sh']\n",
	       "1:8: a rule names one command, and '|' is none of its words; whole lines are "
	       "matched in 'danger'");
	refuse(state, "deny: [{reason: because}]\n",
	       "1:8: a rule that says nothing about commands");
	refuse(state, "deny: [{}]\n", "1:8: a rule that says nothing about commands");
	refuse(state, "allow: [{with: [-x]}]\n",
	       "1:9: a rule that allows must name its 'commands'");
	refuse(state, "deny: [{literal: x}]\n", "1:9: 'literal' has no meaning in 'deny'");
	refuse(state, "deny: [{commands: [x], force: true}]\n",
	       "1:24: 'force' has no meaning in 'deny'");
	refuse(state, "danger: [{literal: x, regex: y}]\n",
	       "1:10: only one of 'literal', 'regex', 'pipe' and 'write' can stand in a rule");
	refuse(state, "danger: [{pipe: {from: [curl]}}]\n",
	       "1:10: 'pipe' wants both 'from' and 'to'");
	refuse(state, "deny: [{id: a, commands: [x]}, {id: a, commands: [y]}]\n",
	       "1:32: the id 'a' comes twice, first in line 1");
}

static void string_rules_are_names_operands_and_options(void **state)
{
	scoped(profile_freep) struct profile *p =
		load_own(state, "profile: own\ndeny: [git push, rm -rf /, 'find -delete', './*', "
	                        "'@editors']\n");
	const struct policy_rule *r = p->rules.rules;

	assert_int_equal(p->rules.rule_count, 5);
	assert_string_equal(r[0].id, "deny:git push");
	assert_string_equal(r[0].commands[0], "git");
	assert_string_equal(r[0].args[0], "push");
	assert_null(r[0].args[1]);
	assert_null(r[0].with);
	assert_string_equal(r[1].with[0], "-r"); /* rm takes clusters */
	assert_string_equal(r[1].with[1], "-f");
	assert_null(r[1].with[2]);
	assert_string_equal(r[1].args[0], "/");
	assert_string_equal(r[2].with[0], "-delete"); /* find does not */
	assert_string_equal(r[3].commands[0], "./*");
	assert_string_equal(r[4].commands[0], "vi");
	assert_string_equal(r[4].id, "deny:@editors");
}

static void map_rules_take_sets_everywhere(void **state)
{
	scoped(profile_freep) struct profile *p = load_own(
		state, "profile: own\nsets: {mine: [a, b], more: ['@mine', c]}\n"
		       "danger:\n  - {pipe: {from: ['@more'], to: ['@shells']}, reason: no}\n"
		       "  - {write: ['@block-devices']}\n  - {regex: 'x+'}\n"
		       "nudge: [{commands: ['@mine'], use: [t]}, {commands: [z], force: false}]\n"
		       "never: [{commands: [sh], enforce: line}]\n");
	const struct policy_rule *r = p->rules.rules;

	assert_int_equal(p->rules.rule_count, 6);
	assert_string_equal(r[0].id, "danger:pipe");
	assert_string_equal(r[0].pipe_from[2], "c");
	assert_string_equal(r[0].pipe_to[0], "bash");
	assert_string_equal(r[0].reason, "no");
	assert_string_equal(r[1].id, "danger:write");
	assert_string_equal(r[2].regex, "x+");
	assert_true(r[3].forceable);
	assert_string_equal(r[3].id, "nudge:@mine");
	assert_string_equal(r[3].use[0], "t");
	assert_false(r[4].forceable);
	assert_true(r[5].line_only);
	/* The box lacks what is refused whatever its words are, unless other programs need it. */
	assert_null(p->sandbox.denied[0]);
}

static void ids_are_unique(void **state)
{
	scoped(profile_freep) struct profile *p =
		load_own(state, "profile: own\ndeny:\n  - {commands: [a], with: [-x]}\n"
	                        "  - {commands: [a], with: [-y]}\n");

	assert_string_equal(p->rules.rules[0].id, "deny:a");
	assert_string_equal(p->rules.rules[1].id, "deny:a-2");
}

static void the_number_of_rules_is_limited(void **state)
{
	struct place *place = *state;
	FILE *f;
	char path[128];

	snprintf(path, sizeof(path), "%s/.nacre.yaml", place->workspace);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("deny:\n", f);
	for (int i = 0; i < 5000; i++)
		fprintf(f, "- c%d\n", i);
	fclose(f);
	assert_true(profile_load(&place->request, &(struct profile *){NULL}, &place->err) < 0);
	assert_non_null(strstr(place->err.text, "more than 4096 rules"));
}

static void a_project_can_tighten(void **state)
{
	scoped(profile_freep) struct profile *p = load_project(
		state, "bash",
		"never: [a]\ndeny: [b]\ndanger: [{literal: x}]\nnudge: [c]\nask: [d]\n"
		"default: ask\nunknown: deny\nabsolute_paths: false\nrequire_description: true\n"
		"timeout: {default: 1s, max: 2s, grace: 1s}\noutput: {limit: 100}\n"
		"effects: {deny: [network]}\nsyntax: {ban: [x]}\n"
		"sandbox: {network: none, exec: listed, workspace: readonly, workspace_exec: "
		"false, debug: false, secrets: [/x], protected: [y], require: [seccomp], limits: "
		"{memory: 1M, "
		"cpu: 5}}\naudit: {on_failure: refuse}\ndescription: tight\n");

	assert_int_equal(p->rules.fallback, POLICY_VERDICT_ASK);
	assert_int_equal(p->rules.unknown, POLICY_UNKNOWN_DENY);
	assert_true(p->sandbox.workspace_readonly);
	assert_true(p->sandbox.workspace_noexec);
	assert_false(p->sandbox.debug);
	assert_int_equal(p->sandbox.exec, SANDBOX_EXEC_LISTED);
	assert_int_equal(p->sandbox.limits.cpu_seconds, 5);
	assert_true(p->sandbox.require & SANDBOX_LAYER_SECCOMP);
	for (size_t i = 0; i < p->rules.rule_count; i++)
		assert_false(p->rules.rules[i].list == POLICY_NUDGE && p->rules.rules[i].forceable);
}

#define LOOSER "would loosen the profile; the file of a project can only tighten"

static void a_project_cannot_loosen(void **state)
{
	static const struct {
		const char *profile, *text, *words;
	} rows[] = {
		{"verify", "default: allow\n", "1:10: 'default' " LOOSER},
		{"verify", "default: ask\n", "1:10: 'default' " LOOSER},
		{"verify", "unknown: sandbox\n", "1:10: 'unknown' " LOOSER},
		{"verify", "absolute_paths: true\n", "1:17: 'absolute_paths' " LOOSER},
		{"verify", "timeout: {max: 31s}\n", "1:16: 'timeout.max' " LOOSER},
		{"verify", "shell: bash\n", "1:8: 'shell' " LOOSER},
		{"bash", "shell: {max_timeout: 601}\n", "1:22: 'shell.max_timeout' " LOOSER},
		{"bash", "coding: {default_timeout: 121}\n",
	         "1:27: 'coding.default_timeout' " LOOSER},
		{"bash", "tool: shell\n", "1:7: 'tool' " LOOSER},
		{"bash", "output: {style: all}\n", "1:17: 'output.style' " LOOSER},
		{"bash", "output: {limit: 1M}\n", "1:17: 'output.limit' " LOOSER},
		{"bash", "output: {limit: 0}\n", "1:17: 'output.limit' " LOOSER},
		{"bash", "sandbox: {mode: none}\n", "1:17: 'sandbox.mode' " LOOSER},
		{"bash", "sandbox: {mode: container}\n", "1:17: 'sandbox.mode' " LOOSER},
		{"bash", "docker: {allow: true}\n", "1:17: 'docker.allow' " LOOSER},
		{"bash", "docker: {start: [sh]}\n", "1:17: 'docker.start' " LOOSER},
		{"bash", "docker: {endpoint: /x}\n", "1:20: 'docker.endpoint' " LOOSER},
		{"bash", "docker: {ping_timeout: 3s}\n", "1:24: 'docker.ping_timeout' " LOOSER},
		{"bash", "sandbox: {container: {image: x}}\n",
	         "1:30: 'sandbox.container.image' " LOOSER},
		{"bash", "sandbox: {mode: landlock}\n", "1:17: 'sandbox.mode' " LOOSER},
		{"bash", "sandbox: {readable: [/var/secret]}\n",
	         "1:21: 'sandbox.readable' " LOOSER},
		{"bash", "sandbox: {writable: [/]}\n", "1:21: 'sandbox.writable' " LOOSER},
		{"bash", "sandbox: {limits: {memory: 0}}\n",
	         "1:28: 'sandbox.limits.memory' " LOOSER},
		{"bash", "sandbox: {limits: {memory: 1T}}\n",
	         "1:28: 'sandbox.limits.memory' " LOOSER},
		{"readonly", "sandbox: {workspace: readwrite}\n",
	         "1:22: 'sandbox.workspace' " LOOSER},
		{"readonly", "sandbox: {exec: any}\n", "1:17: 'sandbox.exec' " LOOSER},
		{"bash", "environment: {pass: [AWS_SECRET]}\n", "1:21: 'environment.pass' " LOOSER},
		{"bash", "environment: {set: {A: b}}\n", "1:20: 'environment.set' " LOOSER},
		{"bash", "workspace: {root: /}\n", "1:19: 'workspace.root' " LOOSER},
		{"bash", "workspace: {roots: [/]}\n", "1:20: 'workspace.roots' " LOOSER},
		{"bash", "inherits: universal\n", "1:11: 'inherits' " LOOSER},
		{"bash", "audit: {on_failure: notice}\n", "1:21: 'audit.on_failure' " LOOSER},
		{"bash", "remove: ['danger:mkfs']\n", "1:9: 'remove' " LOOSER},
		{"bash", "profile: verify\n",
	         "1:10: this file is for the profile 'verify', not for 'bash'"},
		{"readonly", "allow: [ls, bash]\n",
	         "1:13: this would allow what the layers below do not; the file of a project can "
	         "only tighten"},
		{"readonly", "shell: {allow: [bash]}\n",
	         "1:17: this would allow what the layers below do not; the file of a project can "
	         "only tighten"},
		{"readonly", "ask: [bash]\n",
	         "1:7: a question where the answer below is no; the file of a project can only "
	         "tighten"},
		{"bash", "nudge: [{commands: [x], force: true}]\n",
	         "1:9: a nudge of a project cannot be forceable: what is forced would skip the "
	         "layers below"},
	};

	for (size_t i = 0; i < array_size(rows); i++)
		refuse_project(state, rows[i].profile, rows[i].text, rows[i].words);
}

static void a_project_shortens_the_allowed_list(void **state)
{
	scoped(profile_freep) struct profile *p =
		load_project(state, "readonly", "allow: [ls, wc -l]\n");
	size_t allowed = 0;

	for (size_t i = 0; i < p->rules.rule_count; i++)
		allowed += p->rules.rules[i].list == POLICY_ALLOW;
	assert_int_equal(allowed, 2);
	profile_free(p);
	p = load_project(state, "bash", "shell: {allow: [ls]}\n"); /* there all was allowed */
	assert_int_equal(p->rules.fallback, POLICY_VERDICT_DENY);
}

static void what_a_layer_has_taken_away_stays_away(void **state)
{
	struct place *place = *state;

	place_write(place->user, "readonly.yaml", "allow: [ls]\n");
	refuse_project(state, "readonly", "allow: [ls, cat]\n",
	               "1:13: this would allow what the layers below do not; the file of a project "
	               "can only tighten");
	place_write(place->user, "readonly.yaml", "remove: ['allow:cat']\n");
	refuse_project(state, "readonly", "allow: [ls, cat]\n",
	               "1:13: this would allow what the layers below do not; the file of a project "
	               "can only tighten");
}

static void a_set_of_a_project_is_its_own(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;
	char path[128];

	place_write(place->user, "own.yaml",
	            "profile: own\nsets: {tools: [ls]}\nallow: ['@tools']\ndeny: [a]\n");
	/* The same words, but more members. */
	refuse_project(state, "own", "sets: {tools: [ls, bash]}\nallow: ['@tools']\n",
	               "2:9: this would allow what the layers below do not; the file of a project "
	               "can only tighten");
	/* A file above means the set of the user. */
	place_write(place->workspace, ".nacre.yaml", "sets: {tools: [nothing]}\n");
	place_write(place->root, "p.yaml", "deny: ['@tools']\n");
	snprintf(path, sizeof(path), "%s/p.yaml", place->root);
	place->request.policy_file = path;
	p = place_load(place);
	assert_string_equal(p->rules.rules[0].commands[0], "ls");
}

static void a_long_rule_is_not_taken_for_another(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct place *place = *state;
	char long_name[600], text[2000];

	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	snprintf(text, sizeof(text), "profile: own\ndeny: [{commands: [%s, a]}]\n", long_name);
	place_write(place->system, "own.yaml", text);
	snprintf(text, sizeof(text), "deny: [{commands: [%s, b]}]\n", long_name);
	place_write(place->user, "own.yaml", text);
	place->request.name = "own";
	p = place_load(place);
	assert_int_equal(p->rules.rule_count, 2);
}

static void the_members_of_sets_are_limited(void **state)
{
	struct place *place = *state;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/.nacre.yaml", place->workspace);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("sets:\n  a: [x, x, x, x, x, x, x, x, x, x]\n", f);
	for (int c = 'b'; c < 'h'; c++) {
		fprintf(f, "  %c: [", c);
		for (int i = 0; i < 10; i++)
			fprintf(f, "'@%c', ", c - 1);
		fputs("]\n", f);
	}
	fclose(f);
	place_refuse(place, ".nacre.yaml:5:6: 'sets.d': too many entries");
}

static void the_box_lacks_what_is_refused_in_any_case(void **state)
{
	scoped(profile_freep) struct profile *p = load_own(
		state, "profile: own\nnever: [a, {commands: [b], enforce: line}]\n"
		       "deny: [c d, {commands: [e], with: [-x]}, '.', '[', './*', /opt/f]\n"
		       "danger: [{commands: [g]}, {commands: [h], write: [/etc]}]\nask: [i]\n");

	assert_string_equal(p->sandbox.denied[0], "a");
	assert_string_equal(p->sandbox.denied[1], "/opt/f");
	assert_string_equal(p->sandbox.denied[2], "g");
	assert_null(p->sandbox.denied[3]);
	assert_null(p->sandbox.programs); /* exec: any */
}

struct found {
	int count;
	char text[1024];
};

static void note(void *context, const struct policy_rule *rule, const char *message)
{
	struct found *f = context;
	size_t used = strlen(f->text);

	f->count++;
	snprintf(f->text + used, sizeof(f->text) - used, "%s: %s\n", rule->id, message);
}

static void lint_expect(void **state, const char *rules, const char *words)
{
	struct found f = {0};
	scoped(profile_freep) struct profile *p = NULL;
	char text[512];

	snprintf(text, sizeof(text), "profile: own\ndefault: ask\n%s", rules);
	p = load_own(state, text);
	profile_lint(p, p->rules.rules[0].place.file, note, &f);
	if (words ? !strstr(f.text, words) : f.count)
		fail_msg("found \"%s\", wanted \"%s\"", f.text, words ? words : "");
}

static void lint_finds_rules_that_never_decide(void **state)
{
	lint_expect(state, "deny: [git]\nallow: [git status]\n",
	            "allow:git status: never decides: 'deny:git'");
	lint_expect(state, "deny: [git push]\nallow: [git]\n", NULL);
	lint_expect(state, "deny: [git push]\nallow: [git push origin]\n", "never decides");
	lint_expect(state, "nudge: [ls]\nallow: [ls]\n", NULL); /* force gets past the nudge */
	lint_expect(state, "nudge: [{commands: [ls], force: false}]\nallow: [ls]\n",
	            "never decides");
	lint_expect(state, "deny: ['mkfs.*', mkfs.ext4]\n", "deny:mkfs.ext4: never decides");
	lint_expect(state, "deny: [a, a]\n", "deny:a-2: the same as 'deny:a'");
	lint_expect(state, "deny: [{commands: [git push]}]\n", "no command has a blank");
	lint_expect(state, "deny: [{commands: [a], with: [-x], without: [-x]}]\n",
	            "both wanted and excluded");
	lint_expect(state, "deny: [{commands: [a], with: [-x], only: [-y]}]\n",
	            "'only' has it not");
	lint_expect(state, "deny: [{commands: []}]\n", "'commands' is an empty list");
	lint_expect(state, "deny: [{commands: [a], args: [-x]}]\n", "is an option");
	lint_expect(state, "deny: [{commands: [a], with: [x]}]\n", "not look like an option");
	lint_expect(state, "deny: [{commands: [sort], with: [--ouptut]}]\n",
	            "did you mean '--output'?");
	lint_expect(state, "deny: [{commands: [sort], with: [--output, -o]}]\n", NULL);
	lint_expect(state, "shell: none\ndanger: [{pipe: {from: [a], to: [b]}}]\n",
	            "there are no pipes");
	lint_expect(state, "syntax: {ban: ['|']}\ndanger: [{literal: 'a|b'}]\n",
	            "'syntax' refuses '|' before it");
	lint_expect(state, "absolute_paths: false\nallow: [/bin/ls]\n",
	            "'absolute_paths' is false");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_keys_are_errors_with_a_hint),
		TEST(wrong_types_are_errors),
		TEST(values_out_of_range_are_errors),
		TEST(words_are_checked),
		TEST(rules_must_make_sense),
		TEST(string_rules_are_names_operands_and_options),
		TEST(map_rules_take_sets_everywhere),
		TEST(ids_are_unique),
		TEST(the_number_of_rules_is_limited),
		TEST(a_project_can_tighten),
		TEST(a_project_cannot_loosen),
		TEST(a_project_shortens_the_allowed_list),
		TEST(what_a_layer_has_taken_away_stays_away),
		TEST(a_set_of_a_project_is_its_own),
		TEST(a_long_rule_is_not_taken_for_another),
		TEST(the_members_of_sets_are_limited),
		TEST(the_box_lacks_what_is_refused_in_any_case),
		TEST(lint_finds_rules_that_never_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
