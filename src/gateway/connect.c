/*
 * A connection: accepted by the kernel before anything is known about it, judged by the name that
 * its address stands for, dialled, and carried.
 *
 * Its descriptors are watched for edges, so whoever handles an event moves all that can be moved,
 * or puts the connection on the list of those that are ready. connection_end() frees it: nothing
 * touches it afterwards.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/inside.h"
#include "gateway/names.h"

#define ORIGINAL_TO   80 /* SO_ORIGINAL_DST of linux/netfilter_ipv4.h, the same for IPv6 */
#define LOOKS_MAX     8
#define QUERY_IDLE_MS 30000
#define EDGES         (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

struct gateway_event connection_event(const struct connection *c, enum gateway_event_kind kind)
{
	struct gateway_event e = {.kind = kind,
	                          .id = c->id,
	                          .port = c->port,
	                          .verdict = c->verdict.kind,
	                          .reason = c->reason,
	                          .rule = c->verdict.rule,
	                          .address = c->address,
	                          .waited_ms = c->held_ms,
	                          .sent = c->up.bytes,
	                          .received = c->down.bytes,
	                          .protocol = c->protocol,
	                          .ech = c->ech};

	snprintf(e.name, sizeof(e.name), "%s", c->name);
	snprintf(e.what, sizeof(e.what), "%s", c->what);
	return e;
}

static void unlink_ready(struct connection *c)
{
	for (struct connection **at = &c->gateway->ready; *at; at = &(*at)->next_ready)
		if (*at == c) {
			*at = c->next_ready;
			break;
		}
}

static void forget_first(struct connection *c)
{
	if (!c->first)
		return;
	c->protocol = c->first->protocol;
	c->ech = c->first->ech;
	first_done(c->first);
	free(c->first);
	c->first = NULL;
}

void connection_close(struct loop_source *s, int *fd, bool reset)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (*fd < 0)
		return;
	if (reset)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	loop_remove(s);
	fd_close(*fd);
	*fd = -1;
}

void connection_end(struct connection *c, enum gateway_end end, bool reset)
{
	struct gateway *g = c->gateway;
	struct gateway_event e;

	forget_first(c);
	if (c->dialled) {
		e = connection_event(c, GATEWAY_ENDED);
		e.end = end;
		e.ms = loop_now(g->loop) - c->dialled_ms;
		gateway_tell(g, &e);
	} else if (c->state == CONNECTION_HELD) {
		e = connection_event(c, GATEWAY_LEFT);
		e.waited_ms = loop_now(g->loop) - c->started_ms;
		gateway_tell(g, &e);
	}
	if (c->state == CONNECTION_HELD)
		g->held--;
	resolve_forget(c->resolve);
	query_forget(g, c);
	relay_stop(&c->up, &g->pool);
	relay_stop(&c->down, &g->pool);
	loop_timer_clear(&c->timer);
	connection_close(&c->client, &c->client_fd, reset);
	connection_close(&c->upstream, &c->upstream_fd, reset);
	if (c->ready)
		unlink_ready(c);
	if (c->previous)
		c->previous->next = c->next;
	else
		g->connections = c->next;
	if (c->next)
		c->next->previous = c->previous;
	g->count--;
	free(c->pending);
	free(c->query);
	free(c);
	gateway_watch_doors(g);
}

void connections_close(struct gateway *g)
{
	while (g->connections)
		connection_end(g->connections, GATEWAY_END_OVER, true);
}

/* False: it is over. */
static bool send_pending(struct connection *c)
{
	ssize_t n = send(c->upstream_fd, c->pending + c->pending_at, c->pending_len - c->pending_at,
	                 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		connection_end(c, GATEWAY_END_RESET, true);
		return false;
	}
	if (n > 0) {
		c->pending_at += (size_t)n;
		c->up.bytes += (uint64_t)n;
	}
	if (c->pending_at == c->pending_len) {
		free(c->pending);
		c->pending = NULL;
	}
	return true;
}

/* What was only looked at is taken, and goes on first. False: it is over. */
static bool take_pending(struct connection *c, size_t n)
{
	c->pending = malloc(n);
	c->pending_len = n;
	c->pending_at = 0;
	if (c->pending && recv(c->client_fd, c->pending, n, MSG_DONTWAIT) == (ssize_t)n)
		return true;
	connection_end(c, GATEWAY_END_RESET, true);
	return false;
}

enum look {
	LOOK_AGAIN,   /* there is more to see */
	LOOK_WAIT,    /* for more bytes */
	LOOK_DECIDED, /* nothing more is looked at */
	LOOK_OVER,    /* the connection is */
};

/* A piece of what the client says first. */
static enum look look_once(struct connection *c)
{
	uint8_t bytes[FIRST_MAX];
	enum network_reason reason;
	char seen[GATEWAY_WHAT_SIZE];
	ssize_t n = recv(c->client_fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return LOOK_WAIT;
	if (n < 0) {
		connection_end(c, GATEWAY_END_RESET, true);
		return LOOK_OVER;
	}
	switch (n == 0 ? first_end(c->first) : first_feed(c->first, bytes, (size_t)n)) {
	case FIRST_REFUSE:
		reason = c->first->reason;
		snprintf(seen, sizeof(seen), "%.63s", c->first->seen);
		forget_first(c);
		refuse(c, reason, seen);
		return LOOK_OVER;
	case FIRST_PASS:
		forget_first(c);
		break;
	case FIRST_UNDECIDED:
		break;
	}
	if (n == 0)
		return LOOK_DECIDED;
	return take_pending(c, (size_t)n) ? LOOK_AGAIN : LOOK_OVER;
}

/* Until all that the client has said was looked at, or it need not be. */
static enum look look(struct connection *c)
{
	for (int i = 0; i < LOOKS_MAX; i++) {
		enum look l;

		if (c->pending && !send_pending(c))
			return LOOK_OVER;
		if (c->pending)
			return LOOK_WAIT;
		if (!c->first)
			return LOOK_DECIDED;
		l = look_once(c);
		if (l != LOOK_AGAIN)
			return l;
	}
	return LOOK_AGAIN;
}

static int on_again(struct loop_timer *t);

static void make_ready(struct connection *c)
{
	struct gateway *g = c->gateway;

	if (c->ready)
		return;
	c->ready = true;
	c->next_ready = g->ready;
	g->ready = c;
	(void)loop_timer_set(g->loop, &g->again, loop_now(g->loop), on_again);
}

static void move(struct connection *c)
{
	struct relay_pool *pool = &c->gateway->pool;
	enum look l = look(c);
	bool more = l == LOOK_AGAIN;

	if (l == LOOK_OVER)
		return;
	if (l == LOOK_DECIDED)
		more |= relay_move(&c->up, pool);
	more |= relay_move(&c->down, pool);
	if (c->up.broken || c->down.broken)
		connection_end(c, GATEWAY_END_RESET, true);
	else if (c->up.done && c->down.done)
		connection_end(c, GATEWAY_END_CLOSED, false);
	else if (more)
		make_ready(c);
}

static int on_again(struct loop_timer *t)
{
	struct gateway *g = container_of(t, struct gateway, again);
	struct connection *c = g->ready, *next;

	/* Those that are ready once more have their turn after all others. A connection that moves
	 * ends none but itself. */
	for (g->ready = NULL; c; c = next) {
		next = c->next_ready;
		c->ready = false;
		if (c->state == CONNECTION_OPEN)
			move(c);
	}
	return 0;
}

void connection_opened(struct connection *c)
{
	c->first = calloc(1, sizeof(*c->first));
	if (!c->first) {
		refuse(c, NETWORK_REASON_LIMIT, NULL);
		return;
	}
	first_init(c->first, c->name, c->literal, c->port);
	loop_timer_clear(&c->timer);
	c->state = CONNECTION_OPEN;
	c->up.from = c->down.to = c->client_fd;
	c->up.to = c->down.from = c->upstream_fd;
	move(c);
}

static int on_client(struct loop_source *s, uint32_t events)
{
	struct connection *c = container_of(s, struct connection, client);

	switch (c->state) {
	case CONNECTION_OPEN:
		move(c);
		break;
	case CONNECTION_QUERY:
		query_tcp(c);
		break;
	case CONNECTION_REFUSING:
	case CONNECTION_TOLD:
		refuse_event(c, events);
		break;
	case CONNECTION_HELD:
	case CONNECTION_RESOLVING:
	case CONNECTION_RECORDING:
	case CONNECTION_DIALLING:
	case CONNECTION_PROXY:
		/* An end of what it sends is not its end; a reset is. */
		if (events & (EPOLLERR | EPOLLHUP))
			connection_end(c, GATEWAY_END_LEFT, true);
		break;
	}
	return 0;
}

static int on_upstream(struct loop_source *s, uint32_t events)
{
	struct connection *c = container_of(s, struct connection, upstream);

	if (c->state == CONNECTION_OPEN)
		move(c);
	else
		dial_upstream(c, events);
	return 0;
}

/* Where the program wanted to go. */
static bool find_destination(struct connection *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} to = {.any.sa_family = AF_UNSPEC};
	socklen_t n = sizeof(to);

	if (c->gateway->way == SANDBOX_WAY_REDIRECT) {
		if (getsockopt(c->client_fd, SOL_IP, ORIGINAL_TO, &to, &n) < 0) {
			n = sizeof(to);
			if (getsockopt(c->client_fd, SOL_IPV6, ORIGINAL_TO, &to, &n) < 0)
				return false;
		}
	} else if (getsockname(c->client_fd, &to.any, &n) < 0) {
		return false;
	}
	if (to.any.sa_family == AF_INET) {
		c->address.family = 4;
		memcpy(c->address.bytes, &to.four.sin_addr, 4);
		c->port = ntohs(to.four.sin_port);
	} else if (to.any.sa_family == AF_INET6) {
		c->address.family = 6;
		memcpy(c->address.bytes, &to.six.sin6_addr, 16);
		c->port = ntohs(to.six.sin6_port);
	}
	return c->address.family != 0;
}

static int on_query_idle(struct loop_timer *t)
{
	connection_end(container_of(t, struct connection, timer), GATEWAY_END_CLOSED, true);
	return 0;
}

static void ask(struct connection *c)
{
	struct gateway *g = c->gateway;
	struct gateway_event e = connection_event(c, GATEWAY_ASK);

	if (g->held >= GATEWAY_HELD_MAX) {
		refuse(c, NETWORK_REASON_LIMIT, NULL);
		return;
	}
	g->held++;
	c->state = CONNECTION_HELD;
	gateway_tell(g, &e);
}

static void judge(struct connection *c)
{
	const struct network_rules *rules = c->gateway->rules;

	c->name = names_find(c->gateway->names, &c->address);
	c->literal = !c->name;
	if (c->literal) {
		network_address_format(&c->address, c->text);
		c->name = c->text;
		c->verdict = network_judge_address(rules, &c->address, c->port);
	} else {
		c->address.family = 0; /* nothing that anybody could use */
		c->verdict = network_judge(rules, c->name, c->port);
	}
	switch (c->verdict.kind) {
	case NETWORK_VERDICT_ALLOW:
		dial_begin(c);
		break;
	case NETWORK_VERDICT_ASK:
		ask(c);
		break;
	case NETWORK_VERDICT_NONE:
	case NETWORK_VERDICT_DENY:
		refuse(c, c->verdict.reason, NULL);
		break;
	}
}

void connection_accept(struct gateway *g, int fd)
{
	struct connection *c = calloc(1, sizeof(*c));
	const int one = 1;

	if (!c) {
		fd_close(fd);
		return;
	}
	*c = (struct connection){.gateway = g,
	                         .client.fd = -1,
	                         .upstream.fd = -1,
	                         .client_fd = fd,
	                         .upstream_fd = -1,
	                         .id = g->next_id++,
	                         .name = "",
	                         .verdict.rule.index = -1,
	                         .started_ms = loop_now(g->loop),
	                         .next = g->connections};
	if (g->connections)
		g->connections->previous = c;
	g->connections = c;
	g->count++;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!find_destination(c) || loop_add(g->loop, &c->client, fd, EDGES, on_client, NULL) < 0) {
		connection_end(c, GATEWAY_END_RESET, true);
		return;
	}
	if (c->port != 53) {
		judge(c);
		return;
	}
	c->state = CONNECTION_QUERY;
	(void)loop_timer_set(g->loop, &c->timer, c->started_ms + QUERY_IDLE_MS, on_query_idle);
	query_tcp(c);
}

int connection_watch_upstream(struct connection *c)
{
	return loop_add(c->gateway->loop, &c->upstream, c->upstream_fd, EDGES, on_upstream, NULL);
}

/* Whether the program still waits: one that has sent nothing and will send nothing does not. */
static bool has_left(const struct connection *c)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	char byte;

	if (getsockopt(c->client_fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
		return true;
	return info.tcpi_state != TCP_ESTABLISHED &&
	       (info.tcpi_state != TCP_CLOSE_WAIT ||
	        recv(c->client_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0);
}

static void held_answer(struct connection *c, const struct gateway_order *order)
{
	struct gateway *g = c->gateway;

	if (has_left(c)) {
		connection_end(c, GATEWAY_END_LEFT, true);
		return;
	}
	g->held--;
	c->held_ms = loop_now(g->loop) - c->started_ms;
	c->state = CONNECTION_RESOLVING;
	if (order->kind == GATEWAY_GO)
		dial_begin(c);
	else
		refuse(c, order->reason, NULL);
}

void connection_order(struct gateway *g, const struct gateway_order *order)
{
	struct connection *c = g->connections;

	while (c && c->id != order->id)
		c = c->next;
	if (!c)
		return;
	if (c->state == CONNECTION_HELD)
		held_answer(c, order);
	else if (c->state == CONNECTION_RECORDING && order->kind == GATEWAY_GO)
		dial_recorded(c);
	else if (c->state == CONNECTION_RECORDING)
		refuse(c, order->reason, NULL);
}
