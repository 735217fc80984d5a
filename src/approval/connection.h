#pragma once
/*
 * Connection: a question about names and ports that a command wants to reach, as an approval. The
 * words of the command are no part of it: a yes is for the names, whoever of the session asks.
 *
 * The gate asks about one when a program connects. Names that stand in a line are asked about
 * before it starts, all of them at once: a yes to several becomes a yes to each, which the gate
 * finds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/rules.h"

struct approval;
struct arena;
struct digest;
struct profile;

#define CONNECTIONS_MAX 16 /* in one question */

struct connection {
	const char *name;
	uint16_t port;
	struct network_ref rule; /* that asks */
};

struct connection_asker {
	const struct profile *profile;
	const char *state, *principal; /* each of these may be NULL */
	const char *session, *door, *workspace;
};

/* The question; its memory is in the arena, or the asker's. */
int connection_question(const struct connection_asker *by, const struct connection *to,
                        size_t count, struct arena *arena, struct approval *ret);

/* "NAME:PORT, NAME:PORT"; NULL: no memory. */
const char *connection_list(const struct connection *to, size_t count, struct arena *arena);
/* The same read again. The rules are none. */
int connection_read_list(const char *text, struct arena *arena,
                         struct connection into[CONNECTIONS_MAX], size_t *ret_count);

/* Whether a person has allowed it for the session. */
bool connection_is_granted(const struct connection_asker *by, const struct connection *to,
                           struct arena *arena);

/* A person has approved A, which reaches more than one name, or a command that does: the same
 * answer for each. 0, or a negative errno: some have no answer, and are asked about again. */
int connection_answer_each(int desk, const struct connection_asker *by, const struct approval *a,
                           struct arena *arena);
/* The command has ended: what was approved for it alone and not used is used up. */
void connection_end_each(int desk, const struct connection_asker *by, const char *reaches,
                         struct arena *arena);
