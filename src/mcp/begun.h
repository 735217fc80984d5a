#pragma once
/*
 * The tasks that a client has begun here, for a server that is told to take them with it.
 */
struct mcp_peer;

void mcp_begun_add(struct mcp_peer *p, const char *id);
void mcp_begun_free(struct mcp_peer *p); /* an order that was given stays given */
