#pragma once
/*
 * Packets: bytes and descriptors together, over a SOCK_SEQPACKET socket pair.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define PACKET_FDS_MAX 8

/* Both halves go as one packet; B may be NULL. FLAGS as for sendmsg(). 0, or a negative errno. */
int packet_send(int socket, const void *a, size_t a_len, const void *b, size_t b_len,
                const int *fds, size_t fd_count, int flags);

/* As send(), but by sendmsg(): sandboxes around nacre that allow no network refuse send() on every
 * socket, and let sendmsg() through. Never raises SIGPIPE. Async-signal-safe, and thus here. */
static inline ssize_t packet_put(int socket, const void *bytes, size_t n, int flags)
{
	/* sendmsg() only reads; its structure is older than const. */
	struct iovec part = {(void *)(uintptr_t)bytes, n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	return sendmsg(socket, &m, flags | MSG_NOSIGNAL);
}

/* As recv(), but by recvmsg(), for the same reason. Descriptors that come along are closed. */
static inline ssize_t packet_get(int socket, void *bytes, size_t n, int flags)
{
	struct iovec part = {bytes, n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	return recvmsg(socket, &m, flags);
}

/* How many bytes came; 0: the peer is gone; a negative errno; -EBADMSG: more bytes than N, or not
 * exactly as many descriptors as one of the calls that packet_send() makes. The descriptors are
 * close-on-exec and the caller's; *ret_count is 0 on failure. */
ssize_t packet_receive(int socket, void *bytes, size_t n, int fds[PACKET_FDS_MAX],
                       size_t *ret_count, int flags);
