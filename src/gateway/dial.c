/*
 * Which address is dialled. Every address of the answer has to be fit: one that is not spoils it,
 * since it may be the next to be used. The one that is dialled is one that was looked at: there is
 * no second look-up.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/fit.h"
#include "gateway/inside.h"
#include "gateway/peer.h"

#define ATTEMPT_MS   10000
#define PROXY_MS     30000
#define PROXY_ANSWER 4096

static bool goes_up(const struct connection *c)
{
	const struct gateway *g = c->gateway;

	return !c->literal && via_takes(&g->via, g->rules, c->name, c->port);
}

static uint16_t port_of(const struct connection *c)
{
	return goes_up(c) ? c->gateway->via.port : c->port;
}

/* The supervisor writes down what will be dialled. */
static void record(struct connection *c)
{
	struct gateway_event e;

	c->state = CONNECTION_RECORDING;
	c->address = c->attempts[c->attempt];
	c->dialled = true;
	c->dialled_ms = loop_now(c->gateway->loop);
	e = connection_event(c, GATEWAY_DIAL);
	gateway_tell(c->gateway, &e);
}

static void choose(struct connection *c, const struct network_address *list, size_t n)
{
	c->attempt = 0;
	c->attempt_count = n < GATEWAY_ATTEMPTS_MAX ? n : GATEWAY_ATTEMPTS_MAX;
	memcpy(c->attempts, list, c->attempt_count * sizeof(*list));
	record(c);
}

static void judge(struct connection *c, const struct network_address *list, size_t n)
{
	struct network_address own[RESOLVE_ADDRESSES_MAX];
	struct fit_question q = {.rules = c->gateway->rules,
	                         .name = c->literal ? NULL : c->name,
	                         .port = c->port,
	                         .own = own,
	                         .own_count = peer_find_own(list, n, own)};
	struct fit_answer a = {.reason = NETWORK_REASON_PRIVATE};

	if (fit_all(&q, list, n, &a)) {
		choose(c, list, n);
		return;
	}
	if (a.which < n)
		c->address = list[a.which];
	refuse(c, a.reason, a.what);
}

static void on_resolved(void *owner, const struct resolve_answer *a)
{
	struct connection *c = owner;

	c->resolve = NULL;
	if (a->end == RESOLVE_UNKNOWN)
		refuse(c, NETWORK_REASON_UNRESOLVED, NULL);
	else if (a->end == RESOLVE_FAILED)
		refuse(c, NETWORK_REASON_UNRESOLVED, "no name server answered");
	else if (goes_up(c))
		choose(c, a->addresses, a->count);
	else
		judge(c, a->addresses, a->count);
}

static void resolve(struct connection *c, const char *name)
{
	struct resolve *under_way;
	struct gateway *g = c->gateway;
	uint32_t id = c->id;

	c->state = CONNECTION_RESOLVING;
	if (resolver_ask(g->resolver, name, on_resolved, c, &under_way) < 0) {
		refuse(c, NETWORK_REASON_LIMIT, NULL);
		return;
	}
	/* Where the answer was there at once, the connection may be over. */
	for (c = under_way ? g->connections : NULL; c; c = c->next)
		if (c->id == id)
			c->resolve = under_way;
}

void dial_begin(struct connection *c)
{
	const struct via *via = &c->gateway->via;
	static const struct network_address loopback[] = {
		{.family = 4, .bytes = {127, 0, 0, 1}},
		{.family = 6, .bytes = {[15] = 1}},
	};
	struct network_address proxy;

	if (c->literal) {
		proxy = c->address;
		judge(c, &proxy, 1);
	} else if (strcmp(c->name, DESTINATION_HOST) == 0) {
		choose(c, loopback, array_size(loopback));
	} else if (!goes_up(c)) {
		resolve(c, c->name);
	} else if (via->broken) { /* never by another way than the operator's */
		refuse(c, NETWORK_REASON_UNREACHABLE, via->broken);
	} else if (network_address_parse(via->host, strlen(via->host), &proxy)) {
		choose(c, &proxy, 1);
	} else {
		resolve(c, via->host);
	}
}

static void drop_upstream(struct connection *c)
{
	loop_remove(&c->upstream);
	fd_close(c->upstream_fd);
	c->upstream_fd = -1;
	loop_timer_clear(&c->timer);
}

static void failed(struct connection *c, int sys)
{
	drop_upstream(c);
	if (++c->attempt < c->attempt_count)
		record(c);
	else
		refuse(c, NETWORK_REASON_UNREACHABLE, strerrordesc_np(sys));
}

static int on_late(struct loop_timer *t)
{
	failed(container_of(t, struct connection, timer), ETIMEDOUT);
	return 0;
}

void dial_recorded(struct connection *c)
{
	union peer to;
	socklen_t n = peer_set(&c->address, port_of(c), &to);
	const int one = 1;

	c->upstream_fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->upstream_fd < 0) {
		refuse(c, NETWORK_REASON_LIMIT, NULL);
		return;
	}
	(void)setsockopt(c->upstream_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->state = CONNECTION_DIALLING;
	if ((connect(c->upstream_fd, &to.any, n) < 0 && errno != EINPROGRESS) ||
	    connection_watch_upstream(c) < 0) {
		failed(c, errno);
		return;
	}
	(void)loop_timer_set(c->gateway->loop, &c->timer, loop_now(c->gateway->loop) + ATTEMPT_MS,
	                     on_late);
}

static void ask_proxy(struct connection *c)
{
	const char *secret = c->gateway->via.secret;
	char text[2 * DESTINATION_TEXT_SIZE + VIA_SECRET_MAX + 128];
	int n = snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n%s%s%s\r\n",
	                 c->name, c->port, c->name, c->port,
	                 *secret ? "Proxy-Authorization: Basic " : "", secret,
	                 *secret ? "\r\n" : "");

	c->state = CONNECTION_PROXY;
	if (send(c->upstream_fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n)
		failed(c, EPIPE);
	else
		(void)loop_timer_set(c->gateway->loop, &c->timer,
		                     loop_now(c->gateway->loop) + PROXY_MS, on_late);
}

static void read_proxy(struct connection *c)
{
	char text[PROXY_ANSWER];
	ssize_t n = recv(c->upstream_fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
	const char *end = n > 0 ? memmem(text, (size_t)n, "\r\n\r\n", 4) : NULL;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && n < (ssize_t)sizeof(text) && !end)
		return;
	if (!end || n < 12 || memcmp(text, "HTTP/1.", 7) != 0 || memcmp(text + 8, " 200", 4) != 0) {
		drop_upstream(c);
		refuse(c, NETWORK_REASON_UNREACHABLE,
		       n > 12 && memcmp(text + 8, " 407", 4) == 0
		               ? "the proxy wants another user or password"
		               : "the proxy refused");
		return;
	}
	if (recv(c->upstream_fd, text, (size_t)(end + 4 - text), MSG_DONTWAIT) != end + 4 - text)
		failed(c, EIO);
	else
		connection_opened(c);
}

void dial_upstream(struct connection *c, uint32_t events)
{
	socklen_t n = sizeof(int);
	int sys = 0;

	if (c->state == CONNECTION_PROXY) {
		read_proxy(c);
		return;
	}
	if (c->state != CONNECTION_DIALLING || !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(c->upstream_fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
		sys = errno;
	if (sys)
		failed(c, sys);
	else if (goes_up(c))
		ask_proxy(c);
	else
		connection_opened(c);
}
