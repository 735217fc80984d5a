#pragma once
/*
 * Peer: an address as the kernel wants it, and whether it is one of the machine.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "gateway/address.h"

union peer {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* Its length. */
socklen_t peer_set(const struct network_address *a, uint16_t port, union peer *ret);
/* Those of LIST that the machine has itself; how many. */
size_t peer_find_own(const struct network_address *list, size_t n, struct network_address *into);
