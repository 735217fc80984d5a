#include "keeper/relay.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"
#include "task/control.h"

static void give_up(struct relay *r)
{
	r->broken = true;
	relay_close(r);
}

static size_t write_some(struct relay *r, const char *bytes, size_t n)
{
	size_t done = 0;
	ssize_t w;

	while (done < n) {
		w = write(r->fd, bytes + done, n - done);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && errno != EAGAIN)
			give_up(r);
		if (w < 0)
			break;
		done += (size_t)w;
	}
	return done;
}

bool relay_waits(const struct relay *r)
{
	return r->fd >= 0 && r->taken < r->rest.len;
}

void relay_push(struct relay *r)
{
	if (!relay_waits(r))
		return;
	r->taken += write_some(r, r->rest.data + r->taken, r->rest.len - r->taken);
	if (r->taken == r->rest.len) {
		buffer_clear(&r->rest);
		r->taken = 0;
	}
}

void relay_put(struct relay *r, const char *bytes, size_t n)
{
	size_t done = 0;

	if (r->fd < 0)
		return;
	if (!relay_waits(r))
		done = write_some(r, bytes, n);
	if (r->fd < 0 || done == n)
		return;
	buffer_append(&r->rest, bytes + done, n - done);
	if (buffer_error(&r->rest) < 0)
		give_up(r);
}

void relay_close(struct relay *r)
{
	fd_close(take_fd(&r->fd));
	buffer_done(&r->rest);
	r->taken = 0;
}

int relay_receive(int control, bool merged, struct relay *ret_first, struct relay *ret_second)
{
	struct relay *const relays[2] = {ret_first, ret_second};
	size_t wanted = merged ? 1 : 2, count = 0;
	int fds[PACKET_FDS_MAX];
	uint32_t kind = 0;
	ssize_t n = packet_receive(control, &kind, sizeof(kind), fds, &count, MSG_DONTWAIT);

	if (n != (ssize_t)sizeof(kind) || kind != CONTROL_RELAY || count != wanted) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		return n < 0 ? (int)n : -EPROTO;
	}
	for (size_t i = 0; i < wanted; i++) {
		*relays[i] = RELAY_NONE;
		relays[i]->fd = fds[i];
	}
	return 0;
}
