#pragma once
/*
 * Caches: directories of home that persist across the sessions of one principal, profile and
 * workspace. They are kept like rooms (room-inside.h): a changed profile, or more in them than may
 * be, begins another generation with empty directories. Commands that still run keep theirs.
 *
 * Any number of sessions use the same caches at once.
 */
#include <stdbool.h>
#include <stdint.h>
#include "session/room.h"

#define CACHES_IDLE_MS ((int64_t)30 * 24 * 3600 * 1000)

/* Opens those that LIST ("~/.npm", ...; NULL: none) names, for a room that is open. */
int caches_open(const char *state, const struct room_wish *wish, const char *const *list,
                struct room *r, struct error *err);
void caches_close(struct room *r);
/* Whether caches_open() would find these; true if there are none. */
bool caches_are_current(const char *state, const struct room *r);
/* From the next call on they are empty. */
void caches_finish(const struct room *r);

/* Each of them as it is on disk, until one visit does not return 0. `session` is empty. */
int caches_list(const char *state, room_visit *visit, void *context);
void caches_measure(const char *state, const char *id, uint64_t *ret_bytes, uint64_t *ret_files);
/* Removes them; if a command has them, as soon as it has ended. -ENOENT. */
int caches_remove(const char *state, const char *id);
