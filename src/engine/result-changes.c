/*
 * What came of the changes of a command, in its result. The report has the counts; the list is read
 * from the store, which is there until somebody discards it.
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "engine/changes.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "engine/run.h"
#include "json/write.h"
#include "launch/task.h"
#include "output/capture.h"
#include "profile/profile.h"
#include "process/spawn.h"

static bool is_state(const struct result *r, const char *state)
{
	return strcmp(r->report.changes.state, state) == 0;
}

void result_fill_changes(struct result *r, const struct run *run)
{
	const struct keeper_changes_report *c = &r->report.changes;
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	const struct engine *e = run->engine;
	struct engine_wishes wishes = e->wishes;
	const struct task_changes_source from = {.store = &e->store, .wishes = &wishes};

	if (!r->undo_wanted && !c->state[0])
		return;
	if (is_state(r, "absent"))
		r->no_undo = c->why;
	else if (is_state(r, "conflict") || is_state(r, "failed"))
		r->no_undo = "nothing was applied";
	else if (is_state(r, "nothing") || !c->state[0])
		r->no_undo = "nothing was changed";
	else if (is_state(r, "kept"))
		r->no_undo = "nothing was applied yet";
	if (is_state(r, "conflict") || is_state(r, "failed")) {
		r->success = false;
		if (r->exit_code == 0)
			r->exit_code = EXIT_CONFLICT;
	}
	if (!c->key[0] || is_state(r, "nothing"))
		return;
	wishes.workspace = run->order.request.workspace;
	if (task_changes_open(&from, r->task_id, &t, NULL) < 0)
		return;
	r->changes_state = t.changes.state;
	r->undo_expires_ms = task_changes_expires_ms(&t);
	(void)task_changes_list(&t, NULL, &r->changes, NULL);
}

static bool says(const struct capture_snapshot *s, const char *words)
{
	return s->data && memmem(s->data, s->head_len + s->tail_len, words, strlen(words));
}

static bool is_refused_renaming(const struct run *run)
{
	for (int i = 0; run->task && i < 2; i++)
		if (says(&run->task->captures[i], "ross-device") ||
		    says(&run->task->captures[i], "EXDEV"))
			return true;
	return false;
}

void result_note_changes(struct result *r, const struct run *run)
{
	const struct keeper_changes_report *c = &r->report.changes;
	const char *id = r->task_id;

	if (c->key[0] && r->exit_code != 0 && is_refused_renaming(run))
		result_notice_add(
			r, "in a copy-on-write view a directory that was there before cannot be "
			   "renamed (EXDEV): mv copies it, `git mv` and some others fail; run "
			   "this command without a view");
	if (is_state(r, "conflict"))
		result_notice_add(
			r,
			"nothing of what the command changed was applied: %s. `nacre diff %s` "
			"shows it, `nacre apply --force %s` takes it all the same, `nacre discard "
			"%s` throws it away",
			c->why, id, id, id);
	if (is_state(r, "failed"))
		result_notice_add(
			r,
			"nothing of what the command changed was applied: %s. It is kept: "
			"`nacre apply %s` tries again",
			c->why, id);
	if (is_state(r, "absent") && run->order.undoable)
		result_notice_add(r, "this command cannot be undone: %s", c->why);
}

static void put_list(const struct result *r, struct json_writer *w)
{
	const struct keeper_changes_report *c = &r->report.changes;
	const struct change_list none = {
		.added = c->added, .changed = c->changed, .deleted = c->deleted, .bytes = c->bytes};

	json_member_object(w, "changes");
	if (r->changes)
		task_changes_put(w, r->changes_state, r->changes, TASK_CHANGES_LIST);
	else
		task_changes_put(w,
		                 is_state(r, "kept") || is_state(r, "conflict") ? CHANGE_KEPT
		                 : is_state(r, "applied")                       ? CHANGE_APPLIED
		                                                                : CHANGE_NONE,
		                 &none, 0);
	json_object_end(w);
}

/* Only where somebody wants a view: else there is nothing to say. */
void result_put_changes(const struct result *r, struct json_writer *w)
{
	const struct keeper_changes_report *c = &r->report.changes;

	if (c->state[0] && !is_state(r, "absent"))
		put_list(r, w);
	if (!c->state[0] && !(r->undo_wanted && r->ran))
		return;
	json_member_object(w, "undo");
	json_member_bool(w, "available", r->no_undo == NULL);
	json_member_text(w, "why", r->no_undo);
	if (!r->no_undo && r->undo_expires_ms > 0)
		json_member_int(w, "expires_ms", r->undo_expires_ms);
	json_object_end(w);
}
