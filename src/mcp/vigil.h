#pragma once
/*
 * Vigil: wakes its owner when something may have happened to a task, and once a second anyway,
 * until a deadline.
 */
#include <stdint.h>
#include "base/loop.h"

struct follow;

struct vigil {
	struct follow *follow;
	struct loop_source source;
	struct loop_timer timer;
	int64_t deadline;          /* loop_now(); INT64_MAX: none */
	void (*look)(void *owner); /* may stop the vigil, and free it */
	void *owner;
};

/* DIR_FD, the task's directory, stays the caller's and open. Look and owner are set by it. */
int vigil_start(struct vigil *w, struct loop *l, int dir_fd);
void vigil_stop(struct vigil *w); /* one that was not started is fine */
