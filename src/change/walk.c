#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "change/inside.h"

void change_walk_init(struct change_walk *w, int root)
{
	w->root = root;
	w->fd = -1;
	w->path[0] = '\0';
}

void change_walk_done(struct change_walk *w)
{
	fd_close(take_fd(&w->fd));
}

void change_walk_forget(struct change_walk *w)
{
	change_walk_done(w);
}

/* Part by part, so that it needs no openat2(): a part that has become a link is not followed, and
 * there is no way up. */
static int walk(int root, char *path)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), above;

	for (char *part = path; fd >= 0 && *part;) {
		size_t n = strcspn(part, "/");
		bool more = part[n] == '/';

		part[n] = '\0';
		above = fd;
		fd = openat(above, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close(above);
		if (more)
			part[n] = '/';
		part += n + more;
	}
	return fd < 0 ? -errno : fd;
}

int change_walk_above(struct change_walk *w, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	*ret_name = slash ? slash + 1 : path;
	if (w->fd >= 0 && strncmp(w->path, path, n) == 0 && w->path[n] == '\0')
		return w->fd;
	change_walk_done(w);
	if (n >= sizeof(w->path))
		return -ENAMETOOLONG;
	memcpy(w->path, path, n);
	w->path[n] = '\0';
	w->fd = walk(w->root, w->path);
	return w->fd;
}

DIR *change_open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int sys = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = sys;
	return dir;
}
