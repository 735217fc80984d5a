#pragma once
/*
 * MCP over Streamable HTTP: POST, GET and DELETE of one path, for both eras of the protocol.
 *
 * A session belongs to the principal who began it; to everybody else it does not exist. A stateless
 * request has no session, and ends with its connection.
 */
#include <stdbool.h>
#include <stddef.h>

struct call;
struct error;
struct mcp_http;
struct serve;

#define MCP_HTTP_BODY_MAX ((size_t)16 << 20)

int mcp_http_new(struct serve *s, struct mcp_http **ret, struct error *err);
struct mcp_http *mcp_http_free(struct mcp_http *m);

void mcp_http_post(struct call *c);
void mcp_http_get(struct call *c);
void mcp_http_delete(struct call *c);
void mcp_http_gone(struct call *c); /* the client has left, or has its answer */

/* Streams that only listen are ended; NOW: calls, too. */
void mcp_http_stop(struct mcp_http *m, bool now);
