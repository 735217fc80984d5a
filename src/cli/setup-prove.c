/*
 * The proof: what the client would run is run, as it stands in the client's own file.
 *
 * No client is started, and no model is asked. The hook's line goes to `sh -c` with what the client
 * would send: a harmless command, one that every profile refuses, and nonsense. The shell gets the
 * same commands. The refused one is the name of a program that is not there, so that a shell that
 * is not ours does no harm with it either.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/remove.h"
#include "base/strings.h"
#include "cli/setup.h"
#include "hook/answer.h"
#include "hook/call.h"
#include "hook/client.h"

#define HARMLESS "echo nacre-proof"
#define REFUSED  "mkfs.nacre-proof"
#define PATIENCE 60000
#define OUTPUT   ((size_t)64 << 10)

struct proof {
	const struct setup_plan *plan;
	const struct hook_client *hook; /* NULL: the client has none */
	struct arena *arena;
	struct buffer *into;
	const char *const *envp;
	char session[40];
	const char *cwd;
	int wrong;
};

static void __attribute__((format(printf, 3, 4)))
saw(struct proof *p, bool good, const char *format, ...)
{
	char text[700];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	p->wrong += !good;
	buffer_printf(p->into, "  %s %s\n", good ? "ok  " : "FAIL", text);
}

_Noreturn static void child(const struct proof *p, const char *const *argv, int in, int out)
{
	if (chdir(p->cwd) < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	(void)setsid();
	execve(argv[0], (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)p->envp);
	_exit(127);
}

/* Reads to the end, or until the time is over. */
static void collect(int fd, struct buffer *out)
{
	int64_t until = clock_now_ms() + PATIENCE;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char bytes[4096];

	for (;;) {
		int64_t left = until - clock_now_ms();
		ssize_t n;

		if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
			return;
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return;
		buffer_append(out, bytes, (size_t)n);
	}
}

/* Runs it with INPUT; the exit code, or a negative errno. */
static int run(const struct proof *p, const char *const *argv, const char *input,
               struct buffer *out)
{
	scoped(fd_closep) int in = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600), to = -1;
	int ends[2], status = 0, r;
	pid_t pid;

	if (in < 0 || fd_write_all(in, input, strlen(input)) < 0 || lseek(in, 0, SEEK_SET) < 0 ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return -EIO;
	out->max = OUTPUT;
	to = ends[1];
	pid = fork();
	if (pid == 0)
		child(p, argv, in, to);
	fd_close(take_fd(&to));
	if (pid > 0)
		collect(ends[0], out);
	fd_close(ends[0]);
	if (pid < 0)
		return -EAGAIN;
	for (int64_t until = clock_now_ms() + PATIENCE;;) {
		r = waitpid(pid, &status, WNOHANG);
		if (r == pid || (r < 0 && errno != EINTR))
			break;
		if (clock_now_ms() > until)
			(void)kill(-pid, SIGKILL);
		(void)poll(NULL, 0, 5);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *line_of(struct arena *arena, const struct buffer *out)
{
	const char *text = buffer_str(out);

	return arena_strndup(arena, text, strcspn(text, "\n"));
}

/* What the client's hook says about a command; NULL: nonsense is sent. */
static int ask(struct proof *p, const char *line, const char *command, struct hook_answer *ret,
               struct error *err)
{
	scoped(buffer_donep) struct buffer in = {0}, out = {0};
	struct hook_call call = {.command = command, .session = p->session, .cwd = p->cwd};
	const char *const argv[] = {"/bin/sh", "-c", line, NULL};
	int code;

	if (command && hook_call_write(p->hook, &call, &in) < 0)
		return error_nomem(err);
	code = run(p, argv, command ? buffer_str(&in) : "{\"nonsense\":1}\n", &out);
	if (code != 0)
		return error_set(err, ERROR_SYSTEM, EIO, "it ended with %d: %.150s", code,
		                 line_of(p->arena, &out));
	return hook_answer_read(p->hook, buffer_str(&out), out.len, p->arena, ret, err);
}

static void prove_shell(struct proof *p, const char *const *echo, const char *const *refused,
                        const char *name)
{
	scoped(buffer_donep) struct buffer out = {0}, no = {0};
	int code = run(p, echo, "", &out);

	saw(p, code == 0 && strcmp(buffer_str(&out), "nacre-proof\n") == 0,
	    "%s runs `" HARMLESS "`: exit %d, \"%.200s\"", name, code, line_of(p->arena, &out));
	if (!refused)
		return;
	code = run(p, refused, "", &no);
	saw(p, code == 126, "%s refuses `" REFUSED "`: exit %d, \"%.300s\"", name, code,
	    line_of(p->arena, &no));
}

static void prove_hook(struct proof *p, const char *line)
{
	struct hook_answer yes = {0}, no = {0}, nonsense = {0};
	struct error err = {0};
	bool boxed = p->hook->rewrites || p->hook->shell_by_path;

	if (ask(p, line, REFUSED, &no, &err) < 0)
		saw(p, false, "the hook on `" REFUSED "`: %s", err.text);
	else
		saw(p, no.verdict == HOOK_DENY, "the hook refuses `" REFUSED "`: %.300s",
		    no.reason ? no.reason : "without a reason");
	if (ask(p, line, NULL, &nonsense, &err) < 0)
		saw(p, false, "the hook on nonsense: %s", err.text);
	else
		saw(p, nonsense.verdict == HOOK_DENY, "the hook refuses nonsense: %.300s",
		    nonsense.reason ? nonsense.reason : "without a reason");
	if (ask(p, line, HARMLESS, &yes, &err) < 0)
		saw(p, false, "the hook on `" HARMLESS "`: %s", err.text);
	else if (!boxed)
		saw(p, yes.verdict == HOOK_DENY, "the hook refuses the client's own shell: %.300s",
		    yes.reason ? yes.reason : "");
	else
		saw(p, yes.verdict == HOOK_ALLOW, "the hook allows `" HARMLESS "`%s%.300s",
		    yes.command  ? ", as: "
		    : yes.reason ? ": "
		                 : "",
		    yes.command  ? yes.command
		    : yes.reason ? yes.reason
		                 : "");
	if (yes.command) {
		const char *const argv[] = {"/bin/bash", "-c", yes.command, NULL};

		prove_shell(p, argv, NULL, "the rewritten line");
	}
}

/* The environment that the client would give: with what its settings add. */
static int set_environment(struct proof *p)
{
	const struct setup_plan *plan = p->plan;

	p->envp = (const char *const *)environ;
	for (size_t i = 0; i < plan->count; i++)
		for (size_t j = 0; j < plan->targets[i].count; j++) {
			const struct setup_edit *e = &plan->targets[i].edits[j];
			size_t n = strlen(e->value);
			const char *value;

			if (e->kind != SETUP_SET || strcmp(e->path[0], "env") != 0)
				continue;
			value = arena_strndup(p->arena, e->value + 1, n - 2);
			p->envp = value ? env_with(p->arena, p->envp, e->path[1], value) : NULL;
			if (!p->envp)
				return -ENOMEM;
		}
	p->envp = env_with(p->arena, p->envp, "NACRE_SESSION", p->session);
	if (p->envp && *plan->shim)
		p->envp = env_with(p->arena, p->envp, "PATH",
		                   arena_printf(p->arena, "%s:%s", plan->shim, getenv("PATH")));
	if (p->envp && p->hook && p->hook->workspace_variable)
		p->envp = env_with(p->arena, p->envp, p->hook->workspace_variable, p->cwd);
	return p->envp ? 0 : -ENOMEM;
}

static const struct setup_edit *find_edit(const struct setup_plan *plan, enum setup_kind kind,
                                          const char *key, const struct setup_target **ret_target)
{
	for (size_t i = 0; i < plan->count; i++)
		for (size_t j = 0; j < plan->targets[i].count; j++) {
			const struct setup_edit *e = &plan->targets[i].edits[j];

			for (size_t k = 0; e->kind == kind && e->path[k]; k++)
				if (strcmp(e->path[k], key) == 0) {
					*ret_target = &plan->targets[i];
					return e;
				}
		}
	return NULL;
}

/* The line as it stands in the file now. */
static int find_command(struct proof *p, const char **ret, struct error *err)
{
	for (size_t i = 0; i < p->plan->count; i++) {
		const struct setup_target *t = &p->plan->targets[i];
		struct setup_file f;
		int r = setup_file_open(t->base, t->rel, false, &f, err);

		if (r == 0)
			r = setup_edit_command(t, buffer_str(&f.text), f.text.len, p->arena, ret,
			                       err);
		if (r == 0)
			setup_file_done(&f);
		if (r < 0 || *ret)
			return r;
	}
	return 0;
}

static int prove(struct proof *p, struct error *err)
{
	const struct setup_target *target;
	const struct setup_edit *shell =
		find_edit(p->plan, SETUP_SET, "CLAUDE_CODE_SHELL", &target);
	const char *line = NULL;
	int r;

	if (!shell)
		shell = find_edit(p->plan, SETUP_SET, "shell", &target);
	if (p->hook) {
		r = find_command(p, &line, err);
		if (r < 0)
			return r;
		if (line)
			prove_hook(p, line);
		else
			saw(p, false,
			    "the hook of nacre is not in the client's file any more. "
			    "Run `nacre init %s`",
			    p->plan->client->name);
	}
	if (shell) {
		const char *program =
			arena_strndup(p->arena, shell->value + 1, strlen(shell->value) - 2);
		const char *const echo[] = {program, "-c", HARMLESS, NULL};
		const char *const refused[] = {program, "-c", REFUSED, NULL};

		if (!program)
			return error_nomem(err);
		prove_shell(p, echo, refused, "the shell");
	}
	return p->wrong;
}

int setup_prove(const struct setup_plan *plan, struct arena *arena, struct buffer *into,
                struct error *err)
{
	const char *base = getenv("TMPDIR");
	char directory[PATH_MAX];
	struct proof p = {.plan = plan,
	                  .hook = hook_client_find(plan->client->name),
	                  .arena = arena,
	                  .into = into,
	                  .cwd = directory};
	int r;

	if (snprintf(directory, sizeof(directory), "%s/nacre-proof-XXXXXX",
	             base && *base == '/' ? base : "/tmp") >= (int)sizeof(directory) ||
	    !mkdtemp(directory))
		return error_sys(err, errno, "a directory for the proof");
	r = id_new(SETUP_PROOF, p.session, sizeof(p.session));
	if (r == 0 && set_environment(&p) < 0)
		r = error_nomem(err);
	if (r == 0)
		r = prove(&p, err);
	(void)rmdir(directory);
	return r;
}
