/*
 * Unreadable parts are made readable, and what lies very deep is pulled up instead of being walked
 * to, so that a descriptor is held for few levels only. Nothing is followed.
 */
#include "base/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"

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
		    fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
			(void)renameat(parent, name, r->top, aside); /* its own ".." is written */
		return;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Somebody may put a link in its place meanwhile: its target keeps its mode. */
	if (fd < 0 && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
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

static int open_top(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_tree(int parent, const char *name)
{
	struct removal r = {.top = open_top(parent, name)};
	unsigned before;
	struct stat st;
	int fd;

	if (r.top < 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		r.top = open_top(parent, name);
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
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}
