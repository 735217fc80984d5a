#pragma once
/*
 * Memo: a task of the protocol that ended before it began: a request that was refused, for example.
 * There is no directory of it, so its answer is kept here, for a while.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "task/store.h"

struct content;
struct json_writer;
struct mcp_call;
struct mcp_peer;

struct mcp_memo {
	struct mcp_memo *next;
	char id[STORE_ID_MAX];
	int64_t made_ms;
	bool is_error;
	struct buffer result; /* a CallToolResult */
};

/* Answers a tools/call. */
bool mcp_memo_created(struct mcp_call *c, const struct content *content);
void mcp_memos_free(struct mcp_peer *p);

const struct mcp_memo *mcp_memo_find(const struct mcp_peer *p, const char *id);
/* Members of an object that the caller has begun. */
void mcp_memo_put(struct json_writer *w, const struct mcp_memo *m);
