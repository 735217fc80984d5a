#include "cli/run-options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "engine/session.h"

#define JOBS_MAX 256

enum option_id {
	OPT_HELP = 'h',
	OPT_LINE = 'c',
	OPT_QUIET = 'q',
	OPT_PROFILE = 256,
	OPT_AGENT,
	OPT_POLICY,
	OPT_FORCE,
	OPT_WORKSPACE,
	OPT_CWD,
	OPT_TIMEOUT,
	OPT_GRACE,
	OPT_IDLE_TIMEOUT,
	OPT_SESSION,
	OPT_ENV,
	OPT_INPUT,
	OPT_STDIN,
	OPT_OUTPUT_MODE,
	OPT_DESCRIPTION,
	OPT_JSON,
	OPT_TRUNCATE,
	OPT_KEEP_ESCAPES,
	OPT_OUTPUT_CAP,
	OPT_STATE_CAP,
	OPT_MAX_PROCESSES,
	OPT_BATCH,
	OPT_JOBS,
	OPT_BACKGROUND,
	OPT_PTY,
};

/* One table: getopt's options and the help come from it. */
static const struct {
	const char *name;
	enum option_id id;
	const char *value; /* NULL: takes none */
	const char *help;
} table[] = {
	{"profile", OPT_PROFILE, "NAME", "whose rules hold (default bash; see nacre profiles)"},
	{"agent", OPT_AGENT, "NAME", "an agent: a profile for one role"},
	{"policy", OPT_POLICY, "FILE", "a policy file of your own, above all others"},
	{"force", OPT_FORCE, NULL, "run it although another tool is advised; never what is denied"},
	{"workspace", OPT_WORKSPACE, "DIR", "the directory to work in (default: the current one)"},
	{"cwd", OPT_CWD, "DIR", "working directory inside the workspace"},
	{"timeout", OPT_TIMEOUT, "DUR",
         "time limit: 500ms, 5s, 2m (default and maximum: the profile's)"},
	{"idle-timeout", OPT_IDLE_TIMEOUT, "DUR",
         "end it after so much time without output (default: the profile's)"},
	{"grace", OPT_GRACE, "DUR", "time between SIGTERM and SIGKILL (at most 60s)"},
	{"session", OPT_SESSION, "ID",
         "working directory and exported variables persist between calls of one id"},
	{"env", OPT_ENV, "NAME[=VALUE]", "set a variable, or pass it on from here; repeatable"},
	{"input", OPT_INPUT, "TEXT", "text for standard input (default: it is empty)"},
	{"stdin", OPT_STDIN, NULL, "hand on nacre's own standard input, a pipe or a file"},
	{"output-mode", OPT_OUTPUT_MODE, "MODE",
         "separate, merged (true order), stdout, stderr (default: the profile's)"},
	{"description", OPT_DESCRIPTION, "TEXT", "what the command is for, shown to people"},
	{"background", OPT_BACKGROUND, NULL,
         "start it as a task and return at once (see nacre tasks, output, stop)"},
	{"pty", OPT_PTY, "[=ROWSxCOLS]",
         "run it on a terminal (default: the size of yours, or 24x80)"},
	{"json", OPT_JSON, NULL, "print the result as one JSON object"},
	{"truncate", OPT_TRUNCATE, "STYLE[:N]",
         "halves, tail, edges, bytes, all (default: the profile's)"},
	{"keep-escapes", OPT_KEEP_ESCAPES, NULL, "keep terminal escape sequences in the result"},
	{"output-cap", OPT_OUTPUT_CAP, "SIZE",
         "bytes per stream in the output file (default: the profile's)"},
	{"state-cap", OPT_STATE_CAP, "SIZE", "bytes of all kept output together (default 2G)"},
	{"max-processes", OPT_MAX_PROCESSES, "N",
         "how many processes the command may have, if fewer than the profile says"},
	{"batch", OPT_BATCH, NULL, "read one JSON request per line, answer one result per line"},
	{"jobs", OPT_JOBS, "N", "with --batch: how many run at the same time (default 4)"},
	{"quiet", OPT_QUIET, NULL, "on a terminal: only the command's output"},
	{"help", OPT_HELP, NULL, "this text"},
};

static void help(void)
{
	char left[64];

	puts("usage: nacre run [OPTIONS] -c 'LINE'      run a line in bash\n"
	     "       nacre run [OPTIONS] -- ARGV...    run a program directly\n");
	for (size_t i = 0; i < array_size(table); i++) {
		snprintf(left, sizeof(left), "--%s%s%s", table[i].name,
		         table[i].value && table[i].value[0] != '[' ? " " : "",
		         table[i].value ? table[i].value : "");
		printf("  %-24s %s\n", left, table[i].help);
	}
	puts("\nExit codes: the command's own; 124 timed out; 125 nacre failed; 126 refused, or "
	     "not "
	     "executable;\n"
	     "127 not found; 128+n killed by signal n.");
}

static int refuse(const char *option, const char *value, const char *wanted)
{
	cli_complain("--%s %s: expected %s", option, value, wanted);
	return -EINVAL;
}

static int read_truncate(const char *value, struct view_limits *v)
{
	static const struct {
		const char *name;
		enum view_style style;
	} styles[] = {{"halves", VIEW_HALVES},
	              {"tail", VIEW_TAIL_CHARS},
	              {"edges", VIEW_EDGES},
	              {"bytes", VIEW_BYTES},
	              {"all", VIEW_ALL}};
	size_t n = (size_t)(strchrnul(value, ':') - value);
	uint64_t limit = 0;

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
	return refuse("truncate", value,
	              "halves, tail, edges, bytes or all, and a limit of 1 to 1M");
}

static int read_duration(const char *option, const char *value, int64_t min_ms, int64_t max_ms,
                         int64_t *ret_ms)
{
	int64_t ms;

	if (number_parse_duration_ms(value, &ms) < 0 || ms < min_ms || ms > max_ms)
		return refuse(option, value, "a duration such as 500ms, 5s or 2m");
	*ret_ms = ms;
	return 0;
}

static int read_size(const char *option, const char *value, uint64_t *ret_size)
{
	uint64_t size;

	if (number_parse_size(value, &size) < 0 || size > (uint64_t)1 << 40)
		return refuse(option, value, "a size such as 4096, 64K, 16M or 2G");
	*ret_size = size;
	return 0;
}

static int read_count(const char *option, const char *value, uint64_t max, uint64_t *ret_count)
{
	uint64_t count;

	if (number_parse_u64(value, &count) < 0 || count < 1 || count > max)
		return refuse(option, value, "a number from 1 on");
	*ret_count = count;
	return 0;
}

/* NAME alone passes nacre's own value on; a variable that is not set stays so. */
static int read_env(struct run_options *o, const char *value)
{
	const char *own;

	if (o->env_count == RUN_ENV_MAX)
		return refuse("env", value, "at most 256 variables");
	if (!strchr(value, '=')) {
		own = getenv(value);
		if (!own)
			return 0;
		value = arena_printf(o->arena, "%s=%s", value, own);
		if (!value)
			return -ENOMEM;
	}
	o->env[o->env_count++] = value;
	return 0;
}

static int read_stdin_option(struct run_options *o)
{
	if (isatty(STDIN_FILENO)) {
		cli_complain(
			"--stdin: standard input is a terminal; pipe the text in, or use --input");
		return -EINVAL;
	}
	o->request.input_fd = STDIN_FILENO;
	return 0;
}

static int read_option(struct run_options *o, enum option_id id, const char *value)
{
	struct request *rq = &o->request;
	uint64_t jobs = 0;
	int r;

	switch (id) {
	case OPT_LINE:
		rq->command = value;
		return 0;
	case OPT_PROFILE:
		o->wishes.profile = value;
		return 0;
	case OPT_AGENT:
		o->wishes.agent = value;
		return 0;
	case OPT_POLICY:
		o->wishes.policy_file = value;
		return 0;
	case OPT_FORCE:
		rq->force = true;
		return 0;
	case OPT_WORKSPACE:
		o->wishes.workspace = value;
		return 0;
	case OPT_CWD:
		rq->cwd = value;
		return 0;
	case OPT_TIMEOUT:
		return read_duration("timeout", value, 1, INT64_MAX / 2, &rq->timeout_ms);
	case OPT_IDLE_TIMEOUT:
		return read_duration("idle-timeout", value, 1, INT64_MAX / 2, &rq->idle_ms);
	case OPT_SESSION:
		if (!session_id_is_valid(value))
			return refuse("session", value, "1 to 64 letters, digits, '.', '_' or '-'");
		rq->session = value;
		return 0;
	case OPT_GRACE:
		return read_duration("grace", value, 0, 60000, &o->wishes.grace_ms);
	case OPT_ENV:
		return read_env(o, value);
	case OPT_INPUT:
		rq->input = value;
		rq->input_len = strlen(value);
		return 0;
	case OPT_STDIN:
		return read_stdin_option(o);
	case OPT_OUTPUT_MODE:
		if (output_mode_parse(value, &rq->output_mode) < 0)
			return refuse("output-mode", value, "separate, merged, stdout or stderr");
		rq->output_mode_given = true;
		return 0;
	case OPT_DESCRIPTION:
		rq->description = value;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_TRUNCATE:
		o->wishes.view_given = true;
		return read_truncate(value, &o->wishes.view);
	case OPT_KEEP_ESCAPES:
		o->wishes.keep_escapes = true;
		return 0;
	case OPT_OUTPUT_CAP:
		return read_size("output-cap", value, &o->wishes.spool_cap);
	case OPT_STATE_CAP:
		return read_size("state-cap", value, &o->wishes.state_cap);
	case OPT_MAX_PROCESSES:
		return read_count("max-processes", value, 1 << 22, &o->wishes.max_processes);
	case OPT_BACKGROUND:
		rq->background = true;
		return 0;
	case OPT_PTY:
		if (!value)
			pty_own_size(&rq->rows, &rq->cols);
		else if (pty_read_size(value, &rq->rows, &rq->cols) < 0)
			return refuse("pty", value, "rows and columns from 1 to 1000, as in 24x80");
		return 0;
	case OPT_BATCH:
		o->batch = true;
		return 0;
	case OPT_JOBS:
		r = read_count("jobs", value, JOBS_MAX, &jobs);
		o->jobs = (int)jobs;
		return r;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	case OPT_HELP:
		break;
	}
	return -EINVAL;
}

static int check_whole(struct run_options *o, int argc, char **argv)
{
	struct request *rq = &o->request;

	if (optind < argc)
		rq->argv = (const char *const *)(argv + optind);
	if (o->batch) {
		if (rq->argv || rq->command || rq->input || rq->input_fd >= 0)
			cli_complain("--batch takes its commands from standard input");
		else
			return 0;
	} else if (!rq->argv && !rq->command) {
		cli_complain("nothing to run; give -c 'LINE' or -- ARGV...");
	} else if (rq->argv && rq->command) {
		cli_complain("both -c and '%s' given; a line for bash takes no further words",
		             rq->argv[0]);
	} else if (rq->input && rq->input_fd >= 0) {
		cli_complain("--input and --stdin exclude each other");
	} else if (rq->rows && rq->input_fd >= 0) {
		cli_complain("--stdin and --pty exclude each other; see --input and nacre input");
	} else {
		return 0;
	}
	return -EINVAL;
}

int run_options_read(int argc, char **argv, struct run_options *o, int *ret_exit)
{
	struct option long_options[array_size(table) + 1] = {0};
	static char name[] = "nacre run";
	int id;

	*o = (struct run_options){
		.request = {.input_fd = -1}, .wishes = engine_wishes_default, .jobs = 4};
	o->request.env = o->env;
	o->arena = arena_new((size_t)8 << 20);
	*ret_exit = EXIT_NACRE_FAILED;
	if (!o->arena)
		return -ENOMEM;
	for (size_t i = 0; i < array_size(table); i++)
		long_options[i] =
			(struct option){.name = table[i].name,
		                        .has_arg = !table[i].value            ? no_argument
		                                   : table[i].value[0] == '[' ? optional_argument
		                                                              : required_argument,
		                        .val = (int)table[i].id};
	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = getopt_long(argc, argv, "+c:hq", long_options, NULL)) != -1) {
		if (id == '?')
			return -EINVAL;
		if (id == OPT_HELP) {
			help();
			*ret_exit = 0;
			return -ECANCELED;
		}
		if (read_option(o, (enum option_id)id, optarg) < 0)
			return -EINVAL;
	}
	return check_whole(o, argc, argv);
}

void run_options_done(struct run_options *o)
{
	o->arena = arena_free(o->arena);
}
