#pragma once
/*
 * Guard: a process that removes a container when the keeper could not.
 *
 * A container is no descendant of its client, so neither the death of the client nor that of the
 * keeper ends it. The guard holds the end of a pipe whose other end only the keeper has. If the
 * pipe ends without a word, the container is removed by force.
 *
 * What a keeper and its guard leave that are killed together is found later, by whoever sweeps: the
 * containers of a state directory whose task does not live.
 */
#include <sys/types.h>

struct container_client;
struct error;

struct guard_wish {
	const struct container_client *client;
	const char *const *envp; /* for the client */
	const char *name;        /* of the container */
	const char *state;       /* nacre's state directory; NULL: none */
};

struct guard {
	pid_t pid; /* a child, in a session of its own; 0: none */
	int fd;    /* close-on-exec. Nobody may be forked with it who lives longer */
};

int guard_start(const struct guard_wish *wish, struct guard *ret_guard, struct error *err);
void guard_dismiss(struct guard *g); /* the container is gone */
void guard_release(struct guard *g); /* it is the guard's now, who outlives us */

/* Removes what was left over; once a minute at most, whoever calls. */
void guard_sweep(const struct guard_wish *wish);
