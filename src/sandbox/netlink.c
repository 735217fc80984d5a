#include "sandbox/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"

#define ANSWER_MS 10000 /* the kernel may load modules first */

static void append(struct netlink *l, const void *bytes, size_t n)
{
	size_t whole = NLMSG_ALIGN(n);

	if (l->full || whole > sizeof(l->bytes) - l->n) {
		l->full = true;
		return;
	}
	memset(l->bytes + l->n, 0, whole);
	if (n > 0)
		memcpy(l->bytes + l->n, bytes, n);
	l->n += whole;
}

void netlink_begin(struct netlink *l, uint16_t type, uint16_t flags, const void *header, size_t n)
{
	struct nlmsghdr h = {.nlmsg_type = type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};

	l->message = l->n;
	l->asked += (flags & NLM_F_ACK) != 0;
	append(l, &h, sizeof(h));
	append(l, header, n);
}

void netlink_end(struct netlink *l)
{
	uint32_t len = (uint32_t)(l->n - l->message);

	if (!l->full)
		memcpy(l->bytes + l->message, &len, sizeof(len)); /* nlmsg_len is the first */
}

void netlink_put(struct netlink *l, uint16_t type, const void *bytes, size_t n)
{
	struct nlattr a = {.nla_type = type, .nla_len = (uint16_t)(sizeof(a) + n)};

	append(l, &a, sizeof(a));
	append(l, bytes, n);
}

void netlink_put_text(struct netlink *l, uint16_t type, const char *text)
{
	netlink_put(l, type, text, strlen(text) + 1);
}

void netlink_put_be32(struct netlink *l, uint16_t type, uint32_t value)
{
	value = htonl(value);
	netlink_put(l, type, &value, sizeof(value));
}

size_t netlink_nest(struct netlink *l, uint16_t type)
{
	size_t at = l->n;

	netlink_put(l, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void netlink_unnest(struct netlink *l, size_t at)
{
	uint16_t len = (uint16_t)(l->n - at);

	if (!l->full)
		memcpy(l->bytes + at, &len, sizeof(len)); /* nla_len is the first */
}

/* How many answers there were in one packet, or the first error in them. */
static int read_answers(int fd, int *ret_count)
{
	_Alignas(8) uint8_t in[8192];
	ssize_t n = packet_get(fd, in, sizeof(in), 0);
	size_t at = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	while ((size_t)n - at >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr h;
		struct nlmsgerr e;

		memcpy(&h, in + at, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > (size_t)n - at)
			return -EBADMSG;
		if (h.nlmsg_type == NLMSG_ERROR) {
			if (h.nlmsg_len < sizeof(h) + sizeof(e))
				return -EBADMSG;
			memcpy(&e, in + at + NLMSG_HDRLEN, sizeof(e));
			if (e.error < 0)
				return e.error;
			(*ret_count)++;
		}
		at += NLMSG_ALIGN(h.nlmsg_len);
		if (at > (size_t)n)
			break;
	}
	return 0;
}

int netlink_talk(struct netlink *l, int protocol)
{
	scoped(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r = fd < 0 ? -errno : 0, wanted = l->asked, have = 0;

	if (r == 0 && l->full)
		r = -E2BIG;
	if (r == 0 && packet_put(fd, l->bytes, l->n, 0) < 0)
		r = -errno;
	while (r == 0 && have < wanted)
		r = poll(&p, 1, ANSWER_MS) == 1 ? read_answers(fd, &have) : -ETIMEDOUT;
	l->n = 0;
	l->asked = 0;
	l->full = false;
	return r;
}
