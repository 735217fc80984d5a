/*
 * Orders for the gateway. A crowd of connections asks faster than the gateway listens, and each of
 * them waits for its word: what does not fit into the socket waits here. The gate itself never
 * waits, since the gateway does for the gate.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/packet.h"
#include "keeper/gate-inside.h"

/* More than there are connections: such a gateway does not listen at all. */
#define ORDERS_MAX 4096

/* False: it does not fit now. A gateway that is gone is noticed by its end of file. */
static bool put(const struct gate *g, const struct gateway_order *o)
{
	return packet_put(g->gateway, o, sizeof(*o), MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static bool grow(struct gate_orders *q)
{
	size_t size = q->size ? 2 * q->size : 64;
	struct gateway_order *items;

	if (q->count < q->size)
		return true;
	items = q->count < ORDERS_MAX ? reallocarray(q->items, size, sizeof(*items)) : NULL;
	if (!items)
		return false;
	q->items = items;
	q->size = size;
	return true;
}

void gate_order(struct gate *g, enum gateway_order_kind kind, uint32_t id,
                enum network_reason reason)
{
	const struct gateway_order o = {.kind = kind, .id = id, .reason = reason};

	if (g->gateway < 0 || (g->orders.count == 0 && put(g, &o)))
		return;
	/* A connection that never hears its word would wait for ever: the end is the better news.
	 */
	if (grow(&g->orders))
		g->orders.items[g->orders.count++] = o;
	else
		(void)kill(g->pid, SIGKILL);
}

short gate_orders_events(const struct gate *g)
{
	return g->orders.count > 0 ? POLLIN | POLLOUT : POLLIN;
}

void gate_orders_flush(struct gate *g)
{
	struct gate_orders *q = &g->orders;
	size_t n = 0;

	while (n < q->count && put(g, &q->items[n]))
		n++;
	q->count -= n;
	if (n > 0)
		memmove(q->items, q->items + n, q->count * sizeof(*q->items));
}

void gate_orders_forget(struct gate *g)
{
	free(g->orders.items);
	g->orders = (struct gate_orders){.count = 0};
}
