#include "process/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/enter.h"
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

/* What the process in between tells. The descriptor is in the table that it shares with us. */
struct born {
	pid_t pid; /* or a negative errno */
	int pidfd;
};

/* A process that has joined a user namespace cannot come back: so one in between joins those of the
 * room, makes the box's first process as its own sibling, and ends. */
static pid_t clone_joined(struct sandbox_plan *plan, bool sibling, int *ret_pidfd)
{
	uint64_t flags = CLONE_FILES | (sibling ? CLONE_PARENT : 0);
	struct born born = {.pid = -EIO, .pidfd = -1};
	int group = sandbox_plan_group_fd(plan), ends[2], between_fd = -1;
	pid_t between, pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	between = clone_with(flags, group, &between_fd);
	if (between < 0 && group >= 0) {
		sandbox_plan_group_later(plan);
		between = clone_with(flags, -1, &between_fd);
	}
	if (between == 0) {
		born.pid = sandbox_join(plan);
		pid = born.pid < 0 ? born.pid
		                   : clone_with(sandbox_plan_clone_flags(plan) | CLONE_PARENT, -1,
		                                &born.pidfd);
		if (pid == 0)
			return 0;
		born.pid = pid;
		if (write(ends[1], &born, sizeof(born)) < 0)
			_exit(1);
		_exit(0);
	}
	if (between > 0) {
		struct pollfd end = {.fd = between_fd, .events = POLLIN};

		/* Its end is waited for: the table of descriptors is ours alone again then. */
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			;
		if (!sibling)
			while (waitpid(between, NULL, __WALL) < 0 && errno == EINTR)
				;
		(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
		if (read(ends[0], &born, sizeof(born)) != (ssize_t)sizeof(born))
			born = (struct born){.pid = -EIO, .pidfd = -1};
		close(between_fd);
	} else {
		born.pid = between;
	}
	close(ends[0]);
	close(ends[1]);
	if (born.pid > 0)
		*ret_pidfd = born.pidfd;
	return born.pid;
}

pid_t process_clone_box(struct sandbox_plan *plan, bool sibling, int *ret_pidfd)
{
	int group = sandbox_plan_group_fd(plan);
	uint64_t flags;
	pid_t pid;

	if (sandbox_plan_joins(plan)) {
		pid = clone_joined(plan, sibling, ret_pidfd);
		if (pid >= 0 || sandbox_plan_stay_apart(plan) < 0)
			return pid;
	}
	flags = sandbox_plan_clone_flags(plan) | (sibling ? CLONE_PARENT : 0);

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
