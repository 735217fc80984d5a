#pragma once
/*
 * Fixtures: tools, resources and prompts that conformance suites call by name. They are in no
 * build that is released: elsewhere the functions below do nothing, and the compiler drops them.
 */
#include <stdbool.h>
#include "mcp/inside.h"

#ifdef NACRE_FIXTURES
void mcp_fixture_put_tools(struct json_writer *w, const struct mcp_call *c);
void mcp_fixture_put_resources(struct json_writer *w, bool templates);
void mcp_fixture_put_capabilities(struct json_writer *w);
void mcp_fixture_put_list_changed(struct json_writer *w);
bool mcp_fixture_call(struct mcp_call *c, const struct rpc_message *m, const char *tool);
bool mcp_fixture_read(struct mcp_call *c, const char *uri);
bool mcp_fixture_is_resource(json_t *uri);
mcp_method *mcp_fixture_method(const char *name);
#define mcp_fixture_changes true /* the lists change */
#else
#define mcp_fixture_changes false
static inline void mcp_fixture_put_tools(struct json_writer *w, const struct mcp_call *c)
{
}

static inline void mcp_fixture_put_resources(struct json_writer *w, bool templates)
{
}

static inline void mcp_fixture_put_capabilities(struct json_writer *w)
{
}

static inline void mcp_fixture_put_list_changed(struct json_writer *w)
{
}

static inline bool mcp_fixture_call(struct mcp_call *c, const struct rpc_message *m,
                                    const char *tool)
{
	return false;
}

static inline bool mcp_fixture_read(struct mcp_call *c, const char *uri)
{
	return false;
}

static inline bool mcp_fixture_is_resource(json_t *uri)
{
	return false;
}

static inline mcp_method *mcp_fixture_method(const char *name)
{
	return NULL;
}
#endif
