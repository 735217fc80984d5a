#pragma once
/*
 * Clone: a child process together with a pidfd for it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Like fork(): 0 in the child, the child's pid in the parent, or a negative errno. *ret_pidfd is
 * close-on-exec and set in the parent only. Containers may hide clone3 (ENOSYS): clone does then.
 */
pid_t process_clone(int *ret_pidfd);

/* The same with flags for new namespaces. */
pid_t process_clone_into(uint64_t flags, int *ret_pidfd);

struct sandbox_plan;
/* The same for the first process of a box: its namespaces, and its control group. SIBLING: it is
 * a child of our parent, which reaps it. */
pid_t process_clone_box(struct sandbox_plan *plan, bool sibling, int *ret_pidfd);
