#pragma once
/*
 * Clone: a child process together with a pidfd for it.
 */
#include <sys/types.h>

/* Like fork(): 0 in the child, the child's pid in the parent, or a negative errno. *ret_pidfd is
 * close-on-exec and set in the parent only. Containers may hide clone3 (ENOSYS): clone does then.
 */
pid_t process_clone(int *ret_pidfd);
