#include "cli/run-options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/pty.h"
#include "cli/run.h"
#include "session/use.h"

#define JOBS_MAX  256
#define SIZE_CAP  ((uint64_t)1 << 40)
#define ENV_BYTES ((size_t)8 << 20)

static int read_truncate(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	static const struct {
		const char *name;
		enum view_style style;
	} styles[] = {{"halves", VIEW_HALVES}, {"tail", VIEW_TAIL_CHARS}, {"edges", VIEW_EDGES},
	              {"bytes", VIEW_BYTES},   {"salient", VIEW_SALIENT}, {"all", VIEW_ALL}};
	struct view_limits *v = &o->wishes.view;
	size_t n = (size_t)(strchrnul(value, ':') - value);
	uint64_t limit = 0;

	o->wishes.view_given = true;
	for (size_t i = 0; i < array_size(styles); i++) {
		if (strlen(styles[i].name) != n || strncmp(value, styles[i].name, n) != 0)
			continue;
		if (value[n] && (number_parse_size(value + n + 1, &limit) < 0 || limit == 0 ||
		                 limit > (1 << 20)))
			break;
		v->style = styles[i].style;
		v->limit = (size_t)limit;
		return 0;
	}
	return cli_refuse(row, value,
	                  "halves, tail, edges, bytes, salient or all, and a limit of 1 to 1M");
}

/* NAME alone passes nacre's own value on; a variable that is not set stays so. */
int run_options_read_env(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	const char *own;

	if (o->env_count == RUN_ENV_MAX)
		return cli_refuse(row, value, "at most 256 variables");
	if (!strchr(value, '=')) {
		own = getenv(value);
		if (!own)
			return 0;
		value = o->arena ? arena_printf(o->arena, "%s=%s", value, own) : NULL;
		if (!value) {
			cli_complain("out of memory");
			return -ENOMEM;
		}
	}
	o->env[o->env_count++] = value;
	return 0;
}

int run_options_read_stdin(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	if (isatty(STDIN_FILENO)) {
		cli_complain("--stdin: standard input is a terminal; use a pipe, a file or "
		             "--input");
		return -EINVAL;
	}
	o->request.input_fd = STDIN_FILENO;
	return 0;
}

int cli_read_session(void *options, const struct cli_option *row, const char *value)
{
	if (!session_id_is_valid(value))
		return cli_refuse(row, value, "1 to 64 letters, digits, '.', '_' or '-'");
	*(const char **)((char *)options + row->at) = value;
	return 0;
}

int run_options_read_input(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	o->request.input = value;
	o->request.input_len = strlen(value);
	return 0;
}

static int read_output_mode(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	if (output_mode_parse(value, &o->request.output_mode) < 0)
		return cli_refuse(row, value, row->value);
	o->request.output_mode_given = true;
	return 0;
}

static int read_pty(void *options, const struct cli_option *row, const char *value)
{
	struct run_options *o = options;
	struct request *rq = &o->request;

	if (!value)
		pty_own_size(&rq->rows, &rq->cols);
	else if (pty_read_size(value, &rq->rows, &rq->cols) < 0)
		return cli_refuse(row, value, PTY_SIZE);
	return 0;
}

int run_options_session(struct run_options *o)
{
	static const struct cli_option row = {.name = "session",
	                                      .at = offsetof(struct run_options, request.session)};
	const char *own = getenv("NACRE_SESSION");

	return o->request.session || !own || !*own ? 0 : cli_read_session(o, &row, own);
}

int run_options_check(struct run_options *o, int argc, char **argv)
{
	struct request *rq = &o->request;

	if (!o->arena) {
		cli_complain("out of memory");
		return -ENOMEM;
	}
	rq->can_ask = rq->approval_timeout_ms > 0;
	rq->env = o->env;
	if (run_options_session(o) < 0)
		return -EINVAL;
	if (argc > 0)
		rq->argv = (const char *const *)argv;
	if (o->batch) {
		if (rq->argv || rq->command || rq->input || rq->input_fd >= 0)
			cli_complain("--batch takes its commands from standard input");
		else if (o->events)
			cli_complain("--batch and --events cannot be combined");
		else
			return 0;
	} else if (!rq->argv && !rq->command) {
		cli_complain("nothing to run; give -c 'LINE' or -- ARGV...");
	} else if (rq->argv && rq->command) {
		cli_complain("both -c and '%s' given; a line for bash takes no further words",
		             rq->argv[0]);
	} else if (rq->input && rq->input_fd >= 0) {
		cli_complain("--input and --stdin cannot be combined");
	} else if (o->events && o->json) {
		cli_complain(
			"--events and --json cannot be combined; the last event has the result");
	} else if (rq->rows && rq->input_fd >= 0) {
		cli_complain("--stdin and --pty cannot be combined; use --input or 'nacre input'");
	} else {
		return 0;
	}
	return -EINVAL;
}

void run_options_done(struct run_options *o)
{
	o->arena = arena_free(o->arena);
}

void run_options_prepare(struct run_options *o)
{
	*o = (struct run_options){.request = {.input_fd = -1, .door = "cli"},
	                          .wishes = engine_wishes_default,
	                          .arena = arena_new(ENV_BYTES),
	                          .jobs = 4};
}

static void prepare(void *options)
{
	run_options_prepare(options);
}

static void done(void *options)
{
	run_options_done(options);
}

#define RUN struct run_options
static const struct cli_option options[] = {
	{NULL, "LINE", "the line to run in bash", .letter = 'c', CLI_TEXT(RUN, request.command)},
	CLI_WISHES(RUN, wishes, "bash"),
	{"force", NULL, "override a nudge (never a deny)", CLI_FLAG(RUN, request.force)},
	{"cwd", "DIR", "working directory inside the workspace", CLI_TEXT(RUN, request.cwd)},
	{"timeout", "DUR", "time limit: 500ms, 5s, 2m (default and maximum: the profile's)",
         CLI_DURATION(RUN, request.timeout_ms, 1, CLI_FOREVER)},
	{"idle-timeout", "DUR", "stop after this time without output (default: the profile's)",
         CLI_DURATION(RUN, request.idle_timeout_ms, 1, CLI_FOREVER)},
	{"grace", "DUR", "time between SIGTERM and SIGKILL (at most 60s)",
         CLI_DURATION(RUN, wishes.grace_ms, 0, 60000)},
	{"session", "ID", "keep directory, exported variables and files between calls",
         CLI_SESSION(RUN, request.session)},
	{"env", "NAME[=VALUE]", "set a variable, or pass on nacre's own; repeatable",
         CLI_BY(run_options_read_env)},
	{"input", "TEXT", "text for standard input (default: empty)",
         CLI_BY(run_options_read_input)},
	{"stdin", NULL, "pass on nacre's own standard input, a pipe or a file",
         CLI_BY(run_options_read_stdin)},
	{"output-mode", "separate|merged|stdout|stderr",
         "which streams, and in which order (default: the profile's)", CLI_BY(read_output_mode)},
	{"description", "TEXT", "the purpose of the command, shown to people",
         CLI_TEXT(RUN, request.description)},
	{"approval-timeout", "DUR",
         "how long to wait if a person must approve (see 'nacre approve')",
         CLI_DURATION(RUN, request.approval_timeout_ms, 1, 86400000)},
	{"background", NULL, "start a task and return at once (see 'nacre tasks')",
         CLI_FLAG(RUN, request.background)},
	{"pty", "[=ROWSxCOLS]", "run on a terminal (default size: that of yours, else 24x80)",
         CLI_BY(read_pty)},
	{"json", NULL, "print the result as one JSON object", CLI_FLAG(RUN, json)},
	{"events", NULL, "print JSON events as they come, one per line: output, asked, result",
         CLI_FLAG(RUN, events)},
	{"truncate", "halves|tail|edges|bytes|all[:N]",
         "how to cut long output, and at which length (default: the profile's)",
         CLI_BY(read_truncate)},
	{"keep-escapes", NULL, "keep terminal escape sequences in the result",
         CLI_FLAG(RUN, wishes.keep_escapes)},
	{"output-cap", "SIZE", "bytes per stream in the output file (default: the profile's)",
         CLI_SIZE(RUN, wishes.spool_cap, 0, SIZE_CAP)},
	{"state-cap", "SIZE", "bytes of all kept output together (default 2G)",
         CLI_SIZE(RUN, wishes.state_cap, 0, SIZE_CAP)},
	{"max-processes", "N", "how many processes the command may have (maximum: the profile's)",
         CLI_COUNT(RUN, wishes.max_processes, 1, 1 << 22)},
	{"batch", NULL, "read one JSON request per line, print one result per line",
         CLI_FLAG(RUN, batch)},
	{"jobs", "N", "with --batch: how many commands run at a time (default 4)",
         CLI_COUNT(RUN, jobs, 1, JOBS_MAX)},
	{"quiet", NULL, "on a terminal: print only the output of the command", .letter = 'q',
         CLI_FLAG(RUN, quiet)},
	{0},
};
#undef RUN

const struct cli_command cli_run = {
	.name = "run",
	.summary = "run a command, supervised and with bounded output",
	.usage = "[OPTIONS] -c 'LINE'\n[OPTIONS] -- ARGV...\n[OPTIONS] --batch",
	.about = "Runs a line in bash, or a program directly, and reports the result.",
	.notes = "Exit codes: the command's own; 124 timed out; 125 nacre failed; 126 refused, or "
		 "not executable; 127 not found; 128+n killed by signal n.",
	.options = options,
	.order = CLI_FIRST,
	.most = -1,
	.size = sizeof(struct run_options),
	.prepare = prepare,
	.done = done,
	.main = cli_run_main,
};
