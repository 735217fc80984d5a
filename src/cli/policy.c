/*
 * nacre policy: validate, try and show what decides about commands. Runs none of them.
 */
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/policy-test.h"
#include "cli/profile-options.h"
#include "engine/result.h"
#include "json/write.h"
#include "policy/policy.h"
#include "profile/lint.h"
#include "profile/schema.h"
#include "profile/show.h"

static const char usage[] =
	"usage: nacre policy check [--strict] [--profile P] [--json] FILE|NAME...\n"
	"       nacre policy test [--json] FILE|NAME...\n"
	"       nacre policy show [--profile P] [--agent A] [--policy FILE] [--workspace DIR] "
	"[--json]\n"
	"       nacre policy schema [--doc]\n"
	"\n"
	"  check     tells whether files can be used, and which of their rules never decide\n"
	"  test      tries the examples of files or profiles\n"
	"  show      the profile as it holds, with the place that each value comes from\n"
	"  schema    JSON Schema of these files, or their reference in Markdown\n"
	"\n"
	"  --strict         a rule that never decides is an error, too\n"
	"  --profile P      the profile that is shown, or stands below the file that is checked\n"
	"  --agent A        an agent: a profile for one role\n"
	"  --policy FILE    a policy file of your own, above all others\n"
	"  --workspace DIR  whose project's file is read (default: the current directory)\n"
	"  --doc            with schema: a reference in Markdown\n"
	"  --json           one JSON object instead of text for people\n"
	"  --help           this text\n";

static int flush(struct buffer *out)
{
	if (buffer_error(out) || fwrite(buffer_str(out), 1, out->len, stdout) != out->len ||
	    fflush(stdout) != 0)
		return EXIT_NACRE_FAILED;
	return 0;
}

/* What is named may be a file, a file of a project, or a profile that is known. */
int policy_load_named(const struct profile_options *o, const char *name,
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
	const struct profile_options *options;
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

static int check(const struct profile_options *o, char **names)
{
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
	return flush(&out) ? EXIT_NACRE_FAILED : worst;
}

static int show(struct profile_options *o)
{
	scoped(buffer_donep) struct buffer out = {0}, clean = {0};
	scoped(profile_freep) struct profile *p = NULL;
	struct json_writer w = {.out = &out};
	struct error err = {0};

	if (!o->workspace) /* as nacre run would have it here */
		o->request.workspace_fd = o->workspace_fd =
			open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (profile_load(&o->request, &p, &err) < 0) {
		cli_complain("%s", err.text);
		return 1;
	}
	if (o->json) {
		profile_write_json(p, &w);
		buffer_putc(&out, '\n');
		return flush(&out);
	}
	profile_print(p, false, &out);
	cli_put_clean(buffer_str(&out), &clean);
	return flush(&clean);
}

static int schema(const struct profile_options *o)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	if (o->doc) {
		profile_reference_write(&out);
	} else {
		profile_schema_write(&w);
		buffer_putc(&out, '\n');
	}
	return flush(&out);
}

int cli_policy(int argc, char **argv)
{
	scoped(profile_options_donep) struct profile_options o = {.workspace_fd = -1};
	const char *what = argc > 1 ? argv[1] : "";
	char **names;

	if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
		return fputs(usage, stdout) < 0 ? EXIT_NACRE_FAILED : 0;
	if (argc < 2 || profile_options_read(argc - 1, argv + 1, &o) < 0) {
		fputs(usage, stderr);
		return EXIT_NACRE_FAILED;
	}
	if (o.help)
		return fputs(usage, stdout) < 0 ? EXIT_NACRE_FAILED : 0;
	names = argv + 1 + optind;
	if (strcmp(what, "check") == 0 && *names)
		return check(&o, names);
	if (strcmp(what, "test") == 0 && *names)
		return policy_test(&o, names);
	if (strcmp(what, "show") == 0 && !*names)
		return show(&o);
	if (strcmp(what, "schema") == 0 && !*names)
		return schema(&o);
	fputs(usage, stderr);
	return EXIT_NACRE_FAILED;
}
