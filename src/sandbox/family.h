#pragma once
/*
 * Family: a process and all its descendants, as /proc lists them, for looks from outside.
 *
 * A /proc that hides processes (hidepid, ProtectProc=) does not show a box's init. A process that
 * has ended is left out. A hidden process is an error, since its descendants are not known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAMILY_MAX      4096             /* more processes than that are more than their memory */
#define FAMILY_TEXT_MAX (8 * FAMILY_MAX) /* so many children of one thread */

struct family {
	pid_t pids[FAMILY_MAX]; /* the root is the first */
	size_t count;
	uint64_t tasks; /* processes and their threads */
};

/* -EACCES: some of it is hidden; -EOPNOTSUPP: the kernel does not list children. A root that has
 * ended has no family. */
int family_read(pid_t root, struct family *ret_family);

/* A file of a process, such as "stat", as text. */
int family_read_proc(pid_t pid, const char *file, char text[FAMILY_TEXT_MAX]);

/* The processor time in microseconds that the family has used, dead members included if their
 * parents waited for them. */
int family_cpu_us(pid_t root, uint64_t *ret_us);

/* Whether the family of a box's init can be looked at here. */
bool family_is_visible(void);
