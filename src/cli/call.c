/*
 * `nacre call`: one call of a tool as an agent makes it, by its dialect. What MCP and HTTP offer
 * can be tried here by hand.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "json/write.h"

#define PARAMETERS_MAX ((size_t)1 << 20)

static int help(void)
{
	puts("usage: nacre call [OPTIONS] TOOL [PARAMETERS]\n"
	     "       nacre call --list\n\n"
	     "Calls a tool as an agent would. PARAMETERS is a JSON object; without it, it is read\n"
	     "from standard input. The answer is a JSON object in the shape of the tool.\n\n"
	     "  --list              the tools with their parameters, as JSON Schema\n"
	     "  --profile NAME      whose rules hold (default: the profile of the tool)\n"
	     "  --agent NAME        an agent: a profile for one role\n"
	     "  --policy FILE       a policy file of your own, above all others\n"
	     "  --workspace DIR     the directory to work in (default: the current one)\n"
	     "  --help              this text\n\n"
	     "Exit codes: as nacre run.");
	return 0;
}

static int list(void)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	json_array_begin(&w);
	for (size_t i = 0; dialect_at(i); i++)
		dialect_write_json(dialect_at(i), &w);
	json_array_end(&w);
	buffer_putc(&text, '\n');
	if (buffer_error(&text) < 0 || fd_write_all(STDOUT_FILENO, text.data, text.len) < 0)
		return EXIT_NACRE_FAILED;
	return 0;
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
	if (r < 0)
		cli_complain("%s: %s", dialect_tool(d), err.text);
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

static int call(int argc, char **argv, struct run_options *o)
{
	const struct dialect *d = argc > 0 ? dialect_find(argv[0]) : NULL;
	scoped(fd_closep) int signal_fd = -1;
	char near[SUGGEST_WORDS_MAX];
	const char *found;
	struct engine engine;
	int exit_code;

	if (argc < 1 || argc > 2) {
		cli_complain("give the name of a tool and its parameters; see nacre call --help");
		return EXIT_NACRE_FAILED;
	}
	if (!d) {
		found = nearest(argv[0]);
		cli_complain("there is no tool '%.60s'%s", argv[0],
		             found ? suggest_words(found, near) : "; see nacre call --list");
		return EXIT_NACRE_FAILED;
	}
	if (read_parameters(argc, argv, d, o) < 0)
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

int cli_call(int argc, char **argv)
{
	static const struct option options[] = {{"list", no_argument, NULL, 'l'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {"profile", required_argument, NULL, 'p'},
	                                        {"agent", required_argument, NULL, 'a'},
	                                        {"policy", required_argument, NULL, 'f'},
	                                        {"workspace", required_argument, NULL, 'w'},
	                                        {0}};
	struct run_options o = {.request = {.input_fd = -1}, .wishes = engine_wishes_default};
	static char name[] = "nacre call";
	int id, exit_code;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "+h", options)) != -1) {
		if (id == 'h')
			return help();
		if (id == 'l')
			return list();
		if (id == 'p')
			o.wishes.profile = optarg;
		else if (id == 'a')
			o.wishes.agent = optarg;
		else if (id == 'f')
			o.wishes.policy_file = optarg;
		else if (id == 'w')
			o.wishes.workspace = optarg;
		else
			return EXIT_NACRE_FAILED;
	}
	o.arena = arena_new(16 * PARAMETERS_MAX);
	if (!o.arena) {
		cli_complain("out of memory");
		return EXIT_NACRE_FAILED;
	}
	exit_code = call(argc - optind, argv + optind, &o);
	run_options_done(&o);
	return exit_code;
}
