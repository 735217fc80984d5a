#include "process/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/plan.h"

/* GROUP: the directory of a control group of version 2 to be born in, or -1; clone3 only. */
static pid_t clone_with(uint64_t flags, int group, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)&pidfd,
		/* A sibling has the signal of our own end, and must not name one. */
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	/* The order of clone's arguments is that of x86-64 and arm64 for the first three. */
	if (pid < 0 && group < 0 && (errno == ENOSYS || errno == EPERM))
		pid = syscall(SYS_clone, (unsigned long)flags | CLONE_PIDFD | SIGCHLD, NULL, &pidfd,
		              NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

pid_t process_clone_into(uint64_t flags, int *ret_pidfd)
{
	return clone_with(flags, -1, ret_pidfd);
}

pid_t process_clone_box(struct sandbox_plan *plan, bool sibling, int *ret_pidfd)
{
	uint64_t flags = sandbox_plan_clone_flags(plan) | (sibling ? CLONE_PARENT : 0);
	int group = sandbox_plan_group_fd(plan);
	pid_t pid;

	if (group < 0)
		return process_clone_into(flags, ret_pidfd);
	pid = clone_with(flags, group, ret_pidfd);
	if (pid >= 0)
		return pid;
	sandbox_plan_group_later(plan);
	return process_clone_into(flags, ret_pidfd);
}

pid_t process_clone(int *ret_pidfd)
{
	return process_clone_into(0, ret_pidfd);
}
