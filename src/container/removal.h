#pragma once
/*
 * Removal: containers are removed at every end of their keeper.
 *
 * A container is not a descendant of its client, so neither the death of the client nor that of the
 * keeper ends it. A guard (base/guard.h) removes the container by force if the keeper could not.
 *
 * If a keeper and its guard are killed together, a later sweep finds the container: it belongs to a
 * state directory, and its task does not live.
 */
struct container_client;
struct error;
struct guard;

struct removal_wish {
	const struct container_client *client;
	const char *const *envp; /* for the client */
	const char *name;        /* of the container */
	const char *state;       /* nacre's state directory; NULL: none */
};

/* Posts the guard of one container. */
int removal_guard(const struct removal_wish *wish, struct guard *ret_guard, struct error *err);

/* Removes what was left over: at most once a minute, for all callers together. */
void removal_sweep(const struct removal_wish *wish);
