/*
 * `nsh`: a drop-in for `bash -c` whose commands are judged, boxed and recorded.
 *
 *	words        -> what is to be run       (sh-options.c)
 *	environment  -> session and workspace   (sh-place.c)
 *	text         -> without the client's    (shell/unwrap.c)
 *	request      -> a job, like that of any door
 *	keeper       -> two pipes -> output     (sh-relay.c), as it comes and byte for byte
 *	result       -> exit code, or death by the signal that the command died by
 *
 * A command ends with its shell: by SIGTERM, SIGINT and SIGHUP its tree is asked to end, and when
 * nsh is killed its keeper kills the tree. What a command leaves running when it has ended by
 * itself goes on as a task.
 *
 * nsh says nothing of its own but where bash could not have said anything either: a refusal, a
 * failure of nacre, what the sandbox has to do with a failure of the command.
 *
 * Inside a sandbox of nacre there is nothing to judge and nothing to box: nsh becomes bash there.
 */
#include "cli/sh.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/client-shell.h"
#include "cli/desk.h"
#include "cli/prompt.h"
#include "cli/pty.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "cli/sh-files.h"
#include "cli/sh-options.h"
#include "cli/sh-place.h"
#include "cli/sh-relay.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/result.h"
#include "shell/parse.h"
#include "shell/unwrap.h"

#define BASH      "/bin/bash"
#define ARENA_MAX ((size_t)64 << 20)

#define EXIT_SYNTAX 2

struct sh {
	struct arena *arena;
	struct sh_options options;
	struct sh_place place;
	struct unwrap unwrapped;
	struct sh_cwd_file cwd_file;
	struct engine engine;
	struct request request;
	struct sh_relay *relay;
	struct loop *loop;
	struct loop_source signals;
	struct prompt prompt;
	struct job *job;
	bool prompts;
	int stop_signal; /* that we were sent; 0: none */
	int exit_code;
	int die_by; /* a signal; 0: none */
};

bool sh_is_meant(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
	const char *name = slash ? slash + 1 : argv0 ? argv0 : "";

	name += *name == '-';
	return strcmp(name, "nsh") == 0 || strcmp(name, "nsh-bash") == 0 ||
	       strcmp(name, "bash") == 0;
}

static void complain(const char *text)
{
	cli_complain("%s", text);
}

/* Signals */

/* The first asks the tree to end, the second insists. A question stays open: nobody has answered
 * it. */
static int on_signal(struct loop_source *s, uint32_t events)
{
	struct sh *sh = container_of(s, struct sh, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	sh->stop_signal = (int)info.ssi_signo;
	if (sh->job)
		job_stop(sh->job, false);
	return 0;
}

/* As bash would have: its parent asks how it died. */
static _Noreturn void die(int signal)
{
	const struct rlimit none = {0};
	struct sigaction fallback = {.sa_handler = SIG_DFL};
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)sigaction(signal, &fallback, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal);
	(void)raise(signal);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + signal);
}

/* The end */

static void explain_refusal(const struct sh *sh, const struct result *r)
{
	scoped(buffer_donep) struct buffer text = {0};

	if (r->report.end == KEEPER_END_FAILED && r->report.step == CHILD_EXEC && r->report.sys)
		fprintf(stderr, "bash: line 1: %s: %s\n", sh->request.command,
		        strerrordesc_np(r->report.sys));
	else if (r->reason[0])
		complain(r->reason);
	for (int i = 0; i < r->recommended_count; i++)
		buffer_printf(&text, "%s%s", i ? ", " : "", r->recommended[i]);
	if (text.len > 0)
		cli_complain("use instead: %s", buffer_str(&text));
	if (r->verdict && strcmp(r->verdict, "allow") != 0 && r->rule_file[0])
		cli_complain("rule %s (%s:%u)", r->rule_id, r->rule_file, r->rule_line);
}

/* What bash has no words for. A command that went well has nothing to explain. */
static void explain(const struct sh *sh, const struct result *r)
{
	if (!r->ran)
		explain_refusal(sh, r);
	else if (r->reason[0] && !r->stopped)
		complain(r->reason);
	for (int i = 0; i < r->notice_count && (r->exit_code != 0 || r->left_running); i++)
		complain(r->notices[i]);
}

/* A tree that we have ended has a status of its own, if its shell had a trap. */
static void choose_end(struct sh *sh, const struct result *r)
{
	int status = r->report.status;

	sh->exit_code = r->exit_code;
	if (!r->ran && strcmp(r->rule_id, "syntax-error") == 0)
		sh->exit_code = EXIT_SYNTAX; /* as bash has it */
	if (!r->ran && sh->stop_signal)
		sh->die_by = sh->stop_signal;
	else if (!r->stopped)
		sh->die_by = r->report.end == KEEPER_END_EXITED ? r->signal : 0;
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		sh->exit_code = WEXITSTATUS(status);
	else
		sh->die_by = sh->stop_signal ? sh->stop_signal : SIGTERM;
}

static bool on_ended(void *owner, struct job *j, struct result *result)
{
	struct sh *sh = owner;

	prompt_end(&sh->prompt);
	sh->job = NULL;
	loop_stop(sh->loop);
	(void)sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	sh_relay_end(sh->relay);
	choose_end(sh, result);
	if (result->ran && sh->exit_code == 0 && !sh->die_by)
		sh_cwd_file_write(&sh->cwd_file, result->report.cwd);
	explain(sh, result);
	/* All of it was delivered as it came. */
	result->output_kept = result->left_running;
	return true;
}

static void on_asked(void *owner, struct job *j, const struct approval *a)
{
	struct sh *sh = owner;
	struct error err = {0};

	if (sh->prompts && prompt_begin(&sh->prompt, sh->loop, j, &err) < 0) {
		complain(err.text);
		job_give_up(j);
	}
}

static void on_answered(void *owner, struct job *j)
{
	prompt_end(&((struct sh *)owner)->prompt);
}

static const struct job_ops ops = {
	.asked = on_asked,
	.answered = on_answered,
	.approved = on_answered,
	.ended = on_ended,
};

/* One job, from its start to its end */

static int run_job(struct sh *sh, int signal_fd, struct error *err)
{
	int r = loop_new(&sh->loop, err);

	if (r == 0)
		r = loop_add(sh->loop, &sh->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = job_start(&sh->engine, sh->loop, &sh->request, NULL, &ops, sh, &sh->job, err);
	if (r == 0)
		r = sh_relay_begin(sh->relay, sh->loop, err);
	if (r == 0)
		r = loop_run(sh->loop);
	if (sh->job) {
		error_sys(err, -r, "waiting for the command");
		prompt_end(&sh->prompt);
		job_stop(sh->job, true);
		job_leave(sh->job);
	}
	sh_relay_close(sh->relay);
	loop_remove(&sh->signals);
	sh->loop = loop_free(sh->loop);
	return r;
}

static int run(struct sh *sh, struct error *err)
{
	scoped(freep) struct sh_relay *relay = calloc(1, sizeof(*relay));
	scoped(fd_closep) int signal_fd = cli_signal_fd(false);
	int r;

	if (!relay)
		return error_nomem(err);
	if (signal_fd < 0)
		return error_sys(err, -signal_fd, "signals");
	sh->relay = relay;
	r = sh_relay_open(relay, err);
	if (r < 0) {
		sh_relay_close(relay);
		return r;
	}
	sh->request.relay = relay->theirs;
	sh->request.output_mode = relay->merged ? OUTPUT_MERGED : OUTPUT_SEPARATE;
	sh->request.output_mode_given = true;
	sh->prompts = prompt_is_possible();
	sh->request.can_ask |= sh->prompts;
	sh->engine.ahead = true;
	return run_job(sh, signal_fd, err);
}

/* What is to be run */

/* A script on standard input is read whole and judged before its first line runs. */
static int read_stdin(struct sh *sh, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = SHELL_TEXT_MAX + 1};
	int r = fd_read_all(STDIN_FILENO, &text);

	if (r == 0)
		r = buffer_error(&text);
	if (r < 0)
		return error_set(err, ERROR_INPUT, -r, "standard input: %s", strerrordesc_np(-r));
	if (memchr(buffer_str(&text), '\0', text.len))
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "standard input: a script cannot have NUL bytes in it");
	sh->options.text = arena_strndup(sh->arena, buffer_str(&text), text.len);
	return sh->options.text ? 0 : error_nomem(err);
}

static const char *const *words_of(struct sh *sh, const char *first, const char *second)
{
	size_t n = 0;
	const char **list;

	while (sh->options.words && sh->options.words[n])
		n++;
	list = arena_new_array(sh->arena, const char *, n + 3);
	if (!list)
		return NULL;
	list[0] = first;
	if (second)
		list[1] = second;
	if (n > 0)
		memcpy(list + 1 + (second != NULL), sh->options.words, n * sizeof(*list));
	return list;
}

/* The line with the options of the shell in front. What a client has put around it is taken away
 * only where the client has given nothing else. */
static int fill_line(struct sh *sh, struct error *err)
{
	struct sh_options *o = &sh->options;
	struct request *rq = &sh->request;
	const char *text = o->text;

	sh->unwrapped.command = text;
	if (o->plain && unwrap_text(text, sh->arena, &sh->unwrapped) < 0)
		return error_nomem(err);
	if (sh->unwrapped.shape == UNWRAP_SNAPSHOT)
		return 0;
	if (sh->unwrapped.empty_input)
		rq->input_fd = -1;
	text = sh->unwrapped.command;
	if (sh->unwrapped.cwd_file)
		rq->tells_cwd = sh_cwd_file_open(sh->unwrapped.cwd_file, &sh->cwd_file);
	rq->command = *o->prefix ? arena_printf(sh->arena, "%s%s", o->prefix, text) : text;
	/* As bash calls itself in its messages. */
	rq->args = words_of(sh, o->name ? o->name : "bash", NULL);
	return rq->command && rq->args ? 0 : error_nomem(err);
}

static int fill(struct sh *sh, struct error *err)
{
	struct sh_options *o = &sh->options;
	struct request *rq = &sh->request;
	int r = 0;

	*rq = (struct request){.input_fd = STDIN_FILENO,
	                       .door = "nsh",
	                       .interactive = true,
	                       .passing = true,
	                       .all_variables = true,
	                       .session = sh->place.session,
	                       .cwd = sh->place.cwd,
	                       .away = sh->place.away};
	switch (o->kind) {
	case SH_STDIN:
		r = read_stdin(sh, err);
		rq->input_fd = -1;
		return r < 0 ? r : fill_line(sh, err);
	case SH_LINE:
		return fill_line(sh, err);
	case SH_SCRIPT:
		rq->argv = words_of(sh, "bash", o->name);
		break;
	case SH_VERSION:
		rq->argv = words_of(sh, "bash", "--version");
		break;
	case SH_INTERACTIVE:
		rq->argv = words_of(sh, "bash", "-i");
		break;
	case SH_HELP:
		break;
	}
	return rq->argv ? 0 : error_nomem(err);
}

/* A person at a terminal: the command has one of its own. */
static int run_interactive(struct sh *sh)
{
	struct run_options o = {
		.request = sh->request, .wishes = sh->engine.wishes, .arena = sh->arena};
	scoped(fd_closep) int signal_fd = cli_signal_fd(true);

	if (signal_fd < 0)
		return EXIT_NACRE_FAILED;
	o.request.input_fd = -1;
	pty_own_size(&o.request.rows, &o.request.cols);
	o.env[o.env_count++] = "PS1=nsh:\\w\\$ ";
	o.request.env = o.env;
	return cli_run_one(&sh->engine, &o, NULL, signal_fd);
}

/* Refused before there is a job: the words say why, and nothing runs. */
static int refuse(const struct error *err)
{
	complain(err->text);
	return EXIT_NACRE_FAILED;
}

static int run_all(struct sh *sh)
{
	const char *state = engine_state_of(sh->arena, &sh->engine.store);
	struct error err = {0};

	/* Without it nothing is recorded, and no approval is found. */
	if (!state || sh->engine.store.temporary) {
		cli_complain("%s", sh->engine.store.notice);
		cli_complain("nsh runs nothing without its state directory; make it writable, or "
		             "set NACRE_STATE_DIR to one that is");
		return EXIT_NACRE_FAILED;
	}
	/* Not a command of the model: the client asks nacre about one. */
	if (sh->options.plain && client_hook_is_ours(sh->options.text))
		execl(BASH, "bash", "-c", sh->options.text, (char *)NULL);
	if (sh_place_find(state, sh->arena, &sh->place, &err) < 0 || fill(sh, &err) < 0)
		return refuse(&err);
	if (sh->unwrapped.shape == UNWRAP_SNAPSHOT)
		return sh_snapshot_make(sh->unwrapped.snapshot);
	sh_place_keep(state, &sh->place);
	sh->engine.wishes.workspace = sh->place.workspace;
	if (sh->options.kind == SH_INTERACTIVE)
		return run_interactive(sh);
	if (run(sh, &err) < 0)
		return refuse(&err);
	return sh->exit_code;
}

static const char *set_value(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* In a box of nacre, by what the kernel says of us: its filter and no_new_privs hold, and our
 * ancestors are a keeper's. */
static bool is_inside(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
	       prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 && cli_is_inside();
}

static int become_bash(char **argv)
{
	static char name[] = "bash";
	struct sigaction fallback = {.sa_handler = SIG_DFL};

	(void)sigaction(SIGPIPE, &fallback, NULL);
	(void)sigaction(SIGXFSZ, &fallback, NULL);
	argv[0] = name;
	execv(BASH, argv);
	cli_complain(BASH ": %s", strerrordesc_np(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int print_help(void)
{
	puts("usage: nsh [OPTIONS] -c LINE [NAME [WORD]...]\n"
	     "       nsh [OPTIONS] LINE\n"
	     "       nsh [OPTIONS] SCRIPT [WORD]...\n"
	     "       nsh [OPTIONS] [-s [WORD]...]\n"
	     "\n"
	     "bash for agents: runs a line or a script in a sandbox, judged and recorded.\n"
	     "\n"
	     "  -c LINE              run the line\n"
	     "  -s                   read the script from standard input\n"
	     "  -o NAME, -O NAME     an option of set, or of shopt; + switches it off\n"
	     "  -e -u -x ...         options of set\n"
	     "  -l, -i, --login, --norc, --noprofile, --rcfile FILE\n"
	     "                       accepted; no start-up file is read\n"
	     "  --version, --help\n"
	     "\n"
	     "NACRE_PROFILE, NACRE_POLICY, NACRE_SESSION and NACRE_WORKSPACE choose profile,\n"
	     "policy file, session and workspace. See nsh(1).");
	return 0;
}

int sh_main(int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct sh sh = {.arena = arena, .signals = {.fd = -1}, .cwd_file = {.dir = -1}};
	bool is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
	struct error err = {0};

	if (is_inside())
		return become_bash(argv);
	if (!sh.arena) {
		complain("out of memory");
		return EXIT_NACRE_FAILED;
	}
	if (sh_options_read(argc, argv, is_terminal, sh.arena, &sh.options, &err) < 0) {
		fprintf(stderr, "bash: %s\n", err.text);
		return 2;
	}
	if (sh.options.kind == SH_HELP)
		return print_help();
	if (sh.options.lone && access(sh.options.text, F_OK) == 0) {
		sh.options.kind = SH_SCRIPT;
		sh.options.name = sh.options.text;
	}
	engine_init(&sh.engine, (const char *const *)environ);
	sh.engine.wishes.profile = set_value("NACRE_PROFILE");
	sh.engine.wishes.policy_file = set_value("NACRE_POLICY");
	sh.engine.wishes.fallback = "bash";
	sh.exit_code = run_all(&sh);
	engine_done(&sh.engine);
	sh_cwd_file_done(&sh.cwd_file);
	if (sh.die_by)
		die(sh.die_by);
	return sh.exit_code;
}
