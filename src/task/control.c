#include "task/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/packet.h"
#include "task/report.h"

int control_send(int socket, enum control_kind kind, const char *text, size_t n, int fd)
{
	uint32_t wire_kind = kind;
	int r = packet_send(socket, &wire_kind, sizeof(wire_kind), text, n, &fd, fd >= 0,
	                    MSG_DONTWAIT);

	return r == 0 || r == -EAGAIN ? r : -EPIPE;
}

int control_receive(int socket, enum control_kind *ret_kind, struct buffer *text, int *ret_fd)
{
	char bytes[sizeof(uint32_t) + REPORT_BYTES_MAX + CONTROL_CAPTURE_MAX];
	int fds[PACKET_FDS_MAX];
	uint32_t kind = 0;
	size_t count;
	ssize_t n;

	n = packet_receive(socket, bytes, sizeof(bytes), fds, &count, MSG_DONTWAIT);
	/* A peer that ended with orders unread says so first; what it had sent is still there. */
	if (n == -ECONNRESET)
		n = packet_receive(socket, bytes, sizeof(bytes), fds, &count, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return 0;
	if (n == -EBADMSG)
		return -EBADMSG;
	if (n <= 0)
		return -EPIPE;
	if ((size_t)n >= sizeof(kind))
		memcpy(&kind, bytes, sizeof(kind));
	if (count > 1 || (size_t)n < sizeof(kind) || kind > CONTROL_LEFT) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		return -EBADMSG;
	}
	buffer_clear(text);
	buffer_append(text, bytes + sizeof(kind), (size_t)n - sizeof(kind));
	if (buffer_error(text) < 0) {
		if (count > 0)
			fd_close(fds[0]);
		return -ENOMEM;
	}
	*ret_kind = (enum control_kind)kind;
	*ret_fd = count > 0 ? fds[0] : -1;
	return 1;
}
