#pragma once
/*
 * Changes: what a task has changed in its view, for whoever wants to see, apply, discard or undo
 * it. One call opens a task's store, others act on it; each action is recorded in the audit log.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "change/change.h"
#include "task/changes.h"
#include "task/store.h"

struct arena;
struct buffer;
struct engine_wishes;
struct error;
struct json_writer;
struct profile;

#define TASK_CHANGES_LIST 200 /* entries of a list in a result */

struct task_changes_source {
	const struct store *store;
	const struct engine_wishes *wishes; /* whose profile may name another store; NULL: none */
	/* Who asks: its own tasks are found. "": the user who runs nacre; NULL: all are. */
	const char *principal;
	const char *door;
	bool person; /* a person has seen what is applied, or does not want to */
};

struct task_changes {
	struct arena *arena;
	struct task_changes_source from;
	struct changes changes;
	struct changes_about about;
	struct profile *profile; /* of the task */
	struct change_place at;
	int lock;
	/* After an action: what was moved away since it is protected, one per line. */
	char planted[512];
};

#define TASK_CHANGES_NONE                                                                          \
	(struct task_changes)                                                                      \
	{                                                                                          \
		.changes = {.shelf = -1, .store = -1}, .at = {.directory = -1}, .lock = -1         \
	}

/* TASK: an id or its beginning; NULL: the last one that can be undone. Locks the shelf, and
 * finishes what a crash has left. */
int task_changes_open(const struct task_changes_source *from, const char *task,
                      struct task_changes *ret, struct error *err);
void task_changes_done(struct task_changes *t);
static inline void task_changes_donep(struct task_changes *t)
{
	task_changes_done(t);
}

/* What it would change (kept), or has changed; with conflicts. PATHS chooses of what was applied.
 */
int task_changes_list(const struct task_changes *t, const char *const *paths,
                      struct change_list **ret_list, struct error *err);

/* -EBUSY: there are conflicts, and FORCE is not set. -EPERM: the profile wants a person to see it
 * (undo.apply: ask). */
int task_changes_apply(struct task_changes *t, struct change_list *l, bool force,
                       struct error *err);
int task_changes_undo(struct task_changes *t, struct change_list *l, bool force, struct error *err);
int task_changes_discard(struct task_changes *t, struct error *err);

/* When it can be undone or applied no longer; wall clock. 0: never. */
int64_t task_changes_expires_ms(const struct task_changes *t);

/* Members of an object: state, added, changed, deleted, bytes, list, more, conflicts. At most MOST
 * of the list. */
void task_changes_put(struct json_writer *w, enum change_state state, const struct change_list *l,
                      size_t most);
/* The same with the task, its workspace and command, as an object. */
void task_changes_put_all(struct json_writer *w, const struct task_changes *t,
                          const struct change_list *l, size_t most);
/* Text differences of all that have one, up to the limit of the buffer; what does not fit is told.
 */
void task_changes_put_diff(const struct task_changes *t, const struct change_list *l,
                           struct buffer *into);

/* Each task whose changes are kept, the newest first, as an array of objects. */
int task_changes_put_tasks(const struct task_changes_source *from, struct json_writer *w,
                           struct error *err);
typedef int task_changes_visit(void *context, const struct changes *c,
                               const struct changes_about *about);
int task_changes_each(const struct task_changes_source *from, task_changes_visit *visit,
                      void *context, struct error *err);
