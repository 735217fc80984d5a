/*
 * All addresses are local: a route of type local for everything, so that a literal address ends at
 * the gateway, is refused there and recorded, in place of an error that says nothing. The preferred
 * source is needed: else source and destination are equal, and a connection to a port in the
 * ephemeral range can meet itself.
 *
 * Packets that the box makes pass prerouting on lo, so TPROXY needs neither a mark nor a rule of
 * routing. The kernel loads the modules of nf_tables on the message that needs them.
 */
#include "sandbox/doors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/packet.h"
#include "sandbox/netlink.h"

#define GATE_PORT 1
#define DNS_PORT  53
#define BACKLOG   1024
#define LO        1U /* the index of the first interface of every namespace */

const char *sandbox_way_name(enum sandbox_way way)
{
	static const char *const names[SANDBOX_WAY_MAX] = {
		NULL,
		[SANDBOX_WAY_TPROXY] = "tproxy",
		[SANDBOX_WAY_REDIRECT] = "redirect",
		[SANDBOX_WAY_PORTS] = "ports",
	};

	return way < SANDBOX_WAY_MAX ? names[way] : NULL;
}

static void put_local_route(struct netlink *l, uint8_t family, bool source)
{
	const uint32_t lo = LO, self = htonl(SANDBOX_DOORS_SELF);
	struct rtmsg route = {.rtm_family = family,
	                      .rtm_table = RT_TABLE_LOCAL,
	                      .rtm_protocol = RTPROT_STATIC,
	                      .rtm_scope = RT_SCOPE_HOST,
	                      .rtm_type = RTN_LOCAL};

	netlink_begin(l, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, &route, sizeof(route));
	netlink_put(l, RTA_OIF, &lo, sizeof(lo));
	if (source)
		netlink_put(l, RTA_PREFSRC, &self, sizeof(self));
	netlink_end(l);
}

/* Returns whether there is IPv6, or a negative errno. */
static int routes_make(void)
{
	struct ifinfomsg up = {.ifi_index = (int)LO, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct ifaddrmsg address = {.ifa_family = AF_INET,
	                            .ifa_prefixlen = 32,
	                            .ifa_index = LO,
	                            .ifa_scope = RT_SCOPE_HOST};
	const uint32_t self = htonl(SANDBOX_DOORS_SELF);
	struct netlink l = {.n = 0};
	int r;

	netlink_begin(&l, RTM_NEWLINK, NLM_F_ACK, &up, sizeof(up));
	netlink_end(&l);
	netlink_begin(&l, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE, &address, sizeof(address));
	netlink_put(&l, IFA_LOCAL, &self, sizeof(self));
	netlink_end(&l);
	put_local_route(&l, AF_INET, true);
	r = netlink_talk(&l, NETLINK_ROUTE);
	if (r < 0)
		return r;
	put_local_route(&l, AF_INET6, false); /* a kernel may have none: nothing leads anywhere */
	return netlink_talk(&l, NETLINK_ROUTE) == 0;
}

/* An expression of a rule: begins with its name, and the caller puts its attributes. */
struct expression {
	size_t element, data;
};

static struct expression expression_begin(struct netlink *l, const char *name)
{
	struct expression e = {.element = netlink_nest(l, NFTA_LIST_ELEM)};

	netlink_put_text(l, NFTA_EXPR_NAME, name);
	e.data = netlink_nest(l, NFTA_EXPR_DATA);
	return e;
}

static void expression_end(struct netlink *l, struct expression e)
{
	netlink_unnest(l, e.data);
	netlink_unnest(l, e.element);
}

static void put_value(struct netlink *l, uint16_t type, const void *bytes, size_t n)
{
	size_t at = netlink_nest(l, type);

	netlink_put(l, NFTA_DATA_VALUE, bytes, n);
	netlink_unnest(l, at);
}

static void match(struct netlink *l, uint32_t operation, const void *bytes, size_t n)
{
	struct expression e = expression_begin(l, "cmp");

	netlink_put_be32(l, NFTA_CMP_SREG, NFT_REG_1);
	netlink_put_be32(l, NFTA_CMP_OP, operation);
	put_value(l, NFTA_CMP_DATA, bytes, n);
	expression_end(l, e);
}

static void match_tcp(struct netlink *l)
{
	struct expression e = expression_begin(l, "meta");
	const uint8_t tcp = IPPROTO_TCP;

	netlink_put_be32(l, NFTA_META_DREG, NFT_REG_1);
	netlink_put_be32(l, NFTA_META_KEY, NFT_META_L4PROTO);
	expression_end(l, e);
	match(l, NFT_CMP_EQ, &tcp, sizeof(tcp));
}

static void load_header(struct netlink *l, uint32_t offset, uint32_t n)
{
	struct expression e = expression_begin(l, "payload");

	netlink_put_be32(l, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_be32(l, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	netlink_put_be32(l, NFTA_PAYLOAD_OFFSET, offset);
	netlink_put_be32(l, NFTA_PAYLOAD_LEN, n);
	expression_end(l, e);
}

static void set_register(struct netlink *l, uint32_t number, const void *bytes, size_t n)
{
	struct expression e = expression_begin(l, "immediate");

	netlink_put_be32(l, NFTA_IMMEDIATE_DREG, number);
	put_value(l, NFTA_IMMEDIATE_DATA, bytes, n);
	expression_end(l, e);
}

/* Loopback stays the box's own. Answers go to the box's address and must reach their sockets. */
static void put_rule(struct netlink *l, uint8_t family, bool redirect)
{
	static const uint8_t loopback = 127, loopback6[16] = {[15] = 1};
	const uint32_t self = htonl(SANDBOX_DOORS_SELF);
	const uint16_t port = htons(GATE_PORT);
	struct expression e;

	match_tcp(l);
	if (family == NFPROTO_IPV4) {
		load_header(l, 16, 1);
		match(l, NFT_CMP_NEQ, &loopback, sizeof(loopback));
		load_header(l, 16, 4);
		match(l, NFT_CMP_NEQ, &self, sizeof(self));
	} else {
		load_header(l, 24, 16);
		match(l, NFT_CMP_NEQ, loopback6, sizeof(loopback6));
	}
	set_register(l, NFT_REG_1, &port, sizeof(port));
	if (redirect) {
		e = expression_begin(l, "redir");
		netlink_put_be32(l, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	} else {
		if (family == NFPROTO_IPV4)
			set_register(l, NFT_REG_2, &self, sizeof(self));
		e = expression_begin(l, "tproxy");
		netlink_put_be32(l, NFTA_TPROXY_FAMILY, family);
		if (family == NFPROTO_IPV4)
			netlink_put_be32(l, NFTA_TPROXY_REG_ADDR, NFT_REG_2);
		netlink_put_be32(l, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	}
	expression_end(l, e);
}

static void put_table(struct netlink *l, uint8_t family, bool redirect)
{
	const struct nfgenmsg header = {.nfgen_family = family};
	const uint16_t make = NLM_F_CREATE | NLM_F_ACK;
	const uint16_t system = NFNL_SUBSYS_NFTABLES << 8;
	size_t hook, list;

	netlink_begin(l, system | NFT_MSG_NEWTABLE, make, &header, sizeof(header));
	netlink_put_text(l, NFTA_TABLE_NAME, "nacre");
	netlink_end(l);
	netlink_begin(l, system | NFT_MSG_NEWCHAIN, make, &header, sizeof(header));
	netlink_put_text(l, NFTA_CHAIN_TABLE, "nacre");
	netlink_put_text(l, NFTA_CHAIN_NAME, "all");
	hook = netlink_nest(l, NFTA_CHAIN_HOOK);
	netlink_put_be32(l, NFTA_HOOK_HOOKNUM, redirect ? NF_INET_LOCAL_OUT : NF_INET_PRE_ROUTING);
	netlink_put_be32(l, NFTA_HOOK_PRIORITY, (uint32_t)(redirect ? -100 : -150));
	netlink_unnest(l, hook);
	netlink_put_text(l, NFTA_CHAIN_TYPE, redirect ? "nat" : "filter");
	netlink_end(l);
	netlink_begin(l, system | NFT_MSG_NEWRULE, make | NLM_F_APPEND, &header, sizeof(header));
	netlink_put_text(l, NFTA_RULE_TABLE, "nacre");
	netlink_put_text(l, NFTA_RULE_CHAIN, "all");
	list = netlink_nest(l, NFTA_RULE_EXPRESSIONS);
	put_rule(l, family, redirect);
	netlink_unnest(l, list);
	netlink_end(l);
}

static int rules_set(bool redirect, bool six)
{
	const struct nfgenmsg header = {.res_id = htons(NFNL_SUBSYS_NFTABLES)};
	struct netlink l = {.n = 0};

	netlink_begin(&l, NFNL_MSG_BATCH_BEGIN, 0, &header, sizeof(header));
	netlink_end(&l);
	put_table(&l, NFPROTO_IPV4, redirect);
	if (six)
		put_table(&l, NFPROTO_IPV6, redirect);
	netlink_begin(&l, NFNL_MSG_BATCH_END, 0, &header, sizeof(header));
	netlink_end(&l);
	return netlink_talk(&l, NETLINK_NETFILTER);
}

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static int socket_bind(int family, int type, uint32_t address, uint16_t port, bool transparent)
{
	const int one = 1, flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	const bool four = family == AF_INET;
	scoped(fd_closep) int fd = socket(family, type | flags, 0);
	const int level = four ? IPPROTO_IP : IPPROTO_IPV6;
	union address a = {.any.sa_family = (sa_family_t)family};

	if (four)
		a.four = (struct sockaddr_in){.sin_family = AF_INET,
		                              .sin_port = htons(port),
		                              .sin_addr.s_addr = htonl(address)};
	else
		a.six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	if (fd < 0 || (!four && setsockopt(fd, level, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
	    (type == SOCK_STREAM &&
	     setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0) ||
	    (type == SOCK_DGRAM &&
	     setsockopt(fd, level, four ? IP_PKTINFO : IPV6_RECVPKTINFO, &one, sizeof(one)) < 0) ||
	    /* To answer from whichever address was asked; for IPv4 the route is enough. */
	    (type == SOCK_DGRAM && !four &&
	     setsockopt(fd, level, IPV6_FREEBIND, &one, sizeof(one)) < 0) ||
	    (transparent && setsockopt(fd, level, four ? IP_TRANSPARENT : IPV6_TRANSPARENT, &one,
	                               sizeof(one)) < 0) ||
	    bind(fd, &a.any, four ? sizeof(a.four) : sizeof(a.six)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return take_fd(&fd);
}

static int add_tcp(struct sandbox_doors *d, int fd)
{
	if (fd < 0)
		return fd;
	if (d->tcp_count == SANDBOX_DOORS_TCP) {
		fd_close(fd);
		return -E2BIG;
	}
	d->tcp[d->tcp_count++] = fd;
	return 0;
}

static void close_tcp(struct sandbox_doors *d)
{
	while (d->tcp_count > 0)
		fd_close(d->tcp[--d->tcp_count]);
}

void doors_close(struct sandbox_doors *d)
{
	close_tcp(d);
	while (d->udp_count > 0)
		fd_close(d->udp[--d->udp_count]);
	if (d->way != SANDBOX_WAY_NONE)
		fd_close(take_fd(&d->diag));
	d->way = SANDBOX_WAY_NONE;
}

/* One listener for a family. Without the one for IPv6 there is no rule for it either. */
static int open_all_ports(struct sandbox_doors *d, bool redirect, bool six)
{
	uint32_t four = redirect ? INADDR_LOOPBACK : SANDBOX_DOORS_SELF;
	int r = add_tcp(d, socket_bind(AF_INET, SOCK_STREAM, four, GATE_PORT, !redirect));

	if (r == 0 && six)
		six = add_tcp(d, socket_bind(AF_INET6, SOCK_STREAM, 0, GATE_PORT, !redirect)) == 0;
	if (r == 0)
		r = rules_set(redirect, six);
	if (r < 0)
		close_tcp(d);
	return r;
}

static int open_each_port(struct sandbox_doors *d, const struct sandbox_ports *ports)
{
	int r = add_tcp(d, socket_bind(AF_INET, SOCK_STREAM, INADDR_ANY, DNS_PORT, false));

	for (size_t i = 0; r == 0 && i < ports->count; i++)
		if (ports->items[i] != DNS_PORT)
			r = add_tcp(d, socket_bind(AF_INET, SOCK_STREAM, INADDR_ANY,
			                           ports->items[i], false));
	if (r < 0)
		close_tcp(d);
	return r;
}

static int open_way(struct sandbox_doors *d, enum sandbox_way way,
                    const struct sandbox_ports *ports, bool six)
{
	int r = -EOPNOTSUPP;

	for (; r < 0 && way < SANDBOX_WAY_MAX; way++) {
		d->way = way;
		r = way == SANDBOX_WAY_PORTS ? open_each_port(d, ports)
		                             : open_all_ports(d, way == SANDBOX_WAY_REDIRECT, six);
	}
	return r;
}

/* A server of the box may have any port: nobody else is here whom that could deceive. */
static void free_low_ports(void)
{
	scoped(fd_closep) int fd =
		open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "0", 1);
}

int doors_open(enum sandbox_way first, const struct sandbox_ports *ports,
               struct sandbox_doors *ret_doors)
{
	struct sandbox_doors d = {.way = SANDBOX_WAY_NONE, .diag = -1};
	int fd, six = routes_make(), r = six < 0 ? six : open_way(&d, first, ports, six == 1);

	if (r == 0) {
		fd = socket_bind(AF_INET, SOCK_DGRAM, INADDR_ANY, DNS_PORT, false);
		if (fd < 0)
			r = fd;
		else
			d.udp[d.udp_count++] = fd;
	}
	if (r == 0 && six) {
		fd = socket_bind(AF_INET6, SOCK_DGRAM, 0, DNS_PORT, false);
		if (fd >= 0)
			d.udp[d.udp_count++] = fd;
	}
	if (r == 0) {
		free_low_ports();
		d.diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	}
	if (r < 0)
		doors_close(&d);
	else
		*ret_doors = d;
	return r;
}

#define DIAG_BYTES 16384
#define DIAG_READS 64

/* One family. 1: yes; 0: no; or a negative errno. */
static int listens(int diag, uint8_t family, uint16_t port)
{
	const struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 request;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
	                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
	                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	         .request = {.sdiag_family = family,
	                     .sdiag_protocol = IPPROTO_TCP,
	                     .idiag_states = 1U << TCP_LISTEN}};
	_Alignas(8) uint8_t bytes[DIAG_BYTES];
	int found = 0;

	if (send(diag, &ask, sizeof(ask), MSG_DONTWAIT) != (ssize_t)sizeof(ask))
		return -EIO;
	/* Read to the end: what is left would be the answer to the next question. */
	for (int i = 0; i < DIAG_READS; i++) {
		ssize_t got = recv(diag, bytes, sizeof(bytes), MSG_DONTWAIT);
		size_t n = got < 0 ? 0 : (size_t)got;

		if (got <= 0)
			return -EIO;
		for (struct nlmsghdr *h = (struct nlmsghdr *)bytes; NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n)) {
			struct inet_diag_msg m;

			if (h->nlmsg_type == NLMSG_DONE)
				return found;
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
				return -EIO;
			memcpy(&m, NLMSG_DATA(h), sizeof(m));
			found |= m.id.idiag_sport == htons(port);
		}
	}
	return -E2BIG;
}

bool doors_listens(int diag, uint16_t port)
{
	return listens(diag, AF_INET, port) != 0 || listens(diag, AF_INET6, port) > 0;
}

struct doors_head {
	enum sandbox_way way;
	size_t tcp, udp;
	bool diag; /* comes behind those */
};

int doors_send(int socket, const struct sandbox_doors *d)
{
	const struct doors_head head = {d->way, d->tcp_count, d->udp_count, d->diag >= 0};
	int first[SANDBOX_DOORS_UDP + 1] = {d->udp[0], d->udp[1]}, r;

	first[d->udp_count] = d->diag;
	r = packet_send(socket, &head, sizeof(head), NULL, 0, first, d->udp_count + head.diag, 0);

	for (size_t at = 0; r == 0 && at < d->tcp_count; at += PACKET_FDS_MAX) {
		size_t n = d->tcp_count - at;

		r = packet_send(socket, "", 1, NULL, 0, d->tcp + at,
		                n > PACKET_FDS_MAX ? PACKET_FDS_MAX : n, 0);
	}
	return r;
}

int doors_receive(int socket, struct sandbox_doors *ret_doors)
{
	struct sandbox_doors d = {.way = SANDBOX_WAY_NONE, .diag = -1};
	struct doors_head head;
	int fds[PACKET_FDS_MAX];
	size_t count = 0;
	char byte;

	if (packet_receive(socket, &head, sizeof(head), fds, &count, 0) != (ssize_t)sizeof(head))
		return -EIO;
	for (size_t i = 0; i < count; i++)
		if (d.udp_count < SANDBOX_DOORS_UDP && d.udp_count < head.udp)
			d.udp[d.udp_count++] = fds[i];
		else if (d.diag < 0 && head.diag)
			d.diag = fds[i];
		else
			fd_close(fds[i]);
	d.way = head.way;
	while (d.tcp_count < head.tcp) {
		if (packet_receive(socket, &byte, 1, fds, &count, 0) != 1 || count == 0)
			break;
		for (size_t i = 0; i < count; i++)
			(void)add_tcp(&d, fds[i]);
	}
	if (d.udp_count == 0 || d.udp_count != head.udp || d.tcp_count != head.tcp) {
		doors_close(&d);
		return -EIO;
	}
	*ret_doors = d;
	return 0;
}
