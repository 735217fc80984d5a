/*
 * `nacre try`: a command in a copy-on-write view of the workspace, and then the question what shall
 * come of its changes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/changes.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/desk.h"
#include "cli/prompt.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "engine/changes.h"
#include "engine/engine.h"
#include "engine/result.h"

struct try_options {
	struct run_options run; /* the first: its readers get this struct */
	bool apply, discard, ask;
};

static int check(struct try_options *o, int argc, char **argv)
{
	if (o->apply + o->discard + o->ask > 1) {
		cli_complain("--apply, --discard and --ask cannot be combined");
		return -EINVAL;
	}
	if (o->ask && o->run.json) {
		cli_complain("--ask and --json cannot be combined");
		return -EINVAL;
	}
	return run_options_check(&o->run, argc, argv);
}

static void say_kept(const char *task)
{
	cli_complain(
		"nothing was applied; `nacre diff %s` shows the changes, `nacre apply %s` applies "
		"them, `nacre discard %s` throws them away",
		task, task, task);
}

/* The exit code of what is done with the changes; 0: all is well, so that of the command counts. */
static int go_on(const struct try_options *o, const struct engine *e,
                 const struct run_outcome *outcome)
{
	const struct cli_apply how = {.json = o->run.json, .ask = !o->apply, .quiet = o->run.quiet};
	bool here = !o->run.json && prompt_is_possible();
	int code;

	if (!outcome->kept)
		return 0;
	if (o->discard)
		return cli_discard_task(&e->store, &e->wishes, outcome->task_id, o->run.json);
	if (o->apply || o->ask || here) {
		code = cli_apply_task(&e->store, &e->wishes, outcome->task_id, &how);
		return code == 1 ? 0 : code; /* no is an answer */
	}
	if (!o->run.json)
		say_kept(outcome->task_id);
	return 0;
}

static int try_main(void *options, int argc, char **argv)
{
	scoped(fd_closep) int signal_fd = -1;
	struct try_options *o = options;
	struct run_outcome outcome = {.kept = false};
	struct engine engine;
	int code, after;

	if (cli_is_inside()) {
		cli_complain("a command that nacre runs cannot try another one");
		return EXIT_NACRE_FAILED;
	}
	if (check(o, argc, argv) < 0)
		return EXIT_NACRE_FAILED;
	signal_fd = cli_signal_fd(false);
	if (signal_fd < 0)
		return EXIT_NACRE_FAILED;
	o->run.request.dry_run = true;
	o->run.outcome = &outcome;
	engine_init(&engine, (const char *const *)environ);
	engine.wishes = o->run.wishes;
	code = cli_run_one(&engine, &o->run, NULL, signal_fd);
	after = go_on(o, &engine, &outcome);
	engine_done(&engine);
	return after ? after : code;
}

static void prepare(void *options)
{
	run_options_prepare(&((struct try_options *)options)->run);
}

static void done(void *options)
{
	run_options_done(&((struct try_options *)options)->run);
}

#define TRY struct try_options
static const struct cli_option options[] = {
	{NULL, "LINE", "the line to run in bash", .letter = 'c',
         CLI_TEXT(TRY, run.request.command)},
	{"apply", NULL, "apply the changes at its end, whatever its exit code is",
         CLI_FLAG(TRY, apply)},
	{"discard", NULL, "throw the changes away at its end", CLI_FLAG(TRY, discard)},
	{"ask", NULL, "ask at the terminal (the default there)", CLI_FLAG(TRY, ask)},
	CLI_WISHES(TRY, run.wishes, "bash"),
	{"force", NULL, "override a nudge (never a deny)", CLI_FLAG(TRY, run.request.force)},
	{"cwd", "DIR", "working directory inside the workspace", CLI_TEXT(TRY, run.request.cwd)},
	{"timeout", "DUR", "time limit: 500ms, 5s, 2m (default and maximum: the profile's)",
         CLI_DURATION(TRY, run.request.timeout_ms, 1, CLI_FOREVER)},
	{"session", "ID", "use the directory, variables and files of this session",
         CLI_SESSION(TRY, run.request.session)},
	{"env", "NAME[=VALUE]", "set a variable, or pass on nacre's own; repeatable",
         CLI_BY(run_options_read_env)},
	{"input", "TEXT", "text for standard input (default: empty)",
         CLI_BY(run_options_read_input)},
	{"stdin", NULL, "pass on nacre's own standard input, a pipe or a file",
         CLI_BY(run_options_read_stdin)},
	{"description", "TEXT", "the purpose of the command, shown to people",
         CLI_TEXT(TRY, run.request.description)},
	{"approval-timeout", "DUR",
         "how long to wait if a person must approve (see 'nacre approve')",
         CLI_DURATION(TRY, run.request.approval_timeout_ms, 1, 86400000)},
	{"json", NULL, "print the result as one JSON object", CLI_FLAG(TRY, run.json)},
	{"quiet", NULL, "on a terminal: print only the output of the command", .letter = 'q',
         CLI_FLAG(TRY, run.quiet)},
	{0},
};
#undef TRY

const struct cli_command cli_try = {
	.name = "try",
	.summary = "run a command and see its changes before they happen",
	.usage = "[OPTIONS] -c 'LINE'\n[OPTIONS] -- ARGV...",
	.about = "Runs a command in a copy-on-write view of the workspace, which stays as it is, "
		 "and "
		 "shows what the command would change. On a terminal it then asks whether to apply "
		 "it; otherwise the changes are kept until 'nacre apply' or 'nacre discard'.",
	.notes = "Only files of the workspace are tried: what a command sends over a network, or "
		 "writes elsewhere, happens. Exit codes: the command's own, as of 'nacre run'; 3 "
		 "the "
		 "changes conflict with those of others.",
	.options = options,
	.order = CLI_FIRST,
	.most = -1,
	.size = sizeof(struct try_options),
	.prepare = prepare,
	.done = done,
	.main = try_main,
};
