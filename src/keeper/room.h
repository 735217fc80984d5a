#pragma once
/*
 * Room, as a keeper or a shelf takes it: whether a command has one, and which.
 */
#include <stdbool.h>
#include "session/room.h"

struct error;
struct profile;
struct sandbox_net;

/* Whether the calls of this session share files by the profile. */
bool keeper_room_wanted(const struct profile *profile, const char *state, const char *session);

/* Whether they share a loopback interface as well. */
bool keeper_net_wanted(const struct profile *profile);
/* The one of the room, from a task that runs in it, or a new one. The caller closes it. */
int keeper_net_take(const char *state, const char *id, const char *workspace,
                    struct sandbox_net *ret_net);

/* Finds it or makes it; the caller closes it. */
int keeper_room_take(const char *state, const struct room_key *key, const struct profile *profile,
                     struct room *ret_room, struct error *err);
