#include "keeper/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"

/* A directory without spec.json belongs to a task that is being started, as long as somebody holds
 * its lock. */
static void lock_directory(int fd)
{
	struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 50 && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
		(void)nanosleep(&moment, NULL); /* somebody who lists tasks has just tried it */
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
	if (h->fd >= 0 || h->sys || h->tasks_fd < 0)
		return h->fd;
	if (h->is_there || mkdirat(h->tasks_fd, h->id, 0700) == 0)
		h->fd = openat(h->tasks_fd, h->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->fd < 0) {
		h->sys = errno;
		return -1;
	}
	if (!h->is_there)
		lock_directory(h->fd);
	write_spec(h);
	return h->fd;
}

void home_done(struct home *h)
{
	fd_close(take_fd(&h->spec_fd));
	fd_close(take_fd(&h->fd));
	fd_close(take_fd(&h->tasks_fd));
}
