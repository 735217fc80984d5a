#pragma once
/*
 * Room, as a keeper or a shelf takes it: whether a command has one, and which.
 */
#include <stdbool.h>
#include "session/room.h"

struct error;
struct profile;

/* Whether the calls of this session share files by the profile. */
bool keeper_room_wanted(const struct profile *profile, const char *state, const char *session);

/* Finds it or makes it; the caller closes it. */
int keeper_room_take(const char *state, const struct room_key *key, const struct profile *profile,
                     struct room *ret_room, struct error *err);
