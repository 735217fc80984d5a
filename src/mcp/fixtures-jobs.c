/*
 * Fixtures: tools that become tasks. They run real commands, so that what the suite looks at is the
 * same as what every other client sees.
 */
#include <stdio.h>
#include <string.h>
#include "json/read.h"
#include "mcp/fixtures-data.h"
#include "mcp/inside.h"
#include "mcp/run.h"
#include "mcp/tasks.h"

static json_t *argument(const struct rpc_message *m, const char *name)
{
	return json_object_get(rpc_param(m, "arguments"), name);
}

/* A line for bash; as a task if the client knows these. */
static void run(struct mcp_call *c, const struct rpc_message *m, const char *line, int timeout_ms)
{
	scoped(json_decrefp) json_t *arguments =
		json_pack("{s:s, s:b, s:i}", "command", line, "run_in_background",
	                  c->modern && c->capabilities.tasks, "timeout", timeout_ms);

	if (arguments)
		mcp_run_begin(c, m, &c->peer->offers[0], arguments);
	else
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
}

void fixture_greet(struct mcp_call *c, const struct rpc_message *m)
{
	const char *name = json_string_value(argument(m, "name"));
	scoped(buffer_donep) struct buffer text = {0}, content = {0};
	struct json_writer w = {.out = &content};

	buffer_printf(&text, "Hello, %s!", name ? name : "");
	json_array_begin(&w);
	json_object_begin(&w);
	json_member_string(&w, "type", "text");
	json_member_string(&w, "text", buffer_str(&text));
	json_object_end(&w);
	json_array_end(&w);
	fixture_answer(c, buffer_str(&content), false);
}

void fixture_slow_compute(struct mcp_call *c, const struct rpc_message *m)
{
	char line[64];

	snprintf(line, sizeof(line), "sleep %d; echo computed",
	         (int)json_integer_value(argument(m, "seconds")) % 1000);
	run(c, m, line, 600000);
}

/* It is ended by its time limit, which is an error of the tool; and it wants to be a task. */
void fixture_failing_job(struct mcp_call *c, const struct rpc_message *m)
{
	if (mcp_task_may_use(c))
		run(c, m, "sleep 1000", 1000);
}
