/*
 * The protocol has no word for it. The SDKs put their error into the reason: "McpError: MCP error
 * -32001: Request timed out". A person who cancels gives another reason, or none.
 */
#include "mcp/given-up.h"

#include <stdio.h>
#include <string.h>
#include "mcp/content.h"
#include "mcp/inside.h"

#define PATIENCE_MIN_MS 2000

void mcp_given_up_learn(struct mcp_call *c, const char *reason)
{
	int64_t waited = loop_now(c->peer->server->options.loop) - c->started_at;

	if (!reason || (!strcasestr(reason, "timed out") && !strcasestr(reason, "timeout")))
		return;
	c->gave_up = true;
	c->peer->patience_ms = waited * 4 / 5; /* the answer needs time, too */
	if (c->peer->patience_ms < PATIENCE_MIN_MS)
		c->peer->patience_ms = PATIENCE_MIN_MS;
}

void mcp_given_up_note(struct mcp_peer *p, const char *task_id)
{
	snprintf(p->given_up, sizeof(p->given_up), "%s", task_id);
}

void mcp_given_up_tell(struct mcp_peer *p, struct content *into)
{
	if (!p->given_up[0] || into->structured.len > 0)
		return;
	if (into->text.len > 0 && into->text.data[into->text.len - 1] != '\n')
		buffer_putc(&into->text, '\n');
	buffer_printf(
		&into->text,
		"[An earlier call took longer than the client waited. It goes on as task %s: "
		"TaskOutput or shell_output shows its output, TaskStop or shell_kill ends it.]",
		p->given_up);
	p->given_up[0] = '\0';
}
