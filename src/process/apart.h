#pragma once
/*
 * Apart: executes a program that is not a child of the caller.
 *
 * For a host that is not ours, with threads, much memory, signal handlers, and children that it
 * waits for: nothing of it is copied, no lock of it is taken, no handler of it runs, and it never
 * sees SIGCHLD. Linux 5.2.
 */
struct error;

struct apart {
	const char *path;
	char *const *argv, *const *envp;
	int input; /* becomes descriptor 0, all others are closed or /dev/null; stays the caller's
	            */
};

/* 0: the program has been executed, and *ret_pidfd, the caller's, becomes readable at its end. */
int apart_execute(const struct apart *a, int *ret_pidfd, struct error *err);
