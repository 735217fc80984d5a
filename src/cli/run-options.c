#include "cli/run-options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "session/use.h"

#define JOBS_MAX 256

static int refuse(const char *option, const char *value, const char *wanted)
{
	cli_complain("--%s %s: expected %s", option, value, wanted);
	return -EINVAL;
}

static int read_truncate(struct run_options *o, const char *value)
{
	static const struct {
		const char *name;
		enum view_style style;
	} styles[] = {{"halves", VIEW_HALVES},
	              {"tail", VIEW_TAIL_CHARS},
	              {"edges", VIEW_EDGES},
	              {"bytes", VIEW_BYTES},
	              {"all", VIEW_ALL}};
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

static int read_stdin(struct run_options *o, const char *value)
{
	if (isatty(STDIN_FILENO)) {
		cli_complain(
			"--stdin: standard input is a terminal; pipe the text in, or use --input");
		return -EINVAL;
	}
	o->request.input_fd = STDIN_FILENO;
	return 0;
}

static int read_session(struct run_options *o, const char *value)
{
	if (!session_id_is_valid(value))
		return refuse("session", value, "1 to 64 letters, digits, '.', '_' or '-'");
	o->request.session = value;
	return 0;
}

static int read_input(struct run_options *o, const char *value)
{
	o->request.input = value;
	o->request.input_len = strlen(value);
	return 0;
}

static int read_output_mode(struct run_options *o, const char *value)
{
	if (output_mode_parse(value, &o->request.output_mode) < 0)
		return refuse("output-mode", value, "separate, merged, stdout or stderr");
	o->request.output_mode_given = true;
	return 0;
}

static int read_pty(struct run_options *o, const char *value)
{
	struct request *rq = &o->request;

	if (!value)
		pty_own_size(&rq->rows, &rq->cols);
	else if (pty_read_size(value, &rq->rows, &rq->cols) < 0)
		return refuse("pty", value, "rows and columns from 1 to 1000, as in 24x80");
	return 0;
}

static int read_approval_timeout(struct run_options *o, const char *value)
{
	o->request.can_ask = true;
	return read_duration("approval-timeout", value, 1, 86400000,
	                     &o->request.approval_timeout_ms);
}

static int read_max_processes(struct run_options *o, const char *value)
{
	return read_count("max-processes", value, 1 << 22, &o->wishes.max_processes);
}

static int read_jobs(struct run_options *o, const char *value)
{
	uint64_t jobs = 0;
	int r = read_count("jobs", value, JOBS_MAX, &jobs);

	o->jobs = (int)jobs;
	return r;
}

/* Where a value goes: the offset of a member, whose type the compiler compares. */
#define AT(type, member)                                                                           \
	(offsetof(struct run_options, member) +                                                    \
	 0 * sizeof(char[__builtin_types_compatible_p(                                             \
				 type, __typeof__(((struct run_options *)NULL)->member))           \
	                         ? 1                                                               \
	                         : -1]))
#define TEXT(member) .put = PUT_TEXT, .at = AT(const char *, member)
#define FLAG(member) .put = PUT_FLAG, .at = AT(bool, member)
#define SIZE(member) .put = PUT_SIZE, .at = AT(uint64_t, member)
#define DURATION(member, from, to)                                                                 \
	.put = PUT_DURATION, .at = AT(int64_t, member), .min_ms = (from), .max_ms = (to)
#define BY(function) .put = PUT_BY, .read = (function)
#define EVER         (INT64_MAX / 2)

/* One table: getopt's options, the help and what becomes of a value come from it. */
static const struct row {
	const char *name;  /* NULL: there is only the letter */
	const char *value; /* NULL: takes none; [...]: may take one */
	const char *help;
	char letter;
	enum { PUT_TEXT, PUT_FLAG, PUT_SIZE, PUT_DURATION, PUT_BY } put;
	size_t at;
	int64_t min_ms, max_ms;
	int (*read)(struct run_options *o, const char *value);
} table[] = {
	{NULL, "LINE", NULL, .letter = 'c', TEXT(request.command)},
	{"profile", "NAME", "whose rules hold (default bash; see nacre profiles)",
         TEXT(wishes.profile)},
	{"agent", "NAME", "an agent: a profile for one role", TEXT(wishes.agent)},
	{"policy", "FILE", "a policy file of your own, above all others", TEXT(wishes.policy_file)},
	{"force", NULL, "run it although another tool is advised; never what is denied",
         FLAG(request.force)},
	{"workspace", "DIR", "the directory to work in (default: the current one)",
         TEXT(wishes.workspace)},
	{"cwd", "DIR", "working directory inside the workspace", TEXT(request.cwd)},
	{"timeout", "DUR", "time limit: 500ms, 5s, 2m (default and maximum: the profile's)",
         DURATION(request.timeout_ms, 1, EVER)},
	{"idle-timeout", "DUR", "end it after so much time without output (default: the profile's)",
         DURATION(request.idle_timeout_ms, 1, EVER)},
	{"grace", "DUR", "time between SIGTERM and SIGKILL (at most 60s)",
         DURATION(wishes.grace_ms, 0, 60000)},
	{"session", "ID",
         "working directory and exported variables persist between calls of one id",
         BY(read_session)},
	{"env", "NAME[=VALUE]", "set a variable, or pass it on from here; repeatable",
         BY(read_env)},
	{"input", "TEXT", "text for standard input (default: it is empty)", BY(read_input)},
	{"stdin", NULL, "hand on nacre's own standard input, a pipe or a file", BY(read_stdin)},
	{"output-mode", "MODE",
         "separate, merged (true order), stdout, stderr (default: the profile's)",
         BY(read_output_mode)},
	{"description", "TEXT", "what the command is for, shown to people",
         TEXT(request.description)},
	{"approval-timeout", "DUR",
         "if a person must approve it, wait this long (see nacre approve)",
         BY(read_approval_timeout)},
	{"background", NULL,
         "start it as a task and return at once (see nacre tasks, output, stop)",
         FLAG(request.background)},
	{"pty", "[=ROWSxCOLS]", "run it on a terminal (default: the size of yours, or 24x80)",
         BY(read_pty)},
	{"json", NULL, "print the result as one JSON object", FLAG(json)},
	{"truncate", "STYLE[:N]", "halves, tail, edges, bytes, all (default: the profile's)",
         BY(read_truncate)},
	{"keep-escapes", NULL, "keep terminal escape sequences in the result",
         FLAG(wishes.keep_escapes)},
	{"output-cap", "SIZE", "bytes per stream in the output file (default: the profile's)",
         SIZE(wishes.spool_cap)},
	{"state-cap", "SIZE", "bytes of all kept output together (default 2G)",
         SIZE(wishes.state_cap)},
	{"max-processes", "N",
         "how many processes the command may have, if fewer than the profile says",
         BY(read_max_processes)},
	{"batch", NULL, "read one JSON request per line, answer one result per line", FLAG(batch)},
	{"jobs", "N", "with --batch: how many run at the same time (default 4)", BY(read_jobs)},
	{"quiet", NULL, "on a terminal: only the command's output", FLAG(quiet), .letter = 'q'},
	{"help", NULL, "this text", FLAG(help), .letter = 'h'},
};

#undef AT
#undef TEXT
#undef FLAG
#undef SIZE
#undef DURATION
#undef BY
#undef EVER

static void help(void)
{
	char left[64];

	puts("usage: nacre run [OPTIONS] -c 'LINE'      run a line in bash\n"
	     "       nacre run [OPTIONS] -- ARGV...    run a program directly\n");
	for (size_t i = 0; i < array_size(table); i++) {
		if (!table[i].name)
			continue;
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

static int take(struct run_options *o, const struct row *row, const char *value)
{
	void *at = (char *)o + row->at;

	switch (row->put) {
	case PUT_TEXT:
		*(const char **)at = value;
		return 0;
	case PUT_FLAG:
		*(bool *)at = true;
		return 0;
	case PUT_SIZE:
		return read_size(row->name, value, at);
	case PUT_DURATION:
		return read_duration(row->name, value, row->min_ms, row->max_ms, at);
	case PUT_BY:
		return row->read(o, value);
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

/* getopt's view of the table; an option without a letter is its place in it, from 256 on. */
#define FIRST_ID 256

static void make_options(struct option *names, char *letters)
{
	size_t n = 0;

	*letters++ = '+'; /* stop at the first operand */
	for (size_t i = 0; i < array_size(table); i++) {
		const struct row *row = &table[i];

		if (row->name)
			names[n++] = (struct option){.name = row->name,
			                             .has_arg = !row->value ? no_argument
			                                        : row->value[0] == '['
			                                                ? optional_argument
			                                                : required_argument,
			                             .val = FIRST_ID + (int)i};
		if (row->letter)
			*letters++ = row->letter;
		if (row->letter && row->value)
			*letters++ = ':';
	}
	*letters = '\0';
}

static const struct row *find_row(int id)
{
	if (id >= FIRST_ID)
		return &table[id - FIRST_ID];
	for (size_t i = 0; i < array_size(table); i++)
		if (table[i].letter == id)
			return &table[i];
	return NULL; /* getopt has complained */
}

int run_options_read(int argc, char **argv, struct run_options *o, int *ret_exit)
{
	struct option names[array_size(table) + 1] = {0};
	char letters[2 * array_size(table) + 2];
	static char name[] = "nacre run";
	int id;

	*o = (struct run_options){.request = {.input_fd = -1, .door = "cli"},
	                          .wishes = engine_wishes_default,
	                          .jobs = 4};
	o->request.env = o->env;
	o->arena = arena_new((size_t)8 << 20);
	*ret_exit = EXIT_NACRE_FAILED;
	if (!o->arena)
		return -ENOMEM;
	make_options(names, letters);
	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, letters, names)) != -1) {
		const struct row *row = find_row(id);

		if (!row || take(o, row, optarg) < 0)
			return -EINVAL;
		if (o->help) {
			help();
			*ret_exit = 0;
			return -ECANCELED;
		}
	}
	return check_whole(o, argc, argv);
}

void run_options_done(struct run_options *o)
{
	o->arena = arena_free(o->arena);
}
