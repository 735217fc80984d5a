#pragma once
/*
 * Room, as a keeper or a shelf takes it: whether a command has one, and which.
 */
#include <stdbool.h>
#include "session/room.h"

struct error;
struct profile;
struct sandbox_net;
struct sandbox_room;

/* Whether the calls of this session share files by the profile. */
bool keeper_room_wanted(const struct profile *profile, const char *state, const char *session);

/* Whether they share a loopback interface as well. */
bool keeper_net_wanted(const struct profile *profile);
/* The one of the room, from a task that runs in it or, without names, a launcher that stays; or a
 * new one. The caller closes it. RET_LOCK, which may be NULL, gets the lock under which a new one
 * was made, until others can find it. */
struct keeper_net_wish {
	const char *state, *id, *workspace;
	const struct profile *profile; /* of a network by name; NULL: there are no names */
	const char *principal, *session;
};
int keeper_net_take(const struct keeper_net_wish *wish, int *ret_lock, struct sandbox_net *ret_net);
/* The one that a task of the room runs in, unless a task runs in KNOWN as well. -ENOENT. */
int keeper_net_find(const struct keeper_net_wish *wish, int known, struct sandbox_net *ret_net);

/* As a box has it. */
void keeper_room_place(const struct room *r, struct sandbox_room *ret);

/* Finds it, with the caches of the profile, or makes it (EXISTING: only finds it, or -ENOENT); the
 * caller closes it. The profile's own name stands for that of the key. */
int keeper_room_take(const char *state, const struct room_key *key, const struct profile *profile,
                     bool existing, struct room *ret_room, struct error *err);
