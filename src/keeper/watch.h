#pragma once
/*
 * Watch: limits of a box that the kernel does not enforce for all of its processes together. The
 * keeper checks them from outside, some times a second: a soft limit.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "sandbox/unseen.h"

struct sandbox_limits;

#define WATCH_LOOK_MS  50
#define WATCH_HURRY_MS 10 /* while memory grows so fast that the limit is near */

struct watch {
	uint64_t memory_max;  /* bytes; 0: held by a control group, or no limit */
	uint64_t tasks_max;   /* 0: not watched */
	struct unseen before; /* of the machine, when the command began */
	int64_t next_look, last_look;
	uint64_t last_bytes;    /* seen then */
	bool hurry;             /* it grows fast */
	uint64_t memory_kills;  /* processes that were killed for it */
	bool crowded;           /* all processes that are allowed were there at once */
	bool too_many;          /* more than these: the kernel's limit is not exact here */
	bool blind;             /* /proc hides the processes */
	uint64_t cpu_max_us;    /* 0: no limit */
	uint64_t cpu_before_us; /* of an init that has had other commands */
	uint64_t cpu_last_us,
		cpu_lost_us; /* seen last; and lost with processes that were not waited for */
	int64_t cpu_next_look;
	bool cpu_spent;
};

/* MEMORY_HELD, PROCESSES_COUNTED: a control group does it. ROOT_FD: a pidfd of the root that is
 * there already; -1: none. */
void watch_init(struct watch *w, const struct sandbox_limits *limits, bool memory_held,
                bool processes_counted, int root_fd);
/* How long until the next look, in milliseconds; INT64_MAX: there is nothing to look for. */
int64_t watch_wait_ms(const struct watch *w, int64_t now_ms);

/* The pid of the process here; 0: it is gone. A pid that was stored may belong to another process
 * by now. */
pid_t watch_pid(int pidfd);

/* Looks at the tree of the process that ROOT_FD is a pidfd of, if it is time, and kills the largest
 * of its descendants if they use too much memory. */
void watch_look(struct watch *w, int root_fd, int64_t now_ms);
