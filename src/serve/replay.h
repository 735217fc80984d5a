#pragma once
/*
 * Replay: the events of one stream, kept for a client that has lost it and asks for what it missed.
 *
 * An event is named by the number of its stream in the session and its own in the stream: "3-17".
 * Not more is kept than a bound; the oldest go first, since only the last one is more than news.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_BYTES_MAX ((size_t)1 << 20) /* of one stream, and one event more */
#define REPLAY_ID_MAX    48

struct replay_event {
	struct replay_event *next;
	uint64_t number; /* from 1 */
	size_t len;
	char json[];
};

struct replay {
	struct replay_event *first, *last;
	uint64_t stream, count;
	size_t bytes;
};

/* The event that was added; NULL: there is no memory. */
const struct replay_event *replay_add(struct replay *r, const char *json, size_t n);
/* The first behind this one that is still there; NULL: there is none. */
const struct replay_event *replay_after(const struct replay *r, uint64_t number);
void replay_clear(struct replay *r);

void replay_id(const struct replay *r, const struct replay_event *e, char into[REPLAY_ID_MAX]);
/* -EINVAL: it is none of ours. */
int replay_id_read(const char *text, uint64_t *ret_stream, uint64_t *ret_number);
