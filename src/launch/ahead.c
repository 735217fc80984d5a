#include "launch/ahead.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "launch/heritage.h"
#include "process/clone.h"
#include "task/standby.h"
#include "launch/inside.h"

#define LEAVE_MS    2000
#define GREETING_MS 200 /* a launcher that takes longer is stopped, or has much to do */

struct ahead {
	int orders;   /* -1: no order will come */
	pid_t keeper; /* 0: not our child */
	int keeper_fd;
	bool asked; /* it is a launcher's, and greets */
};

struct ahead *ahead_new(const struct keeper_ahead *wanted)
{
	scoped(ahead_freep) struct ahead *a = malloc(sizeof(*a));
	struct keeper_ahead theirs = *wanted;
	int sockets[2];

	if (!a)
		return NULL;
	*a = (struct ahead){.orders = -1, .keeper_fd = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return NULL;
	a->orders = sockets[0];
	theirs.orders = sockets[1];
	a->keeper = process_clone(&a->keeper_fd);
	if (a->keeper == 0)
		keeper_begin(&theirs);
	fd_close(sockets[1]);
	/* It has more to do than we have. Where it was put behind us, it goes first. */
	(void)sched_yield();
	return a->keeper < 0 ? NULL : take_ptr(&a);
}

struct ahead *ahead_come(const char *state, const char *session, bool *ret_missing)
{
	scoped(ahead_freep) struct ahead *a = malloc(sizeof(*a));
	const uint32_t kind = STANDBY_COME;
	char name[STANDBY_NAME_MAX + 1];
	scoped(fd_closep) int dir = -1;

	*ret_missing = false;
	if (!a)
		return NULL;
	*a = (struct ahead){.orders = -1, .keeper_fd = -1, .asked = true};
	if (heritage_name(name) < 0)
		return NULL;
	dir = standby_open(state, false);
	a->orders = dir < 0 ? dir : standby_connect(dir, name);
	*ret_missing = a->orders == -ENOENT || a->orders == -ECONNREFUSED;
	if (a->orders < 0 ||
	    packet_send(a->orders, &kind, sizeof(kind), session, strlen(session), NULL, 0, 0) < 0)
		return NULL;
	return take_ptr(&a);
}

int ahead_ask(struct ahead *a, const struct keeper_order *order, const struct profile *profile)
{
	scoped(buffer_donep) struct buffer key = {.max = LAUNCHER_KEY_MAX};
	const uint32_t kind = STANDBY_KEEPER;
	int r = launcher_key_write(order, profile, &key);

	return r < 0 ? r
	             : packet_send(a->orders, &kind, sizeof(kind), key.data, key.len, NULL, 0, 0);
}

/* Only then is there a keeper that has heard of us, and of nobody else. */
static int await_greeting(const struct ahead *a)
{
	struct pollfd p = {.fd = a->orders, .events = POLLIN};
	char byte;

	if (!a->asked)
		return 0;
	if (poll(&p, 1, GREETING_MS) <= 0)
		return -ETIMEDOUT;
	return packet_get(a->orders, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EPIPE;
}

void ahead_drop(struct ahead *a)
{
	if (a)
		fd_close(take_fd(&a->orders));
}

struct ahead *ahead_free(struct ahead *a)
{
	struct pollfd end = {.events = POLLIN};

	if (!a)
		return NULL;
	ahead_drop(a);
	end.fd = a->keeper_fd;
	/* One that hangs on a file system that does not answer must not keep us. */
	if (a->keeper > 0 && poll(&end, 1, LEAVE_MS) == 1)
		(void)waitpid(a->keeper, NULL, WNOHANG);
	fd_close(a->keeper_fd);
	free(a);
	return NULL;
}

static int send_order(void *owner, struct task *t, const struct keeper_order *order,
                      const struct keeper_fds *fds, const struct buffer *text, struct error *err)
{
	bool fits = text->len < KEEPER_PACKET_MAX; /* and the NUL behind it */
	scoped(fd_closep) int file = fits ? -1 : memfd_create("nacre-order", MFD_CLOEXEC);
	struct ahead *a = owner;
	int list[KEEPER_FD_MAX], r;
	size_t count = keeper_fds_list(fds, fits ? fds->input : file, list);

	if (!fits && (file < 0 || fd_write_all(file, text->data, text->len) < 0))
		return error_sys(err, errno, "memory for an order");
	r = await_greeting(a);
	if (r == 0)
		r = packet_send(a->orders, text->data, fits ? text->len : 0, "", 1, list, count,
		                MSG_NOSIGNAL);
	if (r < 0)
		return error_sys(err, -r, "the keeper does not answer");
	ahead_drop(a);
	t->keeper = a->keeper;
	t->keeper_fd = take_fd(&a->keeper_fd);
	a->keeper = 0;
	return 0;
}

int ahead_start(struct ahead *a, struct store *store, struct keeper_order *order, int input_fd,
                struct task **ret_task, struct error *err)
{
	const struct task_starter starter = {send_order, a};

	return task_begin(store, order, input_fd, &starter, ret_task, err);
}
