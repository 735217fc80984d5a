#pragma once
/*
 * Tools: those that run commands, one for each dialect that is offered, and those about tasks.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "mcp/arguments.h"

struct mcp_call;
struct mcp_offer;
struct mcp_peer;

#define TOOL_ARGUMENTS_MAX 8

/* A tool that runs nothing. */
struct mcp_tool {
	const char *name, *alias, *title, *description;
	bool for_bash; /* listed beside Bash; else beside the other dialects */
	bool always;   /* beside all */
	bool read_only, idempotent;
	bool main; /* models need it as often as the tools that run commands */
	struct argument arguments[TOOL_ARGUMENTS_MAX]; /* up to the first without a name */
	void (*call)(struct mcp_call *c, const struct argument_value *values);
};

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_tool_count;

/* Give each its name: that of the tool if no other has it or the profile is the tool's own, else
 * with the profile behind it. */
void mcp_offers_name(struct mcp_offer *offers, size_t count);

/* NULL: the peer is not offered it. */
const struct mcp_offer *mcp_offer_find(const struct mcp_peer *p, const char *tool);
