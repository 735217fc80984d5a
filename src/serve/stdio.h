#pragma once
/*
 * Stdio: MCP with one client on standard input and output, one message a line.
 */
#include <stddef.h>
#include "mcp/server.h"

struct error;
struct loop;

struct stdio_options {
	struct mcp_options mcp; /* with its loop and key */
	const struct mcp_offer *offers;
	size_t offer_count;
	const char *workspace; /* whose tasks the client sees; NULL: the current directory */
	const char *session;   /* of the commands; NULL: none */
	bool stop_tasks;       /* at the end, those that the client has begun */
	size_t line_max;       /* bytes of one message */
	int signal_fd;         /* SIGTERM, SIGINT: the same as the end of the input */
};

/* Until the client has gone. Standard output carries messages and nothing else. */
int stdio_serve(const struct stdio_options *options, struct error *err);
