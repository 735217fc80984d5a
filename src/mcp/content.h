#pragma once
/*
 * Content: what a tool has to say, and how a revision of the protocol wants it written.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "mcp/era.h"
#include "task/store.h"

struct engine;
struct json_writer;
struct mcp_call;
struct result;

struct content {
	struct buffer text; /* the one block that models read */
	bool is_error;
	char link[STORE_ID_MAX]; /* a task whose output is more than the text; empty: none */
	uint64_t link_bytes;
	bool link_binary;
	struct buffer structured; /* a JSON object; empty: none. It says what the text says */
	struct buffer facts;      /* a JSON object for programs; empty: none */
};

void content_done(struct content *c);
static inline void content_donep(struct content *c)
{
	content_done(c);
}

/* A tool error; the text is for a model. */
void content_refuse(struct content *c, const char *text);

/* What came of a command. */
void content_of_result(struct content *c, const struct result *r, const struct engine *e,
                       bool separate);

/* The members of a CallToolResult but its _meta; that goes to META. */
void content_put(const struct content *c, enum mcp_revision revision, struct json_writer *w,
                 struct json_writer *meta);

/* Answers a tools/call; false: the client cannot take it. */
bool mcp_call_answer_content(struct mcp_call *call, const struct content *c);
void mcp_call_refuse(struct mcp_call *call, const char *text); /* a tool error */
