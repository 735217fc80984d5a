#include "task/standby.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"

#define ANSWER_MS 200 /* a launcher that is busy for longer is not waited for */

int standby_open(const char *state, bool make)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/launchers", state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(AT_FDCWD, path);
}

/* The directory is private already. This also holds for a link in it that leads elsewhere. */
static bool is_ours(int fd, pid_t *ret_pid)
{
	socklen_t n = sizeof(struct ucred);
	struct ucred who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != geteuid())
		return false;
	*ret_pid = who.pid;
	return true;
}

static int connect_to(int dir, const char *name, pid_t *ret_pid)
{
	scoped(fd_closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	/* An address has room for 108 bytes; the directory may have a longer name. */
	if (snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", dir, name) >=
	    (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return is_ours(fd, ret_pid) ? take_fd(&fd) : -EPERM;
}

int standby_connect(int dir, const char *name)
{
	pid_t pid;

	return connect_to(dir, name, &pid);
}

int standby_each(int dir, standby_visit *visit, void *context)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!list) {
		fd_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (d = readdir(list))) {
		size_t n = strlen(d->d_name);

		if (n > strlen(STANDBY_SUFFIX) && n <= STANDBY_NAME_MAX &&
		    strcmp(d->d_name + n - strlen(STANDBY_SUFFIX), STANDBY_SUFFIX) == 0)
			r = visit(context, dir, d->d_name);
	}
	closedir(list);
	return r;
}

struct question {
	enum standby_kind kind;
	const char *room;
	int fds[PACKET_FDS_MAX];
	size_t count;
	struct standby_info info;
};

/* 1: it has what was asked for. */
static int ask_one(void *context, int dir, const char *name)
{
	struct question *q = context;
	const uint32_t kind = q->kind;
	pid_t pid = 0;
	scoped(fd_closep) int fd = connect_to(dir, name, &pid);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (fd < 0 || pid == getpid() || /* which would wait for itself */
	    packet_send(fd, &kind, sizeof(kind), q->room, strlen(q->room), NULL, 0, 0) < 0 ||
	    poll(&p, 1, ANSWER_MS) <= 0)
		return 0;
	return packet_receive(fd, &q->info, sizeof(q->info), q->fds, &q->count, MSG_DONTWAIT) ==
	                       (ssize_t)sizeof(q->info)
	               ? 1
	               : 0;
}

static int ask_all(const char *state, struct question *q)
{
	scoped(fd_closep) int dir = standby_open(state, false);

	if (dir < 0)
		return dir;
	return standby_each(dir, ask_one, q) == 1 ? 0 : -ENOENT;
}

int standby_room(const char *state, const char *room, int ret_fds[2])
{
	struct question q = {.kind = STANDBY_ROOM, .room = room};
	int r = ask_all(state, &q);

	if (r == 0 && q.count == 2) {
		ret_fds[0] = q.fds[0];
		ret_fds[1] = q.fds[1];
		return 0;
	}
	for (size_t i = 0; i < q.count; i++)
		fd_close(q.fds[i]);
	return r < 0 ? r : -ENOENT;
}

int standby_look(const char *state, const char *room, struct standby_info *ret_info)
{
	struct question q = {.kind = STANDBY_LOOK, .room = room};
	int r = ask_all(state, &q);

	for (size_t i = 0; i < q.count; i++)
		fd_close(q.fds[i]);
	if (r == 0)
		*ret_info = q.info;
	return r;
}
