/*
 * Everything here happens under the lock of the shelf, so that two who act on one workspace come
 * one after the other, and with the profile of the task as it is now: what it protects is neither
 * changed nor made, whoever applies it.
 */
#include "engine/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "decide/check.h"
#include "engine/engine.h"
#include "profile/profile.h"
#include "protect/protect.h"
#include "sandbox/plan.h"
#include "task/order.h"

#define ARENA_MAX ((size_t)8 << 20)
#define TASKS_MAX 4096

/* The state directory, and the one that the profile of who asks names. */
struct roots {
	const char *list[2];
	struct profile *profile;
	char store[PATH_MAX];
};

static void roots_done(struct roots *r)
{
	profile_free(r->profile);
}

static void find_roots(const struct task_changes_source *from, struct arena *arena,
                       struct roots *ret)
{
	const struct engine_wishes *w = from->wishes;
	char here[PATH_MAX];
	struct keeper_request rq = {0};

	*ret = (struct roots){.list = {engine_state_of(arena, from->store)}};
	if (!w)
		return;
	rq = (struct keeper_request){.profile = w->profile ? w->profile : w->fallback,
	                             .agent = w->agent,
	                             .policy_file = w->policy_file,
	                             .workspace = w->workspace};
	if (!rq.workspace)
		rq.workspace = getcwd(here, sizeof(here));
	if (rq.workspace && check_load_profile(&rq, &ret->profile, NULL) == 0)
		ret->list[1] = changes_root(ret->profile->undo.store, ret->store);
}

static bool is_of(const struct task_changes_source *from, const struct changes_about *a)
{
	const char *owner = a->principal ? a->principal : "";

	return !from->principal || strcmp(from->principal, owner) == 0;
}

struct last {
	const struct task_changes_source *from;
	struct arena *arena;
	struct changes *found;
};

/* The last one that was applied. */
static int compare_time(void *context, struct changes *c)
{
	struct last *l = context;
	struct changes_about about;
	struct changes swap;

	if (c->state != CHANGE_APPLIED || c->running ||
	    changes_about_read(c->store, l->arena, &about, NULL) < 0 || !is_of(l->from, &about) ||
	    (l->found->store >= 0 && l->found->used_ms >= c->used_ms))
		return 0;
	swap = *l->found;
	*l->found = *c;
	*c = swap;
	return 0;
}

static int find_last(const struct task_changes_source *from, const struct roots *roots,
                     struct task_changes *t, struct error *err)
{
	struct last l = {.from = from, .arena = t->arena, .found = &t->changes};

	(void)changes_each(roots->list, compare_time, &l);
	return t->changes.store >= 0
	               ? 0
	               : error_set(err, ERROR_INPUT, ENOENT, "there is nothing to undo");
}

static int load_profile(struct task_changes *t, struct error *err)
{
	const struct keeper_request rq = {.profile = t->about.profile,
	                                  .agent = t->about.agent,
	                                  .policy_file = t->about.policy_file,
	                                  .workspace = t->about.workspace,
	                                  .root = t->about.root};

	return check_load_profile(&rq, &t->profile, err);
}

static int settle(struct task_changes *t, struct error *err)
{
	struct changes *c = &t->changes;

	t->at.directory = open(t->about.workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->at.directory < 0)
		return error_sys(err, errno, "workspace '%.120s'", t->about.workspace);
	t->at.store = c->store;
	t->at.ledger = c->shelf;
	t->lock = changes_lock(c->shelf);
	if (t->lock < 0)
		return error_set(err, ERROR_LIMIT, EBUSY,
		                 "something else is being applied or undone in this workspace; try "
		                 "again");
	(void)changes_recover(c->shelf, t->at.directory);
	c->state = change_state(c->store);
	if (c->state == CHANGE_APPLYING || c->state == CHANGE_UNDOING)
		return error_set(err, ERROR_SYSTEM, EIO,
		                 "what a crash has interrupted could not be finished: look at the "
		                 "workspace, and at %.120s/%s",
		                 c->path, c->task);
	return load_profile(t, err);
}

int task_changes_open(const struct task_changes_source *from, const char *task,
                      struct task_changes *ret, struct error *err)
{
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	scoped(roots_done) struct roots roots = {.profile = NULL};
	int r;

	t.from = *from;
	t.arena = arena_new(ARENA_MAX);
	if (!t.arena)
		return error_nomem(err);
	find_roots(from, t.arena, &roots);
	r = task ? changes_find(roots.list, task, &t.changes, err)
	         : find_last(from, &roots, &t, err);
	if (r == 0)
		r = changes_about_read(t.changes.store, t.arena, &t.about, err);
	if (r < 0)
		return r;
	if (!is_of(from, &t.about)) /* as if it were not there */
		return error_set(err, ERROR_INPUT, ENOENT, "no changes of task '%.40s' are kept",
		                 task ? task : "");
	if (t.changes.running)
		return error_set(err, ERROR_INPUT, EBUSY, "task %s is still running",
		                 t.changes.task);
	r = settle(&t, err);
	if (r < 0)
		return r;
	*ret = t;
	t = TASK_CHANGES_NONE;
	return 0;
}

void task_changes_done(struct task_changes *t)
{
	fd_close(take_fd(&t->lock));
	fd_close(take_fd(&t->at.directory));
	changes_close(&t->changes);
	t->profile = profile_free(t->profile);
	t->arena = arena_free(t->arena);
}

/* What is protected in the workspace now, by the profile as it is now. */
static int plan(const struct task_changes *t, struct sandbox_plan **ret_plan, struct error *err)
{
	const char *hidden[5] = {NULL}, *state = engine_state_of(t->arena, t->from.store);
	char buffer[PATH_MAX], store[PATH_MAX];
	struct profile_request files;
	const struct sandbox_place place = {.workspace = t->about.workspace,
	                                    .root = t->about.root,
	                                    .resolved = true,
	                                    .home = getenv("HOME"),
	                                    .hidden = hidden,
	                                    .net = SANDBOX_NET_NONE};
	int n = 0;

	profile_request_init(&files, buffer, sizeof(buffer));
	if (files.user_dir)
		hidden[n++] = files.user_dir;
	if (state)
		hidden[n++] = state;
	if (t->about.policy_file)
		hidden[n++] = t->about.policy_file;
	if (changes_root(t->profile->undo.store, store))
		hidden[n++] = changes_root(t->profile->undo.store, store);
	if (t->profile->sandbox.tier == SANDBOX_TIER_NONE ||
	    t->profile->sandbox.tier == SANDBOX_TIER_CONTAINER)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 "the profile has no sandbox any more, so nothing tells what is "
		                 "protected");
	return sandbox_plan_new(&t->profile->sandbox, &place, ret_plan, err);
}

int task_changes_list(const struct task_changes *t, const char *const *paths,
                      struct change_list **ret_list, struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = NULL;
	scoped(change_list_freep) struct change_list *l = NULL;
	int r = t->changes.state == CHANGE_KEPT ? change_look(&t->at, &l, err)
	                                        : change_read(&t->at, true, paths, &l, err);

	if (r < 0)
		return r;
	if (t->changes.state != CHANGE_APPLIED) {
		r = plan(t, &p, err);
		if (r < 0)
			return r;
		changes_guard(l, &t->at, sandbox_plan_protect(p));
	}
	*ret_list = take_ptr(&l);
	return 0;
}

static int record(const struct task_changes *t, enum audit_kind kind, const struct change_list *l,
                  const char *end, const char *reason, struct error *err)
{
	struct audit_changes changes;
	struct audit_event e = {
		.kind = kind,
		.task = t->changes.task,
		.principal = t->from.principal && *t->from.principal ? t->from.principal : NULL,
		.door = t->from.door,
		.profile = t->profile->name,
		.session = t->about.session,
		.workspace = t->about.workspace,
		.end = end,
		.reason = reason};
	int r;

	if (t->profile->audit.off)
		return 0;
	if (l) {
		changes_for_audit(l, &changes);
		e.changes = &changes;
	}
	r = audit_event(engine_state_of(t->arena, t->from.store), &t->profile->audit.log, &e, false,
	                err);
	return t->profile->audit.optional ? 0 : r;
}

static int open_store(void *owner)
{
	return ((struct task_changes *)owner)->changes.store;
}

/* What the profile protects, and was not there before, goes into the store. */
static void move_planted(struct task_changes *t, struct sandbox_plan *p)
{
	scoped(buffer_donep) struct buffer planted = {.max = sizeof(t->planted) - 1};
	scoped(buffer_donep) struct buffer replaced = {.max = sizeof(t->planted)};
	const struct protect_aside aside = {.open = open_store, .owner = t, .id = t->changes.task};

	(void)protect_check(sandbox_plan_protect(p), &aside, &planted, &replaced);
	snprintf(t->planted, sizeof(t->planted), "%s", buffer_str(&planted));
}

int task_changes_apply(struct task_changes *t, struct change_list *l, bool force, struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = NULL;
	int r;

	if (t->changes.state != CHANGE_KEPT && t->changes.state != CHANGE_UNDONE)
		return error_set(err, ERROR_INPUT, EALREADY, "the changes of task %s are applied",
		                 t->changes.task);
	if (t->profile->undo.asks && !t->from.person)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "a person has to see these changes first (undo.apply: ask): run "
		                 "`nacre apply %s`",
		                 t->changes.task);
	r = plan(t, &p, err);
	if (r < 0)
		return r;
	t->at.durable = t->profile->undo.durable;
	r = change_apply(&t->at, l, force, err);
	if (r < 0) {
		(void)record(t, AUDIT_APPLIED, l, "failed", err ? err->text : NULL, NULL);
		return r;
	}
	t->changes.state = CHANGE_APPLIED;
	move_planted(t, p);
	return record(t, AUDIT_APPLIED, l, "applied", force ? "forced" : NULL, err);
}

int task_changes_undo(struct task_changes *t, struct change_list *l, bool force, struct error *err)
{
	int r;

	if (t->changes.state != CHANGE_APPLIED)
		return error_set(err, ERROR_INPUT, EALREADY, "nothing of task %s is applied",
		                 t->changes.task);
	t->at.durable = t->profile->undo.durable;
	r = change_undo(&t->at, l, force, err);
	if (r < 0) {
		(void)record(t, AUDIT_UNDONE, l, "failed", err ? err->text : NULL, NULL);
		return r;
	}
	t->changes.state = change_state(t->changes.store);
	return record(t, AUDIT_UNDONE, l, "undone", force ? "forced" : NULL, err);
}

int task_changes_discard(struct task_changes *t, struct error *err)
{
	int r;

	if (t->changes.state == CHANGE_APPLIED)
		return error_set(err, ERROR_INPUT, EALREADY,
		                 "the changes of task %s are applied; `nacre undo %s` takes them "
		                 "back",
		                 t->changes.task, t->changes.task);
	r = record(t, AUDIT_DISCARDED, NULL, "discarded", NULL, err);
	if (r < 0)
		return r;
	change_discard(t->changes.shelf, t->changes.task);
	t->changes.state = CHANGE_NONE;
	return 0;
}

int64_t task_changes_expires_ms(const struct task_changes *t)
{
	return t->about.keep_ms > 0 ? t->changes.used_ms + t->about.keep_ms : 0;
}

struct entry {
	struct changes c;
	struct changes_about about;
};

struct gather {
	const struct task_changes_source *from;
	struct arena *arena;
	struct entry *list;
	size_t count;
};

static int gather(void *context, struct changes *c)
{
	struct gather *g = context;
	struct entry *e = &g->list[g->count];

	if (g->count == TASKS_MAX || changes_about_read(c->store, g->arena, &e->about, NULL) < 0 ||
	    !is_of(g->from, &e->about))
		return 0;
	e->c = *c;
	e->c.shelf = e->c.store = -1;
	g->count++;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->c.used_ms > y->c.used_ms ? -1 : x->c.used_ms < y->c.used_ms;
}

int task_changes_each(const struct task_changes_source *from, task_changes_visit *visit,
                      void *context, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)256 << 20);
	scoped(roots_done) struct roots roots = {.profile = NULL};
	struct gather g = {.from = from, .arena = arena};
	int r = 0;

	g.list = arena ? calloc(TASKS_MAX, sizeof(*g.list)) : NULL;
	if (!g.list)
		return error_nomem(err);
	find_roots(from, arena, &roots);
	(void)changes_each(roots.list, gather, &g);
	qsort(g.list, g.count, sizeof(*g.list), newest_first);
	for (size_t i = 0; r == 0 && i < g.count; i++)
		r = visit(context, &g.list[i].c, &g.list[i].about);
	free(g.list);
	return r;
}
