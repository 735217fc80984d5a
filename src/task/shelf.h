#pragma once
/*
 * Shelf: what a launcher keeps ready for one kind of request: the profile, a box, and keepers that
 * wait for a command.
 *
 * As many are ready as ran at the same time lately, and one more. They are made after an answer,
 * not while a command runs: the next request comes later than that, and the command has the
 * processors for itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct shelf;

/* What a box depends on; the strings belong to the caller. */
struct shelf_key {
	const char *profile, *agent, *policy_file; /* each may be "" */
	const char *workspace;
	const char *state;   /* nacre's own directory, hidden from the box; may be "" */
	const char *session; /* its calls share /tmp and the network; may be "" */
};

/* NULL: no memory. */
struct shelf *shelf_new(const struct shelf_key *key, int64_t now_ms);
struct shelf *shelf_free(struct shelf *s); /* what is ready ends, what runs goes on */

bool shelf_fits(const struct shelf *s, const struct shelf_key *key);

/* Hands the descriptors of an order to a keeper that is ready. False: there is none; the caller
 * starts one and tells shelf_started(). */
bool shelf_hand_out(struct shelf *s, const int *fds, size_t count, int64_t now_ms);
void shelf_started(struct shelf *s, pid_t keeper, int64_t now_ms);

/* A child of the launcher has ended. Whether it was a keeper of this shelf. */
bool shelf_ended(struct shelf *s, pid_t pid);

/* Makes ready what is missing. Call when there is time. */
void shelf_fill(struct shelf *s, int64_t now_ms);

int64_t shelf_used_at(const struct shelf *s);
