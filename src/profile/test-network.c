#include "profile/test-support.h"

#include "base/buffer.h"
#include "json/write.h"
#include "profile/show.h"

#define BASE                                                                                       \
	"profile: own\nsandbox:\n  network:\n"                                                     \
	"    allow: [github.com, \"*.corp.example\", \"host.nacre:6379\", \"10.1.2.3:5432\"]\n"    \
	"    ask: [\"*\"]\n"                                                                       \
	"    deny: [\"*.pastebin.com\"]\n"                                                         \
	"    private: [db.corp.example, 10.1.2.3]\n"                                               \
	"    publish: [8080, \"3000:80\"]\n"

static void own(void **state, const char *text)
{
	struct place *place = *state;

	place_write(place->user, "own.yaml", text);
	place->request.name = "own";
}

static void project(void **state, const char *network)
{
	struct place *place = *state;
	char text[512];

	snprintf(text, sizeof(text), "sandbox:\n  network: %s\n", network);
	place_write(place->workspace, ".nacre.yaml", text);
}

static void refuse_project(void **state, const char *network, const char *words)
{
	char all[256];

	project(state, network);
	snprintf(all, sizeof(all), ".nacre.yaml:%s", words);
	place_refuse(*state, all);
}

static const char *verdict(const struct profile *p, const char *name, uint16_t port)
{
	return network_verdict_word(network_judge(&p->network, name, port).kind);
}

static void a_map_is_the_network_by_name(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;
	const struct network_rule *rule;

	own(state, BASE);
	p = place_load(*state);
	assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NAMES);
	assert_string_equal(verdict(p, "github.com", 443), "allow");
	assert_string_equal(verdict(p, "x.test", 443), "ask");
	assert_string_equal(verdict(p, "a.pastebin.com", 443), "deny");
	assert_string_equal(verdict(p, "host.nacre", 6379), "allow");
	rule = &p->network.lists[NETWORK_ALLOW].rules[0];
	assert_int_equal(rule->line, 4);
	assert_non_null(strstr(rule->file, "/user/own.yaml"));
	assert_int_equal(p->network.publish_count, 2);
	assert_int_equal(p->network.publish[1].host, 3000);
	assert_int_equal(p->network.publish[1].box, 80);
}

static void a_map_without_lists_is_none(void **state)
{
	static const char *const maps[] = {"{}", "{allow: []}", "{deny: [x.test]}",
	                                   "{allow: [], ask: [], private: [x.test]}"};

	for (size_t i = 0; i < array_size(maps); i++) {
		scoped(profile_freep) struct profile *p = NULL;
		char text[256];

		snprintf(text, sizeof(text), "profile: own\nsandbox: {network: %s}\n", maps[i]);
		own(state, text);
		p = place_load(*state);
		assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NONE);
	}
}

static void layers_of_the_operator_replace_lists_and_add_to_deny(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	place_write(place->user, "nacre.yaml",
	            "sandbox: {network: {allow: [y.test], ask: [\"@inherited\", \"*:22\"], deny: "
	            "[z.test]}}\n");
	p = place_load(place);
	assert_string_equal(verdict(p, "github.com", 443), "ask");
	assert_string_equal(verdict(p, "y.test", 443), "allow");
	assert_string_equal(verdict(p, "y.test", 22), "ask");
	assert_string_equal(verdict(p, "z.test", 443), "deny");
	assert_string_equal(verdict(p, "a.pastebin.com", 443), "deny");
	p = profile_free(p);

	place_write(place->user, "nacre.yaml", "sandbox: {network: none}\n");
	p = place_load(place);
	assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NONE);
	assert_int_equal(p->network.lists[NETWORK_ALLOW].count, 0);
	p = profile_free(p);

	place_write(place->user, "nacre.yaml",
	            "remove: [\"sandbox.network.deny:*.pastebin.com\"]\n");
	p = place_load(place);
	assert_string_equal(verdict(p, "a.pastebin.com", 443), "ask");
}

/* The project's file: a test for every row of the table. */
static void a_project_chooses_a_tighter_word(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	refuse_project(state, "host",
	               "2:12: 'sandbox.network' would loosen the profile; the file "
	               "of a project can only tighten");
	project(state, "none");
	p = place_load(*state);
	assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NONE);
	p = profile_free(p);

	own(state, "profile: own\nsandbox: {network: none}\n");
	refuse_project(state, "{allow: [x.test]}",
	               "2:12: 'sandbox.network' would loosen the profile; the file of a project "
	               "can only tighten");

	own(state, "profile: own\nsandbox: {network: host}\n");
	project(state, "{allow: [x.test], ask: [y.test]}");
	p = place_load(*state);
	assert_int_equal(p->sandbox.network, SANDBOX_NETWORK_NAMES);
	assert_string_equal(verdict(p, "x.test", 443), "allow");
	assert_string_equal(verdict(p, "y.test", 443), "ask");
	assert_string_equal(verdict(p, "z.test", 443), "none");
	refuse_project(state, "{allow: [\"host.nacre:80\"]}",
	               "2:20: 'sandbox.network.allow' would loosen the profile; the file of a "
	               "project can only tighten");
}

static void a_project_shortens_allow(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	project(state, "{allow: [github.com]}");
	p = place_load(*state);
	assert_string_equal(verdict(p, "github.com", 443), "allow");
	assert_string_equal(verdict(p, "a.corp.example", 443), "ask");
	refuse_project(state, "{allow: [x.test]}",
	               "2:20: 'sandbox.network.allow' would loosen the profile; the file of a "
	               "project can only tighten");
	/* Narrower is no way around ask: it would be more specific. */
	refuse_project(state, "{allow: [\"a.corp.example:443\"]}",
	               "2:20: 'sandbox.network.allow' would loosen the profile; the file of a "
	               "project can only tighten");
	refuse_project(state, "{allow: [\"@inherited\", \"*\"]}",
	               "2:20: 'sandbox.network.allow' would loosen the profile; the file of a "
	               "project can only tighten");
}

static void a_project_turns_allow_into_ask(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	project(state, "{ask: [github.com, a.corp.example]}");
	p = place_load(*state);
	assert_string_equal(verdict(p, "github.com", 443), "ask");
	assert_string_equal(verdict(p, "a.corp.example", 443), "ask");
	assert_string_equal(verdict(p, "b.corp.example", 443), "allow");
	assert_string_equal(verdict(p, "x.test", 443), "ask"); /* what is below stays */
	p = profile_free(p);

	project(state, "{ask: [\"*\"]}"); /* all names, and not the host */
	p = place_load(*state);
	assert_string_equal(verdict(p, "github.com", 443), "ask");
	assert_string_equal(verdict(p, "b.corp.example", 443), "ask");
	assert_string_equal(verdict(p, "host.nacre", 6379), "allow");
	p = profile_free(p);

	own(state, "profile: own\nsandbox: {network: {allow: [github.com]}}\n");
	refuse_project(state, "{ask: [x.test]}",
	               "2:18: 'sandbox.network.ask' would open what is closed now; the file of a "
	               "project can only tighten");
	refuse_project(state, "{ask: [\"github.com:22\"]}",
	               "2:18: 'sandbox.network.ask' would open what is closed now; the file of a "
	               "project can only tighten");
	project(state, "{ask: [\"*\"]}");
	p = place_load(*state);
	assert_string_equal(verdict(p, "github.com", 443), "ask");
	assert_string_equal(verdict(p, "x.test", 443), "none"); /* the star is not added */
}

static void a_project_adds_to_deny(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	project(state, "{deny: [github.com, \"host.nacre\"]}");
	p = place_load(*state);
	assert_string_equal(verdict(p, "github.com", 443), "deny");
	assert_string_equal(verdict(p, "host.nacre", 6379), "deny");
	assert_string_equal(verdict(p, "a.pastebin.com", 443), "deny");
}

static void a_project_has_no_say_in_private_and_via(void **state)
{
	own(state, BASE);
	refuse_project(state, "{private: [x.test]}",
	               "2:22: 'sandbox.network.private' would loosen the profile; the file of a "
	               "project can only tighten");
	refuse_project(state, "{private: []}",
	               "2:22: 'sandbox.network.private' would loosen the profile; the file of a "
	               "project can only tighten");
	refuse_project(state, "{via: environment}",
	               "2:18: 'sandbox.network.via' would loosen the profile; the file of a "
	               "project can only tighten");
}

static void a_project_shortens_publish(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, BASE);
	project(state, "{publish: [\"3000:80\"]}");
	p = place_load(*state);
	assert_int_equal(p->network.publish_count, 1);
	refuse_project(state, "{publish: [3000]}",
	               "2:22: 'sandbox.network.publish' would loosen the profile; the file of a "
	               "project can only tighten");
}

static void a_project_cannot_fill_a_set(void **state)
{
	struct place *place = *state;

	own(state, BASE);
	place_write(place->workspace, ".nacre.yaml",
	            "sets: {packages: [evil.test]}\n"
	            "sandbox: {network: {allow: [\"@packages\"]}}\n");
	place_refuse(place, ".nacre.yaml:2:28: 'sandbox.network.allow' would loosen the profile; "
	                    "the file of a project can only tighten");
}

static void wrong_entries_are_errors_with_a_place(void **state)
{
	static const struct {
		const char *network, *words;
	} rows[] = {
		{"names", "2:21: 'sandbox.network' does not know 'names'; it knows none, host"},
		{"[x.test]", "2:21: 'sandbox.network' wants a word or a map, not a list"},
		{"{allow: x.test}",
	         "2:29: 'sandbox.network.allow' wants a list of destinations, not a text"},
		{"{allow: [443]}",
	         "2:30: 'sandbox.network.allow' wants a text, not a number: write "
	         "\"443\""},
		{"{allow: [\"*.com\"]}", "2:30: 'sandbox.network.allow': '*.com' is too wide for "
	                                 "allow: two labels or more must follow the star"},
		{"{allow: [\"@nothing\"]}",
	         "2:30: 'sandbox.network.allow': there is no set '@nothing'"},
		{"{private: [\"@forges\"]}", "2:32: 'sandbox.network.private': name the hosts, not "
	                                     "the set '@forges'"},
		{"{via: \"https://p:1\"}",
	         "2:27: 'sandbox.network.via': 'https://p:1' is no proxy: "
	         "write http://HOST:PORT, or environment"},
		{"{via: \"http://u:p@p.test:1\"}",
	         "2:27: 'sandbox.network.via': 'http://u:p@p.test:1' is no proxy: write "
	         "http://HOST:PORT, or environment"},
		{"{publish: [0]}", "2:32: 'sandbox.network.publish' wants ports: 8080, or "
	                           "\"8080:80\""},
		{"{publish: [http]}", "2:32: 'sandbox.network.publish' wants ports: 8080, or "
	                              "\"8080:80\""},
		{"{alow: []}", "2:22: unknown key 'alow', did you mean 'allow'?"},
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		char text[256], all[256];

		snprintf(text, sizeof(text), "profile: own\nsandbox: {network:  %s}\n",
		         rows[i].network);
		own(state, text);
		snprintf(all, sizeof(all), "user/own.yaml:%s", rows[i].words);
		place_refuse(*state, all);
	}
}

static void a_mode_that_cannot_keep_a_map_refuses_it(void **state)
{
	struct place *place = *state;

	own(state, "profile: own\nsandbox:\n  mode: none\n  network: {allow: [x.test]}\n");
	place_refuse(place, "user/own.yaml:4:12: 'sandbox.network' is a map, which the mode 'none' "
	                    "cannot keep: use 'none' or 'host'");
	own(state, "profile: own\nsandbox:\n  mode: container\n  container: {image: a}\n"
	           "  network: {allow: [x.test]}\n");
	place_refuse(place, "user/own.yaml:5:12: 'sandbox.network' is a map, which the mode "
	                    "'container' cannot keep: use 'none' or 'host'");
}

/* A home and a system of their own; the test's own are not read. */
static void machine(struct place *place, char home[96])
{
	snprintf(home, 96, "%s/home", place->root);
	assert_int_equal(mkdir(home, 0700), 0);
	place->request.home = home;
	place->request.machine = place->root;
}

static const struct network_rule *find(const struct profile *p, enum network_list list,
                                       const char *entry)
{
	char text[DESTINATION_TEXT_SIZE];

	for (size_t i = 0; i < p->network.lists[list].count; i++) {
		destination_format(&p->network.lists[list].rules[i].to, list, text);
		if (strcmp(text, entry) == 0)
			return &p->network.lists[list].rules[i];
	}
	return NULL;
}

static void packages_are_what_the_machine_uses(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL;
	char home[96];

	machine(place, home);
	own(state, "profile: own\nsandbox: {network: {allow: [\"@packages\"]}}\n");
	p = place_load(place);
	assert_non_null(find(p, NETWORK_ALLOW, "registry.npmjs.org"));
	assert_non_null(find(p, NETWORK_ALLOW, "pypi.org"));
	assert_non_null(find(p, NETWORK_ALLOW, "files.pythonhosted.org"));
	assert_non_null(find(p, NETWORK_ALLOW, "static.crates.io"));
	assert_null(find(p, NETWORK_PRIVATE, "pypi.org"));
	assert_true(profile_is_current(p));
	p = profile_free(p);

	place_write(home, ".npmrc",
	            "# registry=https://commented.test/\n@corp:registry=https://npm.corp.test/\n"
	            "//npm.corp.test/:_authToken=secret\nproxy=http://proxy.corp.test:3128/\n");
	place_write(home, ".pip/pip.conf",
	            "[global]\nindex-url = https://user:secret@pip.corp.test:8443/simple\n"
	            "extra-index-url =\n    https://more.corp.test/simple\n");
	place_write(home, ".m2/settings.xml",
	            "<settings><!--\n<url>http://sample.test/</url> -->\n<mirror>\n"
	            "<mirrorOf>*</mirrorOf>\n<url>http://10.1.2.3:8081/maven</url>\n</mirror>\n");
	place_write(place->system, "npmrc", "registry = ${REGISTRY}\n");
	p = place_load(place);
	assert_non_null(find(p, NETWORK_ALLOW, "npm.corp.test"));
	assert_string_equal(find(p, NETWORK_ALLOW, "npm.corp.test")->set, "@packages");
	assert_non_null(strstr(find(p, NETWORK_ALLOW, "npm.corp.test")->source, "/home/.npmrc:2"));
	assert_null(find(p, NETWORK_ALLOW, "commented.test"));
	assert_null(find(p, NETWORK_ALLOW, "proxy.corp.test:3128"));
	assert_non_null(find(p, NETWORK_ALLOW, "pip.corp.test:8443"));
	assert_non_null(find(p, NETWORK_ALLOW, "more.corp.test"));
	assert_null(find(p, NETWORK_ALLOW, "pypi.org")); /* index-url replaces it */
	assert_null(find(p, NETWORK_ALLOW, "files.pythonhosted.org"));
	assert_null(find(p, NETWORK_ALLOW, "sample.test"));
	assert_null(find(p, NETWORK_ALLOW, "repo.maven.apache.org"));
	assert_non_null(find(p, NETWORK_ALLOW, "10.1.2.3:8081"));
	/* A registry of the company may lie in its network. */
	assert_non_null(find(p, NETWORK_PRIVATE, "npm.corp.test"));
	assert_non_null(find(p, NETWORK_PRIVATE, "10.1.2.3"));
	assert_null(find(p, NETWORK_PRIVATE, "static.crates.io"));
}

static void a_configuration_that_changes_changes_the_profile(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL, *q = NULL;
	char home[96], before[PROFILE_DIGEST_SIZE], after[PROFILE_DIGEST_SIZE];

	machine(place, home);
	own(state, "profile: own\nsandbox: {network: {allow: [\"@packages\"]}}\n");
	p = place_load(place);
	q = place_load(place);
	profile_digest(p, before);
	profile_digest(q, after);
	assert_string_equal(before, after);
	q = profile_free(q);
	place_write(home, ".npmrc", "registry=https://npm.corp.test/\n");
	assert_false(profile_is_current(p));
	q = place_load(place);
	profile_digest(q, after);
	assert_string_not_equal(before, after);
}

/* A session keeps its network while nothing of these changes. */
static void what_a_network_depends_on(void **state)
{
	static const struct {
		const char *text;
		bool same;
	} rows[] = {
		{"  network: {allow: [a.test], ask: [\"@forges\"]}\ndeny: [rm]\n", true},
		{"\n\n  network: {allow: [a.test], ask: [\"@forges\"]}\n", true},
		{"  network: {allow: [a.test, b.test], ask: [\"@forges\"]}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"], deny: [c.test]}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"], private: [a.test]}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"], publish: [80]}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"], via: http://p.test:1}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"]}\napproval: {answer: deny}\n",
	         false},
		{"  network: {allow: [a.test], ask: [\"@forges\"]}\naudit: {mask: [x]}\n", false},
		{"  network: {allow: [a.test], ask: [\"@forges\"]}\naudit: {on_failure: notice}\n",
	         false},
	};
	char before[PROFILE_DIGEST_SIZE], after[PROFILE_DIGEST_SIZE], text[256];
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL, *q = NULL;

	own(state, "profile: own\nsandbox:\n  network: {allow: [a.test], ask: [\"@forges\"]}\n");
	p = place_load(place);
	assert_true(profile_network_digest(p, before));
	for (size_t i = 0; i < array_size(rows); i++) {
		snprintf(text, sizeof(text), "profile: own\nsandbox:\n%s", rows[i].text);
		own(state, text);
		q = place_load(place);
		assert_true(profile_network_digest(q, after));
		assert_int_equal(strcmp(before, after) == 0, rows[i].same);
		q = profile_free(q);
	}
	own(state, "profile: own\nsandbox:\n  network: {allow: [a.test], ask: [\"@forges\"]}\n");
	place_write(place->workspace, ".git/config",
	            "[remote \"origin\"]\n\turl = git@git.corp.test:a/b.git\n");
	q = place_load(place);
	assert_non_null(find(q, NETWORK_ASK, "git.corp.test:22"));
	assert_true(profile_network_digest(q, after));
	assert_string_equal(before, after);
}

/* Whatever an agent could have written opens nothing. */
static void what_a_command_can_write_is_no_configuration(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL;
	char home[96], other[160];

	machine(place, home);
	place_write(home, ".npmrc", "registry=https://npm.corp.test/\n");
	place_write(place->workspace, ".npmrc", "registry=https://evil.test/\n");
	own(state, "profile: own\nsandbox:\n  network: {allow: [\"@packages\"]}\n");
	p = place_load(place);
	assert_non_null(find(p, NETWORK_ALLOW, "npm.corp.test"));
	assert_null(find(p, NETWORK_ALLOW, "evil.test"));
	p = profile_free(p);

	own(state, "profile: own\nsandbox:\n  network: {allow: [\"@packages\"]}\n"
	           "  writable: [~/.npmrc]\n");
	p = place_load(place);
	assert_null(find(p, NETWORK_ALLOW, "npm.corp.test"));
	assert_null(find(p, NETWORK_PRIVATE, "npm.corp.test"));
	p = profile_free(p);

	/* The home directory is the workspace, and then the root of workspaces. */
	own(state, "profile: own\nsandbox:\n  network: {allow: [\"@packages\"]}\n");
	place->request.home = place->workspace;
	p = place_load(place);
	assert_null(find(p, NETWORK_ALLOW, "evil.test"));
	p = profile_free(p);
	place->request.home = home;
	place->request.root = place->root;
	p = place_load(place);
	assert_null(find(p, NETWORK_ALLOW, "npm.corp.test"));
	p = profile_free(p);
	place->request.root = NULL;

	/* Others can write it. */
	snprintf(other, sizeof(other), "%s/.npmrc", home);
	assert_int_equal(chmod(other, 0666), 0);
	p = place_load(place);
	assert_null(find(p, NETWORK_ALLOW, "npm.corp.test"));
}

static void a_person_is_asked_about_the_hosts_of_remotes(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL;

	place_write(place->workspace, ".git/config",
	            "[remote \"origin\"]\n\turl = git@git.corp.test:a/b.git\n"
	            "[remote \"b\"]\n\turl = https://github.com/a/b\n"
	            "[remote \"c\"]\n\turl = https://code.corp.test:8443/a\n"
	            "\tpushurl = /srv/git/a\n");
	own(state, "profile: own\nsandbox: {network: {allow: [\"@forges\"]}}\n");
	p = place_load(place);
	assert_string_equal(verdict(p, "github.com", 443), "allow");
	assert_string_equal(verdict(p, "github.com", 22), "allow");
	assert_string_equal(verdict(p, "raw.githubusercontent.com", 443), "allow");
	assert_string_equal(verdict(p, "git.corp.test", 22), "ask"); /* an agent can add remotes */
	assert_string_equal(verdict(p, "git.corp.test", 443), "ask");
	assert_string_equal(verdict(p, "code.corp.test", 8443), "ask");
	assert_string_equal(verdict(p, "x.test", 443), "none");
	assert_null(find(p, NETWORK_ASK, "github.com"));
	assert_string_equal(find(p, NETWORK_ASK, "git.corp.test:22")->source, ".git/config");
	p = profile_free(p);

	own(state, "profile: own\nsandbox: {network: {allow: [x.test]}}\n");
	p = place_load(place);
	assert_string_equal(verdict(p, "git.corp.test", 22), "none");
}

static void a_set_of_the_operator_takes_the_place_of_a_built_in_one(void **state)
{
	scoped(profile_freep) struct profile *p = NULL;

	own(state, "profile: own\nsets: {packages: [npm.corp.test, \"10.1.2.3:80\"]}\n"
	           "sandbox: {network: {allow: [\"@packages\"]}}\n");
	p = place_load(*state);
	assert_int_equal(p->network.lists[NETWORK_ALLOW].count, 2);
	assert_string_equal(verdict(p, "npm.corp.test", 443), "allow");
	assert_string_equal(verdict(p, "registry.npmjs.org", 443), "none");
}

static void the_lists_are_shown_with_their_origins(void **state)
{
	struct place *place = *state;
	scoped(profile_freep) struct profile *p = NULL;
	scoped(buffer_donep) struct buffer out = {0}, json = {0};
	struct json_writer w = {.out = &json};

	own(state, "profile: own\nsandbox:\n  network:\n    allow: [\"@forges\", x.test]\n"
	           "    via: http://proxy.test:3128\n");
	p = place_load(place);
	profile_print(p, true, &out);
	assert_non_null(strstr(buffer_str(&out), "sandbox.network: \"names\"  # own.yaml:4:5"));
	assert_non_null(strstr(buffer_str(&out),
	                       "sandbox.network.allow: [\"@forges\",\"x.test\"]  # own.yaml:4:"));
	assert_non_null(
		strstr(buffer_str(&out), "  - github.com:22  # @forges from GitHub, own.yaml:4\n"));
	assert_non_null(strstr(buffer_str(&out), "  - x.test  # own.yaml:4\n"));
	assert_non_null(strstr(buffer_str(&out), "\"http://proxy.test:3128\""));
	profile_write_json(p, &w);
	assert_non_null(strstr(buffer_str(&json), "\"list\":\"allow\",\"entry\":\"x.test\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_map_is_the_network_by_name),
		TEST(a_map_without_lists_is_none),
		TEST(layers_of_the_operator_replace_lists_and_add_to_deny),
		TEST(a_project_chooses_a_tighter_word),
		TEST(a_project_shortens_allow),
		TEST(a_project_turns_allow_into_ask),
		TEST(a_project_adds_to_deny),
		TEST(a_project_has_no_say_in_private_and_via),
		TEST(a_project_shortens_publish),
		TEST(a_project_cannot_fill_a_set),
		TEST(wrong_entries_are_errors_with_a_place),
		TEST(a_mode_that_cannot_keep_a_map_refuses_it),
		TEST(packages_are_what_the_machine_uses),
		TEST(a_configuration_that_changes_changes_the_profile),
		TEST(what_a_command_can_write_is_no_configuration),
		TEST(a_person_is_asked_about_the_hosts_of_remotes),
		TEST(what_a_network_depends_on),
		TEST(a_set_of_the_operator_takes_the_place_of_a_built_in_one),
		TEST(the_lists_are_shown_with_their_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
