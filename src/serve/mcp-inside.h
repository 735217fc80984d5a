#pragma once
/*
 * What the files about MCP over HTTP share: a client, and one request of it under way.
 */
#include <stdbool.h>
#include "base/loop.h"
#include "mcp/server.h"
#include "serve/inside.h"
#include "serve/replay.h"

#define SESSION_ID_CHARS 32
#define OFFERS_MAX       16

/* One client: a session, or all stateless requests of a principal. */
struct side {
	struct mcp_http *http;
	struct side *next, **back;
	struct client *client;
	struct mcp_peer *peer;
	struct digest token; /* of the principal; all zero: who runs nacre */
	struct mcp_offer offers[OFFERS_MAX];
	size_t offer_count;
	char id[SESSION_ID_CHARS + 1]; /* "": stateless */
	struct call *listener;         /* of a session: its GET */
	size_t posts;                  /* under way */
	struct post *streams;          /* that can be gone on with, the youngest first */
	uint64_t stream_count;         /* that there ever were */
	int64_t used_ms;
	bool has_person;
	int hold;     /* of a session, which is then in use; -1: none */
	bool refused; /* its handshake */
};

/* One POST under way, or a GET that listens. That of a session which has become a stream outlives
 * its connection: its client may come back for what it has missed. */
struct post {
	struct call *call; /* NULL: the connection is lost */
	struct side *side;
	struct post *next, **back;    /* of the side's streams; back is NULL: it is none */
	bool listens, modern, begins; /* begins: the answer names the new session */
	bool streaming, ended;
	bool wants_events; /* the client takes nothing but a stream */
	bool wants_json;   /* or no stream: what is not needed is not said to it */
	int64_t ended_ms;
	const char *revision;
	struct replay replay;
};

struct mcp_http {
	struct serve *serve;
	struct mcp_server *server;
	struct side *sides;
	size_t sessions;
	size_t kept; /* bytes of all events */
	struct loop_timer sweep;
};

/* mcp-post.c */
struct post *post_new(struct call *c); /* NULL: that is answered */
void post_free(struct post *p);
void post_let_go(struct post *p); /* nobody can come back to it any more */
void post_begin_stream(struct post *p);
void post_answer(struct post *p, int status, struct buffer *json); /* the body is taken */
bool post_send(void *owner, const struct mcp_output *o);           /* OWNER is the side */
/* The stream that the event LAST of the session belongs to goes on for this GET, behind it. */
void post_resume(struct call *c, struct side *s, const char *last);
/* Streams that nobody has come back for in time are forgotten; ALL: and all others. */
void post_forget(struct side *s, int64_t now, bool all);
