/*
 * What is protected by the directories above the workspace (sandbox/above.c says which they are).
 *
 * Each directory on the way from the root is looked at as if it were the workspace, in a list that
 * is thrown away. What it would bind read-only must not be the workspace, nor be around it; what
 * lies in the workspace is bound, or looked for afterwards, by the list proper.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"

bool protect_is_on_the_way(const struct protect *p, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < p->above_count; i++)
		if (p->above[i].inode == inode && p->above[i].device == device)
			return true;
	return p->workspace_inode == inode && p->workspace_device == device;
}

/* A list for the protections of a directory above, with the arena of P. */
static struct protect *shadow_new(const struct protect *p, const struct protect_above *a)
{
	struct protect *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->arena = p->arena;
	q->paths = p->paths;
	q->home = p->home;
	q->other_homes = p->other_homes;
	q->other_home_count = p->other_home_count;
	q->workspace = a->path;
	q->workspace_device = a->device;
	q->workspace_inode = a->inode;
	q->has_company = p->has_company;
	q->workspace_fd = open(a->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return q;
}

static void shadow_done(struct protect **q)
{
	if (*q)
		fd_close((*q)->workspace_fd);
	free(*q);
}

static int shadow_plan(struct protect *q, const struct protect_above *a)
{
	struct stat st;

	if (q->workspace_fd < 0 || fstat(q->workspace_fd, &st) < 0)
		return -errno;
	if (st.st_ino != a->inode || st.st_dev != a->device)
		return -ESTALE;
	return protect_plan(q);
}

/* What the directory above would bind read-only. */
static bool holds_workspace(const struct protect *p, const struct protect *q)
{
	for (size_t i = 0; i < q->hold_count; i++) {
		const struct protect_hold *h = &q->holds[i];

		if (h->readonly && (path_is_in(p->workspace, h->path) ||
		                    protect_is_on_the_way(p, h->device, h->inode)))
			return true;
	}
	return false;
}

int protect_above_check(const struct protect *p, struct error *err)
{
	for (size_t i = 0; !p->readonly && i < p->above_count; i++) {
		scoped(shadow_done) struct protect *q = shadow_new(p, &p->above[i]);
		int r;

		if (!q)
			return error_nomem(err);
		q->mounts = true; /* only then links are followed to where they lead */
		r = shadow_plan(q, &p->above[i]);
		if (r < 0)
			return q->refusal ? error_set(err, ERROR_LIMIT, -r, "%s", q->refusal)
			                  : error_set(err, ERROR_SYSTEM, -r,
			                              "protected paths above the workspace: %s",
			                              strerrordesc_np(-r));
		if (holds_workspace(p, q))
			return 1;
	}
	return 0;
}

/* What is INSIDE of Q's directory, relative to the workspace; NULL: it lies elsewhere. */
static const char *relative(const struct protect *p, const struct protect *q, const char *inside)
{
	size_t top = strcmp(q->workspace, "/") == 0 ? 0 : strlen(q->workspace);
	const char *down = p->workspace + top + 1;
	size_t n = strlen(down);

	return strncmp(inside, down, n) == 0 && inside[n] == '/' ? inside + n + 1 : NULL;
}

static int take_absent(struct protect *p, const struct protect *q, const struct protect_absent *a)
{
	struct protect_absent mine = *a;
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
	if (p->absent_count == PROTECT_ABSENT_MAX)
		return -E2BIG;
	p->absent[p->absent_count++] = mine;
	return 0;
}

static int take_all(struct protect *p, const struct protect *q)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->hold_count; i++) {
		const struct protect_hold *h = &q->holds[i];

		if (path_is_in(h->path, p->workspace) && strcmp(h->path, p->workspace) != 0)
			r = protect_hold_add(p, h);
	}
	for (size_t i = 0; r == 0 && i < q->absent_count; i++)
		r = take_absent(p, q, &q->absent[i]);
	return r;
}

int protect_above_plan(struct protect *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->above_count; i++) {
		scoped(shadow_done) struct protect *q = shadow_new(p, &p->above[i]);

		if (!q)
			return -ENOMEM;
		q->readonly = p->readonly;
		q->mounts = p->mounts;
		q->witnesses = p->witnesses;
		r = shadow_plan(q, &p->above[i]);
		if (r == 0 && holds_workspace(p, q)) /* since it was looked at */
			r = -ESTALE;
		if (q->refusal) /* in the same arena */
			p->refusal = q->refusal;
		if (r == 0)
			r = take_all(p, q);
	}
	return r;
}
