#pragma once
/*
 * Guard: a process that undoes something if its parent ends without doing so.
 *
 * The guard holds one end of a pipe, and only the parent has the other. A byte in the pipe
 * dismisses the guard. If the pipe ends without a byte, the parent was killed, or it has released
 * the guard: then the guard calls UNDO and exits.
 */
#include <sys/types.h>

struct guard {
	pid_t pid; /* a child, in a session of its own; 0: none */
	int fd;    /* close-on-exec. No process that lives longer may be forked with it */
};

/* The guard keeps the standard streams and KEEP_FD (-1: none), and ignores the signals that a
 * terminal or a service manager sends. CONTEXT is copied with the process. 0, or a negative errno;
 * then there is no guard. */
int guard_post(struct guard *ret_guard, void (*undo)(const void *context), const void *context,
               int keep_fd);
/* Nothing is left to undo. Waits for the guard's end. No guard is fine. */
void guard_dismiss(struct guard *g);
/* The guard undoes it now, and outlives its parent. No guard is fine. */
void guard_release(struct guard *g);
