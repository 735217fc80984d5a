#pragma once
/*
 * Stay: a launcher that no server has started. The first call of a session leaves it behind, and it
 * listens in the state directory for the next calls of its own user (task/standby.h). It ends when
 * no shelf is left, when its socket is removed, or by SIGTERM.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/digest.h"
#include "task/standby.h"

struct buffer;
struct keeper_order;
struct profile;

#define STAY_GUESTS_MAX 16
#define STAY_POLL_MAX   (2 + STAY_GUESTS_MAX)
#define STAY_FDS        3

struct stay {
	int dir, socket, watch; /* the last is told what is removed; -1: none */
	char name[STANDBY_NAME_MAX + 1];
	uint64_t inode; /* of the socket */
	struct digest heritage;
	struct stay_guest {
		int fd; /* -1: none */
		int64_t until;
		uint64_t number; /* no other has it; not 0 */
		bool known;      /* it may have a keeper */
	} guests[STAY_GUESTS_MAX];
	uint64_t guest_count; /* of all times */
};

/* -EEXIST: there is one of this name. -EBUSY: there are too many. Nothing is left behind then. */
int stay_open(struct stay *s, const char *state, const char *name);
void stay_close(struct stay *s); /* nobody finds it any more */
void stay_fds(const struct stay *s, int into[STAY_FDS]);

/* Fills STAY_POLL_MAX entries. */
void stay_watch(const struct stay *s, struct pollfd *into);

/* The text, with a NUL behind it, and the connection are borrowed. */
struct stay_packet {
	enum standby_kind kind;
	const char *text;
	size_t bytes;
	int guest;
	uint64_t number;
};
typedef void stay_take(void *owner, const struct stay_packet *packet);

/* What was polled. *RET_REMOVED: a room may have ended. False: nobody can find us any more. */
bool stay_serve(struct stay *s, const struct pollfd *polled, stay_take *take, void *owner,
                bool *ret_removed);
bool stay_has_guests(const struct stay *s); /* that have not said what they want */

/* Rooms of this state are looked at from now on. */
void stay_watch_rooms(struct stay *s, const char *state);
