#pragma once
/*
 * Desk: where approvals lie, open and answered, for every process of this user.
 *
 *	<state>/approvals/<id>.json     what is asked; written once, never changed
 *	<state>/approvals/<id>.answer   the answer; there is never a second one
 *	<state>/approvals/<id>.used     another name of it, when something has run by it, or who
 *	                                asked has been told the no
 *	<state>/approvals/k-<hex>       another name of <id>.json, by what is asked and by whom
 *
 * All of it is private to the user, and not there in any box. An answer gets its name by link(),
 * and so is it used up: the kernel lets one of many win, whoever they are and whatever dies in
 * between.
 */
#include <stdbool.h>
#include <stddef.h>
#include "approval/approval.h"

struct arena;
struct error;

#define DESK_OPEN_MAX      64   /* open approvals of one principal */
#define DESK_APPROVALS_MAX 1000 /* of all, answered or not */

/* A descriptor of the directory; STATE is nacre's state directory. MAKE: it may be made. -ENOENT:
 * it is not there; -EPERM: it is not private. */
int desk_open(const char *state, bool make, struct error *err);

/* Gives the approval its id and puts it there, open. -ENOSPC: too many wait already. */
int desk_put(int desk, struct approval *a, struct error *err);

/* The approval with this id, as it stands now. */
int desk_read(int desk, const char *id, struct arena *arena, struct approval *ret,
              struct error *err);

/* The last approval for the same object, principal and session that is open, given and not used, or
 * refused and not told. -ENOENT: there is none. */
int desk_find(int desk, const struct approval *like, struct arena *arena, struct approval *ret,
              struct error *err);

struct desk_answer {
	enum approval_answer answer;
	const char *by;   /* who answers: a name for people */
	const char *why;  /* may be NULL */
	const char *door; /* by which the answer came; NULL: that of who asked */
};

/*
 * Answers. 0: this answer counts; -EALREADY: *ret says who was first; -ETIME: it is too late;
 * -ENOENT; -EPERM: it cannot be approved for a session. *ret is the approval as it then stands.
 * With 0 the error may have words: what could not be done beside it, the grant or the record.
 * PRINCIPAL: it must be theirs; NULL: of anybody.
 */
int desk_answer(int desk, const char *id, const char *principal, const struct desk_answer *answer,
                struct arena *arena, struct approval *ret, struct error *err);

/* Whether a run of OBJECT has the consent. -EACCES: there is none (words tell why); -ESTALE: what
 * is to run is not what was approved; -EALREADY: it was used. */
int desk_check(int desk, const char *id, const char *principal,
               const struct approval_object *object, struct arena *arena, struct approval *ret,
               struct error *err);
/* The same, and uses up the answer. -EALREADY: another run was first. */
int desk_spend(int desk, const char *id, const char *principal,
               const struct approval_object *object, struct arena *arena, struct approval *ret,
               struct error *err);

/* Whoever asked is told that it was refused: the next one who asks the same is asked about anew. */
void desk_tell(int desk, const struct approval *a);

/* Approvals, the youngest first. PRINCIPAL: only theirs; NULL: all. ALL: also those that are
 * answered or expired. */
int desk_list(int desk, const char *principal, bool all, struct arena *arena,
              struct approval **ret_list, size_t *ret_count, struct error *err);

/* Readable when something may have changed; read it empty with desk_watch_drain(). Negative: there
 * is no such descriptor to be had, and one has to look now and then. */
int desk_watch(int desk);
void desk_watch_drain(int watch);
