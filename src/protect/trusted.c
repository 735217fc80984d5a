/*
 * Whether what lies at a path of the work tree is exactly what a person's commits have there. Read
 * once: by then the command has ended, or the content is in a file that it cannot reach.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "protect/checkout.h"
#include "protect/history.h"
#include "protect/inside.h"

#define FILE_MAX  ((size_t)1 << 20)
#define FILES_MAX 512
#define DEPTH_MAX 16

struct look {
	struct history *history;
	struct buffer *none;
	size_t files, trusted;
	bool failed; /* too much of it */
};

static bool is_in_history(struct history *h, const char *path, unsigned mode, const void *bytes,
                          size_t n)
{
	struct git_id id;

	git_id_of(GIT_BLOB, bytes, n, history_id_bytes(h), &id);
	return history_has(h, path, mode, &id);
}

/* Only one that stays in the directory that is looked at: what it leads to elsewhere is not
 * protected, and may be anything. */
static bool is_trusted_link(struct history *h, int at, const char *name, const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(at, name, to, sizeof(to) - 1);

	if (n <= 0 || !strchr(path, '/'))
		return false;
	to[n] = '\0';
	return *to != '/' && !strstr(to, "..") &&
	       is_in_history(h, path, GIT_MODE_LINK, to, (size_t)n);
}

bool trusted_file(struct history *h, int fd, const char *path)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX};
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fd_read_all(fd, &text) == 0 &&
	       is_in_history(h, path, st.st_mode & 0100 ? GIT_MODE_PROGRAM : GIT_MODE_FILE,
	                     buffer_str(&text), text.len);
}

static void look_at(struct look *l, int at, const char *name, const char *path, int depth);

static void look_into(struct look *l, int fd, const char *path, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;

	if (!dir || depth == DEPTH_MAX) {
		l->failed = true;
		if (dir)
			closedir(dir);
		else
			fd_close(fd);
		return;
	}
	while (!l->failed && (d = readdir(dir))) {
		char below[PATH_MAX];

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, d->d_name) >= (int)sizeof(below))
			l->failed = true;
		else
			look_at(l, fd, d->d_name, below, depth + 1);
	}
	closedir(dir);
}

static void look_at(struct look *l, int at, const char *name, const char *path, int depth)
{
	scoped(fd_closep) int fd = -1;
	struct stat st;
	bool trusted = false;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			l->failed = true;
		else
			look_into(l, take_fd(&fd), path, depth);
		return;
	}
	if (++l->files > FILES_MAX) {
		l->failed = true;
		return;
	}
	if (S_ISLNK(st.st_mode)) {
		trusted = is_trusted_link(l->history, at, name, path);
	} else if (S_ISREG(st.st_mode)) {
		fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		trusted = fd >= 0 && trusted_file(l->history, fd, path);
	}
	if (trusted)
		l->trusted++;
	else if (l->none)
		buffer_append(l->none, path, strlen(path) + 1);
}

bool protect_is_trusted(struct history *h, int workspace_fd, const char *path, struct buffer *none)
{
	struct look l = {.history = h, .none = none};
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	scoped(fd_closep) int at = -1;

	if (!h)
		return false;
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
	         slash ? path : ".");
	at = workspace_open(workspace_fd, parent, O_PATH | O_DIRECTORY);
	if (at < 0)
		return false;
	look_at(&l, at, slash ? slash + 1 : path, path, 0);
	if (none && (l.failed || l.trusted == 0 || buffer_error(none) < 0))
		buffer_clear(none);
	return !l.failed && l.trusted > 0 && l.trusted == l.files;
}
