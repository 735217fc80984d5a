#pragma once
/*
 * Tool: a program of the host that nacre itself runs, with the rights of who runs nacre: the
 * engine's client, and the operator's command that starts the engine. Its words come from the
 * profile and from nacre, never from a request, and it sees nacre's own environment.
 */
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct error;

/* What goes on beside while something is waited for. */
struct docker_watch {
	int fd;                       /* -1: nothing */
	bool (*is_over)(void *owner); /* the descriptor is readable: whether to give up */
	void (*progress)(void *owner, const char *text); /* may be NULL */
	void *owner;
};

struct tool_command {
	const char *const *argv; /* the first word is looked for in PATH */
	const char *const *envp;
	int64_t timeout_ms;
	const struct docker_watch *watch; /* may be NULL */
};

/* Waits for its end. *ret_status is as waitpid() gives it; OUT and WORDS get what it wrote to both
 * of its streams, up to their limits. -ETIMEDOUT and -ECANCELED: it was killed. */
int tool_run(const struct tool_command *command, struct buffer *out, struct buffer *words,
             int *ret_status, struct error *err);

/* The last line that has anything in it, for a message: printable, and not long. */
void tool_last_line(const char *text, char *into, int size);

/* Starts a program apart, its output in LOG_FD. Its end can be read from *ret_end: an int as
 * waitpid() gives it, or -errno if it could not be executed. The caller closes that. */
int tool_start_apart(const char *const *argv, const char *const *envp, int log_fd, int *ret_end,
                     struct error *err);

/* Polls for one moment: -ECANCELED if the watch says that it is over. */
int docker_watch_pause(const struct docker_watch *watch, int64_t ms);
