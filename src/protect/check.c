/*
 * Protected paths after the command: what appeared is moved away, what changed is named.
 */
#include "protect/protect.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/checkout.h"
#include "protect/inside.h"

#define TRIES_MAX 100

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

/* A path that is protected, what came of it, and where. */
struct planted {
	const char *path;
	enum { ABSENT, ASIDE, RENAMED, STAYS, CHANGED } fate;
	char now[PATH_MAX]; /* if it was renamed on the spot */
};

/* Under a name that nothing looks for. The command may have made that, too. */
static bool rename_here(int fd, const char *name, const struct protect_aside *to, int number,
                        char into[NAME_MAX + 1])
{
	for (int i = 0; i < TRIES_MAX; i++) {
		snprintf(into, NAME_MAX + 1, "%.150s.planted-%.60s-%d", name, to->id,
		         number + i * PROTECT_ABSENT_MAX);
		if (renameat(fd, name, fd, into) == 0)
			return true;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != EISDIR && errno != ENOTDIR)
			return false;
	}
	return false;
}

/* Only the name is moved, whatever it is; nothing is opened. */
static void move_away(int workspace_fd, const char *path, const struct protect_aside *to,
                      int number, struct planted *planted)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n = slash ? (int)(slash - path) + 1 : 0;
	char parent[PATH_MAX], aside[NAME_MAX + 1];
	scoped(fd_closep) int fd = -1;
	int into_fd = to->open(to->owner);

	planted->fate = STAYS;
	snprintf(parent, sizeof(parent), "%.*s", n > 1 ? n - 1 : 1, slash ? path : ".");
	fd = workspace_open(workspace_fd, parent, O_PATH | O_DIRECTORY);
	if (fd < 0) {
		if (path_is_absent(fd))
			planted->fate = ABSENT;
		return;
	}
	make_writable(fd);
	snprintf(aside, sizeof(aside), "planted-%d", number);
	if (into_fd >= 0 && renameat(fd, name, into_fd, aside) == 0) {
		planted->fate = ASIDE;
	} else if (rename_here(fd, name, to, number, aside)) {
		planted->fate = RENAMED;
		snprintf(planted->now, sizeof(planted->now), "%.*s%s", n, path, aside);
	} else if (errno == ENOENT) {
		planted->fate = ABSENT;
	}
}

/* Whether nothing was made in the workspace's own directory since the plan. Times have the grain of
 * a tick, so a change shortly before the plan says nothing. */
static bool is_untouched(const struct protect *p, int workspace_fd)
{
	struct stat st;

	return p->workspace_settled && fstat(workspace_fd, &st) == 0 &&
	       st.st_ctim.tv_sec == p->workspace_changed.tv_sec &&
	       st.st_ctim.tv_nsec == p->workspace_changed.tv_nsec;
}

int workspace_open_anew(const struct protect *p)
{
	scoped(fd_closep) int fd =
		open(p->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == p->workspace_device && st.st_ino == p->workspace_inode ? take_fd(&fd)
	                                                                           : -ESTALE;
}

static bool is_same(const struct protect_absent *a, int fd)
{
	struct file_identity now;

	return a->same && fd >= 0 && file_identify(fd, &now) == 0 &&
	       now.inode == a->identity.inode && now.device == a->identity.device &&
	       now.born_ns == a->identity.born_ns;
}

static bool is_changed(const struct protect_absent *a, int fd)
{
	return fd < 0 || protect_content_of(fd) != a->content;
}

/* Whether it appeared; then it is moved away. */
static void look_for(int workspace_fd, const struct protect_absent *a, int fd,
                     const struct protect_aside *to, int number, struct planted *planted)
{
	char first[PATH_MAX];

	if (fd >= 0) {
		if (!protect_is_harmless(workspace_fd, a))
			move_away(workspace_fd, a->path, to, number, planted);
		return;
	}
	if (fd == -ENOENT)
		return;
	/* It leads out of the workspace, by a link that was made just now; or something is in its
	 * way that is no directory, or that nobody may look into. A file ".git" leads git to
	 * another one. */
	snprintf(first, sizeof(first), "%.*s", (int)a->missing, a->path);
	move_away(workspace_fd, first, to, number, planted);
}

/* Nothing is made in the workspace's own directory without its time changing. */
static bool is_passed_over(const struct protect_absent *a)
{
	return !a->content && !memchr(a->path, '/', a->same ? strlen(a->path) : a->missing);
}

/* The command has chosen parts of some names: one a line, and a tab between. */
static void put_name(struct buffer *names, const char *path)
{
	for (; *path; path++)
		buffer_putc(names, (unsigned char)*path < ' ' ? '?' : *path);
}

static void add_name(struct buffer *names, const char *path)
{
	if (names->len > 0)
		buffer_putc(names, '\n');
	put_name(names, path);
}

/* The whole line, or nothing of it. */
static void add_planted(struct buffer *names, const struct planted *planted)
{
	scoped(buffer_donep) struct buffer line = {0};
	static const char signs[] = {
		[RENAMED] = PROTECT_RENAMED, [STAYS] = PROTECT_STAYS, [CHANGED] = PROTECT_CHANGED};

	if (names->len > 0)
		buffer_putc(&line, '\n');
	put_name(&line, planted->path);
	if (planted->fate != ASIDE) {
		buffer_putc(&line, '\t');
		buffer_putc(&line, signs[planted->fate]);
		put_name(&line, planted->now);
	}
	buffer_append(names, line.data, line.len);
}

/* Of a directory that has something of a person's in it only the rest is moved. */
static int move_rest(int workspace_fd, const struct buffer *rest, const struct protect_aside *aside,
                     int number, struct buffer *planted)
{
	int count = 0;

	for (size_t at = 0; at < rest->len; at += strlen(rest->data + at) + 1) {
		struct planted found = {.path = rest->data + at};

		move_away(workspace_fd, found.path, aside, number + count, &found);
		if (found.fate == ABSENT)
			continue;
		add_planted(planted, &found);
		count++;
	}
	return count;
}

/* No commit has anything of git's own. */
static bool is_of_work_tree(const struct protect_absent *a)
{
	return !a->tree && strncmp(a->path, ".git/", 5) != 0 && !strstr(a->path, "/.git");
}

/* One path; how much was planted. */
static int check(int workspace_fd, const struct protect_absent *a,
                 const struct protect_aside *aside, int number, struct buffer *planted,
                 struct buffer *replaced)
{
	scoped(fd_closep) int fd = workspace_open(workspace_fd, a->path, O_PATH | O_NOFOLLOW);
	scoped(buffer_donep) struct buffer rest = {0};
	struct planted found = {.path = a->path};

	if (is_same(a, fd) || (a->content && !is_changed(a, fd)))
		return 0;
	if (fd >= 0 && aside->history && is_of_work_tree(a) &&
	    !protect_is_harmless(workspace_fd, a)) {
		if (protect_is_trusted(aside->history(aside->owner), workspace_fd, a->path, &rest))
			return 0;
		if (rest.len > 0 && !a->stays && !a->content)
			return move_rest(workspace_fd, &rest, aside, number, planted);
	}
	if (a->stays) {
		if (fd >= 0 && !protect_is_harmless(workspace_fd, a))
			add_name(replaced, a->path);
		return 0;
	}
	if (!a->content)
		look_for(workspace_fd, a, fd, aside, number, &found);
	else
		found.fate = CHANGED;
	if (found.fate == ABSENT)
		return 0;
	add_planted(planted, &found);
	return 1;
}

int protect_check(const struct protect *p, const struct protect_aside *aside,
                  struct buffer *planted, struct buffer *replaced)
{
	scoped(fd_closep) int workspace_fd = -1;
	bool untouched;
	int count = 0;

	assert(aside->open && aside->id);
	if (p->absent_count > 0)
		workspace_fd = workspace_open_anew(p);
	untouched = workspace_fd >= 0 && is_untouched(p, workspace_fd);
	for (size_t i = 0; workspace_fd >= 0 && i < p->absent_count; i++)
		if (!(untouched && is_passed_over(&p->absent[i])))
			count += check(workspace_fd, &p->absent[i], aside, aside->first + count,
			               planted, replaced);
	return count;
}
