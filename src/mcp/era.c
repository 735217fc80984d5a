#include "mcp/era.h"

#include <string.h>
#include "json/write.h"
#include "json/rpc.h"

static const char *const names[MCP_REVISION_MAX] = {
	[MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26",
	[MCP_2025_06_18] = "2025-06-18", [MCP_2025_11_25] = "2025-11-25",
	[MCP_2026_07_28] = "2026-07-28",
};

const char *mcp_revision_name(enum mcp_revision r)
{
	return names[r];
}

enum mcp_revision mcp_revision_find(const char *name)
{
	int i = 0;

	while (i < MCP_REVISION_MAX && strcmp(name, names[i]) != 0)
		i++;
	return (enum mcp_revision)i;
}

bool mcp_revision_is_modern(enum mcp_revision r)
{
	return r >= MCP_2026_07_28 && r < MCP_REVISION_MAX;
}

static void set(struct mcp_envelope *e, int code, const char *problem)
{
	e->code = code;
	e->problem = problem;
}

/* Whether any key of the envelope is there: who sends one means to be modern. */
static bool has_envelope_key(json_t *meta)
{
	static const char *const keys[] = {MCP_META "clientCapabilities", MCP_META "clientInfo",
	                                   MCP_META "logLevel"};

	for (size_t i = 0; i < array_size(keys); i++)
		if (json_object_get(meta, keys[i]))
			return true;
	return false;
}

static bool is_method(const struct rpc_message *m, const char *name)
{
	return m->method && strcmp(m->method, name) == 0;
}

void mcp_envelope_read(const struct rpc_message *m, const char *header,
                       struct mcp_envelope *ret_envelope)
{
	json_t *meta = rpc_param(m, "_meta");
	json_t *version = json_object_get(meta, MCP_META "protocolVersion");
	const char *name = json_string_value(version);
	enum mcp_revision revision = name ? mcp_revision_find(name) : MCP_REVISION_MAX;
	bool by_header = header && mcp_revision_is_modern(mcp_revision_find(header));
	struct mcp_envelope *e = ret_envelope;

	*e = (struct mcp_envelope){.revision = revision};
	if (revision < MCP_2026_07_28) { /* the key, and a revision that has a handshake */
		if (by_header) {
			e->modern = true;
			set(e, MCP_HEADER_MISMATCH,
			    "MCP-Protocol-Version and the message do not agree");
		}
		return;
	}
	e->modern =
		version || by_header || is_method(m, "server/discover") || has_envelope_key(meta);
	if (!e->modern)
		return;
	if (m->params && !json_is_object(m->params))
		set(e, RPC_INVALID_PARAMS, "'params' must be an object");
	else if (!name)
		set(e, RPC_INVALID_PARAMS,
		    "'_meta' must hold " MCP_META "protocolVersion, a string");
	else if (!json_is_object(json_object_get(meta, MCP_META "clientCapabilities")))
		set(e, RPC_INVALID_PARAMS,
		    "'_meta' must hold " MCP_META "clientCapabilities, an object");
	else if (revision == MCP_REVISION_MAX) {
		set(e, MCP_UNSUPPORTED_VERSION, "this revision of the protocol is not supported");
		e->requested = name;
	}
	/* The handshake is what it is, whatever else a client puts into its _meta: only a whole
	 * envelope makes it a request of the era that has none. */
	if (e->code == RPC_INVALID_PARAMS && !by_header && is_method(m, "initialize"))
		*e = (struct mcp_envelope){.revision = revision};
}

void mcp_put_supported(struct json_writer *w, const char *requested)
{
	json_object_begin(w);
	json_member_array(w, "supported");
	for (int i = MCP_REVISION_MAX - 1; i >= 0; i--)
		json_put_string(w, names[i]);
	json_array_end(w);
	json_member_string(w, "requested", requested ? requested : "");
	json_object_end(w);
}

int mcp_http_status(bool modern, int code)
{
	switch (code) {
	case RPC_PARSE_ERROR:
	case RPC_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_MISSING_CAPABILITY:
	case MCP_UNSUPPORTED_VERSION:
		return 400;
	case RPC_METHOD_NOT_FOUND:
		return modern ? 404 : 200;
	default:
		return 200;
	}
}
