#include "keeper/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"
#include "task/control.h"

/* More than a socket holds of the longest ones. */
#define ORDERS_A_TURN 256

void listen_init(struct listen *l)
{
	*l = (struct listen){.fd = -1, .dir_fd = -1, .room = {-1, -1, -1}};
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		l->clients[i] = -1;
}

int listen_open(struct listen *l, int dir_fd)
{
	scoped(fd_closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	/* An address has room for 108 bytes; the directory may have a longer name. */
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/sock", dir_fd);
	/* The new file has the mode of the socket: nobody else can connect, not even for a moment.
	 */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	if (listen(fd, LISTEN_CLIENTS_MAX) < 0) {
		int sys = errno;

		(void)unlinkat(dir_fd, "sock", 0);
		return -sys;
	}
	l->dir_fd = dir_fd;
	l->fd = take_fd(&fd);
	return 0;
}

void listen_close(struct listen *l)
{
	if (l->fd >= 0)
		(void)unlinkat(l->dir_fd, "sock", 0);
	fd_close(take_fd(&l->fd));
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		fd_close(take_fd(&l->clients[i]));
}

void listen_watch(const struct listen *l, struct pollfd *into)
{
	into[0] = (struct pollfd){.fd = l->fd, .events = POLLIN};
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		into[1 + i] = (struct pollfd){.fd = l->clients[i], .events = POLLIN};
}

/* The directory is private already; this also holds where somebody has opened it up. */
static bool may_order(int fd)
{
	socklen_t n = sizeof(struct ucred);
	struct ucred who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
	       (who.uid == 0 || who.uid == geteuid());
}

/* Who finds all places taken sees the end of his connection, and may come again. */
static void greet(struct listen *l)
{
	scoped(fd_closep) int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	scoped(fd_closep) int self = -1;

	if (fd < 0 || !may_order(fd))
		return;
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++) {
		if (l->clients[i] >= 0)
			continue;
		self = pidfd_open(getpid(), 0);
		if (control_send(fd, CONTROL_HELLO, NULL, 0, self) == 0)
			l->clients[i] = take_fd(&fd);
		return;
	}
}

/* False: there is no other one yet. */
static void hand_out_room(int client, const int room[3])
{
	const uint32_t kind = CONTROL_ROOM;

	(void)packet_send(client, &kind, sizeof(kind), NULL, 0, room,
	                  room[0] < 0   ? 0
	                  : room[2] < 0 ? 2
	                                : 3,
	                  MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool take_order(const struct listen *l, int *client, listen_order order, void *owner)
{
	char bytes[sizeof(uint32_t) + LISTEN_ORDER_MAX];
	int fds[PACKET_FDS_MAX];
	uint32_t kind;
	size_t count;
	ssize_t n = packet_receive(*client, bytes, sizeof(bytes), fds, &count, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return false;
	for (size_t i = 0; i < count; i++) /* no order has any */
		fd_close(fds[i]);
	if (n < (ssize_t)sizeof(kind) || count > 0) {
		fd_close(take_fd(client));
		return false;
	}
	memcpy(&kind, bytes, sizeof(kind));
	if (kind == CONTROL_ROOM)
		hand_out_room(*client, l->room);
	else
		order(owner, kind, bytes + sizeof(kind), (size_t)n - sizeof(kind));
	return *client >= 0;
}

/* All that one has sent comes before what another sends who has come after that. */
static void take_orders(const struct listen *l, int *client, listen_order order, void *owner)
{
	for (int i = 0; i < ORDERS_A_TURN && take_order(l, client, order, owner); i++)
		;
}

void listen_serve(struct listen *l, const struct pollfd *polled, listen_order order, void *owner)
{
	for (int i = 0; i < LISTEN_CLIENTS_MAX; i++)
		if (polled[1 + i].revents && polled[1 + i].fd == l->clients[i])
			take_orders(l, &l->clients[i], order, owner);
	if (polled[0].revents)
		greet(l);
}
