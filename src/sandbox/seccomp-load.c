/*
 * Runs between clone and execve: system calls only, on what was compiled before.
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

bool seccomp_available(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int seccomp_enforce(const struct seccomp_program *p)
{
	struct sock_fprog program = {.len = p->count, .filter = p->code};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

#define NOTIF_SET_FLAGS    SECCOMP_IOW(4, __u64) /* Linux 6.6 */
#define NOTIF_SYNC_WAKE_UP 1UL

/* A signal, the end of a child perhaps, must not break a call off that is being answered. */
int seccomp_enforce_asking(const struct seccomp_program *p)
{
	struct sock_fprog program = {.len = p->count, .filter = p->code};
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                  flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		return -errno;
	/* Whoever asks waits for whoever answers: both do it on one processor, if they may. */
	(void)ioctl((int)fd, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
	return (int)fd;
}
