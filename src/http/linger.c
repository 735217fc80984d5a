/*
 * A body that nobody wants is refused before it has come. To close then would be unkind: what still
 * arrives is answered with a reset, and the client, which is busy with writing, never reads why. So
 * the socket stays open behind the library for a while, and what comes is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"
#include "http/inside.h"

#define LINGER_MAX   64 /* at a time; beyond it a client may see a reset */
#define LINGER_MS    5000
#define LINGER_BYTES ((size_t)64 << 20)

struct http_linger {
	struct http_server *server;
	struct http_linger *next, **back;
	struct loop_source source;
	struct loop_timer timer;
	int fd;
	size_t thrown;
};

static void linger_end(struct http_linger *g)
{
	loop_timer_clear(&g->timer);
	loop_remove(&g->source);
	fd_close(g->fd);
	*g->back = g->next;
	if (g->next)
		g->next->back = g->back;
	g->server->linger_count--;
	free(g);
}

static int on_bytes(struct loop_source *source, uint32_t events)
{
	struct http_linger *g = container_of(source, struct http_linger, source);
	char bytes[16384];
	ssize_t n = recv(g->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		g->thrown += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || g->thrown > LINGER_BYTES)
		linger_end(g);
	return 0;
}

static int on_time(struct loop_timer *t)
{
	linger_end(container_of(t, struct http_linger, timer));
	return 0;
}

void http_linger(struct http_server *s, int fd)
{
	struct http_linger *g;

	if (s->linger_count == LINGER_MAX || !(g = calloc(1, sizeof(*g))))
		return;
	g->server = s;
	g->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	g->source.fd = -1;
	g->next = s->lingers;
	g->back = &s->lingers;
	if (g->next)
		g->next->back = &g->next;
	s->lingers = g;
	s->linger_count++;
	if (g->fd < 0 || loop_add(s->loop, &g->source, g->fd, EPOLLIN, on_bytes, NULL) < 0 ||
	    loop_timer_set(s->loop, &g->timer, loop_now(s->loop) + LINGER_MS, on_time) < 0)
		linger_end(g);
}

void http_lingers_end(struct http_server *s)
{
	while (s->lingers)
		linger_end(s->lingers);
}
