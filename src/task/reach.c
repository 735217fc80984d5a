#include "task/reach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "task/find.h"

#define CONNECT_MS 2000 /* a keeper has its socket some milliseconds after its start */
#define HELLO_MS   5000
#define SEND_S     5

static int connect_once(int dir_fd, int flags)
{
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = SEND_S};

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/sock", dir_fd);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The greeting, with a pidfd; -EPIPE: all places were taken, or the keeper is ending. */
static int receive_hello(int socket)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int fd = -1;
	struct pollfd p = {.fd = socket, .events = POLLIN};
	enum control_kind kind;
	int r;

	if (poll(&p, 1, HELLO_MS) <= 0)
		return -ETIMEDOUT;
	r = control_receive(socket, &kind, &text, &fd);
	return r == 1 && kind == CONTROL_HELLO && fd >= 0 ? take_fd(&fd) : -EPIPE;
}

int reach_open(int dir_fd, struct reach *ret_reach, struct error *err)
{
	int64_t end = clock_now_ms() + CONNECT_MS;
	struct timespec moment = {.tv_nsec = 5000000};
	int fd, pidfd = -1;

	for (;;) {
		if (find_state(dir_fd) != FIND_RUNNING)
			return error_set(err, ERROR_INPUT, ESRCH, "the task is not running");
		fd = connect_once(dir_fd, 0);
		if (fd >= 0) {
			pidfd = receive_hello(fd);
			if (pidfd >= 0)
				break;
			fd_close(fd);
			fd = pidfd;
		}
		/* The directory is there: what is missing is the socket, or room at it. */
		if ((fd != -ENOENT && fd != -ECONNREFUSED && fd != -EPIPE && fd != -EAGAIN) ||
		    clock_now_ms() > end)
			return error_sys(err, -fd, "the keeper of the task does not answer");
		(void)nanosleep(&moment, NULL);
	}
	*ret_reach = (struct reach){.socket = fd, .keeper = pidfd};
	return 0;
}

int reach_try(int dir_fd, struct reach *ret_reach)
{
	int fd;

	if (find_state(dir_fd) != FIND_RUNNING)
		return -ESRCH;
	fd = connect_once(dir_fd, SOCK_NONBLOCK);
	if (fd < 0)
		return fd == -ENOENT || fd == -ECONNREFUSED ? -EAGAIN : fd;
	*ret_reach = (struct reach){.socket = fd, .keeper = -1};
	return 0;
}

int reach_greeted(struct reach *r)
{
	scoped(buffer_donep) struct buffer text = {0};
	enum control_kind kind;
	int fd = -1, code = control_receive(r->socket, &kind, &text, &fd);

	if (code == 0)
		return -EAGAIN;
	if (code == 1 && kind == CONTROL_HELLO && fd >= 0) {
		r->keeper = fd;
		return 0;
	}
	fd_close(fd);
	return -EPIPE;
}

int reach_order_now(struct reach *r, enum control_order order, const void *bytes, size_t n)
{
	uint32_t kind = order;

	return packet_send(r->socket, &kind, sizeof(kind), bytes, n, NULL, 0,
	                   MSG_NOSIGNAL | MSG_DONTWAIT);
}

void reach_done(struct reach *r)
{
	fd_close(take_fd(&r->socket));
	fd_close(take_fd(&r->keeper));
}

int reach_order(struct reach *r, enum control_order order, const void *bytes, size_t n)
{
	uint32_t kind = order;

	return packet_send(r->socket, &kind, sizeof(kind), bytes, n, NULL, 0, MSG_NOSIGNAL);
}

bool reach_wait(struct reach *r, int64_t timeout_ms)
{
	int64_t end = clock_now_ms() + timeout_ms, left;
	struct pollfd p = {.fd = r->keeper, .events = POLLIN};
	int n;

	do {
		left = end - clock_now_ms();
		n = poll(&p, 1, left > INT32_MAX ? INT32_MAX : left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

void reach_kill(struct reach *r)
{
	(void)pidfd_send_signal(r->keeper, SIGKILL, NULL, 0);
}

int reach_room(int dir_fd, int ret_fds[3])
{
	scoped(reach_donep) struct reach r = {.socket = -1, .keeper = -1};
	struct pollfd p = {.events = POLLIN};
	int fds[PACKET_FDS_MAX], code = reach_try(dir_fd, &r);
	size_t count = 0;
	uint32_t kind = 0;
	ssize_t n;

	if (code < 0)
		return code;
	p.fd = r.socket;
	if (poll(&p, 1, HELLO_MS) <= 0 || reach_greeted(&r) < 0 ||
	    reach_order(&r, CONTROL_ROOM, NULL, 0) < 0 || poll(&p, 1, HELLO_MS) <= 0)
		return -ETIMEDOUT;
	n = packet_receive(r.socket, &kind, sizeof(kind), fds, &count, MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(kind) && kind == CONTROL_ROOM && (count == 2 || count == 3)) {
		ret_fds[0] = fds[0];
		ret_fds[1] = fds[1];
		ret_fds[2] = count == 3 ? fds[2] : -1;
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return -ENOENT;
}
