#pragma once
/*
 * JSON-RPC 2.0 messages: bytes from a peer -> one message, or the error to answer with.
 *
 * Nothing here knows what the methods mean. The JSON text of an id is kept as it came, so that an
 * answer carries exactly the id of its request: 1 and "1" are different ids.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "json/read.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
};

#define RPC_DEPTH_MAX 128 /* nested arrays and objects */
#define RPC_VALUES_MAX                                                                             \
	131072          /* in all: each takes some hundred bytes, however short it is written */
#define RPC_ID_MAX 4096 /* bytes of an id as JSON text; a longer one is refused */

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE, /* to a request of ours, or meant to be: never to be answered */
	RPC_BATCH,    /* see rpc_message_element() */
	RPC_INVALID,  /* answer with code and problem */
};

struct rpc_message {
	enum rpc_kind kind;
	char *id;           /* JSON text; NULL: there is none, or none that can be trusted */
	const char *method; /* of a request or a notification */
	json_t *params;     /* borrowed; NULL: there are none */
	json_t *result;     /* of a response; NULL: it is an error */
	json_t *root;       /* owns all that is borrowed */
	bool has_nul;       /* a string somewhere holds U+0000 */
	int code;           /* of an invalid one */
	char problem[160];
};

/* Never fails: what cannot be read is an invalid message. */
void rpc_message_read(const char *bytes, size_t n, struct rpc_message *ret_message);
void rpc_message_done(struct rpc_message *m);
static inline void rpc_message_donep(struct rpc_message *m)
{
	rpc_message_done(m);
}

/* An invalid message with the id that the N bytes seem to have: for one that is not read to its
 * end, since it is too long. */
void rpc_message_refuse(const char *bytes, size_t n, int code, const char *problem,
                        struct rpc_message *ret_message);

size_t rpc_message_count(const struct rpc_message *batch);
void rpc_message_element(const struct rpc_message *batch, size_t i,
                         struct rpc_message *ret_message);

/* The member KEY of the params if it is there; NULL: it is not. */
json_t *rpc_param(const struct rpc_message *m, const char *key);

/* The JSON text of a string or an integer, to be freed by the caller; NULL: it is neither. */
char *rpc_token(json_t *value);
