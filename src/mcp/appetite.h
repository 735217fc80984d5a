#pragma once
/*
 * Appetite: how much of an answer a client passes on to its model. What is more, clients cut by
 * themselves, and they do not know what matters.
 */
#include <jansson.h>
#include <stddef.h>

struct mcp_appetite {
	size_t bytes, lines; /* of the text; lines 0: any number */
};

/* INFO is the clientInfo of a handshake or of a request; NULL, or a name that is not known: what
 * every known client takes. */
struct mcp_appetite mcp_appetite_of(json_t *info);
