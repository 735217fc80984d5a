#pragma once
/*
 * Run: a call of a tool that runs a command, from its arguments to its answer.
 */
#include <jansson.h>

struct mcp_call;
struct mcp_offer;
struct rpc_message;

/* ARGUMENTS is an object without U+0000. */
void mcp_run_begin(struct mcp_call *c, const struct rpc_message *m, const struct mcp_offer *offer,
                   json_t *arguments);
