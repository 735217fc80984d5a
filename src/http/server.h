#pragma once
/*
 * HTTP server: HTTP/1.1 with plain answers and event streams, in our loop. It knows nothing of what
 * is served.
 *
 * An exchange is one request and its answer. Its owner hears begin() when the head is there, which
 * is the time to refuse; request() when the body is; and gone() exactly once, after which the
 * exchange is no more. Between, it answers whenever it likes: at once, later, or with a stream.
 *
 * Nobody can hold more than its share: head and body have sizes and a time in which they must come,
 * connections a number, streams a bounded buffer and, when the client does not read, an end; and
 * all that is large together has a bound. What does not fit into it is refused with 503.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"

struct error;
struct http_exchange;
struct http_server;
struct loop;

struct http_ops {
	void (*begin)(void *owner, struct http_exchange *x);
	void (*request)(void *owner, struct http_exchange *x);
	/* A stream has nothing left to send: there is room for more. May be NULL. */
	void (*drained)(void *owner, struct http_exchange *x);
	void (*gone)(void *owner, struct http_exchange *x);
};

struct http_limits {
	unsigned connections; /* of each listener; more wait to be accepted */
	size_t body_bytes;    /* unless begin() says otherwise */
	size_t stream_bytes;  /* that may wait in a stream for a slow client */
	size_t held_bytes;    /* of all bodies, answers and streams, beyond HTTP_SMALL of each */
	int64_t head_ms;      /* for a head to come, from its first byte on */
	int64_t body_ms;      /* for a body to come */
	int64_t idle_ms;      /* that a connection may wait for its next request */
	int64_t heartbeat_ms; /* a quiet stream sends a comment this often */
	unsigned stuck_s;     /* a client that takes nothing for so long is left */
};

#define HTTP_SMALL ((size_t)64 << 10) /* what everybody has, however much others hold */

extern const struct http_limits http_limits_default;

/* OPS and OWNER stay the caller's and must outlive the server. */
int http_server_new(struct loop *l, const struct http_limits *limits, const struct http_ops *ops,
                    void *owner, struct http_server **ret_server, struct error *err);
/* Ends what is left, with gone() for each. */
struct http_server *http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free);

/* FD listens; it becomes the server's if this succeeds. TAG is what http_tag() tells. */
int http_server_listen(struct http_server *s, int fd, int tag, struct error *err);

/* Accepts no more, closes what is idle; answers from now on are the last of their connections. */
void http_server_quiesce(struct http_server *s);
size_t http_server_exchanges(const struct http_server *s);
size_t http_server_connections(const struct http_server *s);

/* About the request; strings live until gone(), headers until the answer. */
const char *http_method(const struct http_exchange *x);
const char *http_path(const struct http_exchange *x);
const char *http_query(const struct http_exchange *x);
const char *http_header(const struct http_exchange *x, const char *name); /* or NULL */
const char *http_body(const struct http_exchange *x, size_t *ret_len);    /* in request() */
bool http_has_body(const struct http_exchange *x);
int http_tag(const struct http_exchange *x);
int http_fd(const struct http_exchange *x); /* the connection, to ask the kernel about */

void http_set_user(struct http_exchange *x, void *user); /* the owner's own; NULL at first */
void *http_user(const struct http_exchange *x);
void http_set_body_max(struct http_exchange *x, size_t bytes); /* in begin() */

#define HTTP_HEADERS_MAX 16

struct http_answer {
	int status;
	const char *type;                         /* of the content; NULL: there is none */
	struct buffer *body;                      /* taken; NULL: empty */
	const char *headers[HTTP_HEADERS_MAX][2]; /* name and value, up to a NULL */
	bool close;
};

/* Exactly one of these per exchange. Both may be called at any time after begin(). */
void http_answer(struct http_exchange *x, const struct http_answer *a);
void http_stream(struct http_exchange *x, const struct http_answer *a); /* without a body */
bool http_is_answered(const struct http_exchange *x);

/* False: the client is too far behind; the stream ends broken. */
bool http_stream_write(struct http_exchange *x, const void *bytes, size_t n);
size_t http_stream_waiting(const struct http_exchange *x); /* bytes not yet taken */
void http_stream_end(struct http_exchange *x);

/* One event; ID and NAME may be NULL. DATA is one line. */
bool http_stream_event(struct http_exchange *x, const char *id, const char *name, const char *data,
                       size_t n);

const char *http_reason(int status); /* "Not Found" */
