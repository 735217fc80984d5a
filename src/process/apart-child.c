#include "process/apart-child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#define SIGNALS 64

/* To return is to end: the process is nothing but this function. */
static int fail(struct apart_child *c)
{
	c->failed = errno;
	return 127;
}

/* The table of handlers is a copy of the host's: it is emptied before signals may come again. */
static int last(void *child)
{
	struct apart_child *c = child;
	struct sigaction none = {.sa_handler = SIG_DFL};
	sigset_t empty;

	for (int s = 1; s <= SIGNALS; s++)
		(void)sigaction(s, &none, NULL);
	if (dup2(c->input, 0) < 0 || dup2(c->null, 1) < 0 || dup2(c->null, 2) < 0)
		return fail(c);
	(void)close_range(3, ~0U, 0); /* the host's, which may not be close-on-exec */
	sigemptyset(&empty);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL);
	(void)execve(c->path, c->argv, c->envp);
	return fail(c);
}

int apart_middle(void *child)
{
	struct apart_child *c = child;

	if (clone(last, c->stacks + 2 * c->stack_bytes,
	          CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, c, &c->pidfd) < 0)
		c->failed = errno;
	return 0;
}
