#pragma once
/*
 * Child: the last steps before a command runs. Between fork and exec only async-signal-safe calls
 * are made, on data that was prepared before.
 */
#include <sys/resource.h>

#define CHILD_LIMITS_MAX 8

struct child_limit {
	int resource;
	struct rlimit value; /* already within what this process may set */
};

struct child_plan {
	int stdio[3];    /* each 3 or higher */
	int report_fd;   /* close-on-exec packet socket for a struct init_message on failure */
	const char *cwd; /* absolute */
	const char *const *paths; /* files to try in this order, NULL at the end */
	const char *const *argv;
	const char *const *envp;
	struct child_limit limits[CHILD_LIMITS_MAX];
	int limit_count;
};

_Noreturn void child_main(const struct child_plan *plan);
