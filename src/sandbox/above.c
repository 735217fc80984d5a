/*
 * The directories above the workspace.
 *
 * The operator gives a caller one directory, the root; the caller chooses its workspace in it. What
 * is secret or protected is a property of the root and of every directory on the way down, not of
 * the directory that the caller chose: else `workspace: ".ssh"` would show the keys, and
 * `workspace: ".git/hooks"` would write what the operator's next commit runs.
 *
 * Here are the secrets; protect/above.c has what is protected.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
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
	struct protect_above *a = &p->above[p->above_count];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (strcmp(path, p->workspace) == 0)
		return st.st_ino == p->workspace_inode && st.st_dev == p->workspace_device
		               ? 0
		               : -ESTALE;
	*a = (struct protect_above){
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

/* By its path, and by what it is: another mount, or letters that the file system holds equal, give
 * a directory a second path. */
static bool is_around(const struct sandbox_plan *p, const char *path, const struct stat *st)
{
	return path_is_in(p->workspace, path) ||
	       (st && S_ISDIR(st->st_mode) &&
	        protect_is_on_the_way(&p->protect, st->st_dev, st->st_ino));
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

int box_above_check(struct sandbox_plan *p, struct error *err)
{
	int r = check_hidden(p, err);

	if (r == 0)
		r = protect_above_check(&p->protect, err);
	return r > 0 ? refuse(err, "it is protected in a directory above it") : r;
}

int sandbox_place_check(const struct sandbox_spec *spec, const struct sandbox_place *place,
                        struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = NULL;

	return box_plan_begin(spec, place, &p, err);
}
