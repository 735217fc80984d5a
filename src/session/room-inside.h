#pragma once
/*
 * Rooms and caches on disk, inside: what their files share. Both are kept in the same way, in a
 * directory of their own:
 *
 *	<state>/rooms/<id>.json,  <id>/<generation>/{tmp,home,shm,...}    of a session
 *	<state>/caches/<id>.json, <id>/<generation>/home/...              of a workspace
 *
 * room.c settles, opens and removes them; room-record.c reads and writes the records, room-net.c
 * has the lock of a session's network.
 */
#include <stdbool.h>
#include <stdint.h>
#include "audit/event.h"
#include "session/room.h"

struct arena;

#define ROOM_RECORD_MAX ((size_t)64 << 10)
#define ROOM_UNUSED     "unused" /* in a generation, until a command has it */
#define ROOM_NET        ".net"   /* behind the id: room-net.c */
#define ROOM_NAME_SIZE  (ROOM_ID_SIZE + 8)

enum room_kind {
	ROOM_OF_SESSION,
	ROOM_OF_CACHES,
	ROOM_KINDS,
};

struct room_record {
	const char *principal, *session, *profile, *agent, *policy_file, *workspace, *digest;
	int64_t generation, made_ms, idle_ms, age_ms;
	bool audited; /* its making and its end are in the audit log */
};

/* -ENOENT: there is none, or it cannot be read and is of no use to anybody. */
int room_record_read(int rooms, const char *id, struct arena *arena, struct room_record *ret,
                     int64_t *ret_used_ms);
int room_record_write(int rooms, const char *id, const struct room_record *record);
void room_record_name(const char *id, char into[ROOM_NAME_SIZE]);

/* The directory of all of a kind. -ENOENT: there is none, and MAKE is false. */
int room_open_all(enum room_kind kind, const char *state, bool make);
/* Whether somebody has the generation; its lock goes with the last descriptor of the last user. */
bool room_is_in_use(int room, const char *generation);
bool room_id_of_record(const char *name, char into[ROOM_ID_SIZE]);

int room_open_of(enum room_kind kind, const char *state, const struct room_wish *wish,
                 struct room *ret_room, struct error *err);
bool room_is_current_of(enum room_kind kind, const char *state, const struct room *r);
int room_list_of(enum room_kind kind, const char *state, room_visit *visit, void *context);
void room_measure_of(enum room_kind kind, const char *state, const char *id, uint64_t *ret_bytes,
                     uint64_t *ret_files);
/* Says of a generation that the next who opens it shall begin another one. */
int room_finish(int dir);
bool room_is_finished(int dir);
/* The same for the one that holds, by its id; and it goes if nobody uses it. -ENOENT. */
int room_retire_of(enum room_kind kind, const char *state, const char *id);

/* Why a room was made or ended, as the audit log has it. */
#define ROOM_FIRST   "first call"
#define ROOM_PROFILE "profile changed"
#define ROOM_IDLE    "idle"
#define ROOM_AGE     "age"
#define ROOM_LOST    "its files were gone"
void room_audit(const char *state, enum audit_kind kind, const char *id,
                const struct room_record *record, const char *reason);

/* A directory of commands in one of ours. */
int room_part_make(int dir, const char *name, mode_t mode, uid_t uid, gid_t gid);
