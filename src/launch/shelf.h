#pragma once
/*
 * Shelf: what a launcher keeps ready for one kind of request: the profile, a box, and keepers that
 * wait for a command.
 *
 * There are as many as ran at the same time lately, and a few more; those that run come back, as a
 * rule, and count. What is missing is made when no request came for a moment, so that a command has
 * the processors for itself; under steady requests as soon as fewer wait than run.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper_packet;
struct shelf;

/* What a box depends on; the strings belong to the caller. */
struct shelf_key {
	const char *profile, *agent, *policy_file; /* each may be "" */
	const char *workspace, *root;
	const char *state;     /* nacre's own directory, hidden from the box; may be "" */
	const char *session;   /* may be "" */
	const char *principal; /* who asks; may be "": commands of one box can talk to each other */
	const char *room;      /* id of a room with a network that it shares; may be "" */
};

/* Keepers say at the descriptor AGAIN, which stays the caller's, that they stand by once more.
 * NULL: no memory. */
struct shelf *shelf_new(const struct shelf_key *key, int again, int64_t now_ms);
struct shelf *shelf_free(struct shelf *s); /* what is ready ends, what runs goes on */

bool shelf_fits(const struct shelf *s, const struct shelf_key *key);

/* The profile of such a shelf, or NULL; the caller frees it. */
struct profile *shelf_profile(const struct shelf_key *key);

/* The network of the session's room, for boxes that are made from now on; it is copied. */
struct sandbox_net;
void shelf_share_net(struct shelf *s, const struct sandbox_net *net);

/* Looks whether what is ready is still valid, if it is for this session, for the call NUMBER. */
void shelf_look(struct shelf *s, const char *session, uint64_t number, int64_t now_ms);

/* Hands an order to a keeper that is ready. False: there is none; the caller starts one and tells
 * shelf_started(). NUMBER: of a call for which shelf_look() may have been called; 0: none. */
bool shelf_hand_out(struct shelf *s, const struct keeper_packet *packet, uint64_t number,
                    int64_t now_ms);
void shelf_started(struct shelf *s, pid_t keeper, int64_t now_ms);

/* A keeper has said that it stands by once more. Whether it is one of this shelf. */
bool shelf_returned(struct shelf *s, pid_t keeper);

/* A child of the launcher has ended. Whether it was a keeper of this shelf. */
bool shelf_ended(struct shelf *s, pid_t pid);

/* Makes one keeper more ready, if that is missing: CALM: up to what is wanted, else only what the
 * next requests need. False: it was not. */
bool shelf_fill(struct shelf *s, bool calm, int64_t now_ms);

/* So long after the last request the keepers of a crowd that has gone are given up. False: it is to
 * be tried again. */
#define SHELF_CROWD_MS 5000
bool shelf_shrink(struct shelf *s, int64_t now_ms);

int64_t shelf_used_at(const struct shelf *s);
void shelf_touch(struct shelf *s, int64_t now_ms); /* it was asked for */

/* For a launcher that stays without a server. How long the profile wants that after the last call;
 * whether there can be no box at this time, or its room has ended; and the room of its session. */
int64_t shelf_stays_ms(const struct shelf *s);
bool shelf_has_failed(const struct shelf *s, int64_t now_ms);
bool shelf_is_of_room(const struct shelf *s, const char *room);
bool shelf_room_has_ended(const struct shelf *s);
void shelf_count(const struct shelf *s, uint32_t *ret_ready, uint32_t *ret_running);
