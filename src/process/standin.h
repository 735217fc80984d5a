#pragma once
/*
 * Stand-ins: processes in a command's pid namespace that look like those of other tasks of its
 * session, so that ps, pgrep, pkill and kill find them. See docs/processes.md.
 *
 * A stand-in does nothing. It has the number, the name and the words of the process that it stands
 * for, the command's user, no capability, no descriptor and an empty root, and the command cannot
 * trace it. A signal that ends it is seen by its parent, the caller, which decides what it means.
 */
#include <stddef.h>
#include <sys/types.h>

#define STANDIN_WORDS_MAX 2048

struct sandbox_plan;

struct standin {
	pid_t number;      /* wanted in the namespace; another one if it is taken */
	const char *name;  /* as the kernel shows it, up to 15 bytes */
	const char *words; /* of its command line, each with a zero byte at the end */
	size_t words_bytes;
	pid_t pid; /* as the caller sees it, which must reap it; 0: it could not be made */
};

/* Makes them in the pid namespace SPACE, whose first process lives, before the command runs there.
 * Returns how many could be made. */
int standins_make(const struct sandbox_plan *plan, int space, struct standin *list, size_t count);
