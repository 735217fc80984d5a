#pragma once
/*
 * Grants: what persons have approved for a session, as it lies on disk.
 *
 *	<state>/grants/<session>.json   principal, terms, digests of policy/grants.h, programs
 *
 * A grant holds for one session of one principal, by one profile in one kind of box, and only as
 *long as the programs that it was given for are the same files: one that was rewritten or replaced
 *is another program.
 */
#include <stdbool.h>
#include <stddef.h>
#include "approval/approval.h"

struct arena;
struct error;
struct policy_answer;
struct policy_grants;

struct grants {
	struct policy_grants *policy; /* NULL: there are none */
	const struct object_file *programs;
	size_t program_count;
};

void grants_done(struct grants *g);
static inline void grants_donep(struct grants *g)
{
	grants_done(g);
}

struct grants_of {                   /* for whom, and by which terms */
	const char *state, *session; /* each may be NULL: there are no grants then */
	const char *principal;       /* "": who runs nacre */
	struct policy_digest terms;
};

/* One that has gone stale is left out. A damaged file is an error, and nothing is granted. */
int grants_load(const struct grants_of *of, struct arena *arena, struct grants *ret,
                struct error *err);

/* Whether each command that was allowed by a grant is one of the programs. */
bool grants_hold(const struct grants *g, const struct policy_answer *answer);

/* DESK is the directory of approvals, beside which the grants lie. */
int grants_add(int desk, const struct approval *a, bool sub, struct error *err);
