/*
 * nacre policy: check, test and show the files that decide about commands. Runs no command.
 *
 * Files are loaded by profile_load(), as for a run, so what is checked here is what decides there.
 * Words of a file are cleaned before they reach a terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy.h"
#include "engine/result.h"
#include "json/write.h"
#include "policy/policy.h"
#include "profile/lint.h"
#include "profile/schema.h"
#include "profile/show.h"

/* What is named may be a file, a file of a project, or a profile that is known. */
int policy_load_named(const struct policy_options *o, const char *name,
                      struct profile **ret_profile, const char **ret_file, struct error *err)
{
	scoped(fd_closep) int dir = -1;
	struct profile_request q = o->request;
	const char *slash = strrchr(name, '/');
	char folder[4096];

	q.examples = true;
	q.unchecked = true;
	*ret_file = name;
	if (strcmp(slash ? slash + 1 : name, PROFILE_PROJECT_FILE) == 0) {
		snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - name) + 1 : 1,
		         slash ? name : ".");
		dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && faccessat(dir, PROFILE_PROJECT_FILE, F_OK, 0) == 0) {
			q.workspace_fd = dir;
			*ret_file = PROFILE_PROJECT_FILE;
			return profile_load(&q, ret_profile, err);
		}
	}
	if (!strchr(name, '/') && !strchr(name, '.') && access(name, F_OK) < 0) {
		q.name = name;
		*ret_file = NULL;
	} else {
		q.policy_file = name;
	}
	return profile_load(&q, ret_profile, err);
}

struct check {
	const struct policy_options *options;
	struct json_writer json;
	unsigned warnings;
};

static void put_message(struct check *c, const char *level, const char *rule, const char *text,
                        const struct policy_place *place)
{
	struct json_writer *w = &c->json;

	json_object_begin(w);
	json_member_string(w, "level", level);
	json_member_string(w, "message", text);
	json_member_string(w, "rule", rule);
	if (place->file) {
		json_member_string(w, "file", place->file);
		json_member_uint(w, "line", place->line);
		json_member_uint(w, "column", place->column);
	}
	json_object_end(w);
}

/* Splits "FILE:LINE:COLUMN: words", in place; a text without a place is all words. */
static const char *take_place(char *text, struct policy_place *ret_place)
{
	for (char *p = strchr(text, ':'); p; p = strchr(p + 1, ':')) {
		char *behind_line, *behind;
		unsigned long line = strtoul(p + 1, &behind_line, 10), column;

		if (behind_line == p + 1 || *behind_line != ':')
			continue;
		column = strtoul(behind_line + 1, &behind, 10);
		if (behind == behind_line + 1 || strncmp(behind, ": ", 2) != 0)
			continue;
		*p = '\0';
		*ret_place = (struct policy_place){
			.file = text, .line = (uint32_t)line, .column = (uint32_t)column};
		return behind + 2;
	}
	return text;
}

static void warn(void *context, const struct policy_rule *rule, const char *message)
{
	scoped(buffer_donep) struct buffer text = {0}, clean = {0};
	struct check *c = context;

	c->warnings++;
	if (c->options->json) {
		put_message(c, "warning", rule->id, message, &rule->place);
		return;
	}
	buffer_printf(&text, "%s:%u:%u: warning: '%s' %s", rule->place.file, rule->place.line,
	              rule->place.column, rule->id, message);
	cli_put_clean(buffer_str(&text), &clean);
	printf("%s\n", buffer_str(&clean));
}

/* 0: it can be used, 1: it cannot. */
static int check_one(struct check *c, const char *name)
{
	scoped(profile_freep) struct profile *p = NULL;
	scoped(buffer_donep) struct buffer clean = {0};
	struct policy_place place = {0};
	struct error err = {0};
	const char *file;

	c->warnings = 0;
	if (policy_load_named(c->options, name, &p, &file, &err) < 0) {
		if (c->options->json) {
			file = take_place(err.text, &place);
			put_message(c, "error", NULL, file, &place);
		} else {
			cli_put_clean(err.text, &clean);
			fprintf(stderr, "%s\n", buffer_str(&clean));
		}
		return 1;
	}
	profile_lint(p, file, warn, c);
	cli_put_clean(name, &clean);
	if (!c->options->json)
		printf("%s: fine, %zu rules, %u warnings\n", buffer_str(&clean),
		       p->rules.rule_count, c->warnings);
	return c->warnings && c->options->strict ? 1 : 0;
}

static int check(void *options, int argc, char **names)
{
	const struct policy_options *o = options;
	scoped(buffer_donep) struct buffer out = {0};
	struct check c = {.options = o, .json = {.out = &out}};
	int worst = 0;

	if (o->json) {
		json_object_begin(&c.json);
		json_member_array(&c.json, "messages");
	}
	for (; *names; names++)
		worst |= check_one(&c, *names);
	if (o->json) {
		json_array_end(&c.json);
		json_member_bool(&c.json, "ok", !worst);
		json_object_end(&c.json);
		buffer_putc(&out, '\n');
	}
	return cli_print(&out) ? EXIT_NACRE_FAILED : worst;
}

static int show(void *options, int argc, char **argv)
{
	struct policy_options *o = options;
	scoped(fd_closep) int workspace = -1;
	scoped(buffer_donep) struct buffer out = {0}, clean = {0};
	scoped(profile_freep) struct profile *p = NULL;
	struct json_writer w = {.out = &out};
	struct error err = {0};

	/* As nacre run would have it here. */
	if (!o->workspace)
		o->workspace = ".";
	workspace = open(o->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (workspace < 0) {
		cli_complain("workspace '%s': %s", o->workspace, strerrordesc_np(errno));
		return EXIT_NACRE_FAILED;
	}
	o->request.workspace_fd = workspace;
	if (profile_load(&o->request, &p, &err) < 0) {
		cli_complain("%s", err.text);
		return 1;
	}
	if (o->json) {
		profile_write_json(p, &w);
		buffer_putc(&out, '\n');
		return cli_print(&out);
	}
	profile_print(p, false, &out);
	cli_put_clean(buffer_str(&out), &clean);
	return cli_print(&clean);
}

static int schema(void *options, int argc, char **argv)
{
	const struct policy_options *o = options;
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	if (o->doc) {
		profile_reference_write(&out);
	} else {
		profile_schema_write(&w);
		buffer_putc(&out, '\n');
	}
	return cli_print(&out);
}

void policy_options_prepare(void *options)
{
	struct policy_options *o = options;

	profile_request_init(&o->request, o->user_dir, sizeof(o->user_dir));
}

const struct cli_command cli_policy = {
	.name = "policy",
	.summary = "check, test and show the policy that decides about commands",
};

#define POLICY struct policy_options
#define LAYERS(words)                                                                              \
	{"profile", "PROFILE", words " (default bash)", CLI_TEXT(POLICY, request.name)},           \
		{"agent", "AGENT", "an agent: a profile for one role",                             \
	         CLI_TEXT(POLICY, request.agent)},                                                 \
	{                                                                                          \
		"json", NULL, "print one JSON object", CLI_FLAG(POLICY, json)                      \
	}

static const struct cli_option check_options[] = {
	{"strict", NULL, "treat a rule that never decides as an error", CLI_FLAG(POLICY, strict)},
	LAYERS("the profile below the file"),
	{0},
};

const struct cli_command cli_policy_check = {
	.name = "policy check",
	.summary = "check whether files can be used, and which rules never decide",
	.usage = "[OPTIONS] FILE|PROFILE...",
	.about = "Checks whether policy files can be used, and warns of rules that never decide. "
		 "The exit code is 1 if one cannot be used.",
	.operand = "PROFILE",
	.options = check_options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct policy_options),
	.prepare = policy_options_prepare,
	.main = check,
};

const struct cli_command cli_policy_test = {
	.name = "policy test",
	.summary = "test the examples in files or profiles",
	.usage = "[OPTIONS] FILE|PROFILE...",
	.about = "Decides about the examples in policy files or profiles, and compares the "
		 "verdicts. The exit code is 1 if one differs. Nothing is run.",
	.operand = "PROFILE",
	.options = check_options + 1, /* it has no --strict */
	.least = 1,
	.most = -1,
	.size = sizeof(struct policy_options),
	.prepare = policy_options_prepare,
	.main = policy_test,
};

static const struct cli_option show_options[] = {
	{"policy", "FILE", "your own policy file, above all others",
         CLI_TEXT(POLICY, request.policy_file)},
	{"workspace", "DIR", "read the project's file from here (default: the current directory)",
         CLI_TEXT(POLICY, workspace)},
	LAYERS("the profile to show"),
	{0},
};

const struct cli_command cli_policy_show = {
	.name = "policy show",
	.summary = "show a profile as it applies here, and where each value comes from",
	.usage = "[OPTIONS]",
	.options = show_options,
	.size = sizeof(struct policy_options),
	.prepare = policy_options_prepare,
	.main = show,
};

static const struct cli_option schema_options[] = {
	{"doc", NULL, "print the reference in Markdown instead", CLI_FLAG(POLICY, doc)},
	{0},
};

const struct cli_command cli_policy_schema = {
	.name = "policy schema",
	.summary = "print the JSON Schema of policy files, or their reference",
	.usage = "[OPTIONS]",
	.options = schema_options,
	.size = sizeof(struct policy_options),
	.prepare = policy_options_prepare,
	.main = schema,
};
