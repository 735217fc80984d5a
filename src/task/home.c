#include "task/home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"

int home_create(int tasks_fd, const char *id)
{
	scoped(fd_closep) int fd = -1;
	char unborn[NAME_MAX + 1];

	if (snprintf(unborn, sizeof(unborn), HOME_UNBORN "%s", id) >= (int)sizeof(unborn))
		return -ENAMETOOLONG;
	if (mkdirat(tasks_fd, unborn, 0700) < 0)
		return -errno;
	fd = openat(tasks_fd, unborn, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Nobody looks there, so nobody else has the lock; a taken name is an empty directory's. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    renameat2(tasks_fd, unborn, tasks_fd, id, RENAME_NOREPLACE) < 0) {
		int sys = errno;

		(void)unlinkat(tasks_fd, unborn, AT_REMOVEDIR);
		return -sys;
	}
	return take_fd(&fd);
}

/* A disk that is full leaves a part of the order, and the lock still says that the task lives. It
 * gets its name last: somebody who tries the lock must find it held. */
static void write_spec(struct home *h)
{
	h->spec_fd = openat(h->fd, ".spec.json.new",
	                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (h->spec_fd < 0 || flock(h->spec_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	(void)fd_write_all(h->spec_fd, h->order, h->order_bytes);
	(void)renameat(h->fd, ".spec.json.new", h->fd, "spec.json");
}

int home_make(struct home *h)
{
	int fd;

	if (h->fd < 0 && h->sys == 0 && h->tasks_fd >= 0) {
		fd = home_create(h->tasks_fd, h->id);
		h->fd = fd < 0 ? -1 : fd;
		h->sys = fd < 0 ? -fd : 0;
	}
	if (h->fd >= 0 && !h->written) {
		h->written = true;
		write_spec(h);
	}
	return h->fd;
}

void home_done(struct home *h)
{
	fd_close(take_fd(&h->spec_fd));
	fd_close(take_fd(&h->fd));
	fd_close(take_fd(&h->tasks_fd));
}
