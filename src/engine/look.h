#pragma once
/*
 * Look: what a person is shown of a command, from the analysis that has decided about it (see
 * approval/look.h); and the box that a profile asks for, in words.
 */
#include <stddef.h>
#include "approval/look.h"

struct arena;
struct check;
struct profile;

struct look_box {
	const char *tier;    /* "strict" ... */
	const char *network; /* "none", "names", "host" */
	const char *engine;  /* of containers: "off", "open" */
	const char *limits[LOOK_LIMITS_MAX];
	size_t limit_count;
};

/* The one place that tells what box a command would get: the one its profile asks for. */
void look_at_box(const struct profile *p, struct arena *arena, struct look_box *ret);

struct look_subject {
	const struct check *check; /* the decision */
	const struct profile *profile;
	bool terminal, unseen_input;
};

/* NULL: there is no memory. */
struct approval_look *look_make(struct arena *arena, const struct look_subject *s);
