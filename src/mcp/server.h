#pragma once
/*
 * MCP without a transport: messages come in by mcp_peer_receive(), and go out by a callback.
 *
 * A peer is one client: a connection over stdio, or over HTTP a session of the handshake era, or
 * all stateless requests of one principal. What belongs together on the way back is told by the
 * stream, a pointer that the transport gives with a request and that means nothing here: over HTTP
 * it is the POST whose answer, alone or as a stream of events, carries the message.
 *
 * Nothing is waited for: commands run as jobs in the loop, and their answers come when they come.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct dialect;
struct engine;
struct error;
struct find_origin;
struct loop;
struct mcp_peer;
struct mcp_server;
struct permit_share;
struct result;
struct rpc_message;

#define MCP_KEY_BYTES 32
#define MCP_TOOL_MAX  128 /* of the protocol: the name of a tool */

struct mcp_options {
	struct loop *loop;
	uint8_t key[MCP_KEY_BYTES];  /* that signs what a client carries for us; of the installation
	                              */
	int64_t foreground_max_ms;   /* a call that takes longer becomes a task; 0: it is waited for
	                                until its time limit, or until the client gives up */
	int64_t task_after_ms;       /* the same where the client knows tasks */
	int64_t approval_timeout_ms; /* how long an answer of a person is waited for */
	size_t answer_bytes; /* of an answer; 0: what the client takes, or the profile says */
	size_t running_max;  /* commands at a time; more of them wait */
	size_t queued_max;   /* that may wait; more are refused */
};

extern const struct mcp_options mcp_options_default; /* without loop and key */

int mcp_server_new(const struct mcp_options *options, struct mcp_server **ret_server,
                   struct error *err);
struct mcp_server *mcp_server_free(struct mcp_server *s); /* after its peers */
DEFINE_CLEANUP(struct mcp_server *, mcp_server_free);

/* Of clients that have no share of others: calls that run commands, and that wait for it. */
size_t mcp_server_running(const struct mcp_server *s);
size_t mcp_server_queued(const struct mcp_server *s);

/* A tool that runs commands: how it looks, and what is behind it. Of several that look the same
 * each has the name of its profile behind the tool's: run_command_writer. */
struct mcp_offer {
	const struct dialect *dialect;
	struct engine *engine;
	char tool[MCP_TOOL_MAX]; /* filled by the peer */
};

enum mcp_output_kind {
	MCP_OUTPUT_MESSAGE, /* a notification, or a request of ours; more follows on the stream */
	MCP_OUTPUT_ANSWER,  /* the response, or the responses of a batch: the stream has ended */
	MCP_OUTPUT_NOTHING, /* the stream has ended without one: the call was cancelled. No JSON */
};

struct mcp_output {
	enum mcp_output_kind kind;
	void *stream; /* NULL: belongs to no request. Over HTTP it goes where the client listens,
	                 and is lost if it does not */
	const char *json; /* one line without its end */
	size_t len;
	bool needed; /* of a message: more than news, which may be dropped where nobody keeps up */
	int code;    /* of an answer: the JSON-RPC error; 0: a result */
	int status;  /* of an answer: the HTTP status */
};

/* Copies what it keeps; must not call back into the peer. False: the client cannot take it; the
 * results of commands are then kept on disk. */
typedef bool (*mcp_send)(void *owner, const struct mcp_output *output);

/* What a door with more clients than one has to say about their commands. */
struct mcp_house {
	/* Whether the principal may have one more task in the background. */
	bool (*may_begin_task)(void *owner);
	void (*ended)(void *owner, const char *profile, const struct result *result);
	/* The engine that stands for the offer in this workspace, which a call names. */
	struct engine *(*find)(void *owner, const struct mcp_offer *offer, const char *workspace);
};

struct mcp_peer_options {
	const char *principal;          /* NULL: who runs nacre */
	const char *door;               /* "mcp", "http" */
	const char *session;            /* of its commands; NULL: none */
	const struct mcp_offer *offers; /* copied; the engines live longer than the peer */
	size_t offer_count;             /* from 1 on */
	bool has_person;                /* behind the client: only then is it asked for answers */
	bool shared; /* several clients who do not know of each other: ids are not unique, the
	                handshake is refused, and nothing is sent to no stream */
	mcp_send send;
	struct permit_share *share;    /* of the principal; NULL: the server's, by its options */
	const struct mcp_house *house; /* NULL: there is one client */
	/* Whether a task of this principal is one of this client: it comes from a directory that
	 * the client may use. */
	bool (*sees)(const void *owner, const struct find_origin *origin);
	void *owner;
};

int mcp_peer_new(struct mcp_server *s, const struct mcp_peer_options *options,
                 struct mcp_peer **ret_peer, struct error *err);
/* Its calls are stopped, its tasks go on, and nothing is sent any more. NULL is fine. */
struct mcp_peer *mcp_peer_free(struct mcp_peer *p);
DEFINE_CLEANUP(struct mcp_peer *, mcp_peer_free);

enum mcp_taken {
	MCP_TAKEN,   /* nothing is sent for it (over HTTP: 202) */
	MCP_ANSWERS, /* exactly one ANSWER or NOTHING was, or will be, sent on the stream */
};

/* HEADER: what HTTP says about the revision, or NULL. The message stays the caller's. */
enum mcp_taken mcp_peer_receive(struct mcp_peer *p, const struct rpc_message *m, const char *header,
                                void *stream);

/* The client does not listen to this stream any more. END: that ends what it asked for; else it
 * goes on and its answer is dropped. The stream is not used any more. */
void mcp_peer_hang_up(struct mcp_peer *p, void *stream, bool end);

/* All that it has asked for is stopped, and nothing of it is answered. */
void mcp_peer_cancel_all(struct mcp_peer *p);
bool mcp_peer_is_busy(const struct mcp_peer *p); /* there are calls whose commands have not ended */

/* The tasks that it has begun are ended, too; it is busy until they are. Else they go on. */
void mcp_peer_stop_tasks(struct mcp_peer *p);

/* Open subscriptions are ended as a server that goes away does. */
void mcp_peer_say_goodbye(struct mcp_peer *p);

/* Of a handshake; NULL: there was none. */
const char *mcp_peer_revision(const struct mcp_peer *p);
