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
