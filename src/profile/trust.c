/*
 * The path is walked one component at a time on held descriptors, and each is looked at before it
 * is used: a check of names beforehand could be told one file and be given another.
 */
#include "profile/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "yaml/yaml.h"

#define LINKS_MAX 40

struct walk {
	int dir;             /* where we are */
	char rest[PATH_MAX]; /* what is left of the path */
	const char *path;    /* as it was given, for messages */
	uid_t uid;
	bool bounded; /* by the directory that must not be on the way */
	dev_t outside_device;
	ino_t outside_inode;
	int links;
	struct error *err;
};

static int check(struct walk *w, const struct stat *st, const char *name)
{
	bool sticky_dir = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

	if (st->st_uid != 0 && st->st_uid != w->uid)
		return error_set(w->err, ERROR_INPUT, EPERM,
		                 "%s: refused, since '%s' belongs to another user (%u)",
		                 yaml_name_shown(w->path), name, (unsigned)st->st_uid);
	if (S_ISLNK(st->st_mode) || sticky_dir || !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	if (!(st->st_mode & S_IWOTH) && trust_group(w->uid, st->st_gid))
		return 0;
	return error_set(w->err, ERROR_INPUT, EPERM,
	                 "%s: refused, since others can write '%s' (mode %04o): chmod go-w",
	                 w->path, name, st->st_mode & 07777);
}

static int fail(struct walk *w, int sys)
{
	return error_sys(w->err, sys, "%s", yaml_name_shown(w->path));
}

static int go_to(struct walk *w, int fd, const char *name)
{
	struct stat st;

	if (fd < 0)
		return fail(w, errno);
	fd_close(w->dir);
	w->dir = fd;
	if (fstat(fd, &st) < 0)
		return fail(w, errno);
	if (w->bounded && st.st_dev == w->outside_device && st.st_ino == w->outside_inode)
		return error_set(w->err, ERROR_INPUT, EPERM,
		                 "%s: refused, since it lies in the workspace, where commands can "
		                 "write: choose another workspace, or move the file",
		                 yaml_name_shown(w->path));
	return check(w, &st, name);
}

static int follow(struct walk *w, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

	if (n < 0)
		return fail(w, errno);
	target[n] = '\0';
	if (++w->links > LINKS_MAX)
		return fail(w, ELOOP);
	if ((size_t)snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= sizeof(rest))
		return fail(w, ENAMETOOLONG);
	memcpy(w->rest, rest, strlen(rest) + 1);
	if (target[0] != '/')
		return 0;
	return go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
}

/* What was looked at through O_PATH is opened for reading, and must be the same. */
static int open_file(struct walk *w, const char *name, const struct stat *seen)
{
	scoped(fd_closep) int fd =
		openat(w->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(w, errno);
	if (st.st_dev != seen->st_dev || st.st_ino != seen->st_ino || !S_ISREG(st.st_mode))
		return fail(w, ESTALE);
	return take_fd(&fd);
}

/* One component: into a directory, along a link, or at the end the file (then *ret_fd is set). */
static int step(struct walk *w, const char *name, int *ret_fd)
{
	scoped(fd_closep) int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(w, errno);
	if (S_ISDIR(st.st_mode) && *w->rest)
		return go_to(w, take_fd(&fd), name);
	r = check(w, &st, name);
	if (r < 0)
		return r;
	if (S_ISLNK(st.st_mode))
		return follow(w, fd);
	if (*w->rest)
		return fail(w, ENOTDIR);
	if (!S_ISREG(st.st_mode))
		return error_set(w->err, ERROR_INPUT, EINVAL, "%s: this is no regular file",
		                 w->path);
	r = open_file(w, name, &st);
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}

static int start(struct walk *w)
{
	char cwd[PATH_MAX];
	int n;

	if (w->path[0] == '/') {
		n = snprintf(w->rest, sizeof(w->rest), "%s", w->path);
	} else {
		if (!getcwd(cwd, sizeof(cwd)))
			return fail(w, errno);
		n = snprintf(w->rest, sizeof(w->rest), "%s/%s", cwd, w->path);
	}
	if (n < 0 || (size_t)n >= sizeof(w->rest))
		return fail(w, ENAMETOOLONG);
	return go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
}

static int walk(struct walk *w, int *ret_fd)
{
	char name[NAME_MAX + 1];
	int r = start(w);

	while (r == 0 && *ret_fd < 0) {
		const char *p = w->rest + strspn(w->rest, "/");
		size_t n = strcspn(p, "/");

		if (n == 0)
			return error_set(w->err, ERROR_INPUT, EISDIR, "%s: this is a directory",
			                 w->path);
		if (n > NAME_MAX)
			return fail(w, ENAMETOOLONG);
		memcpy(name, p, n);
		name[n] = '\0';
		p += n + strspn(p + n, "/");
		memmove(w->rest, p, strlen(p) + 1);
		r = step(w, name, ret_fd);
	}
	return r;
}

int trust_open(const char *path, uid_t uid, int outside_fd, struct error *err)
{
	struct walk w = {.dir = -1, .path = path, .uid = uid, .err = err};
	struct stat st;
	int fd = -1, r;

	if (outside_fd >= 0) {
		if (fstat(outside_fd, &st) < 0)
			return fail(&w, errno);
		w.bounded = true;
		w.outside_device = st.st_dev;
		w.outside_inode = st.st_ino;
	}
	r = walk(&w, &fd);
	fd_close(w.dir);
	return r < 0 ? r : fd;
}
