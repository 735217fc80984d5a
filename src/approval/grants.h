#pragma once
/*
 * Grants: what persons have approved for a session, as it lies on disk.
 *
 *	<state>/grants/<session>.json   principal, terms, digests of policy/grants.h, programs
 *
 * A grant holds for one session of one principal, by one profile in one kind of box, and only as
 * long as the programs that it was given for are the same files: one that was rewritten or replaced
 * is another program.
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
	struct digest terms;
};

/* One that has gone stale is left out. A damaged file is an error, and nothing is granted. */
int grants_load(const struct grants_of *of, struct arena *arena, struct grants *ret,
                struct error *err);

/* Whether each command that was allowed by a grant is one of the programs. */
bool grants_hold(const struct grants *g, const struct policy_answer *answer);

/* DESK is the directory of approvals, beside which the grants lie. */
int grants_add(int desk, const struct approval *a, bool sub, struct error *err);

/* One grant, for a person. */
struct grant {
	const char *session, *principal, *profile, *command;
	char approval[APPROVAL_ID_MAX]; /* the answer that gave it */
	bool sub;
	bool holds; /* its programs are still the same files */
	bool audited;
};

/* Of all sessions. Of a file that cannot be read nothing is in the list, and the error has words
 * with 0. */
int grants_list(int desk, struct arena *arena, struct grant **ret_list, size_t *ret_count,
                struct error *err);

/* Takes back what the approval with this id has granted. -ENOENT: nothing. BY is who does it, for
 * the audit log; with 0 the error may have words: it could not be written there. */
int grants_revoke(int desk, const char *id, const char *by, struct arena *arena,
                  struct grant *ret_grant, struct error *err);
