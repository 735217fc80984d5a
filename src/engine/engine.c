#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/environment.h"
#include "engine/result.h"

const struct engine_settings engine_settings_default = {
	.timeout_default_ms = 120000,
	.timeout_max_ms = 600000,
	.grace_ms = 2000,
	.spool_cap = (uint64_t)256 << 20,
	.state_cap = (uint64_t)2 << 30,
	.max_processes = 1024,
	.view = {.style = VIEW_HALVES, .limit = 30000},
};

static const char *const mode_names[OUTPUT_MODE_MAX] = {
	[OUTPUT_SEPARATE] = "separate",
	[OUTPUT_MERGED] = "merged",
	[OUTPUT_STDOUT] = "stdout",
	[OUTPUT_STDERR] = "stderr",
};

struct engine_run {
	struct arena *arena;
	struct task *task;
	struct keeper_order order;
	enum output_mode output_mode;
	int64_t timeout_asked_ms; /* more than the maximum; 0: it was granted */
	struct error refusal;     /* why it did not start */
};

bool output_mode_shows(enum output_mode mode, int stream)
{
	switch (mode) {
	case OUTPUT_SEPARATE:
		return true;
	case OUTPUT_MERGED:
	case OUTPUT_STDOUT:
		return stream == 0;
	case OUTPUT_STDERR:
		return stream == 1;
	case OUTPUT_MODE_MAX:
		break;
	}
	return false;
}

const char *output_mode_name(enum output_mode mode)
{
	return mode_names[mode];
}

int output_mode_parse(const char *name, enum output_mode *ret_mode)
{
	for (int i = 0; i < OUTPUT_MODE_MAX; i++)
		if (strcmp(name, mode_names[i]) == 0) {
			*ret_mode = (enum output_mode)i;
			return 0;
		}
	return -EINVAL;
}

void engine_init(struct engine *e, const char *const *environment)
{
	*e = (struct engine){.settings = engine_settings_default, .environment = environment};
	store_open(&e->store);
}

void engine_done(struct engine *e)
{
	store_done(&e->store);
}

static int path_of_fd(int fd, char into[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, into, PATH_MAX);
	if (n < 0 || n >= PATH_MAX)
		return n < 0 ? -errno : -ENAMETOOLONG;
	into[n] = '\0';
	return 0;
}

static bool is_inside(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (n == 1) /* "/" */
		return true;
	return strncmp(path, directory, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Opens, then asks the kernel where that really is: no string can promise it. */
static int resolve_cwd(struct arena *arena, const struct request *rq, const char **ret_cwd,
                       struct error *err)
{
	const char *wanted = rq->workspace ? rq->workspace : ".";
	scoped(fd_closep) int workspace = open(wanted, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int cwd = -1;
	char root[PATH_MAX], path[PATH_MAX];

	if (workspace < 0 || path_of_fd(workspace, root) < 0)
		return error_set(err, ERROR_INPUT, errno, "workspace '%.150s': %s", wanted,
		                 strerrordesc_np(errno));
	cwd = openat(workspace, rq->cwd ? rq->cwd : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cwd < 0 || path_of_fd(cwd, path) < 0)
		return error_set(err, ERROR_INPUT, errno, "working directory '%.150s': %s",
		                 rq->cwd ? rq->cwd : ".", strerrordesc_np(errno));
	if (!is_inside(path, root))
		return error_set(err, ERROR_INPUT, EXDEV,
		                 "working directory '%.100s' lies outside of the workspace",
		                 rq->cwd ? rq->cwd : ".");
	*ret_cwd = arena_strndup(arena, path, strlen(path));
	return *ret_cwd ? 0 : error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
}

/* bash reads nothing but this line: no start-up file, no function or option of the environment. */
static int fill_argv(struct arena *arena, const struct request *rq, struct keeper_order *o)
{
	static const char *const bash[] = {"/bin/bash", "--noprofile", "--norc", "-p", "-c"};
	const char **argv;

	if (rq->argv) {
		o->argv = rq->argv;
		return 0;
	}
	argv = arena_new_array(arena, const char *, array_size(bash) + 2);
	if (!argv)
		return -ENOMEM;
	memcpy(argv, bash, sizeof(bash));
	argv[array_size(bash)] = rq->command;
	o->argv = argv;
	return 0;
}

/* The words with blanks between: for people, so an end is enough of a very long one. */
static const char *join(struct arena *arena, const char *const *argv)
{
	scoped(buffer_donep) struct buffer text = {.max = 4096};

	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buffer_putc(&text, ' ');
		buffer_puts(&text, argv[i]);
	}
	return arena_strndup(arena, buffer_str(&text), text.len);
}

static int open_input(const struct request *rq, struct error *err)
{
	scoped(fd_closep) int fd = -1;

	if (!rq->input) {
		fd = rq->input_fd >= 0 ? fcntl(rq->input_fd, F_DUPFD_CLOEXEC, 3)
		                       : open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd < 0 ? error_sys(err, errno, "standard input") : take_fd(&fd);
	}
	fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fd_write_all(fd, rq->input, rq->input_len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_sys(err, errno, "standard input");
	return take_fd(&fd);
}

static int prepare(struct engine *e, const struct request *rq, struct engine_run *run)
{
	const struct engine_settings *s = &e->settings;
	struct keeper_order *o = &run->order;
	struct error *err = &run->refusal;
	int r;

	if (!rq->argv == !rq->command || (rq->argv && !rq->argv[0]))
		return error_set(err, ERROR_INPUT, EINVAL, "nothing to run");
	*o = (struct keeper_order){
		.description = rq->description,
		.merged = rq->output_mode == OUTPUT_MERGED,
		.follow = rq->follow,
		.timeout_ms = rq->timeout_ms > 0 ? rq->timeout_ms : s->timeout_default_ms,
		.grace_ms = s->grace_ms,
		.spool_cap = s->spool_cap,
		.max_processes = s->max_processes,
		.kept = view_capture_limits(&s->view),
	};
	if (o->timeout_ms > s->timeout_max_ms) {
		run->timeout_asked_ms = o->timeout_ms;
		o->timeout_ms = s->timeout_max_ms;
	}
	r = resolve_cwd(run->arena, rq, &o->cwd, err);
	if (r < 0)
		return r;
	r = environment_build(run->arena, e->environment, rq->env, o->cwd, &o->envp, err);
	if (r < 0)
		return r;
	o->command = rq->argv ? join(run->arena, rq->argv) : rq->command;
	if (!o->command || fill_argv(run->arena, rq, o) < 0)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	return 0;
}

static void run_free(struct engine_run *run)
{
	if (run)
		arena_free(run->arena);
	free(run);
}
DEFINE_CLEANUP(struct engine_run *, run_free);

int engine_start(struct engine *e, const struct request *rq, struct engine_run **ret_run,
                 struct error *err)
{
	scoped(run_freep) struct engine_run *run = calloc(1, sizeof(*run));
	scoped(fd_closep) int input = -1;

	if (run)
		run->arena = arena_new(4 * ORDER_BYTES_MAX);
	if (!run || !run->arena)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	run->output_mode = rq->output_mode;
	if (prepare(e, rq, run) == 0) {
		input = open_input(rq, &run->refusal);
		if (input >= 0)
			(void)task_start(&e->store, e->launcher, &run->order, input, &run->task,
			                 &run->refusal);
	}
	*ret_run = take_ptr(&run);
	return 0;
}

struct task *engine_run_task(struct engine_run *run)
{
	return run->task;
}

void engine_result(struct engine *e, struct engine_run *run, struct result *ret_result)
{
	struct result_facts facts = {
		.order = &run->order,
		.output_mode = run->output_mode,
		.timeout_asked_ms = run->timeout_asked_ms,
		.refusal = run->task ? NULL : &run->refusal,
		.task = run->task,
		.store = &e->store,
		.view = &e->settings.view,
	};

	result_fill(ret_result, &facts);
}

void engine_run_done(struct engine *e, struct engine_run *run, bool keep)
{
	task_done(run->task, &e->store, keep);
	if (keep)
		(void)store_sweep(&e->store, e->settings.state_cap);
	run_free(run);
}
