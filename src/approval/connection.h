#pragma once
/*
 * Connection: a question about a name and a port that a command wants to reach, as an approval. The
 * words of the command are no part of it: a yes is for the name, whoever of the session asks.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/digest.h"

struct approval;
struct arena;
struct grants;

/* What of the approval is about the connection: its words and its object. The caller has filled in
 * who asks, and the terms. */
int connection_fill(struct approval *a, const char *name, uint16_t port, struct arena *arena);

/* Whether a person has allowed it for the session. */
bool connection_granted(const struct grants *g, const char *name, uint16_t port);
