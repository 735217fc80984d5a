#pragma once
/*
 * Inside: one gateway's memory, as the files of this room share it.
 *
 *	gateway.c   the process: its doors, its supervisor
 *	query.c     look-ups of programs, by UDP and by TCP
 *	connect.c   a connection from its first byte to its last
 *	dial.c      which address is dialled, and the way there
 *	refuse.c    what a client is told that is turned away
 */
#include "base/loop.h"
#include "gateway/dns.h"
#include "gateway/gateway.h"
#include "gateway/relay.h"
#include "gateway/resolve.h"
#include "gateway/via.h"
#include "sandbox/doors.h"

#define GATEWAY_CONNECTIONS_MAX 1024
#define GATEWAY_HELD_MAX        256
#define GATEWAY_QUERIES_MAX     64
#define GATEWAY_ATTEMPTS_MAX    4

struct gateway;

struct gateway_door {
	struct loop_source source;
	struct gateway *gateway;
	int fd;
	bool watched;
};

enum connection_state {
	CONNECTION_QUERY,     /* port 53: look-ups */
	CONNECTION_HELD,      /* a person is asked */
	CONNECTION_RESOLVING, /* its name outside */
	CONNECTION_RECORDING, /* the supervisor writes it down */
	CONNECTION_DIALLING,
	CONNECTION_PROXY, /* the proxy above was asked */
	CONNECTION_OPEN,
	CONNECTION_REFUSING, /* its first bytes are waited for, then it is told */
	CONNECTION_TOLD,     /* it was; it may read that before it is closed */
};

struct connection {
	struct gateway *gateway;
	struct connection *next, *previous; /* of all */
	struct connection *next_ready;      /* of those with more to do */
	bool ready;
	struct loop_source client, upstream; /* fd -1: none */
	int client_fd, upstream_fd;
	struct loop_timer timer;
	uint32_t id;
	enum connection_state state;
	const char *name; /* of the table, or TEXT */
	char text[NETWORK_ADDRESS_SIZE];
	bool literal;
	uint16_t port;
	struct network_address address;
	struct network_verdict verdict;
	int64_t started_ms, held_ms, dialled_ms;
	bool dialled; /* its end has to be told */
	struct resolve *resolve;
	struct network_address attempts[GATEWAY_ATTEMPTS_MAX];
	size_t attempt, attempt_count;
	struct first *first; /* NULL: decided */
	enum first_protocol protocol;
	bool ech;
	struct relay up, down;
	uint8_t *pending; /* looked at, and to be sent first */
	size_t pending_len, pending_at;
	enum network_reason reason; /* of a refusal */
	char what[GATEWAY_WHAT_SIZE];
	uint8_t *query; /* of look-ups by TCP: what has come */
	size_t query_len;
};

struct query; /* a look-up that waits for the host's answer */

struct gateway {
	struct loop *loop;
	const struct network_rules *rules;
	struct via via;
	struct names *names;
	struct resolver *resolver;
	enum sandbox_way way;
	struct gateway_door tcp[SANDBOX_DOORS_TCP], udp[SANDBOX_DOORS_UDP];
	size_t tcp_count, udp_count;
	struct loop_source supervisor;
	int supervisor_fd;
	struct relay_pool pool;
	struct connection *connections, *ready;
	struct loop_timer again; /* for those that are ready */
	size_t count, held, most;
	struct query *queries;
	size_t query_count;
	uint32_t next_id;
};

/* gateway.c. What cannot be told ends the gateway. */
void gateway_tell(struct gateway *g, const struct gateway_event *event);
void gateway_watch_doors(struct gateway *g); /* as many connections as there may be */

/* connect.c */
void connection_accept(struct gateway *g, int fd);
void connection_end(struct connection *c, enum gateway_end end, bool reset);
void connection_close(struct loop_source *s, int *fd, bool reset);
void connection_order(struct gateway *g, const struct gateway_order *order);
void connections_close(struct gateway *g);
void connection_opened(struct connection *c); /* the other side is reached */
struct gateway_event connection_event(const struct connection *c, enum gateway_event_kind kind);

/* dial.c */
void dial_begin(struct connection *c);
void dial_recorded(struct connection *c);
void dial_upstream(struct connection *c, uint32_t events);

int connection_watch_upstream(struct connection *c);

/* refuse.c. The reason is told and recorded; the connection is over then. */
void refuse(struct connection *c, enum network_reason reason, const char *what);
void refuse_event(struct connection *c, uint32_t events);
int refuse_timer(struct loop_timer *t);

/* query.c */
void query_udp(struct gateway *g, int fd);
void query_tcp(struct connection *c);
void query_forget(struct gateway *g, const struct connection *c); /* or NULL: all */
