#pragma once
/*
 * Left: containers that a client has left behind which was ended before it could clean up.
 *
 * Who asked for a container is not known to the engine, so all that were made since are named, to a
 * person who can tell; nothing is removed.
 */
#include <stddef.h>
#include <stdint.h>

struct error;

#define DOCKER_LEFT_SHOWN 4

struct docker_left {
	size_t count;
	char ids[DOCKER_LEFT_SHOWN][13]; /* of the first of them */
};

/* Containers in any state that were made in this second (of the wall clock) or later. */
int docker_left_find(const char *path, int64_t since_seconds, int64_t timeout_ms,
                     struct docker_left *ret_left, struct error *err);

/* The same from the bytes of an answer. */
int docker_left_read(const char *bytes, size_t n, int64_t since_seconds,
                     struct docker_left *ret_left, struct error *err);
