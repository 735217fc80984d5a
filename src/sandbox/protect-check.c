/*
 * Protected paths after the command: what appeared is moved away, what changed is named.
 */
#include "sandbox/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/box.h"

/* The command may have taken the right to change the directory from its owner. */
static void make_writable(int fd)
{
	struct stat st;
	char path[64];

	if (fstat(fd, &st) < 0 || (st.st_mode & 0300) == 0300 || geteuid() != st.st_uid)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, (st.st_mode | 0700) & 07777);
}

/* Only the name is moved, whatever it is; nothing is opened. */
static bool move_away(int workspace_fd, const char *path, const struct protect_aside *to,
                      int number)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[PATH_MAX], aside[NAME_MAX + 1];
	scoped(fd_closep) int fd = -1;
	int into_fd = to->open(to->owner);

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
	         slash ? path : ".");
	fd = box_open_inside(workspace_fd, parent, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return false;
	make_writable(fd);
	snprintf(aside, sizeof(aside), "planted-%d", number);
	if (into_fd >= 0) {
		if (renameat(fd, name, into_fd, aside) == 0)
			return true;
		if (errno == ENOENT)
			return false;
	}
	snprintf(aside, sizeof(aside), "%.150s.planted-%.60s-%d", name, to->id, number);
	return renameat(fd, name, fd, aside) == 0 || errno != ENOENT;
}

/* Whether nothing was made in the workspace's own directory since the plan. Times have the grain of
 * a tick, so a change shortly before the plan says nothing. */
static bool is_untouched(const struct sandbox_plan *p, int workspace_fd)
{
	struct stat st;

	return p->workspace_settled && fstat(workspace_fd, &st) == 0 &&
	       st.st_ctim.tv_sec == p->workspace_changed.tv_sec &&
	       st.st_ctim.tv_nsec == p->workspace_changed.tv_nsec;
}

/* Opened anew: the plan may come from a process that closed its descriptors since. */
static int open_workspace(const struct sandbox_plan *p)
{
	scoped(fd_closep) int fd =
		open(p->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == p->workspace_device && st.st_ino == p->workspace_inode ? take_fd(&fd)
	                                                                           : -ESTALE;
}

static bool is_same(const struct box_absent *a, int fd)
{
	struct box_absent now;

	return a->same && fd >= 0 && box_identify(fd, &now) == 0 && now.inode == a->inode &&
	       now.device == a->device && now.born_ns == a->born_ns;
}

static bool is_changed(const struct box_absent *a, int fd)
{
	return fd < 0 || box_content_of(fd) != a->content;
}

/* Whether it appeared; then it is moved away. */
static bool is_planted(int workspace_fd, const struct box_absent *a, int fd,
                       const struct protect_aside *to, int number)
{
	char first[PATH_MAX];

	if (fd >= 0)
		return !box_is_harmless(workspace_fd, a) &&
		       move_away(workspace_fd, a->path, to, number);
	if (fd != -EXDEV && fd != -ELOOP && fd != -ENOTDIR && fd != -EAGAIN)
		return false;
	/* It leads out of the workspace, by a link that was made just now; or something is in its
	 * way that is no directory. A file ".git" leads git to another one. */
	snprintf(first, sizeof(first), "%.*s", (int)a->missing, a->path);
	return move_away(workspace_fd, first, to, number);
}

/* Nothing is made in the workspace's own directory without its time changing. */
static bool is_passed_over(const struct box_absent *a)
{
	return !a->content && !memchr(a->path, '/', a->same ? strlen(a->path) : a->missing);
}

static void add_name(struct buffer *names, const char *path)
{
	if (names->len > 0)
		buffer_putc(names, '\n');
	buffer_puts(names, path);
}

int sandbox_protect_check(struct sandbox_plan *p, const struct protect_aside *aside,
                          struct buffer *planted, struct buffer *replaced)
{
	scoped(fd_closep) int workspace_fd = -1;
	bool untouched;
	int count = 0;

	if (p->absent_count > 0)
		workspace_fd = open_workspace(p);
	untouched = workspace_fd >= 0 && is_untouched(p, workspace_fd);
	for (size_t i = 0; workspace_fd >= 0 && i < p->absent_count; i++) {
		const struct box_absent *a = &p->absent[i];
		scoped(fd_closep) int fd = -1;

		if (untouched && is_passed_over(a))
			continue;
		fd = box_open_inside(workspace_fd, a->path, O_PATH | O_NOFOLLOW);
		if (is_same(a, fd))
			continue;
		if (a->stays) {
			if (fd >= 0 && !box_is_harmless(workspace_fd, a))
				add_name(replaced, a->path);
			continue;
		}
		if (a->content ? !is_changed(a, fd)
		               : !is_planted(workspace_fd, a, fd, aside, count))
			continue;
		count++;
		add_name(planted, a->path);
	}
	return count;
}
