#pragma once
/*
 * What the files of this room share. Not for other rooms: they have server.h.
 *
 * Every request is a call, from its arrival until its answer has left. A handler answers at once,
 * or gives the call a work, which ends it later; a call that is cancelled says nothing any more but
 * lives until its work has ended.
 */
#include <jansson.h>
#include "base/buffer.h"
#include "json/write.h"
#include "base/loop.h"
#include "engine/permits.h"
#include "mcp/appetite.h"
#include "mcp/era.h"
#include "mcp/server.h"
#include "json/rpc.h"
#include "json/rpc-write.h"
#include "task/store.h"

struct approval;
struct find_origin;
struct mcp_call;
struct mcp_run;

#define MCP_SERVER_NAME   "nacre"
#define MCP_PEER_CALLS    1024 /* a client may have under way */
#define MCP_SUBSCRIPTIONS 64   /* resources that one client follows at a time */
#define MCP_MARKS         64   /* tasks of which a client's place in the output is remembered */

/* What a client says that it can do. */
struct mcp_capabilities {
	bool form;  /* ask a person by a form */
	bool tasks; /* the extension */
	bool sampling, roots;
};

struct mcp_batch {
	void *stream;
	size_t waiting; /* answers that are still to come */
	size_t count;   /* that have come */
	struct buffer text;
};

enum mcp_log_level {
	MCP_LOG_DEBUG,
	MCP_LOG_INFO,
	MCP_LOG_NOTICE,
	MCP_LOG_WARNING,
	MCP_LOG_MAX = 8
};

struct mcp_call {
	struct mcp_peer *peer;
	struct mcp_call *next, *previous; /* of the peer */
	void *stream;
	struct mcp_batch *batch; /* that its answer belongs to; NULL: none */
	char *id;                /* JSON text, as it came */
	char *key;               /* the same in the one spelling that is compared */
	bool modern, silent;     /* silent: nothing is said for it any more */
	bool cancelled;          /* its work was told to end */
	bool unwanted;           /* to be cancelled */
	bool gave_up;            /* the client's own time limit has cancelled it */
	bool bad_envelope;       /* which has an HTTP status of its own */
	enum mcp_revision revision;
	struct mcp_capabilities capabilities;
	struct mcp_appetite appetite;
	int log_level; /* MCP_LOG_MAX: nothing is logged */
	char *token;   /* of progress, JSON text; NULL: none is wanted */
	int64_t started_at, last_progress;
	char *asked_id; /* of our request to the client that waits for its answer; NULL: none */
	void *work;     /* NULL: none yet */
	void (*cancel)(struct mcp_call *c); /* ends the work, and the call, soon or at once */
	void (*leave)(struct mcp_call *c);  /* the same at once, without waiting for its end */
	void (*answered)(struct mcp_call *c, const struct rpc_message *m); /* our request was */
};

struct mcp_mark {
	char id[STORE_ID_MAX];
	uint64_t offset;
};

struct mcp_subscription {
	char id[STORE_ID_MAX]; /* of a task */
	uint64_t bytes;
	bool ended;
};

struct mcp_memo;

struct mcp_peer {
	struct mcp_server *server;
	struct mcp_peer *next, *previous;
	char *principal, *door, *session;
	struct mcp_offer *offers;
	size_t offer_count;
	bool has_person, shared;
	mcp_send send;
	struct permit_share *share;
	const struct mcp_house *house;
	bool (*sees)(const void *owner, const struct find_origin *origin);
	void *owner;
	enum mcp_revision revision; /* MCP_REVISION_MAX: no handshake yet */
	bool initialized;           /* the client has said so */
	bool closed;                /* nothing is sent any more */
	struct mcp_capabilities capabilities;
	struct mcp_appetite appetite; /* of the handshake */
	int log_level;
	struct mcp_call *calls;
	size_t call_count;
	uint64_t request_count; /* of ours */
	struct mcp_mark marks[MCP_MARKS];
	size_t mark_count;
	struct mcp_subscription subscriptions[MCP_SUBSCRIPTIONS];
	size_t subscription_count;
	struct loop_timer subscription_timer;
	struct mcp_begun *begun; /* see begun.c */
	size_t begun_count, stopping;
	int64_t patience_ms;         /* how long the client waits; 0: not known. See given-up.c */
	char given_up[STORE_ID_MAX]; /* a task that it does not know of yet; "": none */
	struct mcp_memo *memos;      /* see memo.c */
};

struct mcp_server {
	struct mcp_options options;
	struct mcp_peer *peers;
	struct permits permits; /* of peers that have none of others */
	struct permit_share share;
	int64_t searched_ms; /* loop_now() of the turn in which an output was searched last */
	struct nonces *nonces;
};

/* call.c */
struct mcp_call *mcp_call_new(struct mcp_peer *p, const struct rpc_message *m,
                              const struct mcp_envelope *e, void *stream, struct mcp_batch *batch);
void mcp_call_free(struct mcp_call *c); /* without a word */
/* The end of its stream, once; the call lives until its work has ended. */
void mcp_call_silence(struct mcp_call *c);
/* These end the call. DATA is JSON text, or NULL. */
void mcp_call_error(struct mcp_call *c, int code, const char *text, const char *data);
void mcp_call_fail(struct mcp_call *c, const struct error *err); /* by the kind of the error */
void mcp_call_empty(struct mcp_call *c);                         /* an empty result */

/* A result under way: members go to w, those of its _meta to meta. */
struct mcp_answer {
	struct mcp_call *call;
	struct buffer text, meta_text;
	struct json_writer w, meta;
};
void answer_begin(struct mcp_answer *a, struct mcp_call *c, const char *type);
void answer_cacheable(struct mcp_answer *a, int64_t ttl_ms, bool is_public);
bool answer_send(struct mcp_answer *a); /* ends the call; false: the client cannot take it */
/* The same for a call whose work goes on without it: silent from now on, and not to be cancelled.
 */
void answer_early(struct mcp_answer *a);

/* A notification about the call; the writer stands in its params. */
struct mcp_notice {
	struct mcp_peer *peer;
	void *stream;
	bool muted, needed;
	struct buffer text;
	struct json_writer w;
};
void notice_begin(struct mcp_notice *n, struct mcp_peer *p, struct mcp_call *c, const char *method);
void notice_send(struct mcp_notice *n);

void mcp_call_progress(struct mcp_call *c, const char *message);
void mcp_call_log(struct mcp_call *c, enum mcp_log_level level, const char *text);
/* A request to the client; the writer stands in its params. -ENOTSUP: it has nobody to ask. */
int mcp_call_ask_begin(struct mcp_call *c, const char *method, struct mcp_notice *ret);
void mcp_call_unask(struct mcp_call *c); /* the answer is not waited for any more */

/* A value of the call's params that must be a string, or the call is ended and NULL returned. */
const char *mcp_call_need_string(struct mcp_call *c, const struct rpc_message *m, const char *key);

/* One of the answers that a batch waits for; JSON is NULL: there will be none. */
bool mcp_batch_take(struct mcp_peer *p, struct mcp_batch *b, const char *json);

/* peer.c */
int mcp_log_level_find(const char *name); /* MCP_LOG_MAX: there is none */
const char *mcp_log_level_name(int level);
void mcp_capabilities_read(json_t *object, struct mcp_capabilities *ret);
struct store *mcp_peer_store(struct mcp_peer *p);

/* The methods; each answers its call or gives it a work. */
typedef void mcp_method(struct mcp_call *c, const struct rpc_message *m);
mcp_method method_initialize, method_ping, method_discover, method_set_level;
mcp_method method_tools_list, method_tools_call;
mcp_method method_resources_list, method_resource_templates, method_resources_read;
mcp_method method_subscribe, method_unsubscribe, method_listen;
mcp_method method_tasks_get, method_tasks_result, method_tasks_cancel, method_tasks_list,
	method_tasks_update;

/* resources.c: the answer to a request for what is not there; ends the call. */
/* session.c: what the session of the client has, as one JSON object. */
void mcp_put_session(const struct mcp_call *c, struct buffer *into);
void mcp_no_resource(struct mcp_call *c, const char *uri);

/* listen.c: one of our lists has changed. */
void mcp_tell_changed(struct mcp_server *server, const char *method, bool tools);
