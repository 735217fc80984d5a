#pragma once
/*
 * Clients that wait for an answer only so long. Such a client cancels the call when its own time is
 * over, and says so. The command then goes on as a task, the next answer names it, and later calls
 * of this client become tasks before its time is over.
 */
struct content;
struct mcp_call;
struct mcp_peer;

/* The client cancels the call for this reason (NULL: it gives none). */
void mcp_given_up_learn(struct mcp_call *c, const char *reason);

/* The command of a call that was given up goes on as this task. */
void mcp_given_up_note(struct mcp_peer *p, const char *task_id);

/* Adds the task that the client does not know of yet. */
void mcp_given_up_tell(struct mcp_peer *p, struct content *into);
