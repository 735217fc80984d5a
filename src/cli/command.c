/*
 * From words to a command that runs: find its entry, read its options into its struct, count its
 * operands, call it. A command sees only values that its entry allows; a mistake is told in one
 * line, with the name that was probably meant, and nothing has been done then.
 */
#include "cli/command.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "engine/result.h"

/* What getopt returns for an option: this, and its place in the entry. */
#define FIRST 256

const struct cli_command *const cli_commands[] = {&cli_run,
                                                  &cli_input,
                                                  &cli_call,
                                                  &cli_tasks,
                                                  &cli_output,
                                                  &cli_stop,
                                                  &cli_try,
                                                  &cli_diff,
                                                  &cli_apply,
                                                  &cli_discard,
                                                  &cli_undo,
                                                  &cli_session,
                                                  &cli_session_list,
                                                  &cli_session_show,
                                                  &cli_session_end,
                                                  &cli_session_caches,
                                                  &cli_approvals,
                                                  &cli_approve,
                                                  &cli_deny,
                                                  &cli_audit,
                                                  &cli_audit_show,
                                                  &cli_audit_tail,
                                                  &cli_audit_verify,
                                                  &cli_audit_checkpoint,
                                                  &cli_policy,
                                                  &cli_policy_check,
                                                  &cli_policy_test,
                                                  &cli_policy_show,
                                                  &cli_policy_import,
                                                  &cli_policy_schema,
                                                  &cli_profiles,
                                                  &cli_explain,
                                                  &cli_hook,
                                                  &cli_init,
                                                  &cli_learn,
                                                  &cli_analyse,
                                                  &cli_mcp,
                                                  &cli_serve,
                                                  &cli_console,
                                                  &cli_token,
                                                  &cli_token_create,
                                                  &cli_token_list,
                                                  &cli_token_revoke,
                                                  &cli_doctor,
                                                  &cli_completion,
                                                  &cli_complete,
                                                  &cli_describe,
                                                  &cli_launcher,
                                                  NULL};

const char *cli_name_in(const struct cli_command *c, const struct cli_command *group)
{
	size_t n = group ? strlen(group->name) : 0;

	if (!group)
		return strchr(c->name, ' ') ? NULL : c->name;
	return strncmp(c->name, group->name, n) == 0 && c->name[n] == ' ' ? c->name + n + 1 : NULL;
}

static const struct cli_command *find_in(const struct cli_command *group, const char *name)
{
	const char *known;

	for (size_t i = 0; cli_commands[i]; i++)
		if ((known = cli_name_in(cli_commands[i], group)) && strcmp(known, name) == 0)
			return cli_commands[i];
	return NULL;
}

const struct cli_command *cli_find(const char *name, const char *verb)
{
	const struct cli_command *c = find_in(NULL, name), *in;

	return c && !c->main && verb && (in = find_in(c, verb)) ? in : c;
}

int cli_refuse(const struct cli_option *o, const char *value, const char *wanted)
{
	cli_complain("--%s %s: expected %s", o->name, value, wanted);
	return -EINVAL;
}

static int read_count(const struct cli_option *o, const char *value, uint64_t *ret)
{
	char wanted[64];
	uint64_t n;

	if (number_parse_u64(value, &n) < 0 || n < o->min || n > o->max) {
		snprintf(wanted, sizeof(wanted),
		         o->max < INT64_MAX ? "a number from %llu to %llu"
		         : o->min           ? "a number of at least %llu"
		                            : "a number",
		         (unsigned long long)o->min, (unsigned long long)o->max);
		return cli_refuse(o, value, wanted);
	}
	*ret = n;
	return 0;
}

static int read_size(const struct cli_option *o, const char *value, uint64_t *ret)
{
	char wanted[128], least[32], most[32];
	uint64_t size;

	if (number_parse_size(value, &size) < 0 || size < o->min || size > o->max) {
		number_format_bytes(o->min, least);
		number_format_bytes(o->max, most);
		snprintf(wanted, sizeof(wanted), "a size such as 64K, 16M or 2G, from %s to %s",
		         least, most);
		return cli_refuse(o, value, wanted);
	}
	*ret = size;
	return 0;
}

static int read_duration(const struct cli_option *o, const char *value, int64_t *ret_ms)
{
	char wanted[96], most[32];
	int64_t ms;
	int n;

	if (number_parse_duration_ms(value, &ms) < 0 || ms < (int64_t)o->min ||
	    ms > (int64_t)o->max) {
		n = snprintf(wanted, sizeof(wanted), "a duration such as 500ms, 5s or 2m");
		number_format_duration((int64_t)o->max, most);
		if (o->max < CLI_FOREVER)
			snprintf(wanted + n, sizeof(wanted) - (size_t)n, ", at most %s", most);
		return cli_refuse(o, value, wanted);
	}
	*ret_ms = ms;
	return 0;
}

static int add(const struct cli_option *o, const char *value, struct cli_list *list)
{
	if (list->count == o->max) {
		cli_complain("--%s is given more than %zu times", o->name, list->count);
		return -E2BIG;
	}
	list->items[list->count++] = value;
	return 0;
}

static int take(void *options, const struct cli_option *o, const char *value)
{
	void *at = (char *)options + o->at;

	switch (o->put) {
	case CLI_PUT_FLAG:
		*(bool *)at = true;
		return 0;
	case CLI_PUT_TEXT:
		*(const char **)at = value;
		return 0;
	case CLI_PUT_LIST:
		return add(o, value, at);
	case CLI_PUT_COUNT:
		return read_count(o, value, at);
	case CLI_PUT_SIZE:
		return read_size(o, value, at);
	case CLI_PUT_DURATION:
		return read_duration(o, value, at);
	case CLI_PUT_BY:
		return o->read(options, o, value);
	}
	return -EINVAL;
}

/* getopt's view of an entry. */
struct getopt_view {
	struct option names[CLI_OPTIONS_MAX + 2];
	char letters[2 * CLI_OPTIONS_MAX + 5];
	const struct cli_option *rows[CLI_OPTIONS_MAX + 1];
	size_t count;
};

static void see(const struct cli_command *c, struct getopt_view *v)
{
	static const char *const orders[] = {
		[CLI_ANYWHERE] = ":", [CLI_FIRST] = "+:", [CLI_IN_ORDER] = "-:"};
	char *letter = stpcpy(v->letters, orders[c->order]);
	size_t names = 0;

	cli_each_option (o, c) {
		assert(v->count < CLI_OPTIONS_MAX);
		v->rows[v->count++] = o;
	}
	v->rows[v->count++] = &cli_help_option;
	for (size_t i = 0; i < v->count; i++) {
		const struct cli_option *o = v->rows[i];

		if (o->name)
			v->names[names++] =
				(struct option){.name = o->name,
			                        .has_arg = !o->value            ? no_argument
			                                   : o->value[0] == '[' ? optional_argument
			                                                        : required_argument,
			                        .val = FIRST + (int)i};
		if (o->letter && o->letter != CLI_OPERAND)
			*letter++ = o->letter;
		if (o->letter && o->letter != CLI_OPERAND && o->value)
			*letter++ = ':';
	}
}

static const struct cli_option *find_row(const struct getopt_view *v, int id)
{
	if (id >= FIRST)
		return v->rows[id - FIRST];
	for (size_t i = 0; i < v->count; i++)
		if (v->rows[i]->letter == id)
			return v->rows[i];
	return NULL;
}

/* WORD is what getopt stumbled over; optopt is the option, if it knows that one. */
static void complain(const struct cli_command *c, const struct getopt_view *v, int id,
                     const char *word)
{
	const struct cli_option *o = optopt ? find_row(v, optopt) : NULL;
	char named[SUGGEST_MAX + 1] = "";
	const char *meant;
	size_t n;

	if (o && id == ':') {
		cli_complain("%s: option '%s' needs a value: %s", c->name, word, o->value);
	} else if (o) {
		cli_complain("%s: option '--%s' takes no value", c->name, o->name);
	} else if (optopt) {
		cli_complain("%s: unknown option '-%c'; 'nacre %s --help' lists the options",
		             c->name, optopt, c->name);
	} else {
		n = strcspn(word, "=");
		if (n >= 2 && n - 2 <= SUGGEST_MAX)
			memcpy(named, word + 2, n - 2);
		meant = *named ? suggest_from(named, v->names, SIZE_MAX, sizeof(v->names[0]))
		               : NULL;
		if (meant)
			cli_complain("%s: unknown option '%.*s', did you mean '--%s'?", c->name,
			             (int)n, word, meant);
		else
			cli_complain("%s: unknown option '%.60s'; 'nacre %s --help' lists the "
			             "options",
			             c->name, word, c->name);
	}
}

/* Operands are from optind on. -ECANCELED: help is wanted. */
static int read_options(const struct cli_command *c, int argc, char **argv, void *options)
{
	struct getopt_view v = {0};
	int id, r = 0;

	see(c, &v);
	optind = 0;
	opterr = 0;
	while (r == 0 &&
	       (optopt = 0, id = getopt_long(argc, argv, v.letters, v.names, NULL)) != -1) {
		const struct cli_option *o = id == '?' || id == ':' ? NULL : find_row(&v, id);

		if (!o) {
			complain(c, &v, id, argv[optind - 1]);
			r = -EINVAL;
		} else {
			r = o == &cli_help_option ? -ECANCELED : take(options, o, optarg);
		}
	}
	return r;
}

static int print_help(const struct cli_command *c)
{
	scoped(buffer_donep) struct buffer out = {0};

	cli_put_help(c, &out);
	return cli_print(&out);
}

/* The mistake, and how it is used, in one line. */
static int complain_of_words(const struct cli_command *c, const char *what, const char *word)
{
	scoped(buffer_donep) struct buffer usage = {0};

	cli_put_usage(c, &usage);
	cli_complain("%s: %s%s%.60s%s; usage: %s", c->name, what, word ? " '" : "",
	             word ? word : "", word ? "'" : "", buffer_str(&usage));
	return EXIT_NACRE_FAILED;
}

static int complain_of_too_few(const struct cli_command *c)
{
	static const struct {
		const char *operand, *lister;
	} listers[] = {{"TASK", "tasks"}, {"APPROVAL", "approvals"}, {"PROFILE", "profiles"}};

	for (size_t i = 0; c->operand && i < array_size(listers); i++)
		if (strcmp(c->operand, listers[i].operand) == 0) {
			cli_complain("%s: %s is missing; 'nacre %s' lists them", c->name,
			             c->operand, listers[i].lister);
			return EXIT_NACRE_FAILED;
		}
	return complain_of_words(c, "too few words", NULL);
}

static int read_and_run(const struct cli_command *c, int argc, char **argv, void *options)
{
	int r = read_options(c, argc, argv, options);

	if (r < 0)
		return r == -ECANCELED ? print_help(c) : EXIT_NACRE_FAILED;
	argc -= optind;
	argv += optind;
	if (argc < c->least)
		return complain_of_too_few(c);
	if (c->most >= 0 && argc > c->most)
		return complain_of_words(c, "unexpected word", argv[c->most]);
	return c->main(options, argc, argv);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	scoped(freep) void *options = calloc(1, c->size + 1);
	int code;

	if (!options) {
		cli_complain("out of memory");
		return EXIT_NACRE_FAILED;
	}
	if (c->prepare)
		c->prepare(options);
	code = read_and_run(c, argc, argv, options);
	if (c->done)
		c->done(options);
	return code;
}

/* The name nearest to what was typed: of a command, or of one in GROUP. NULL: none is near. */
static const char *nearest(const char *typed, const struct cli_command *group)
{
	const char *found = NULL, *name;
	unsigned best = SUGGEST_NONE;

	for (size_t i = 0; cli_commands[i]; i++) {
		name = cli_name_in(cli_commands[i], group);
		if (name && cli_commands[i]->summary && suggest_is_near(typed, name, &best))
			found = name;
	}
	return found;
}

static int run_group(const struct cli_command *group, const char *verb)
{
	const char *near;

	if (!verb)
		return complain_of_words(group, "too few words", NULL);
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
		return print_help(group);
	near = nearest(verb, group);
	if (!near)
		return complain_of_words(group, "unknown command", verb);
	cli_complain("%s: unknown command '%.60s', did you mean '%s'?", group->name, verb, near);
	return EXIT_NACRE_FAILED;
}

int cli_main(int argc, char **argv)
{
	const struct cli_command *c = cli_find(argv[1], argc > 2 ? argv[2] : NULL);
	char words[SUGGEST_WORDS_MAX];
	const char *near;
	int used;

	if (!c) {
		near = nearest(argv[1], NULL);
		cli_complain("unknown command '%.60s'%s", argv[1],
		             near ? suggest_words(near, words) : "; 'nacre --help' lists them");
		return EXIT_NACRE_FAILED;
	}
	if (!c->main)
		return run_group(c, argc > 2 ? argv[2] : NULL);
	used = strchr(c->name, ' ') ? 2 : 1;
	return run(c, argc - used, argv + used);
}
