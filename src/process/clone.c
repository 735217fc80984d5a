#include "process/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t process_clone(int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	/* The order of clone's arguments is that of x86-64 and arm64 for the first three. */
	if (pid < 0 && (errno == ENOSYS || errno == EPERM))
		pid = syscall(SYS_clone, (unsigned long)CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL,
		              NULL);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}
