#pragma once
/*
 * The headers by which a stateless MCP request repeats what its body says, so that what stands
 * between can route without reading it. Both must say the same, or the request could be routed as
 * one thing and carried out as another.
 */
struct http_exchange;
struct rpc_message;

/* NULL: they agree; else what is wrong. */
const char *mcp_names_check(const struct http_exchange *x, const struct rpc_message *m,
                            const char *revision);

/* Whether a header value is TEXT, without the blanks around it. */
#include <stdbool.h>
bool mcp_names_equal(const char *header, const char *text);
/* The same of a name, which may also be given as =?base64?...?=. */
bool mcp_names_name(const char *header, const char *text);
