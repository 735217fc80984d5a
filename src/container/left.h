#pragma once
/*
 * Left: containers that a client has left behind which was ended before it could clean up.
 *
 * Who asked for a container is not known to the engine. One that was made since, from an image that
 * the line names, is taken for the line's own and can be removed; the others are named, to a person
 * who can tell.
 */
#include <stddef.h>
#include <stdint.h>

struct error;

#define DOCKER_LEFT_SHOWN 4

#define DOCKER_OWN_MAX 64

struct docker_left {
	size_t count;                    /* that may be anybody's */
	char ids[DOCKER_LEFT_SHOWN][13]; /* of the first of them */
	size_t own_count;                /* that are the line's */
	char own[DOCKER_OWN_MAX][13];
};

struct docker_line {
	int64_t since_seconds;    /* of the wall clock: containers of this second or later */
	const char *const *words; /* of its docker commands */
};

/* Containers in any state. */
int docker_left_find(const char *path, const struct docker_line *line, int64_t timeout_ms,
                     struct docker_left *ret_left, struct error *err);

/* The same from the bytes of an answer. */
int docker_left_read(const char *bytes, size_t n, const struct docker_line *line,
                     struct docker_left *ret_left, struct error *err);

/* Ends and removes those of the line; how many are gone. */
size_t docker_left_remove(const char *path, const struct docker_left *left, int64_t timeout_ms);
