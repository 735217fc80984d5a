#pragma once
/*
 * Errand: an order to the keeper of a task that another process started, carried out in a loop. The
 * keeper may be slow, or stopped: nothing here waits for it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct errand;
struct error;
struct loop;

struct errand_order {
	bool stop, now;      /* end the task; NOW: without grace. Else: */
	uint16_t rows, cols; /* give its terminal this size first; 0: leave it */
	const char *typed;   /* and type this; copied */
	size_t typed_len;
};

/* CODE: 0; -ESRCH: the task was not running; or another negative errno. After a stop the task has
 * ended by then. The errand is gone. */
typedef void (*errand_done)(void *owner, int code);

/* DIR_FD, the task's directory, stays the caller's. DONE never comes before this has returned. */
int errand_start(struct loop *l, int dir_fd, const struct errand_order *order, errand_done done,
                 void *owner, struct errand **ret_errand, struct error *err);

/* The owner goes away: nothing is called any more. An order that was given stays given. */
void errand_leave(struct errand *e);
