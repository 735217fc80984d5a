#include "session/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/id.h"
#include "profile/profile.h"
#include "session/use.h"

#define JOB_SIZE 80 /* "job_" and an id */

void place_done(struct place *p)
{
	fd_close(take_fd(&p->workspace_fd));
	fd_close(take_fd(&p->cwd_fd));
}

bool place_is_inside(const char *path, const char *directory)
{
	return path_is_in(path, directory);
}

static int open_directory(int at, const char *what, const char *path, char into[PATH_MAX],
                          struct error *err)
{
	scoped(fd_closep) int fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, ERROR_INPUT, errno, "%s '%.150s': %s", what, path,
		                 strerrordesc_np(errno));
	if (path_of_fd(fd, into) < 0)
		return error_set(err, ERROR_UNSUPPORTED, errno,
		                 "/proc cannot be read (%s): nacre needs it mounted",
		                 strerrordesc_np(errno));
	return take_fd(&fd);
}

/* The directories of the operator may lie in each other; then the outermost is the root. */
static int open_root(struct place *p, const char *root, struct error *err)
{
	int fd = open_directory(AT_FDCWD, "root", root, p->root, err);

	if (fd < 0)
		return fd;
	fd_close(fd);
	return place_is_inside(p->workspace, p->root)
	               ? 0
	               : error_set(err, ERROR_INPUT, EXDEV,
	                           "workspace '%.100s' lies outside of its root", p->workspace);
}

int place_open_workspace(const char *operator_, const char *root, struct place *ret_place,
                         struct error *err)
{
	struct place p = {.workspace_fd = -1, .cwd_fd = -1};
	int r;

	p.workspace_fd = open_directory(AT_FDCWD, "workspace", operator_ ? operator_ : ".",
	                                p.workspace, err);
	if (p.workspace_fd < 0)
		return p.workspace_fd;
	memcpy(p.root, p.workspace, sizeof(p.root));
	memcpy(p.base, p.workspace, sizeof(p.base));
	r = root ? open_root(&p, root, err) : 0;
	if (r < 0) {
		place_done(&p);
		return r;
	}
	*ret_place = p;
	return 0;
}

/* Whether PATH lies below one of the roots, which may be links themselves; *best is the outermost
 * directory that it lies in so far, or empty. */
static bool below_a_root(const char *path, const char *const *roots, char best[PATH_MAX])
{
	bool found = false;
	char root[PATH_MAX];

	for (; *roots; roots++) {
		int fd = open_directory(AT_FDCWD, "root", *roots, root, NULL);

		if (fd < 0)
			continue;
		fd_close(fd);
		if (!place_is_inside(path, root))
			continue;
		found = true;
		if (!*best || strlen(root) < strlen(best))
			memcpy(best, root, sizeof(root));
	}
	return found;
}

bool place_raise_root(struct place *p, const struct profile *profile)
{
	size_t before = strlen(p->root);

	if (profile->workspace.roots)
		(void)below_a_root(p->workspace, profile->workspace.roots, p->root);
	return strlen(p->root) < before;
}

/* The calls of one session are one job. Its id is a name that no path can hide in. */
static int name_job(const char *session, char name[JOB_SIZE], struct error *err)
{
	char id[ID_UUID_SIZE];
	int r = session ? 0 : id_uuid(id);

	if (r < 0)
		return error_sys(err, -r, "random name of a job");
	if (session && !session_id_is_valid(session))
		return error_set(err, ERROR_INPUT, EINVAL, "'%.70s' is no id of a session",
		                 session);
	snprintf(name, JOB_SIZE, "job_%s", session ? session : id);
	return 0;
}

static int make_job(struct place *p, const char *root, const char *session, struct error *err)
{
	scoped(fd_closep) int root_fd = -1;
	char name[JOB_SIZE];
	int fd, r = name_job(session, name, err);

	if (r < 0)
		return r;
	if (mkdir(root, 0700) < 0 && errno != EEXIST)
		return error_sys(err, errno, "directory for jobs '%.150s'", root);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return error_sys(err, errno, "directory for jobs '%.150s'", root);
	if (mkdirat(root_fd, name, 0700) < 0 && !(session && errno == EEXIST))
		return error_sys(err, errno, "directory of a job");
	fd = open_directory(root_fd, "workspace", name, p->workspace, err);
	if (fd < 0)
		return fd;
	fd_close(p->workspace_fd);
	p->workspace_fd = fd;
	memcpy(p->root, p->workspace, sizeof(p->root));
	return 0;
}

static int depth_of(const char *path)
{
	int depth = 0;

	for (; *path; path++)
		depth += *path == '/' && path[1];
	return depth;
}

int place_choose_workspace(struct place *p, const struct profile *profile, const char *asked,
                           const char *session, struct error *err)
{
	const char *const *roots = profile->workspace.roots;
	scoped(fd_closep) int fd = -1;
	char path[PATH_MAX], root[PATH_MAX] = "";
	bool ours;

	if (!asked && profile->workspace.per_job && profile->workspace.root)
		return make_job(p, profile->workspace.root, session, err);
	if (!asked) {
		(void)place_raise_root(p, profile);
		return 0;
	}
	fd = open_directory(p->workspace_fd, "workspace", asked, path, err);
	if (fd < 0)
		return fd;
	ours = place_is_inside(path, p->workspace);
	if (ours)
		memcpy(root, p->root, sizeof(root));
	if (roots ? !below_a_root(path, roots, root) : !ours)
		return error_set(err, ERROR_INPUT, EXDEV,
		                 "workspace '%.100s' lies outside of what may be used", asked);
	if (depth_of(path) - depth_of(root) >= PATH_DESCENT_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG,
		                 "workspace '%.60s...' lies %d or more directories below its root",
		                 asked, PATH_DESCENT_MAX);
	fd_close(p->workspace_fd);
	p->workspace_fd = take_fd(&fd);
	memcpy(p->workspace, path, sizeof(path));
	memcpy(p->root, root, sizeof(root));
	return 0;
}

int place_open_cwd(struct place *p, const char *cwd, struct error *err)
{
	const char *wanted = cwd ? cwd : ".";

	p->cwd_fd = open_directory(p->workspace_fd, "working directory", wanted, p->cwd, err);
	if (p->cwd_fd < 0)
		return p->cwd_fd;
	if (!place_is_inside(p->cwd, p->workspace))
		return error_set(err, ERROR_INPUT, EXDEV,
		                 "working directory '%.100s' lies outside of the workspace",
		                 wanted);
	return 0;
}

const char *place_relative_cwd(const struct place *p)
{
	size_t n = strlen(p->workspace);

	if (strcmp(p->cwd, p->workspace) == 0)
		return ".";
	return p->cwd + (n == 1 ? 1 : n + 1);
}
