/*
 * `nacre call`: one call of a tool as an agent makes it, by its dialect. What MCP and HTTP offer
 * can be tried here by hand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "json/write.h"

#define PARAMETERS_MAX ((size_t)1 << 20)

/* ONLY: one tool; NULL: all of them. */
static int list(const struct dialect *only,
                void (*write)(const struct dialect *d, struct json_writer *w))
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	json_array_begin(&w);
	for (size_t i = 0; dialect_at(i); i++)
		if (!only || only == dialect_at(i))
			write(dialect_at(i), &w);
	json_array_end(&w);
	buffer_putc(&text, '\n');
	return cli_print(&text);
}

/* In the format of the tool: whoever reads it looks there for the reason. */
static void print_refusal(const struct dialect *d, const struct error *err)
{
	scoped(result_donep) struct result refused = {
		.exit_code = EXIT_NACRE_FAILED,
		.output_mode = dialect_takes_name(d) ? OUTPUT_MERGED : OUTPUT_SEPARATE};
	scoped(buffer_donep) struct buffer text = {0};

	snprintf(refused.reason, sizeof(refused.reason), "%s: %s", dialect_tool(d), err->text);
	if (dialect_write_result(d, &refused, &text) < 0)
		return;
	buffer_putc(&text, '\n');
	(void)cli_print(&text);
}

static int read_parameters(int argc, char **argv, const struct dialect *d, struct run_options *o)
{
	scoped(buffer_donep) struct buffer text = {.max = PARAMETERS_MAX};
	struct error err = {0};
	int r = 0;

	if (argc == 2)
		buffer_puts(&text, argv[1]);
	else
		r = fd_read_all(STDIN_FILENO, &text);
	if (r < 0 || buffer_error(&text) < 0) {
		cli_complain("parameters: %s", strerrordesc_np(r < 0 ? -r : E2BIG));
		return -EINVAL;
	}
	r = dialect_read(d, buffer_str(&text), text.len, o->arena, &o->request, &err);
	if (r < 0) {
		cli_complain("%s: %s", dialect_tool(d), err.text);
		print_refusal(d, &err);
	}
	return r;
}

static const char *nearest(const char *written)
{
	const char *found = NULL;
	const struct dialect *d;
	unsigned best = SUGGEST_NONE;

	for (size_t i = 0; (d = dialect_at(i)); i++)
		if (suggest_is_near(written, dialect_tool(d), &best))
			found = dialect_tool(d);
	return found;
}

/* NULL: it was said that there is none. */
static const struct dialect *find(const char *tool)
{
	const struct dialect *d = dialect_find(tool);
	char near[SUGGEST_WORDS_MAX];
	const char *found;

	if (d)
		return d;
	found = nearest(tool);
	cli_complain("there is no tool '%.60s'%s", tool,
	             found ? suggest_words(found, near) : "; 'nacre call --list' shows them");
	return NULL;
}

static int run(int argc, char **argv, struct run_options *o)
{
	const struct dialect *d = find(argv[0]);
	scoped(fd_closep) int signal_fd = -1;
	struct engine engine;
	int exit_code;

	if (!d)
		return EXIT_NACRE_FAILED;
	if (read_parameters(argc, argv, d, o) < 0 || run_options_session(o) < 0)
		return EXIT_NACRE_FAILED;
	o->wishes.fallback = dialect_profile(d);
	signal_fd = cli_signal_fd(false);
	if (signal_fd < 0)
		return EXIT_NACRE_FAILED;
	engine_init(&engine, (const char *const *)environ);
	engine.wishes = o->wishes;
	if (dialect_is_discreet(d))
		engine.wishes.output_prefix = "nacre://output/";
	exit_code = cli_run_one(&engine, o, d, signal_fd);
	engine_done(&engine);
	return exit_code;
}

struct call {
	struct run_options run;
	bool list, schema;
};

static int call(void *options, int argc, char **argv)
{
	struct call *c = options;
	const struct dialect *only = NULL;

	if (c->list)
		return list(NULL, dialect_write_json);
	if (c->schema && argc > 0) {
		only = find(argv[0]);
		if (!only)
			return EXIT_NACRE_FAILED;
	}
	if (c->schema)
		return list(only, dialect_write_function);
	if (argc == 0) {
		cli_complain("call: name a tool; 'nacre call --list' shows them");
		return EXIT_NACRE_FAILED;
	}
	c->run.arena = arena_new(16 * PARAMETERS_MAX);
	if (!c->run.arena) {
		cli_complain("out of memory");
		return EXIT_NACRE_FAILED;
	}
	return run(argc, argv, &c->run);
}

static void prepare(void *options)
{
	((struct call *)options)->run =
		(struct run_options){.request = {.input_fd = -1}, .wishes = engine_wishes_default};
}

static void done(void *options)
{
	run_options_done(&((struct call *)options)->run);
}

static const struct cli_option options[] = {
	{"list", NULL, "print the tools with their parameters, as JSON Schema",
         CLI_FLAG(struct call, list)},
	{"schema", NULL, "print TOOL, or all tools, as chat APIs take them (type \"function\")",
         CLI_FLAG(struct call, schema)},
	CLI_WISHES(struct call, run.wishes, "the tool's own"),
	{"session", "ID", "keep directory, exported variables and files between calls",
         CLI_SESSION(struct call, run.request.session)},
	{0},
};

const struct cli_command cli_call = {
	.name = "call",
	.summary = "call a tool as an agent does, with JSON parameters",
	.usage = "[OPTIONS] TOOL [PARAMETERS]\n--list\n--schema [TOOL]",
	.about = "Calls a tool as an agent does. PARAMETERS is a JSON object; without it, standard "
		 "input is read. The answer is a JSON object in the format of the tool.",
	.notes = "Exit codes: see 'nacre run --help'.",
	.options = options,
	.order = CLI_FIRST,
	.most = 2,
	.size = sizeof(struct call),
	.prepare = prepare,
	.done = done,
	.main = call,
};
