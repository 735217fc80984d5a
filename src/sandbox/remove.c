/*
 * Removes a directory that a command could fill as it liked: unreadable parts are made readable,
 * and what lies very deep is pulled up instead of being walked to, so that a descriptor is held for
 * few levels only. Nothing is followed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/box.h"

#define DEPTH_MAX 32

struct removal {
	int top;
	unsigned pulled;
};

static void remove_entries(struct removal *r, int fd, int depth);

static void remove_directory(struct removal *r, int parent, const char *name, int depth)
{
	char aside[32];
	int fd;

	if (depth == DEPTH_MAX) {
		snprintf(aside, sizeof(aside), ".deep-%u", r->pulled++);
		if (renameat(parent, name, r->top, aside) < 0 &&
		    fchmodat(parent, name, 0700, 0) == 0)
			(void)renameat(parent, name, r->top, aside); /* its own ".." is written */
		return;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Only a real directory gets here, and nobody is left who could put a link in its place. */
	if (fd < 0 && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		(void)fchmod(fd, 0700);
		remove_entries(r, fd, depth + 1);
	}
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Takes FD. */
static void remove_entries(struct removal *r, int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		fd_close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, d->d_name, 0) < 0)
			remove_directory(r, fd, d->d_name, depth);
	}
	closedir(dir);
}

void box_remove(const char *path)
{
	struct removal r = {.top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
	unsigned before;
	int fd;

	if (r.top < 0 && chmod(path, 0700) == 0)
		r.top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r.top < 0)
		return;
	(void)fchmod(r.top, 0700);
	do { /* what was pulled up is there for the next round */
		before = r.pulled;
		fd = openat(r.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			remove_entries(&r, fd, 0);
	} while (r.pulled > before);
	close(r.top);
	(void)rmdir(path);
}
