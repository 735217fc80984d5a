#include "gateway/gateway.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "gateway/confine.h"
#include "gateway/inside.h"
#include "gateway/names.h"

#define ACCEPTS_A_TURN   64
#define ORDERS_A_TURN    128
#define DESCRIPTORS_MORE 160 /* pipes, look-ups, doors */

const char *gateway_end_word(enum gateway_end end)
{
	static const char *const words[GATEWAY_END_MAX] = {
		[GATEWAY_END_CLOSED] = "closed",   [GATEWAY_END_RESET] = "reset",
		[GATEWAY_END_REFUSED] = "refused", [GATEWAY_END_FAILED] = "failed",
		[GATEWAY_END_LEFT] = "left",       [GATEWAY_END_OVER] = "over",
	};

	return end < GATEWAY_END_MAX ? words[end] : "";
}

/* It waits if the supervisor is behind: nothing is forgotten. */
void gateway_tell(struct gateway *g, const struct gateway_event *event)
{
	ssize_t n;

	do
		n = packet_put(g->supervisor_fd, event, sizeof(*event), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*event))
		_exit(1);
}

static int on_listener(struct loop_source *s, uint32_t events)
{
	struct gateway_door *d = container_of(s, struct gateway_door, source);
	struct gateway *g = d->gateway;

	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && g->count < g->most; i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			break;
		connection_accept(g, fd);
	}
	gateway_watch_doors(g);
	return 0;
}

static int on_datagram(struct loop_source *s, uint32_t events)
{
	struct gateway_door *d = container_of(s, struct gateway_door, source);

	(void)events;
	query_udp(d->gateway, d->fd);
	return 0;
}

/* Those that may not come yet wait in the kernel. */
void gateway_watch_doors(struct gateway *g)
{
	for (size_t i = 0; i < g->tcp_count; i++) {
		struct gateway_door *d = &g->tcp[i];
		bool wanted = g->count < g->most;

		if (wanted == d->watched)
			continue;
		if (wanted)
			d->watched = loop_add(g->loop, &d->source, d->fd, EPOLLIN, on_listener,
			                      NULL) == 0;
		else
			loop_remove(&d->source);
		d->watched = wanted && d->watched;
	}
}

/* False: there is none. */
static bool take_order(struct gateway *g)
{
	struct gateway_event idle = {.kind = GATEWAY_IDLE};
	struct gateway_order order;
	ssize_t n = packet_get(g->supervisor_fd, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != (ssize_t)sizeof(order))
		_exit(0); /* the supervisor is gone */
	if (order.kind == GATEWAY_CLOSE) {
		connections_close(g);
		gateway_tell(g, &idle);
	} else {
		connection_order(g, &order);
	}
	return true;
}

static int on_supervisor(struct loop_source *s, uint32_t events)
{
	struct gateway *g = container_of(s, struct gateway, supervisor);

	(void)events;
	for (int i = 0; i < ORDERS_A_TURN && take_order(g);)
		i++;
	return 0;
}

static void detach(const struct gateway_wish *w)
{
	int keep[SANDBOX_DOORS_TCP + SANDBOX_DOORS_UDP + 1];
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	size_t n = 0;

	(void)prctl(PR_SET_NAME, "nacre-gateway", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	keep[n++] = w->supervisor;
	for (size_t i = 0; i < w->doors->tcp_count; i++)
		keep[n++] = w->doors->tcp[i];
	for (size_t i = 0; i < w->doors->udp_count; i++)
		keep[n++] = w->doors->udp[i];
	fd_null_standard();
	fd_close_except(keep, n);
}

static int open_doors(struct gateway *g, const struct sandbox_doors *doors)
{
	g->way = doors->way;
	for (size_t i = 0; i < doors->tcp_count; i++)
		g->tcp[g->tcp_count++] =
			(struct gateway_door){.gateway = g, .fd = doors->tcp[i], .source.fd = -1};
	for (size_t i = 0; i < doors->udp_count; i++) {
		struct gateway_door *d = &g->udp[g->udp_count++];

		*d = (struct gateway_door){.gateway = g, .fd = doors->udp[i]};
		if (loop_add(g->loop, &d->source, d->fd, EPOLLIN, on_datagram, NULL) < 0)
			return -EIO;
	}
	gateway_watch_doors(g);
	return loop_add(g->loop, &g->supervisor, g->supervisor_fd, EPOLLIN, on_supervisor, NULL);
}

_Noreturn void gateway_main(const struct gateway_wish *wish)
{
	struct gateway *g = calloc(1, sizeof(*g));
	size_t descriptors;

	detach(wish);
	if (!g)
		_exit(1);
	g->rules = wish->rules;
	via_read(g->rules, getenv, &g->via);
	g->names = wish->names;
	g->supervisor_fd = wish->supervisor;
	g->next_id = 1;
	names_check(g->names);
	relay_pool_init(&g->pool);
	/* A connection has two ends. */
	descriptors = gateway_descriptors(2 * GATEWAY_CONNECTIONS_MAX + DESCRIPTORS_MORE);
	g->most = descriptors > DESCRIPTORS_MORE + 64 ? (descriptors - DESCRIPTORS_MORE) / 2 : 32;
	if (loop_new(&g->loop, NULL) < 0 || resolver_new(g->loop, &g->resolver, NULL) < 0 ||
	    gateway_confine() < 0 || open_doors(g, wish->doors) < 0)
		_exit(1);
	(void)loop_run(g->loop);
	_exit(1);
}
