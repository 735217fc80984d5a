/*
 * Two processes are made, one by the other. Both share our memory and run on stacks of their own
 * while we wait, as with vfork(), so that neither the size of the host nor what its other threads
 * do matters. The first one ends at once, by which the second one, which executes the program,
 * becomes a child of the system's init. The first one's end is announced by no signal: it is
 * nobody's business.
 */
#include "process/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "base/error.h"
#include "base/fd.h"
#include "process/apart-child.h"

#define STACK_BYTES 65536

/* What of signals would end or steer the children hits us, when they are gone. */
static int make(struct apart_child *c)
{
	sigset_t all, before;
	int pid, r;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = clone(apart_middle, c->stacks + STACK_BYTES, CLONE_VM | CLONE_FILES | CLONE_VFORK, c);
	r = pid < 0 ? -errno : 0;
	/* Without a signal for its end only this flag finds it. */
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int apart_execute(const struct apart *a, int *ret_pidfd, struct error *err)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	scoped(fd_closep) int input = fcntl(a->input, F_DUPFD_CLOEXEC, 3);
	scoped(fd_closep) int null_apart = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, 3);
	struct apart_child c = {
		.path = a->path,
		.argv = a->argv,
		.envp = a->envp,
		.input = input,
		.null = null_apart,
		.stack_bytes = STACK_BYTES,
		.pidfd = -1,
	};
	int r;

	if (input < 0 || null_apart < 0)
		return error_sys(err, errno, "descriptors of '%.150s'", a->path);
	c.stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (c.stacks == MAP_FAILED)
		return error_sys(err, errno, "memory for the start of '%.150s'", a->path);
	r = make(&c);
	(void)munmap(c.stacks, 2 * STACK_BYTES);
	if (r == 0 && c.failed)
		r = -c.failed;
	if (r < 0) {
		fd_close(c.pidfd);
		return error_sys(err, -r, "executing '%.150s'", a->path);
	}
	*ret_pidfd = c.pidfd;
	return 0;
}
