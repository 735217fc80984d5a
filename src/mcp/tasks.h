#pragma once
/*
 * Tasks of the protocol: the same commands as everywhere, found by their directories.
 */
#include <stdbool.h>
#include <jansson.h>
#include "task/find.h"

struct content;
struct json_writer;
struct mcp_call;
struct mcp_peer;
struct store;

/* Whether the client knows tasks; false: it was told that it must. */
bool mcp_task_may_use(struct mcp_call *c);

/* What was waited for is settled: each of these calls gets its result, or waits for the task. */
struct mcp_wait;
void mcp_tasks_go_on(struct mcp_wait *waits);

/* Answers a tools/call. */
bool mcp_task_created(struct mcp_call *c, const char *id);

/* Those of this client, up to LIMIT, behind CURSOR: a parameter that may be missing. False: that is
 * answered. */
bool mcp_tasks_find(struct mcp_call *c, json_t *cursor, size_t limit, struct find_list *ret_list);

/* The directory of a task of this client, or -ENOENT: nobody may tell more about those of others.
 */
int mcp_task_open(struct mcp_peer *p, const char *id, struct find_entry *ret_entry);

/* What came of it, once it has ended. */
void content_of_task(struct content *content, struct store *store, const struct find_entry *e);
/* The same as a member "result", in an object that the caller has begun. */
void task_put_result(struct json_writer *w, struct mcp_peer *p, const struct find_entry *e);
