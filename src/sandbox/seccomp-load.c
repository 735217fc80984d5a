/*
 * Runs between clone and execve: system calls only, on what was compiled before.
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
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

/* A signal, the end of a child perhaps, must not break a call off that is being answered. */
int seccomp_enforce_asking(const struct seccomp_program *p)
{
	struct sock_fprog program = {.len = p->count, .filter = p->code};
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                  flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return fd < 0 ? -errno : (int)fd;
}
