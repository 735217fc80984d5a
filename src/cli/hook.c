/*
 * `nacre hook CLIENT`: an agent is about to run a command, and asks whether it may.
 *
 * The client starts this with the command as JSON on standard input, and reads the answer from
 * standard output. Three things are kept true:
 *
 * - Nothing fails open here. Whatever is in doubt (an unknown event, a member that is missing, no
 *   profile, a log that cannot be written, too little time) is a refusal with its reason, in the
 *   client's own shape.
 * - What is allowed runs in a box. The policy decides on the premise that the box holds, so a
 *   command is only allowed if nsh will run it: as the client's own shell, or because the answer
 *   puts it in front of the line. Where neither is possible the answer is no, unless --unboxed
 *   says that verdicts alone are wanted.
 * - The answer is one write. The time limit is a signal whose handler has its answer ready; it is
 *   blocked before the real answer is written.
 *
 * nsh decides again. What a person must approve is passed on to it: an approval is for exactly what
 * runs, with its variables and its input, and only nsh has these. Its refusal tells the model how
 * to get the approval. With --unboxed the question is put here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/client-shell.h"
#include "cli/command.h"
#include "cli/run-options.h"
#include "cli/setup.h"
#include "engine/engine.h"
#include "engine/judge.h"
#include "engine/result.h"
#include "hook/answer.h"
#include "hook/call.h"
#include "hook/client.h"
#include "session/away.h"
#include "session/place.h"
#include "session/session.h"
#include "task/order.h"

#define TIMEOUT_MS  5000
#define EXIT_BLOCKS 2 /* clients take it for a no when there is no answer to read */
#define LATE_MAX    1024

struct hook_options {
	struct engine_wishes wishes;
	const char *shell;
	int64_t timeout_ms;
	bool unboxed;
};

/* What the handler of the time limit writes. */
static char late[LATE_MAX];
static size_t late_len;

static void on_late(int number)
{
	ssize_t n = write(STDOUT_FILENO, late, late_len);

	_exit(n == (ssize_t)late_len ? 0 : EXIT_BLOCKS);
}

static int set_limit(const struct hook_client *client, int64_t ms)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct hook_answer a = {.reason = "nacre could not decide in time, so the command is "
	                                  "refused. Retry it."};
	struct sigaction act = {.sa_handler = on_late};
	struct itimerval limit = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

	if (hook_answer_write(client, &a, &text) < 0 || text.len > sizeof(late))
		return -ENOMEM;
	memcpy(late, text.data, text.len);
	late_len = text.len;
	return sigaction(SIGALRM, &act, NULL) < 0 || setitimer(ITIMER_REAL, &limit, NULL) < 0
	               ? -errno
	               : 0;
}

static int print(const struct hook_client *client, const struct hook_answer *a)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct hook_answer no = {.reason = "nacre could not write its answer, so the command is "
	                                   "refused."};
	sigset_t alarm;

	if (hook_answer_write(client, a, &text) < 0) {
		buffer_clear(&text);
		if (hook_answer_write(client, &no, &text) < 0)
			return EXIT_BLOCKS;
	}
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	return fd_write_all(STDOUT_FILENO, text.data, text.len) < 0 ? EXIT_BLOCKS : 0;
}

static int refuse(const struct hook_client *client, const char *why)
{
	scoped(buffer_donep) struct buffer reason = {0};
	struct hook_answer a = {0};

	buffer_printf(&reason, "nacre refuses this command: %s.", why);
	a.reason = buffer_str(&reason);
	return print(client, &a);
}

/* What is told to the person, and through the client to the model. */
static const char *words_of(const struct judgement *j, struct buffer *into)
{
	buffer_printf(into, "nacre: %s",
	              *j->reason                         ? j->reason
	              : j->verdict == POLICY_VERDICT_ASK ? "a person must approve this command."
	                                                 : "this command is not allowed.");
	for (size_t i = 0; j->use && j->use[i]; i++)
		buffer_printf(into, "%s%s", i ? ", " : " Use instead: ", j->use[i]);
	if (j->use && j->use[0])
		buffer_putc(into, '.');
	if (j->rule_file && *j->rule_file)
		buffer_printf(into, " (rule %s, %s:%u)", j->rule, j->rule_file, j->rule_line);
	else if (j->rule && *j->rule)
		buffer_printf(into, " (rule %s)", j->rule);
	return buffer_str(into);
}

/* The request as nsh will make it; a directory outside of the workspace is gone to by the line. */
static int request_of(const struct hook_call *call, const char *workspace, struct arena *arena,
                      struct request *ret, struct error *err)
{
	char cwd[PATH_MAX];

	*ret = (struct request){
		.command = call->command, .session = call->session, .door = "hook", .input_fd = -1};
	if (!realpath(call->cwd, cwd))
		return error_set(err, ERROR_INPUT, errno, "its directory '%.150s': %s", call->cwd,
		                 strerrordesc_np(errno));
	if (place_is_inside(cwd, workspace)) {
		ret->cwd = arena_strdup(arena, cwd);
	} else if (session_away_is_valid(cwd)) {
		ret->cwd = ".";
		ret->command = session_away_line(arena, cwd, call->command);
	} else {
		return error_set(err, ERROR_INPUT, EINVAL, "the name of its directory");
	}
	return ret->cwd && ret->command ? 0 : error_nomem(err);
}

/* How nsh comes to run it. *REWRITTEN is empty if it is the client's shell already. */
static int box(const struct hook_options *o, const struct hook_client *client,
               const struct hook_call *call, const char *workspace, struct arena *arena,
               struct buffer *rewritten, struct error *err)
{
	char shell[PATH_MAX];
	const char *variables[4] = {0};
	size_t n = 0;

	if (o->unboxed || client_shell_is_ours(client))
		return 0;
	if (!client->rewrites && client->shell_by_path)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "%s takes the first bash of PATH as its shell, and that is not "
		                 "nsh. `nacre init %s` says how to start it",
		                 client->title, client->name);
	if (!client->rewrites)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "the shell of %s cannot be boxed. Use nacre's tool of MCP instead",
		                 client->title);
	if (client_shell_find(o->shell, shell, err) < 0)
		return -ENOENT;
	variables[n++] = arena_printf(arena, "NACRE_SESSION=%s", call->session);
	variables[n++] = arena_printf(arena, "NACRE_WORKSPACE=%s", workspace);
	if (o->wishes.profile)
		variables[n++] = arena_printf(arena, "NACRE_PROFILE=%s", o->wishes.profile);
	for (size_t i = 0; i < n; i++)
		if (!variables[i])
			return error_nomem(err);
	hook_rewrite(shell, variables, call->command, rewritten);
	return buffer_error(rewritten) < 0 ? error_nomem(err) : 0;
}

/* Tells doctor that the client has called; it is no matter if that cannot be kept. */
static void leave_stamp(const struct engine *e, const struct hook_client *client)
{
	scoped(fd_closep) int dir = -1, file = -1;

	if (e->store.tasks_fd < 0 || e->store.temporary)
		return;
	(void)mkdirat(e->store.tasks_fd, "../clients", 0700);
	dir = openat(e->store.tasks_fd, "../clients",
	             O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0)
		file = openat(dir, client->name,
		              O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (file >= 0)
		(void)futimens(file, NULL);
}

/* Where the session began, as nsh has it. */
static const char *remembered(const struct engine *e, const char *id, struct arena *arena)
{
	const char *state = engine_state_of(arena, &e->store);
	struct session kept = {0};
	struct stat st;

	if (!state || !session_id_is_valid(id) || session_load(state, id, arena, &kept, NULL) < 0)
		return NULL;
	return kept.workspace && stat(kept.workspace, &st) == 0 && S_ISDIR(st.st_mode)
	               ? kept.workspace
	               : NULL;
}

static int answer(const struct hook_options *o, const struct hook_client *client,
                  const struct hook_call *call, struct arena *arena)
{
	scoped(buffer_donep) struct buffer words = {0}, rewritten = {0};
	struct hook_answer a = {.input = call->input};
	char workspace[PATH_MAX];
	struct judgement j = {.verdict = POLICY_VERDICT_DENY};
	struct request rq;
	struct error err = {0};
	struct engine e;
	int r, code;

	engine_init(&e, (const char *const *)environ);
	e.wishes = o->wishes;
	r = client_workspace(client, o->wishes.workspace, remembered(&e, call->session, arena),
	                     call->cwd, workspace, &err);
	e.wishes.workspace = workspace;
	if (r == 0)
		r = request_of(call, workspace, arena, &rq, &err);
	if (r == 0)
		r = engine_judge(&e, &rq, o->unboxed, arena, &j, &err);
	if (r == 0 && j.verdict <= POLICY_VERDICT_ASK)
		r = box(o, client, call, workspace, arena, &rewritten, &err);
	if (strncmp(call->session, SETUP_PROOF, strlen(SETUP_PROOF)) != 0)
		leave_stamp(&e, client);
	if (r < 0) {
		code = refuse(client, err.text[0] ? err.text : "no decision could be made");
	} else {
		/* nsh asks: its question is about exactly what it would run. */
		a.verdict = j.verdict > POLICY_VERDICT_ASK                  ? HOOK_DENY
		            : j.verdict == POLICY_VERDICT_ASK && o->unboxed ? HOOK_ASK
		                                                            : HOOK_ALLOW;
		a.reason = a.verdict == HOOK_ALLOW ? NULL : words_of(&j, &words);
		a.command = rewritten.len ? buffer_str(&rewritten) : NULL;
		code = print(client, &a);
	}
	engine_done(&e);
	return code;
}

static int hook(void *options, int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(buffer_donep) struct buffer text = {.max = HOOK_BYTES_MAX};
	scoped(hook_call_done) struct hook_call call = {0};
	const struct hook_options *o = options;
	const struct hook_client *client = hook_client_find(argv[0]);
	struct error err = {0};
	char words[SUGGEST_WORDS_MAX];
	int r;

	if (!client) {
		cli_complain("hook: unknown client '%.60s'%s", argv[0],
		             suggest_words(suggest_from(argv[0], hook_clients, SIZE_MAX,
		                                        sizeof(hook_clients[0])),
		                           words));
		return EXIT_BLOCKS;
	}
	if (set_limit(client, o->timeout_ms) < 0)
		return refuse(client, "it has no time limit");
	r = fd_read_all(STDIN_FILENO, &text);
	if (r < 0)
		return refuse(client, r == -E2BIG ? "what the client sent is too long"
		                                  : "what the client sent cannot be read");
	arena = arena_new(4 * ORDER_BYTES_MAX);
	if (!arena)
		return refuse(client, "out of memory");
	r = hook_call_read(client, buffer_str(&text), text.len, arena, &call, &err);
	if (r < 0)
		return refuse(client, err.text);
	return answer(o, client, &call, arena);
}

static void prepare(void *options)
{
	struct hook_options *o = options;
	const char *profile = getenv("NACRE_PROFILE");

	o->wishes = engine_wishes_default;
	o->wishes.profile = profile && *profile ? profile : NULL;
	o->timeout_ms = TIMEOUT_MS;
}

#define HOOK struct hook_options
static const struct cli_option options[] = {
	CLI_WISHES(HOOK, wishes, "bash"),
	{"shell", "FILE", "the shell to rewrite to (default: nsh beside nacre)",
         CLI_TEXT(HOOK, shell)},
	{"unboxed", NULL, "verdicts only: what is allowed may run in the client's own shell",
         CLI_FLAG(HOOK, unboxed)},
	{"timeout", "DUR", "refuse if no decision is made in this time (default: 5s)",
         CLI_DURATION(HOOK, timeout_ms, 1, 600000)},
	{0},
};
#undef HOOK

const struct cli_command cli_hook = {
	.name = "hook",
	.summary = "answer the hook of an agent: may it run this command?",
	.usage = "[OPTIONS] CLIENT",
	.about = "Reads what the hook of an agent gets on its standard input, decides about the "
		 "command in it, and answers in the agent's own form. Clients: claude, codex, "
		 "gemini, copilot, qwen, cursor. `nacre init` sets it up.",
	.notes = "Whatever is in doubt is refused. The exit code is 0 if there is an answer to "
		 "read, "
		 "and else 2, which agents take for a no.",
	.operand = "claude|codex|gemini|copilot|qwen|cursor",
	.options = options,
	.least = 1,
	.most = 1,
	.size = sizeof(struct hook_options),
	.prepare = prepare,
	.main = hook,
};
