#pragma once
/*
 * Standby: the launchers that stay for `nacre run --session`, as other processes find them.
 *
 *	<state>/launchers/<name>.sock
 *
 * A name stands for everything that a launcher has inherited (launch/heritage.h). Such a launcher
 * belongs to nobody: it listens for its own user and ends when it was idle for long enough.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STANDBY_SUFFIX   ".sock"
#define STANDBY_NAME_MAX 63

/* The first word of a packet to a launcher. */
enum standby_kind {
	STANDBY_COME = 1, /* and a session: a call of it has begun, and will want a keeper */
	STANDBY_KEEPER,   /* then the key of a shelf: a keeper shall take this connection */
	STANDBY_ROOM,     /* and the id of a room: the descriptors of its network */
	STANDBY_LOOK,     /* and the id of a room: struct standby_info */
};

struct standby_info {
	pid_t pid;
	uint32_t ready, running; /* keepers */
};

/* The directory of all of them; the caller closes it. MAKE: it is made if it is missing. */
int standby_open(const char *state, bool make);

/* A connection that does not block. -ENOENT, -ECONNREFUSED: nobody listens; -EPERM: somebody else
 * does. */
int standby_connect(int dir, const char *name);

/* The network of a room, from a launcher other than this process. The caller closes both. */
int standby_room(const char *state, const char *room, int ret_fds[2]);

/* Whether a launcher has keepers for this room. -ENOENT: none has. */
int standby_look(const char *state, const char *room, struct standby_info *ret_info);

/* Each name, until one visit does not return 0. */
typedef int standby_visit(void *context, int dir, const char *name);
int standby_each(int dir, standby_visit *visit, void *context);
