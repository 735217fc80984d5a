#pragma once
/*
 * Ask: how a person decides about a command that the policy leaves to one, where the client can
 * reach them. In the handshake era the client is sent a request, and the job waits; a stateless
 * client is answered with a question, and calls again with the answer.
 */
#include <jansson.h>
#include <stdbool.h>

struct approval;
struct job;
struct mcp_call;
struct mcp_run;
struct result;
struct rpc_message;

/* Reads what the client carries of a question before. False: the call was answered. */
bool mcp_ask_prepare(struct mcp_run *run, const struct rpc_message *m, json_t *arguments);

/* The job waits for an answer: the client is asked. */
void mcp_ask(void *owner, struct job *j, const struct approval *a);

/* It does not wait any more. */
void mcp_ask_over(void *owner, struct job *j);

/* The same for a run that was answered as a task: by CALL, which waits for its result. False: it
 * cannot be asked. */
bool mcp_ask_by(struct mcp_run *run, struct mcp_call *call);
/* What came back. */
void mcp_ask_take(struct mcp_run *run, const struct rpc_message *m);

/* Whether the call was answered by a question. */
bool mcp_ask_again(struct mcp_run *run, const struct result *r);
