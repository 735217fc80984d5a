/*
 * The directories above the workspace.
 *
 * The operator gives a caller one directory, the root; the caller chooses its workspace in it. What
 * is secret or protected is a property of the root and of every directory on the way down, not of
 * the directory that the caller chose: else `workspace: ".ssh"` would show the keys, and
 * `workspace: ".git/hooks"` would write what the operator's next commit runs.
 *
 * So each directory on the way is planned as if it were the workspace, in a plan that is thrown
 * away. What it would bind read-only must not be the workspace, nor be around it; what lies in the
 * workspace is bound, or looked for afterwards, by the plan proper.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"
#include "sandbox/plan.h"

/* The workspace itself is the last one, and no directory above it. */
static int add_above(void *context, int fd, const char *path)
{
	struct sandbox_plan *p = context;
	struct box_above *a = &p->above[p->above_count];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (strcmp(path, p->workspace) == 0)
		return st.st_ino == p->workspace_inode && st.st_dev == p->workspace_device
		               ? 0
		               : -ESTALE;
	*a = (struct box_above){
		.path = arena_strdup(p->arena, path), .device = st.st_dev, .inode = st.st_ino};
	p->above_count += a->path != NULL;
	return a->path ? 0 : -ENOMEM;
}

int box_above_find(struct sandbox_plan *p, const char *root, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	int r;

	if (!root || strcmp(root, p->workspace) == 0)
		return 0;
	fd = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : path_descend(fd, root, p->workspace, add_above, p);
	if (r == -E2BIG)
		return error_set(err, ERROR_LIMIT, E2BIG,
		                 "the workspace lies more than %d directories below its root",
		                 PATH_DESCENT_MAX);
	return r < 0 ? error_set(err, ERROR_INPUT, -r,
	                         "the way from the root to the workspace cannot be followed: %s",
	                         strerrordesc_np(-r))
	             : 0;
}

static int refuse(struct error *err, const char *why)
{
	return error_set(err, ERROR_INPUT, EPERM,
	                 "this directory cannot be the workspace: %s. Choose another directory.",
	                 why);
}

/* Whether this is a directory from the root down, or the workspace. */
static bool is_on_the_way(const struct sandbox_plan *p, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < p->above_count; i++)
		if (p->above[i].inode == inode && p->above[i].device == device)
			return true;
	return p->workspace_inode == inode && p->workspace_device == device;
}

/* Secrets and nacre's own places */

/* By its path, and by what it is: another mount, or letters that the file system holds equal, give
 * a directory a second path. */
static bool is_around(const struct sandbox_plan *p, const char *path, const struct stat *st)
{
	return path_is_in(p->workspace, path) || (st && is_on_the_way(p, st->st_dev, st->st_ino));
}

/* 1: the workspace is in it. */
static int find_around(void *context, const char *path)
{
	struct sandbox_plan *p = context;
	struct stat st;
	const char *real = box_real(p, path, &st);

	return is_around(p, real ? real : path, real ? &st : NULL);
}

static int check_hidden(struct sandbox_plan *p, struct error *err)
{
	const char *own[BOX_OWN_PLACES];
	int n = box_own_places(p, own), r = n < 0 ? n : box_secrets_visit(p, find_around, p);

	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	if (r > 0)
		return refuse(err, "the profile keeps it secret, or something above it");
	for (int i = 0; i < n; i++)
		if (find_around(p, own[i]))
			return refuse(err, "nacre keeps its own files there");
	return 0;
}

/* Protected paths */

/* A plan for the protections of a directory above, with the arena of P. */
static struct sandbox_plan *shadow_new(const struct sandbox_plan *p, const struct box_above *a)
{
	struct sandbox_plan *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->arena = p->arena;
	q->spec = p->spec;
	q->home = p->home;
	memcpy(q->other_homes, p->other_homes, sizeof(q->other_homes));
	q->other_home_count = p->other_home_count;
	q->workspace = a->path;
	q->workspace_device = a->device;
	q->workspace_inode = a->inode;
	q->keeps = p->keeps;
	q->has_company = p->has_company;
	q->workspace_fd = open(a->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return q;
}

static void shadow_done(struct sandbox_plan **q)
{
	if (*q)
		fd_close((*q)->workspace_fd);
	free(*q);
}

static int shadow_plan(struct sandbox_plan *q, const struct box_above *a, uint64_t clone_flags)
{
	struct stat st;

	if (q->workspace_fd < 0 || fstat(q->workspace_fd, &st) < 0)
		return -errno;
	if (st.st_ino != a->inode || st.st_dev != a->device)
		return -ESTALE;
	q->clone_flags = clone_flags;
	return box_protect_plan(q);
}

/* What the directory above would bind read-only. */
static bool holds_workspace(const struct sandbox_plan *p, const struct sandbox_plan *q)
{
	for (size_t i = 0; i < q->steps.count; i++) {
		const struct box_step *s = &q->steps.items[i];

		if (s->kind == BOX_HOLD && (s->attr & MOUNT_ATTR_RDONLY) &&
		    (path_is_in(p->workspace + 1, s->path) ||
		     is_on_the_way(p, s->device, s->inode)))
			return true;
	}
	return false;
}

static int check_protected(struct sandbox_plan *p, struct error *err)
{
	for (size_t i = 0; i < p->above_count; i++) {
		scoped(shadow_done) struct sandbox_plan *q = shadow_new(p, &p->above[i]);
		/* As with namespaces: only then links are followed to where they lead. */
		int r = q ? shadow_plan(q, &p->above[i], CLONE_NEWNS) : -ENOMEM;

		if (r < 0)
			return q ? box_plan_error(q, r, "protected paths above the workspace", err)
			         : error_set(err, ERROR_SYSTEM, -r, "out of memory");
		if (holds_workspace(p, q))
			return refuse(err, "it is protected in a directory above it");
	}
	return 0;
}

int box_above_check(struct sandbox_plan *p, struct error *err)
{
	int r = check_hidden(p, err);

	return r < 0 || p->spec->workspace_readonly ? r : check_protected(p, err);
}

static int take_hold(struct sandbox_plan *p, const struct box_step *hold)
{
	struct box_step *s;

	for (size_t i = 0; i < p->steps.count; i++) {
		s = &p->steps.items[i];
		if (s->kind == BOX_HOLD && strcmp(s->path, hold->path) == 0) {
			s->attr |= hold->attr;
			return 0;
		}
	}
	s = box_step_add(p, hold->phase, BOX_HOLD, hold->path);
	if (!s)
		return -ENOMEM;
	s->attr = hold->attr;
	s->device = hold->device;
	s->inode = hold->inode;
	return 0;
}

/* What is INSIDE of Q's directory, relative to the workspace; NULL: it lies elsewhere. */
static const char *relative(const struct sandbox_plan *p, const struct sandbox_plan *q,
                            const char *inside)
{
	size_t top = strcmp(q->workspace, "/") == 0 ? 0 : strlen(q->workspace);
	const char *down = p->workspace + top + 1;
	size_t n = strlen(down);

	return strncmp(inside, down, n) == 0 && inside[n] == '/' ? inside + n + 1 : NULL;
}

static int take_absent(struct sandbox_plan *p, const struct sandbox_plan *q,
                       const struct box_absent *a)
{
	struct box_absent mine = *a;
	size_t cut;

	mine.path = relative(p, q, a->path);
	if (!mine.path)
		return 0;
	cut = (size_t)(mine.path - a->path);
	if (!a->same && a->missing <= cut) /* the workspace was not there for a moment */
		return -ESTALE;
	mine.missing = a->same ? strcspn(mine.path, "/") : a->missing - cut;
	mine.tree = a->tree ? relative(p, q, a->tree) : NULL;
	for (size_t i = 0; i < p->absent_count; i++)
		if (strcmp(p->absent[i].path, mine.path) == 0)
			return 0;
	if (p->absent_count == BOX_ABSENT_MAX)
		return -E2BIG;
	p->absent[p->absent_count++] = mine;
	return 0;
}

static int take_all(struct sandbox_plan *p, const struct sandbox_plan *q)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->steps.count; i++) {
		const struct box_step *s = &q->steps.items[i];

		if (s->kind == BOX_HOLD && path_is_in(s->path, p->workspace + 1) &&
		    strcmp(s->path, p->workspace + 1) != 0)
			r = take_hold(p, s);
	}
	for (size_t i = 0; r == 0 && i < q->absent_count; i++)
		r = take_absent(p, q, &q->absent[i]);
	for (size_t i = 0; i < q->witness_count && i < BOX_WITNESS_MAX; i++)
		box_witness_add(p, q->witnesses[i].path, q->witnesses[i].changed_ns != 0);
	return r;
}

int box_above_protect(struct sandbox_plan *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->above_count; i++) {
		scoped(shadow_done) struct sandbox_plan *q = shadow_new(p, &p->above[i]);

		r = q ? shadow_plan(q, &p->above[i], p->clone_flags) : -ENOMEM;
		if (r == 0 && holds_workspace(p, q)) /* since it was looked at */
			r = -ESTALE;
		if (q && q->refusal) /* in the same arena */
			p->refusal = q->refusal;
		if (r == 0)
			r = take_all(p, q);
	}
	return r;
}

int sandbox_place_check(const struct sandbox_spec *spec, const struct sandbox_place *place,
                        struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = NULL;

	return box_plan_begin(spec, place, &p, err);
}
