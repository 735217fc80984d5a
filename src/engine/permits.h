#pragma once
/*
 * Permits: how many commands run at a time, whichever door they came by, and the one queue of those
 * that wait for that.
 *
 * A share is the part of one principal. One that has used up its share does not hold up the others:
 * the first job of the queue that may run is started.
 */
#include <stdbool.h>
#include <stddef.h>

struct permit;

struct permits {
	size_t running_max, queued_max; /* at a time */
	size_t running, queued;
	struct permit *first, *last; /* that wait */
	bool granting;
};

struct permit_share {
	struct permits *permits;
	size_t running_max; /* of this principal; 0: no limit of its own */
	size_t running;
};

struct permit {
	struct permit_share *share; /* NULL: none is needed */
	struct permit *next;
	bool waits;
	void (*granted)(struct permit *p); /* to one that has waited; may drop it */
};

/* It is there at once, or waits. -EBUSY: too many wait already. P is dropped with permit_drop(). */
int permit_take(struct permit *p, struct permit_share *share);

/* Gives it back, or leaves the queue. What waits may be granted before this returns. */
void permit_drop(struct permit *p);

/* Nothing that waits is granted any more. */
void permits_close(struct permits *p);
