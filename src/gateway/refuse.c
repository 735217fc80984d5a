/*
 * A client that is turned away gets its first bytes waited for, a second at most: they tell what it
 * speaks. Then it is told in that language, and may read it: a socket that is closed with bytes
 * unread resets the connection, and the words would be lost.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/inside.h"
#include "gateway/refusal.h"

#define WAIT_MS 1000
#define TOLD_MS 1000
#define PEEK    1024

static void over(struct connection *c, bool reset)
{
	connection_end(c, GATEWAY_END_REFUSED, reset);
}

static void say(struct connection *c, enum first_protocol protocol)
{
	char text[512];
	uint8_t bytes[REFUSAL_MAX];
	size_t n;

	refusal_text(text, sizeof(text), c->name, c->port, c->reason, c->what[0] ? c->what : NULL);
	n = refusal_write(protocol, text, bytes);
	if (n == 0 || send(c->client_fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n ||
	    shutdown(c->client_fd, SHUT_WR) < 0) {
		over(c, true);
		return;
	}
	c->state = CONNECTION_TOLD;
	(void)loop_timer_set(c->gateway->loop, &c->timer, loop_now(c->gateway->loop) + TOLD_MS,
	                     refuse_timer);
	refuse_event(c, 0);
}

static void look(struct connection *c, bool late)
{
	char bytes[PEEK];
	ssize_t n = recv(c->client_fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	bool waits = n < 0 && (errno == EAGAIN || errno == EINTR);

	if (n == 0 || (n < 0 && !waits)) {
		over(c, true);
		return;
	}
	if (c->protocol != FIRST_OTHER)
		say(c, c->protocol);
	else if (n > 0 || late || c->port == 22)
		say(c, first_guess(bytes, n > 0 ? (size_t)n : 0, c->port));
}

/* Until the client has closed as well. */
static void read_off(struct connection *c)
{
	char bytes[PEEK];
	ssize_t n;

	for (int i = 0; i < 64; i++) {
		n = recv(c->client_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
	}
	over(c, false);
}

void refuse_event(struct connection *c, uint32_t events)
{
	if (events & EPOLLERR)
		over(c, true);
	else if (c->state == CONNECTION_TOLD)
		read_off(c);
	else
		look(c, false);
}

int refuse_timer(struct loop_timer *t)
{
	struct connection *c = container_of(t, struct connection, timer);

	if (c->state == CONNECTION_REFUSING)
		look(c, true);
	else
		over(c, false);
	return 0;
}

void refuse(struct connection *c, enum network_reason reason, const char *what)
{
	struct gateway *g = c->gateway;
	struct gateway_event e;

	c->reason = reason;
	snprintf(c->what, sizeof(c->what), "%s", what ? what : "");
	e = connection_event(c, GATEWAY_REFUSED);
	gateway_tell(g, &e);
	relay_stop(&c->up, &g->pool);
	relay_stop(&c->down, &g->pool);
	/* A server must not take this for the end of what was said so far, and act on it. */
	connection_close(&c->upstream, &c->upstream_fd, true);
	c->state = CONNECTION_REFUSING;
	(void)loop_timer_set(g->loop, &c->timer, loop_now(g->loop) + WAIT_MS, refuse_timer);
	look(c, false);
}
