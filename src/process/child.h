#pragma once
/*
 * Child: the last steps before a command runs. Between fork and exec only async-signal-safe calls
 * are made, on data that was prepared before.
 */
#include <stdbool.h>
#include "process/pty.h"
#include "sandbox/limits.h"

struct sandbox_plan;

#define CHILD_NOT_RUN  127 /* the exit code of a child that had nothing to execute */
#define CHILD_NOTES_FD 252 /* bash itself uses 255, 63 and what is free from 10 on */

struct child_plan {
	int stdio[3];             /* each 3 or higher */
	struct pty_size terminal; /* init makes one of this size, and it becomes stdio */
	int notes_fd;             /* becomes CHILD_NOTES_FD; 0: none */
	bool tells_start;         /* init says INIT_STARTED */
	bool waits;               /* the command is not executed before INIT_GO */
	int report_fd;   /* close-on-exec packet socket for a struct init_message on failure */
	int asks_fd;     /* packet socket for the descriptor by which the filter asks; 0: none */
	const char *cwd; /* absolute */
	const char *const *paths; /* files to try in this order, NULL at the end */
	const char *const *argv;
	const char *const *envp;
	struct limit_value limits[LIMITS_MAX]; /* within what this process may set */
	int limit_count;
	struct sandbox_plan *sandbox; /* NULL: none */
};

_Noreturn void child_main(const struct child_plan *plan);
