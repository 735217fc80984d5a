#pragma once
/*
 * Packets as a broken or hostile peer sends them.
 */
#include "base/test-support.h"

#include "base/packet.h"

/* The bytes as they are, with COUNT copies of a descriptor. */
static inline void test_packet_send(int socket, const void *bytes, size_t n, int fd, size_t count)
{
	int fds[PACKET_FDS_MAX];

	assert_true(count <= PACKET_FDS_MAX);
	for (size_t i = 0; i < count; i++)
		fds[i] = fd;
	assert_int_equal(packet_send(socket, bytes, n, NULL, 0, fds, count, 0), 0);
}
