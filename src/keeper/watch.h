#pragma once
/*
 * Watch: limits of a box that no kernel limit holds for all of its processes together. They are
 * looked after from outside, some times a second: a bound, but a soft one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "sandbox/unseen.h"

struct sandbox_limits;

#define WATCH_LOOK_MS 50

struct watch {
	uint64_t memory_max;  /* bytes; 0: held by a control group, or no limit */
	uint64_t tasks_max;   /* 0: not to be looked for */
	struct unseen before; /* of the machine, when the command began */
	int64_t next_look;
	uint64_t memory_kills; /* processes that had to go */
	bool crowded;          /* all processes that are allowed were there at once */
	bool too_many;         /* more than these: the kernel's limit is not exact here */
};

/* MEMORY_HELD, PROCESSES_COUNTED: a control group does it. */
void watch_init(struct watch *w, const struct sandbox_limits *limits, bool memory_held,
                bool processes_counted);
bool watch_is_on(const struct watch *w);

/* The number that the process has here; 0: it is gone. A number that was kept could be a stranger's
 * by now. */
pid_t watch_pid(int pidfd);

/* Looks at the tree of the process that ROOT_FD is a pidfd of, if it is time, and kills the largest
 * of its descendants if they use too much. */
void watch_look(struct watch *w, int root_fd, int64_t now_ms);
