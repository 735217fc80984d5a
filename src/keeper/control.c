#include "keeper/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "keeper/report.h"

union ancillary {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int control_send(int socket, enum control_kind kind, const char *text, size_t n, int fd)
{
	uint32_t wire_kind = kind;
	struct iovec parts[2] = {{&wire_kind, sizeof(wire_kind)}, {(void *)(uintptr_t)text, n}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = text ? 2 : 1};
	union ancillary a = {0};

	if (fd >= 0) {
		m.msg_control = a.bytes;
		m.msg_controllen = sizeof(a.bytes);
		a.header.cmsg_level = SOL_SOCKET;
		a.header.cmsg_type = SCM_RIGHTS;
		a.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&a.header), &fd, sizeof(fd));
	}
	if (sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	return 0;
}

int control_receive(int socket, enum control_kind *ret_kind, struct buffer *text, int *ret_fd)
{
	char bytes[REPORT_BYTES_MAX];
	uint32_t kind = 0;
	struct iovec parts[2] = {{&kind, sizeof(kind)}, {bytes, sizeof(bytes)}};
	union ancillary a = {0};
	struct msghdr m = {.msg_iov = parts,
	                   .msg_iovlen = 2,
	                   .msg_control = a.bytes,
	                   .msg_controllen = sizeof(a.bytes)};
	scoped(fd_closep) int fd = -1;
	bool surplus = false;
	struct cmsghdr *c;
	ssize_t n;

	n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* A peer that ended with orders unread says so first; what it had sent is still there. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&m);
	/* The kernel closes what does not fit; alignment leaves room for a second one. */
	for (size_t i = 0; c && c->cmsg_len >= CMSG_LEN((i + 1) * sizeof(int)); i++) {
		fd_close(fd);
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		surplus = i > 0;
	}
	if (surplus || (size_t)n < sizeof(kind) || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    kind > CONTROL_REPORT)
		return -EBADMSG;
	buffer_clear(text);
	buffer_append(text, bytes, (size_t)n - sizeof(kind));
	if (buffer_error(text) < 0)
		return -ENOMEM;
	*ret_kind = (enum control_kind)kind;
	*ret_fd = take_fd(&fd);
	return 1;
}
