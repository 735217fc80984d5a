/*
 * How a conversation begins: the handshake of the older revisions, and the discovery of the
 * stateless ones. What is declared here is what the other files answer.
 */
#include "base/version.h"
#include "mcp/about.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"

static bool are_alike(const struct mcp_peer *p)
{
	for (size_t i = 1; i < p->offer_count; i++)
		if (p->offers[i].dialect == p->offers[0].dialect)
			return true;
	return false;
}

/* Where the first tool runs its commands, and how its output comes back. Of several agents each
 * tool says that for itself. */
static void put_instructions(struct json_writer *w, const struct mcp_peer *p)
{
	scoped(buffer_donep) struct buffer text = {0};

	buffer_puts(&text, "nacre runs commands in a workspace, under a policy.");
	if (are_alike(p)) {
		buffer_puts(&text, " There is a tool for each role:");
		for (size_t i = 0; i < p->offer_count; i++)
			buffer_printf(&text, "%s %s", i > 0 ? "," : "", p->offers[i].tool);
		buffer_puts(&text, ". Its description says what it may run.");
	} else {
		about_offer(&p->offers[0], &text);
	}
	buffer_puts(&text, " What is cut can be read as a resource.");
	if (buffer_error(&text) == 0)
		json_member_string(w, "instructions", buffer_str(&text));
}

static void put_empty(struct json_writer *w, const char *key)
{
	json_member_object(w, key);
	json_object_end(w);
}

static void put_task_capability(struct json_writer *w)
{
	json_member_object(w, "tasks");
	put_empty(w, "list");
	put_empty(w, "cancel");
	json_member_object(w, "requests");
	json_member_object(w, "tools");
	put_empty(w, "call");
	json_object_end(w);
	json_object_end(w);
	json_object_end(w);
}

static void put_capabilities(struct json_writer *w, const struct mcp_call *c)
{
	json_member_object(w, "capabilities");
	json_member_object(w, "tools");
	mcp_fixture_put_list_changed(w);
	json_object_end(w);
	json_member_object(w, "resources");
	json_member_bool(w, "subscribe", true);
	json_object_end(w);
	put_empty(w, "logging");
	mcp_fixture_put_capabilities(w);
	if (c->modern) {
		json_member_object(w, "extensions");
		put_empty(w, MCP_META "tasks");
		json_object_end(w);
	} else if (c->peer->revision >= MCP_2025_11_25) {
		put_task_capability(w);
	}
	json_object_end(w);
}

void method_initialize(struct mcp_call *c, const struct rpc_message *m)
{
	const char *asked = json_string_value(rpc_param(m, "protocolVersion"));
	json_t *capabilities = rpc_param(m, "capabilities");
	struct mcp_peer *p = c->peer;
	struct mcp_answer a;

	if (p->shared || p->revision < MCP_REVISION_MAX)
		return mcp_call_error(c, RPC_INVALID_REQUEST,
		                      p->shared ? "there is no session to initialize"
		                                : "already initialized",
		                      NULL);
	if (!asked || (capabilities && !json_is_object(capabilities)))
		return mcp_call_error(
			c, RPC_INVALID_PARAMS,
			"'protocolVersion' must be a string and 'capabilities' an object", NULL);
	p->revision = mcp_revision_find(asked);
	if (p->revision >= MCP_2026_07_28)
		p->revision = MCP_2025_11_25; /* the youngest that has a handshake */
	mcp_capabilities_read(capabilities, &p->capabilities);
	p->appetite = mcp_appetite_of(rpc_param(m, "clientInfo"));
	p->capabilities.form = p->capabilities.form && p->revision >= MCP_2025_06_18;
	answer_begin(&a, c, "complete");
	json_member_string(&a.w, "protocolVersion", mcp_revision_name(p->revision));
	put_capabilities(&a.w, c);
	json_member_object(&a.w, "serverInfo");
	json_member_string(&a.w, "name", MCP_SERVER_NAME);
	if (p->revision >= MCP_2025_06_18)
		json_member_string(&a.w, "title", "nacre: a shell for agents");
	json_member_string(&a.w, "version", version_text);
	json_object_end(&a.w);
	put_instructions(&a.w, c->peer);
	(void)answer_send(&a);
}

void method_discover(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_answer a;

	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "supportedVersions");
	for (int i = MCP_REVISION_MAX - 1; i >= 0; i--)
		json_put_string(&a.w, mcp_revision_name((enum mcp_revision)i));
	json_array_end(&a.w);
	put_capabilities(&a.w, c);
	put_instructions(&a.w, c->peer);
	answer_cacheable(&a, 3600000, !c->peer->principal);
	(void)answer_send(&a);
}

void method_ping(struct mcp_call *c, const struct rpc_message *m)
{
	mcp_call_empty(c);
}

void method_set_level(struct mcp_call *c, const struct rpc_message *m)
{
	const char *name = mcp_call_need_string(c, m, "level");
	int level = name ? mcp_log_level_find(name) : MCP_LOG_MAX;

	if (!name)
		return;
	if (level == MCP_LOG_MAX)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such level", NULL);
	c->peer->log_level = level;
	mcp_call_empty(c);
}
