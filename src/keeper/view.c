/*
 * The view of a command: its store is made before the box is planned, and when all of the command
 * has ended, what is in it is listed. A dry run leaves it there. For an undoable command it is
 * applied at once, before the report: whoever has the result finds the workspace changed.
 *
 * The keeper holds `begin` of its store from the first moment on, so that nobody takes the store of
 * a command that runs for one that was left behind. A keeper that is killed while it applies leaves
 * a journal, and the next one on the shelf finishes that first.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "change/change.h"
#include "keeper/record.h"
#include "process/spawn.h"
#include "profile/profile.h"
#include "protect/protect.h"
#include "task/changes.h"

#define SWEPT    ".swept"
#define SWEEP_MS 60000

static bool is_wanted(const struct keeper *k)
{
	return k->order.dry_run || k->order.undoable;
}

static int open_workspace(const struct keeper *k)
{
	return open(k->order.request.workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Words for a shelf that is not there. */
static const char *why_no_shelf(int r)
{
	return r == -EXDEV
	               ? "the state directory lies inside of the workspace: set undo.store to a "
	                 "directory outside"
	       : r == -ENOENT ? "there is no state directory"
	                      : "the state directory cannot be used for it";
}

static const char *make_store(struct keeper *k, int workspace)
{
	const struct keeper_request *rq = &k->order.request;
	const struct changes_about about = {.task = k->order.task_id,
	                                    .workspace = rq->workspace,
	                                    .command = k->order.command,
	                                    .root = rq->root,
	                                    .profile = rq->profile,
	                                    .agent = rq->agent,
	                                    .policy_file = rq->policy_file,
	                                    .principal = k->order.principal,
	                                    .session = rq->session,
	                                    .began_ms = clock_wall_ms(),
	                                    .keep_ms = k->profile->undo.keep_ms,
	                                    .dry_run = k->order.dry_run};
	struct keeper_view *v = &k->view;
	char shelf[PATH_MAX], own[PATH_MAX];
	int lock;

	v->shelf = changes_shelf(
		(const char *const[]){rq->state, changes_root(k->profile->undo.store, own)},
		rq->workspace, workspace, shelf, &v->applies);
	if (v->shelf < 0)
		return why_no_shelf(v->shelf);
	if (!v->applies && k->order.undoable)
		return "the state directory lies on another file system than the workspace: set "
		       "undo.store to a directory on that";
	if (snprintf(v->path, sizeof(v->path), "%s/%s", shelf, k->order.task_id) >=
	    (int)sizeof(v->path))
		return "the path of the state directory is too long";
	lock = changes_lock(v->shelf);
	if (lock >= 0)
		(void)changes_recover(v->shelf, workspace);
	fd_close(lock);
	v->store = change_begin(v->shelf, k->order.task_id, workspace, v->began_ns, NULL);
	if (v->store < 0)
		return "the state directory cannot be used for it";
	v->hold = changes_hold(v->store);
	if (v->hold < 0 || changes_about_write(v->store, &about) < 0)
		return "the state directory cannot be written";
	return sandbox_view_obstacle(rq->workspace, v->store);
}

static void drop_store(struct keeper *k)
{
	if (k->view.store >= 0)
		change_discard(k->view.shelf, k->order.task_id);
	fd_close(take_fd(&k->view.store));
}

void keeper_view_open(struct keeper *k)
{
	scoped(fd_closep) int workspace = -1;

	if (!is_wanted(k) || k->view.store >= 0 || k->view.absent || !k->profile)
		return;
	workspace = open_workspace(k);
	k->view.absent = workspace < 0 ? "the workspace cannot be read" : make_store(k, workspace);
	if (k->view.absent)
		drop_store(k);
}

/* A dry run without a view would be none. */
int keeper_view_settle(struct keeper *k, struct error *err)
{
	struct keeper_changes_report *c = &k->report.changes;
	const char *why = k->view.absent;

	if (!is_wanted(k))
		return 0;
	if (!why && k->view.store < 0)
		why = "this profile has no sandbox that could have one";
	if (!why && (!k->plan || !sandbox_plan_has_view(k->plan, &why)) && !why)
		why = "it needs the strict tier of the sandbox";
	if (!why)
		return 0;
	drop_store(k);
	k->view.absent = why;
	snprintf(c->state, sizeof(c->state), "absent");
	snprintf(c->why, sizeof(c->why), "%s", why);
	return k->order.dry_run
	               ? error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
	                           "nothing was run: the workspace can have no copy-on-write "
	                           "view here: %.180s",
	                           why)
	               : 0;
}

static bool is_worth_a_line(const struct change_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (change_letter(&l->items[i]))
			return true;
	return false;
}

static void tell(struct keeper_changes_report *c, const char *state, const char *why)
{
	snprintf(c->state, sizeof(c->state), "%s", state);
	snprintf(c->why, sizeof(c->why), "%.*s", (int)sizeof(c->why) - 1, why ? why : "");
}

static void fill(struct keeper *k, const struct change_list *l)
{
	struct keeper_changes_report *c = &k->report.changes;

	c->added = l->added;
	c->changed = l->changed;
	c->deleted = l->deleted;
	c->bytes = l->bytes;
	c->conflicts = l->conflict_count;
	c->keep_ms = k->profile->undo.keep_ms;
	changes_key(k->order.request.workspace, c->key);
	for (size_t i = 0; i < l->count; i++)
		c->count += change_letter(&l->items[i]) != 0;
}

/* Under the lock: nobody else applies anything between the look and the last step. */
static void apply(struct keeper *k, const struct change_place *at, struct change_list *l)
{
	struct keeper_changes_report *c = &k->report.changes;
	struct error err = {0};
	int r = change_apply(at, l, false, &err);

	if (r == 0)
		tell(c, "applied", NULL);
	else
		tell(c, r == -EBUSY ? "conflict" : "failed", err.text);
	keeper_record_changes(k, l);
}

static void settle(struct keeper *k, const struct change_place *at)
{
	struct keeper_changes_report *c = &k->report.changes;
	scoped(change_list_freep) struct change_list *l = NULL;
	struct error err = {0};
	bool any;

	if (change_look(at, &l, &err) < 0) {
		changes_key(k->order.request.workspace, c->key);
		tell(c, "failed", err.text);
		return;
	}
	changes_guard(l, at, sandbox_plan_protect(k->plan));
	any = is_worth_a_line(l);
	fill(k, l);
	if (k->order.undoable && (any || l->count > 0))
		apply(k, at, l);
	else
		tell(c, "kept", NULL);
	if (!any && (k->order.dry_run || strcmp(c->state, "applied") == 0)) {
		tell(c, "nothing", NULL);
		drop_store(k);
	}
	if (!any && k->order.undoable && l->count == 0)
		tell(c, "nothing", NULL);
}

/* Now and then: it looks at each file. */
static void sweep(const struct keeper *k)
{
	struct stat st;
	int64_t now = clock_wall_ms();
	int fd;

	if (fstatat(k->view.shelf, SWEPT, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now - st.st_mtim.tv_sec * 1000 < SWEEP_MS)
		return;
	fd = openat(k->view.shelf, SWEPT, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)futimens(fd, NULL);
	fd_close(fd);
	changes_sweep(k->view.shelf, now, k->profile->undo.size);
}

void keeper_view_end(struct keeper *k)
{
	struct keeper_view *v = &k->view;
	scoped(fd_closep) int workspace = -1;
	scoped(fd_closep) int lock = -1;
	struct change_place at = {.store = v->store, .ledger = v->shelf};

	if (v->store < 0)
		return;
	if (k->report.end == KEEPER_END_FAILED || k->report.end == KEEPER_END_REFUSED || !k->plan) {
		drop_store(k);
		return;
	}
	workspace = open_workspace(k);
	lock = changes_lock(v->shelf);
	if (workspace < 0 || lock < 0) {
		changes_key(k->order.request.workspace, k->report.changes.key);
		tell(&k->report.changes, "failed",
		     workspace < 0 ? "the workspace cannot be read"
		                   : "something else is being applied there, and takes too long");
		return;
	}
	at.directory = workspace;
	at.durable = k->profile->undo.durable;
	settle(k, &at);
	if (v->store >= 0)
		sweep(k);
	/* Whoever has the result may take the store. A process of the box that is still dying has a
	 * copy of the descriptor. */
	if (v->hold >= 0)
		(void)flock(v->hold, LOCK_UN);
	fd_close(take_fd(&v->hold));
}

void keeper_view_close(struct keeper *k)
{
	fd_close(take_fd(&k->view.hold));
	fd_close(take_fd(&k->view.store));
	fd_close(take_fd(&k->view.shelf));
}
