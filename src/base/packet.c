#include "base/packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "base/fd.h"

union ancillary {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))];
};

/* The kernel counts descriptors that are under way for all processes of a user together, and
 * compares the sum with the limit of open files of who sends one more. Others of the user, a boxed
 * command among them, may have as many under way as they may have open. So the limit is lifted for
 * this one call, as far as it goes; no command may have as many. */
static ssize_t send_lifted(int socket, const struct msghdr *m, int flags)
{
	struct rlimit now, lifted;
	ssize_t r;
	int sys;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur >= now.rlim_max) {
		errno = ETOOMANYREFS;
		return -1;
	}
	lifted = (struct rlimit){.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
	(void)setrlimit(RLIMIT_NOFILE, &lifted);
	r = sendmsg(socket, m, flags);
	sys = errno;
	(void)setrlimit(RLIMIT_NOFILE, &now);
	errno = sys;
	return r;
}

int packet_send(int socket, const void *a, size_t a_len, const void *b, size_t b_len,
                const int *fds, size_t fd_count, int flags)
{
	/* sendmsg() only reads; its structure is older than const. */
	struct iovec parts[2] = {{(void *)(uintptr_t)a, a_len}, {(void *)(uintptr_t)b, b_len}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = b ? 2 : 1};
	union ancillary rights = {0};
	ssize_t r;

	if (fd_count > PACKET_FDS_MAX)
		return -E2BIG;
	if (fd_count > 0) {
		m.msg_control = rights.bytes;
		m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		rights.header.cmsg_level = SOL_SOCKET;
		rights.header.cmsg_type = SCM_RIGHTS;
		rights.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(&rights.header), fds, fd_count * sizeof(int));
	}
	do
		r = sendmsg(socket, &m, flags | MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno == ETOOMANYREFS)
		r = send_lifted(socket, &m, flags | MSG_NOSIGNAL);
	return r < 0 ? -errno : 0;
}

ssize_t packet_receive(int socket, void *bytes, size_t n, int fds[PACKET_FDS_MAX],
                       size_t *ret_count, int flags)
{
	struct iovec part = {bytes, n};
	union ancillary rights = {0};
	struct msghdr m = {.msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = rights.bytes,
	                   .msg_controllen = sizeof(rights.bytes)};
	struct cmsghdr *c;
	size_t count = 0;
	ssize_t r;

	*ret_count = 0;
	do
		r = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 ? -errno : 0;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	}
	if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		return -EBADMSG;
	}
	*ret_count = count;
	return r;
}
