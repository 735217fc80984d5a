#pragma once
/*
 * Room: the files that the calls of one session share: /tmp, /dev/shm and, if the profile says so,
 * a home that is not the operator's.
 *
 *	<state>/rooms/<id>.json             whose it is, which generation holds, since when
 *	<state>/rooms/<id>/<generation>/    tmp, home, shm: all that commands write
 *	                               held what they wrote and must not have
 *
 * A room belongs to one principal, session, profile (with agent and policy file) and workspace; its
 * id follows from these. When the profile changes, a new generation begins with empty directories:
 * what is denied now may lie in the old ones. Commands that still run keep theirs.
 *
 * A generation is in use while a shared lock on its directory is held. The record's time of change
 * is when it was used last.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer;
struct error;

#define ROOM_ID_SIZE     33
#define ROOM_NOTICE_MAX  240
#define ROOM_SESSION_MAX 64

/* NULL and "" are the same. */
struct room_key {
	const char *principal, *session, *profile, *agent, *policy_file, *workspace;
};

void room_id(const struct room_key *key, char into[ROOM_ID_SIZE]);
bool room_id_is_valid(const char *id);

struct room_wish {
	struct room_key key;
	const char *digest; /* of the profile */
	const char *home; /* the operator's, for what is copied into a new one; NULL: nothing is */
	bool share_home;
	bool existing; /* -ENOENT if it would have to be made */
	bool audited;  /* its making and its end are to be recorded */
	int64_t idle_ms, age_ms;
	uid_t uid; /* whom the files shall belong to on disk */
	gid_t gid;
};

#define ROOM_CACHES_MAX 16
/* Directories of home that outlive the session: caches.h. */
struct room_caches {
	char id[ROOM_ID_SIZE];
	uint64_t generation;
	char path[PATH_MAX]; /* of the directory that they are below */
	int dir;             /* of the generation, with the lock; -1: there are none */
	size_t count;
	const char *names[ROOM_CACHES_MAX]; /* relative to home: of who opened them */
	int fds[ROOM_CACHES_MAX];           /* O_PATH */
};

struct room {
	char id[ROOM_ID_SIZE];
	uint64_t generation;
	bool made;           /* it was not there before */
	char path[PATH_MAX]; /* of the generation; empty: there is no room */
	int dir;             /* the same, with the lock; -1: no room */
	int tmp, home, shm;  /* O_PATH; home is -1 where it is not shared */
	int64_t made_ms;
	struct room_caches caches;
};

#define ROOM_NONE                                                                                  \
	(struct room)                                                                              \
	{                                                                                          \
		.dir = -1, .tmp = -1, .home = -1, .shm = -1, .caches.dir = -1                      \
	}

/* Finds the room or makes it. The caller closes *ret_room. */
int room_open(const char *state, const struct room_wish *wish, struct room *ret_room,
              struct error *err);
void room_close(struct room *r);

/* Whether the room that was opened is still the one that room_open() would find, and its time is
 * not over. */
bool room_is_current(const char *state, const struct room *r);

/* Whether this is the first command that has it; says so once. */
bool room_claim(const struct room *r);

/* Notes that it is in use now. */
void room_touch(const char *state, const struct room *r);

/* The network of a room is in the hands of processes, not on disk. Whoever makes one holds this
 * lock until others can find it, so that two calls at the same time have one network. The caller
 * closes the descriptor; -EBUSY: the lock was not to be had within a second. */
int room_net_lock(const char *state, const char *id);
/* Notes under the lock that a network was made; when that was last, in ns. 0: never. */
void room_net_note(int lock);
int64_t room_net_noted(const char *state, const char *id);

/* Moves git configurations of the home to "held" that name programs, aliases or more files of
 * configuration, unless the operator's own had them. NOTICE names what was moved; "": nothing. */
void room_hold_git(const struct room *r, char notice[ROOM_NOTICE_MAX]);

/* One room as it is on disk. */
struct room_info {
	char id[ROOM_ID_SIZE], session[ROOM_SESSION_MAX + 1];
	char principal[128], profile[128], workspace[PATH_MAX];
	uint64_t generation;
	int64_t made_ms, used_ms;
	bool in_use; /* a command or a server has it */
	bool fresh;  /* no command has had it */
};

typedef int room_visit(void *context, const struct room_info *info);
/* Each room, until one visit does not return 0. */
int room_list(const char *state, room_visit *visit, void *context);

/* Tasks that run in it leave a mark, by their id: who ends the room ends them first. */
void room_mark(const struct room *r, const char *task);
void room_unmark(const struct room *r, const char *task);
typedef int room_task_visit(void *context, const char *task);
/* Each mark of any generation, until one visit does not return 0. A task may have been killed. */
int room_tasks(const char *state, const char *id, room_task_visit *visit, void *context);

/* Bytes and files of all generations. */
void room_measure(const char *state, const char *id, uint64_t *ret_bytes, uint64_t *ret_files);

/* Removes the room with all that is in it, whoever uses it: end its commands before. REASON is for
 * the audit log. -ENOENT. */
#define ROOM_END_ASKED  "session end"
#define ROOM_END_CLIENT "client gone"
#define ROOM_END_SIZE   "size"
int room_end(const char *state, const char *id, const char *reason);

/* The client of this session is gone, and nobody else knows it: its rooms end. One in which a task
 * runs ends with its last task, which sees to that. */
void room_end_idle(const char *state, const char *session);
void room_end_last(const char *state, const struct room *r);

/* Removes what nobody uses and is past its time, and generations that do not hold any more. Returns
 * how many rooms went. */
int room_sweep(const char *state);
/* The same, unless that was done a moment ago. */
void room_sweep_now_and_then(const char *state);
