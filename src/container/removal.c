#include "container/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/guard.h"
#include "container/container.h"
#include "container/tool.h"

#define ARENA_MAX     ((size_t)1 << 20)
#define TOOL_MS       20000
#define TRIES         4
#define BETWEEN_MS    1000
#define SWEEP_SECONDS 60
#define LIST_MAX      ((size_t)64 << 10)
#define PREFIX        "nacre-"

static int run(const struct removal_wish *w, const char *const *argv, struct buffer *out)
{
	const struct tool_command c = {.argv = argv, .envp = w->envp, .timeout_ms = TOOL_MS};
	int status = 0;
	int r = tool_run(&c, out, NULL, &status, NULL);

	return r < 0 ? r : status;
}

static void remove_container(const struct removal_wish *w, struct arena *arena, const char *name)
{
	const char *const *argv;

	if (container_remove_words(w->client, name, arena, &argv) == 0)
		(void)run(w, argv, NULL);
}

/* The client that makes or starts it may be at work still: once is not enough. */
static void remove_for_sure(const struct removal_wish *w, struct arena *arena)
{
	const char *const *argv;

	if (container_state_words(w->client, w->name, arena, &argv) < 0)
		return;
	for (int i = 0; i < TRIES; i++) {
		remove_container(w, arena, w->name);
		(void)poll(NULL, 0, BETWEEN_MS);
		if (run(w, argv, NULL) > 0) /* the engine knows of none */
			break;
	}
}

/* Whether it is time, for whoever asks first. */
static bool is_due(const char *state)
{
	char path[PATH_MAX];
	scoped(fd_closep) int fd = -1;
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/containers-swept", state) >= sizeof(path))
		return false;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
		    st.st_mtime + SWEEP_SECONDS > time(NULL))
			return false;
		return futimens(fd, NULL) == 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0;
}

/* A keeper holds the lock on its task's spec.json as long as it lives. */
static bool is_abandoned(const char *state, const char *task)
{
	scoped(fd_closep) int fd = -1;
	char path[PATH_MAX];

	if (strchr(task, '/') || (size_t)snprintf(path, sizeof(path), "%s/tasks/%s/spec.json",
	                                          state, task) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

void removal_sweep(const struct removal_wish *w)
{
	scoped(buffer_donep) struct buffer names = {.max = LIST_MAX};
	scoped(arena_freep) struct arena *arena = NULL;
	const char *const *argv;
	char *line, *rest;

	if (!w->state || !is_due(w->state))
		return;
	arena = arena_new(ARENA_MAX);
	if (!arena || container_list_words(w->client, w->state, arena, &argv) < 0 ||
	    run(w, argv, &names) != 0 || names.len == 0)
		return;
	for (line = strtok_r(names.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, PREFIX, strlen(PREFIX)) == 0 &&
		    is_abandoned(w->state, line + strlen(PREFIX)))
			remove_container(w, arena, line);
}

static void remove_later(const void *context)
{
	const struct removal_wish *w = context;
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);

	if (!arena)
		return;
	remove_for_sure(w, arena);
	removal_sweep(w);
}

int removal_guard(const struct removal_wish *wish, struct guard *ret_guard, struct error *err)
{
	int r = guard_post(ret_guard, remove_later, wish, -1);

	return r < 0 ? error_sys(err, -r, "guard") : 0;
}
