/*
 * Files beneath a directory, without openat2().
 *
 * Some places have no openat2(): filters of containers that do not know it, and units of systemd
 * with RestrictSUIDSGID or DynamicUser. There the path is walked part by part. Each part is opened
 * without following it; a link is read, and its text is walked in its place. So a part that
 * somebody replaces meanwhile leads no further than its own directory.
 *
 * Called between fork and exec, too: nothing here but system calls.
 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES_MAX 1000
#define LINKS_MAX 40 /* as the kernel has it */

struct walk {
	int top;                 /* where it begins; not ours */
	int at;                  /* the directory reached; TOP, or ours */
	char reached[PATH_MAX];  /* its path from TOP, without links; "" is TOP itself */
	char rest[2 * PATH_MAX]; /* what is to be walked still */
	int links;
};

static void leave(struct walk *w)
{
	if (w->at != w->top)
		close(w->at);
	w->at = w->top;
}

static int enter(struct walk *w, const char *name, size_t n)
{
	size_t had = strlen(w->reached);
	int fd;

	if (had + n + 2 > sizeof(w->reached))
		return -ENAMETOOLONG;
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	leave(w);
	w->at = fd;
	if (had > 0)
		w->reached[had++] = '/';
	memcpy(w->reached + had, name, n);
	w->reached[had + n] = '\0';
	return 0;
}

/* ".." is the directory that was walked through, not the parent that the last one has by now. */
static int go_up(struct walk *w)
{
	char path[PATH_MAX], *slash;
	int r = 0;

	if (!w->reached[0])
		return -EXDEV;
	memcpy(path, w->reached, sizeof(path));
	slash = strrchr(path, '/');
	path[slash ? slash - path : 0] = '\0';
	leave(w);
	w->reached[0] = '\0';
	for (char *part = path; r == 0 && *part;) {
		size_t n = strcspn(part, "/");
		bool more = part[n] == '/';

		part[n] = '\0';
		r = enter(w, part, n);
		part += n + more;
	}
	/* It was a directory a moment ago. */
	return r == -ENOENT || r == -ENOTDIR ? -EAGAIN : r;
}

static int follow(struct walk *w, int link, const char *behind)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text));
	size_t more = strlen(behind);

	if (n < 0)
		return -errno;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (n == 0 || n >= (ssize_t)sizeof(text))
		return n == 0 ? -ENOENT : -ENAMETOOLONG;
	if (text[0] == '/')
		return -EXDEV;
	if ((size_t)n + more + 1 > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n, behind, more + 1);
	memcpy(w->rest, text, (size_t)n);
	return 0;
}

/* The last part, which is no link that has to be followed. */
static int open_last(const struct walk *w, const char *name, uint64_t flags)
{
	int fd = openat(w->at, name, (int)(flags | O_NOFOLLOW | O_CLOEXEC), 0);

	return fd < 0 ? -errno : fd;
}

/* One part of the path: 0 to go on, 1 with *ret_fd at its end. */
static int step(struct walk *w, uint64_t flags, int *ret_fd)
{
	char name[NAME_MAX + 1];
	size_t n = strcspn(w->rest, "/"), skipped = n + strspn(w->rest + n, "/");
	bool slash = skipped > n, last = !w->rest[skipped];
	struct stat st;
	int fd, r;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest, n);
	name[n] = '\0';
	if (n <= 2 && strncmp(name, "..", n) == 0) {
		r = n == 2 ? go_up(w) : 0;
		memmove(w->rest, w->rest + skipped, strlen(w->rest + skipped) + 1);
		if (r == 0 && last) {
			*ret_fd = open_last(w, ".", flags);
			r = *ret_fd < 0 ? *ret_fd : 1;
		}
		return r;
	}
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && S_ISLNK(st.st_mode) && (!last || slash || !(flags & O_NOFOLLOW))) {
		r = follow(w, fd, w->rest + n);
	} else if (r == 0 && !last) {
		r = enter(w, name, n);
		memmove(w->rest, w->rest + skipped, strlen(w->rest + skipped) + 1);
	} else if (r == 0) {
		*ret_fd = open_last(w, name, flags | (slash ? O_DIRECTORY : 0));
		r = *ret_fd < 0 ? *ret_fd : 1;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static int walk(int dir, const char *path, uint64_t flags)
{
	struct walk w = {.top = dir, .at = dir};
	size_t n = strlen(path);
	int r = 0, fd = -1;

	if (n == 0 || n >= PATH_MAX)
		return n ? -ENAMETOOLONG : -ENOENT;
	if (*path == '/')
		return -EXDEV;
	memcpy(w.rest, path, n + 1);
	while (r == 0)
		r = step(&w, flags, &fd);
	leave(&w);
	return r < 0 ? r : fd;
}

int path_open_beneath(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd, tries = 0;

	do
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < TRIES_MAX);
	if (fd >= 0)
		return fd;
	/* EPERM: a filter that refuses what it does not know. */
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	do
		fd = walk(dir, path, flags);
	while (fd == -EAGAIN && ++tries < TRIES_MAX);
	return fd;
}

bool path_is_absent(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -EXDEV;
}
