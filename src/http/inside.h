#pragma once
/*
 * What the files of this room share: a listener, a connection, an exchange.
 */
#include <microhttpd.h>
#include "base/buffer.h"
#include "http/server.h"
#include "base/loop.h"

#define HTTP_LISTENERS_MAX 16
#define HTTP_SOON_MS       200 /* for the rest of what a client has sent before it left */

struct http_listener {
	struct http_server *server;
	struct MHD_Daemon *daemon;
	int tag;
	struct loop_source source; /* the library's epoll descriptor */
	struct loop_timer timer;   /* when it wants to look by itself */
	bool kicked;               /* something was resumed since it has looked */
};

struct http_server {
	struct loop *loop;
	struct http_limits limits;
	const struct http_ops *ops;
	void *owner;
	struct http_listener listeners[HTTP_LISTENERS_MAX];
	size_t listener_count;
	struct http_exchange *exchanges; /* a list */
	struct http_connection *connections;
	size_t exchange_count, connection_count;
	struct http_linger *lingers; /* see linger.c */
	size_t linger_count;
	size_t held; /* by all exchanges */
	bool quiet;  /* accepts no more */
};

struct http_connection {
	struct http_server *server;
	struct http_connection *next, **back;
	int fd;
	struct http_exchange *exchange; /* NULL: it is idle */
	struct loop_timer deadline;     /* of the head, the body, or of being idle */
	struct loop_source hangup;
	bool left;   /* the client sends no more */
	bool unread; /* there is a body that was not waited for */
};

enum http_state {
	HTTP_HEAD,    /* until the library calls for the first time */
	HTTP_BODY,    /* it comes */
	HTTP_WAITING, /* all is there; the owner thinks */
	HTTP_SENDING, /* the answer is the library's */
};

struct http_exchange {
	struct http_server *server;
	struct http_listener *listener;
	struct http_connection *link;
	struct MHD_Connection *connection;
	struct http_exchange *next, **back;
	enum http_state state;
	char *target; /* cut at its '?' */
	const char *path, *query, *method;
	uint64_t length;
	bool has_length, chunked;
	bool known;               /* the owner has heard of it */
	bool suspended;           /* the library does not look at it */
	bool broken;              /* the client has left, or is too slow: end it */
	bool too_large, too_much; /* too_much: all bodies together */
	size_t held;              /* of the server's bound */
	struct buffer body;
	size_t body_max, discarded;
	struct MHD_Response *response; /* ready to be queued */
	int status;
	void *user;
	/* A stream */
	bool streams, ended, pulling;
	struct buffer out;
	size_t out_at;
	int64_t wrote_at;
	struct loop_timer heartbeat;
};

/* server.c */
void http_listener_kick(struct http_listener *l); /* the library looks in the next turn */
void http_deadline(struct http_connection *c, int64_t ms);

/* exchange.c */
void *http_on_target(void *cls, const char *uri, struct MHD_Connection *c);
enum MHD_Result http_on_call(void *cls, struct MHD_Connection *c, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state);
void http_on_done(void *cls, struct MHD_Connection *c, void **state,
                  enum MHD_RequestTerminationCode code);
void http_end(struct http_exchange *x); /* it is no more */
void http_break(struct http_exchange *x);
/* N bytes are in memory for it; false: that is too much. 0: nothing is any more. */
bool http_hold(struct http_exchange *x, size_t n);
void http_suspend(struct http_exchange *x);
void http_resume(struct http_exchange *x);

/* linger.c */
void http_linger(struct http_server *s, int fd); /* which is about to be closed */
void http_lingers_end(struct http_server *s);

/* stream.c */
struct MHD_Response *http_stream_response(struct http_exchange *x);
