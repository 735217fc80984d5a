#pragma once
/*
 * Names that stand in a line, and that a person is asked about before it starts: an answer while a
 * program waits may come too late for it.
 */
#include <stddef.h>
#include "approval/connection.h"

struct approval;
struct arena;
struct check;
struct question;
struct request;

struct ask_names {
	struct connection to[CONNECTIONS_MAX];
	size_t count; /* 0: nobody is asked */
};

struct connection_asker ask_names_asker(const struct question *q);

/* Only where somebody can be asked: elsewhere the gate refuses each when a program wants it. */
int ask_names_find(struct arena *arena, const struct request *rq, const struct question *q,
                   const struct check *c, struct ask_names *ret);
