/*
 * libmicrohttpd does the reading, the framing and the writing. It runs without threads, on an epoll
 * descriptor of its own that is one source of our loop; what it must do by itself after a time is
 * one timer. It is never asked to wait.
 *
 * It has a limit for silence, not for slowness: who sends a byte now and then could stay for ever.
 * So each connection has a deadline of ours for what it is expected to send next; when it is over,
 * the socket is shut down and the library sees a client that left.
 *
 * It also overlooks clients that leave: of a connection that is suspended nothing is noticed, and
 * an end of file that came together with bytes is not told again. So each connection is watched for
 * that here, too.
 */
#include "http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/error.h"
#include "base/fd.h"
#include "http/inside.h"

#define POOL_BYTES 8192 /* for the head of a request, and of its answer */

const struct http_limits http_limits_default = {
	.connections = 4096,
	.body_bytes = (size_t)1 << 20,
	.stream_bytes = (size_t)8 << 20,
	.held_bytes = (size_t)256 << 20,
	.head_ms = 10000,
	.body_ms = 30000,
	.idle_ms = 75000,
	.heartbeat_ms = 15000,
	.stuck_s = 60,
};

static int on_deadline(struct loop_timer *t)
{
	struct http_connection *c = container_of(t, struct http_connection, deadline);

	(void)shutdown(c->fd, SHUT_RDWR);
	return 0;
}

/* 0: there is none. */
void http_deadline(struct http_connection *c, int64_t ms)
{
	struct loop *l = c->server->loop;

	if (ms == 0)
		loop_timer_clear(&c->deadline);
	else if (loop_timer_set(l, &c->deadline, loop_now(l) + ms, on_deadline) < 0)
		(void)shutdown(c->fd, SHUT_RDWR); /* without a deadline nobody may stay */
}

/* What was sent before may still have to be read: a request that is whole gets there in time. */
static int on_hangup(struct loop_source *s, uint32_t events)
{
	struct http_connection *c = container_of(s, struct http_connection, hangup);
	struct http_exchange *x = c->exchange;

	loop_remove(s);
	c->left = true;
	if (!x || x->state == HTTP_HEAD || x->state == HTTP_BODY)
		http_deadline(c, HTTP_SOON_MS);
	else if (x->suspended)
		http_break(x);
	return 0;
}

static void connection_begin(struct http_server *s, struct MHD_Connection *connection, void **ret)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_connection *c = calloc(1, sizeof(*c));

	if (!c || !info) {
		free(c);
		if (info)
			(void)shutdown(info->connect_fd, SHUT_RDWR);
		return;
	}
	c->server = s;
	c->fd = info->connect_fd;
	c->next = s->connections;
	c->back = &s->connections;
	if (c->next)
		c->next->back = &c->next;
	s->connections = c;
	s->connection_count++;
	http_deadline(c, s->limits.head_ms);
	if (loop_add(s->loop, &c->hangup, c->fd, EPOLLRDHUP, on_hangup, NULL) < 0)
		(void)shutdown(c->fd, SHUT_RDWR);
	*ret = c;
}

static void connection_end(struct http_connection *c)
{
	if (!c)
		return;
	/* Of a request that it could not read the library does not always tell the end. */
	if (c->exchange)
		http_end(c->exchange);
	loop_timer_clear(&c->deadline);
	loop_remove(&c->hangup);
	if (c->unread && !c->left && !c->server->quiet)
		http_linger(c->server, c->fd);
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	c->server->connection_count--;
	free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct http_listener *l = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_begin(l->server, connection, context);
	} else {
		connection_end(*context);
		*context = NULL;
	}
}

static int on_time(struct loop_timer *t);

static void arm(struct http_listener *l)
{
	struct loop *loop = l->server->loop;
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(l->daemon, &ms) != MHD_YES) {
		loop_timer_clear(&l->timer);
		return;
	}
	(void)loop_timer_set(loop, &l->timer, loop_now(loop) + (int64_t)ms, on_time);
}

static void run(struct http_listener *l)
{
	l->kicked = false;
	(void)MHD_run(l->daemon);
	/* What is resumed by a call from inside is not seen in the same look, and the library would
	 * not ask for another. */
	if (l->kicked)
		http_listener_kick(l);
	else
		arm(l);
}

static int on_time(struct loop_timer *t)
{
	run(container_of(t, struct http_listener, timer));
	return 0;
}

static int on_events(struct loop_source *s, uint32_t events)
{
	run(container_of(s, struct http_listener, source));
	return 0;
}

void http_listener_kick(struct http_listener *l)
{
	struct loop *loop = l->server->loop;

	l->kicked = true;
	(void)loop_timer_set(loop, &l->timer, loop_now(loop), on_time);
}

int http_server_new(struct loop *l, const struct http_limits *limits, const struct http_ops *ops,
                    void *owner, struct http_server **ret_server, struct error *err)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return error_nomem(err);
	s->loop = l;
	s->limits = *limits;
	s->ops = ops;
	s->owner = owner;
	*ret_server = s;
	return 0;
}

int http_server_listen(struct http_server *s, int fd, int tag, struct error *err)
{
	struct http_listener *l = &s->listeners[s->listener_count];
	const union MHD_DaemonInfo *info;
	int r;

	if (s->listener_count == HTTP_LISTENERS_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "too many addresses to listen on");
	*l = (struct http_listener){.server = s, .tag = tag, .source = {.fd = -1}};
	l->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, http_on_call, l,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, s->limits.connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, s->limits.stuck_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, http_on_target, l, MHD_OPTION_NOTIFY_COMPLETED,
		http_on_done, l, MHD_OPTION_NOTIFY_CONNECTION, on_connection, l, MHD_OPTION_END);
	info = l->daemon ? MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "the HTTP library does not start");
	r = loop_add(s->loop, &l->source, info->epoll_fd, EPOLLIN, on_events, err);
	if (r < 0) {
		(void)MHD_quiesce_daemon(l->daemon); /* the descriptor stays the caller's */
		MHD_stop_daemon(l->daemon);
		l->daemon = NULL;
		return r;
	}
	s->listener_count++;
	arm(l);
	return 0;
}

void http_server_quiesce(struct http_server *s)
{
	if (s->quiet)
		return;
	s->quiet = true;
	for (size_t i = 0; i < s->listener_count; i++) {
		int fd = MHD_quiesce_daemon(s->listeners[i].daemon);

		if (fd >= 0)
			fd_close(fd);
		http_listener_kick(&s->listeners[i]);
	}
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (!c->exchange)
			(void)shutdown(c->fd, SHUT_RDWR);
}

struct http_server *http_server_free(struct http_server *s)
{
	if (!s)
		return NULL;
	http_server_quiesce(s);
	/* The library cannot stop while something is suspended. */
	for (struct http_exchange *x = s->exchanges; x; x = x->next)
		http_break(x);
	for (size_t i = 0; i < s->listener_count; i++) {
		struct http_listener *l = &s->listeners[i];

		(void)MHD_run(l->daemon);
		loop_timer_clear(&l->timer);
		loop_remove(&l->source);
		MHD_stop_daemon(l->daemon);
	}
	http_lingers_end(s);
	free(s);
	return NULL;
}

size_t http_server_exchanges(const struct http_server *s)
{
	return s->exchange_count;
}

size_t http_server_connections(const struct http_server *s)
{
	return s->connection_count;
}
