#pragma once
/*
 * Memo: a task of the protocol that has no directory. It ended before it began: a request that was
 * refused, for example, whose answer is kept here for a while. Or it waits for a person: once it is
 * approved it becomes a task like others, under the same id, and the memo is no more.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "task/store.h"

struct content;
struct json_writer;
struct mcp_call;
struct mcp_peer;
struct mcp_run;
struct mcp_wait;

struct mcp_memo {
	struct mcp_memo *next;
	char id[STORE_ID_MAX];
	int64_t made_ms, changed_ms;
	struct mcp_run *run;    /* that waits; NULL: it has ended */
	struct mcp_wait *waits; /* calls that wait for its result; see tasks.c */
	bool answered, cancelled, is_error;
	struct buffer result; /* a CallToolResult */
};

/* Answers a tools/call. */
bool mcp_memo_created(struct mcp_call *c, const struct content *content);
/* The same before the end: the run has this id, and waits for a person. -ENOMEM: nothing was done.
 */
int mcp_memo_wait(struct mcp_run *run, const char *id);
/* It does not wait any more. CONTENT is what came of it; NULL: it is a task now, and no memo. */
void mcp_memo_settle(struct mcp_run *run, const struct content *content);
void mcp_memos_free(struct mcp_peer *p);

struct mcp_memo *mcp_memo_find(const struct mcp_peer *p, const char *id);
/* Members of an object that the caller has begun. */
void mcp_memo_put(struct json_writer *w, const struct mcp_memo *m);
