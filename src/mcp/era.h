#pragma once
/*
 * Era: whether a message belongs to the handshake revisions of MCP or to the stateless ones, and
 * which revisions there are. One decision for every transport, made for each message by itself.
 */
#include <stdbool.h>
#include <stddef.h>

struct json_writer;
struct rpc_message;

enum mcp_code {
	MCP_NO_RESOURCE = -32002,         /* handshake revisions only */
	MCP_HEADER_MISMATCH = -32020,     /* HTTP */
	MCP_MISSING_CAPABILITY = -32021,  /* data: requiredCapabilities */
	MCP_UNSUPPORTED_VERSION = -32022, /* data: supported, requested */
};

enum mcp_revision {
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28, /* from here on without a handshake */
	MCP_REVISION_MAX,
};

#define MCP_META "io.modelcontextprotocol/"

const char *mcp_revision_name(enum mcp_revision r);
/* MCP_REVISION_MAX: there is no such revision. */
enum mcp_revision mcp_revision_find(const char *name);
bool mcp_revision_is_modern(enum mcp_revision r);

/* What a message says about itself. */
struct mcp_envelope {
	bool modern;
	enum mcp_revision revision; /* of a modern one without a problem */
	int code;                   /* the error to answer a modern request with; 0: none */
	const char *problem;
	const char *requested; /* with MCP_UNSUPPORTED_VERSION; borrowed from the message */
};

/* HEADER is what HTTP says about the revision (MCP-Protocol-Version), or NULL. */
void mcp_envelope_read(const struct rpc_message *m, const char *header,
                       struct mcp_envelope *ret_envelope);

/* The data member of MCP_UNSUPPORTED_VERSION. */
void mcp_put_supported(struct json_writer *w, const char *requested);

/* The status of an HTTP answer that carries this error; 200 for 0. */
int mcp_http_status(bool modern, int code);
