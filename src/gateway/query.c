/*
 * Look-ups of programs. A name that some rule allows is looked up on the host first, so that one
 * that does not exist is said not to. For a name that a person must decide about nothing leaves the
 * machine: its address is made up at once.
 *
 * The answer comes from the address that was asked, whichever that was.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "gateway/inside.h"
#include "gateway/names.h"

#define DATAGRAMS_A_TURN 64
#define CONTROL_BYTES    128
#define TCP_BYTES        (2 + DNS_QUERY_MAX)

/* Whom to answer. */
struct asker {
	int fd; /* of a datagram socket */
	struct sockaddr_storage from;
	socklen_t from_len;
	_Alignas(struct cmsghdr) char control[CONTROL_BYTES];
	size_t control_len;
	struct connection *connection; /* by TCP; else NULL */
};

struct query {
	struct query *next;
	struct gateway *gateway;
	struct asker asker;
	struct dns_query q;
	struct resolve *resolve;
};

static void answer(struct asker *a, const uint8_t *bytes, size_t n)
{
	struct iovec part = {(void *)(uintptr_t)bytes, n};
	struct msghdr m = {.msg_name = &a->from,
	                   .msg_namelen = a->from_len,
	                   .msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = a->control_len ? a->control : NULL,
	                   .msg_controllen = a->control_len};
	uint8_t framed[2 + DNS_ANSWER_MAX];

	if (n == 0)
		return;
	if (!a->connection) {
		(void)sendmsg(a->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	framed[0] = (uint8_t)(n >> 8);
	framed[1] = (uint8_t)n;
	memcpy(framed + 2, bytes, n);
	/* Who does not read what it asked for is not waited for. */
	if (send(a->connection->client_fd, framed, n + 2, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)n + 2)
		connection_end(a->connection, GATEWAY_END_CLOSED, true);
}

static void answer_error(struct asker *a, const struct dns_query *q, enum dns_rcode rcode,
                         bool filtered)
{
	uint8_t out[DNS_ANSWER_MAX];

	answer(a, out, dns_write_error(q, rcode, filtered, out, sizeof(out)));
}

static void tell_refused(struct gateway *g, const struct dns_query *q, struct network_verdict v)
{
	struct gateway_event e = {
		.kind = GATEWAY_UNNAMED, .verdict = v.kind, .reason = v.reason, .rule = v.rule};

	if (e.reason == NETWORK_REASON_NONE)
		e.reason = NETWORK_REASON_NOT_ALLOWED;
	memcpy(e.name, q->name, sizeof(e.name));
	gateway_tell(g, &e);
}

/* The name has an address, or has none of this type. */
static void answer_named(struct gateway *g, struct asker *a, const struct dns_query *q)
{
	struct network_verdict none = {.reason = NETWORK_REASON_LIMIT, .rule.index = -1};
	struct network_address address;
	uint8_t out[DNS_ANSWER_MAX];

	if (q->ask != DNS_ASK_ADDRESS) {
		answer(a, out, dns_write_no_data(q, out, sizeof(out)));
		return;
	}
	if (names_address(g->names, q->name, &address)) {
		answer(a, out, dns_write_address(q, &address, out, sizeof(out)));
		return;
	}
	tell_refused(g, q, none);
	answer_error(a, q, DNS_SERVFAIL, false);
}

static void query_free(struct query *q)
{
	struct gateway *g = q->gateway;

	for (struct query **at = &g->queries; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			g->query_count--;
			break;
		}
	resolve_forget(q->resolve);
	free(q);
}

void query_forget(struct gateway *g, const struct connection *c)
{
	for (struct query *q = g->queries, *next; q; q = next) {
		next = q->next;
		if (!c || q->asker.connection == c)
			query_free(q);
	}
}

static void on_resolved(void *owner, const struct resolve_answer *a)
{
	struct query *q = owner;

	q->resolve = NULL;
	if (a->end == RESOLVE_FOUND)
		answer_named(q->gateway, &q->asker, &q->q);
	else
		answer_error(&q->asker, &q->q,
		             a->end == RESOLVE_UNKNOWN ? DNS_NXDOMAIN : DNS_SERVFAIL, false);
	/* The answer may have ended its connection, and this with it. */
	for (struct query *at = q->gateway->queries; at; at = at->next)
		if (at == q) {
			query_free(q);
			break;
		}
}

static void look_up(struct gateway *g, const struct asker *a, const struct dns_query *dns)
{
	struct query *q = g->query_count < GATEWAY_QUERIES_MAX ? calloc(1, sizeof(*q)) : NULL;
	struct asker copy = *a;
	struct resolve *under_way;

	if (!q) {
		answer_error(&copy, dns, DNS_SERVFAIL, false);
		return;
	}
	q->gateway = g;
	q->asker = *a;
	q->q = *dns;
	q->next = g->queries;
	g->queries = q;
	g->query_count++;
	if (resolver_ask(g->resolver, dns->name, on_resolved, q, &under_way) < 0) {
		query_free(q);
		answer_error(&copy, dns, DNS_SERVFAIL, false);
	} else if (under_way) {
		q->resolve = under_way;
	}
}

static void judge(struct gateway *g, struct asker *a, const struct dns_query *q)
{
	struct network_verdict v = network_judge_name(g->rules, q->name);

	switch (v.kind) {
	case NETWORK_VERDICT_ALLOW:
		/* The host's own services have no name outside; a proxy above looks up by itself.
		 */
		if (strcmp(q->name, DESTINATION_HOST) == 0 || g->via.port || g->via.broken)
			answer_named(g, a, q);
		else
			look_up(g, a, q);
		break;
	case NETWORK_VERDICT_ASK:
		answer_named(g, a, q);
		break;
	case NETWORK_VERDICT_NONE:
	case NETWORK_VERDICT_DENY:
		tell_refused(g, q, v);
		answer_error(a, q, DNS_NXDOMAIN, true);
		break;
	}
}

static void answer_query(struct gateway *g, struct asker *a, const uint8_t *bytes, size_t n)
{
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q;
	const char *name;

	dns_read(bytes, n, &q);
	switch (q.ask) {
	case DNS_ASK_NOTHING:
		break;
	case DNS_ASK_REFUSED:
		answer_error(a, &q, q.rcode, false);
		break;
	case DNS_ASK_LOCALHOST:
		answer(a, out, dns_write_localhost(&q, out, sizeof(out)));
		break;
	case DNS_ASK_POINTER:
		name = names_find(g->names, &q.pointer);
		if (name)
			answer(a, out, dns_write_pointer(&q, name, out, sizeof(out)));
		else
			answer_error(a, &q, DNS_NXDOMAIN, false);
		break;
	case DNS_ASK_ADDRESS:
	case DNS_ASK_OTHER:
		judge(g, a, &q);
		break;
	}
}

/* The same address for the way back; the interface is the only one. */
static void turn_round(struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		struct in_pktinfo info;

		if (h->cmsg_level != IPPROTO_IP || h->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(h), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(h), &info, sizeof(info));
	}
}

void query_udp(struct gateway *g, int fd)
{
	uint8_t bytes[DNS_QUERY_MAX + 1];

	for (int i = 0; i < DATAGRAMS_A_TURN; i++) {
		struct asker a = {.fd = fd};
		struct iovec part = {bytes, sizeof(bytes)};
		struct msghdr m = {.msg_name = &a.from,
		                   .msg_namelen = sizeof(a.from),
		                   .msg_iov = &part,
		                   .msg_iovlen = 1,
		                   .msg_control = a.control,
		                   .msg_controllen = sizeof(a.control)};
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

		if (n < 0)
			return;
		if (n > DNS_QUERY_MAX || m.msg_flags & MSG_CTRUNC)
			continue;
		turn_round(&m);
		a.from_len = m.msg_namelen;
		a.control_len = m.msg_controllen;
		answer_query(g, &a, bytes, (size_t)n);
	}
}

/* What has come is taken, and each whole message answered; false: the connection is over. */
static bool answer_messages(struct connection *c)
{
	struct gateway *g = c->gateway;
	uint32_t id = c->id;
	int size;

	while ((size = dns_tcp_size(c->query, c->query_len)) > 0 && (size_t)size <= c->query_len) {
		struct asker a = {.fd = -1, .connection = c};
		uint8_t message[TCP_BYTES];

		memcpy(message, c->query, (size_t)size);
		memmove(c->query, c->query + size, c->query_len - (size_t)size);
		c->query_len -= (size_t)size;
		answer_query(g, &a, message + 2, (size_t)size - 2);
		for (c = g->connections; c && c->id != id; c = c->next)
			;
		if (!c)
			return false;
	}
	return size >= 0;
}

void query_tcp(struct connection *c)
{
	ssize_t n;

	if (!c->query)
		c->query = malloc(TCP_BYTES);
	if (!c->query) {
		connection_end(c, GATEWAY_END_CLOSED, true);
		return;
	}
	for (;;) {
		struct gateway *g = c->gateway;
		uint32_t id = c->id;

		n = recv(c->client_fd, c->query + c->query_len, TCP_BYTES - c->query_len,
		         MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			c->query_len += (size_t)n;
		if (n > 0 && answer_messages(c))
			continue;
		for (c = g->connections; c && c->id != id; c = c->next)
			;
		if (c)
			connection_end(c, GATEWAY_END_CLOSED, false);
		return;
	}
}
