#include "gateway/peer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/fd.h"

socklen_t peer_set(const struct network_address *a, uint16_t port, union peer *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (a->family == 4) {
		ret->four.sin_family = AF_INET;
		ret->four.sin_port = htons(port);
		memcpy(&ret->four.sin_addr, a->bytes, 4);
		return sizeof(ret->four);
	}
	ret->six.sin6_family = AF_INET6;
	ret->six.sin6_port = htons(port);
	memcpy(&ret->six.sin6_addr, a->bytes, 16);
	return sizeof(ret->six);
}

/* Whether the machine has it: the kernel sends to such an address from that address. What cannot be
 * told counts as its own. */
static bool is_own(const struct network_address *a)
{
	union peer to, from = {.any.sa_family = AF_UNSPEC};
	socklen_t n = peer_set(a, 9, &to), m = sizeof(from);
	scoped(fd_closep) int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	if (connect(fd, &to.any, n) < 0) /* there is no way there at all */
		return errno != ENETUNREACH && errno != EHOSTUNREACH && errno != EADDRNOTAVAIL;
	if (getsockname(fd, &from.any, &m) < 0)
		return true;
	return a->family == 4 ? memcmp(&from.four.sin_addr, a->bytes, 4) == 0
	                      : memcmp(&from.six.sin6_addr, a->bytes, 16) == 0;
}

size_t peer_find_own(const struct network_address *list, size_t n, struct network_address *into)
{
	size_t own = 0;

	for (size_t i = 0; i < n; i++)
		if (is_own(&list[i]))
			into[own++] = list[i];
	return own;
}
