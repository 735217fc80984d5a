#include "mcp/tools.h"

#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/suggest.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "mcp/about.h"
#include "mcp/content.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"
#include "mcp/run.h"

/* How the tools that run commands are to be taken; hosts may ask less for what only reads. */
static const struct {
	const char *tool, *title;
	bool read_only, open_world;
} looks[] = {
	{"safe_shell", "Run a program", false, false},
	{"run_command", "Run a command line", false, true},
	{"shell", "Run a program in the workspace", false, true},
	{"run_shell", "Look at files", true, false},
	{"Bash", "Run a bash line", false, true},
};

static size_t argument_count(const struct mcp_tool *t)
{
	size_t n = 0;

	while (n < TOOL_ARGUMENTS_MAX && t->arguments[n].name)
		n++;
	return n;
}

const struct mcp_offer *mcp_offer_find(const struct mcp_peer *p, const char *tool)
{
	const struct dialect *d = dialect_find(tool); /* by its other name, too */

	for (size_t i = 0; i < p->offer_count; i++)
		if (strcmp(p->offers[i].tool, d ? dialect_tool(d) : tool) == 0)
			return &p->offers[i];
	return NULL;
}

static const char *profile_of(const struct mcp_offer *o)
{
	const struct engine_wishes *w = &o->engine->wishes;

	return w->agent ? w->agent : w->profile ? w->profile : dialect_profile(o->dialect);
}

void mcp_offers_name(struct mcp_offer *offers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *tool = dialect_tool(offers[i].dialect),
			   *profile = profile_of(&offers[i]);
		size_t same = 0;

		for (size_t k = 0; k < count; k++)
			same += offers[k].dialect == offers[i].dialect;
		if (same == 1 || strcmp(profile, dialect_profile(offers[i].dialect)) == 0)
			snprintf(offers[i].tool, sizeof(offers[i].tool), "%s", tool);
		else
			snprintf(offers[i].tool, sizeof(offers[i].tool), "%s_%s", tool, profile);
	}
}

struct look {
	const char *title;
	bool read_only, idempotent, open_world;
};

static void put_look(struct json_writer *w, const struct mcp_call *c, const struct look *l)
{
	if (c->revision >= MCP_2025_06_18)
		json_member_string(w, "title", l->title);
	if (c->revision < MCP_2025_03_26)
		return;
	json_member_object(w, "annotations");
	if (c->revision < MCP_2025_06_18)
		json_member_string(w, "title", l->title);
	json_member_bool(w, "readOnlyHint", l->read_only);
	if (!l->read_only)
		json_member_bool(w, "destructiveHint", true);
	if (l->idempotent)
		json_member_bool(w, "idempotentHint", true);
	json_member_bool(w, "openWorldHint", l->open_world);
	json_object_end(w);
}

/* Claude Code hides tools behind a search, unless they say that they are always wanted. */
static void put_always(struct json_writer *w)
{
	json_member_object(w, "_meta");
	json_member_bool(w, "anthropic/alwaysLoad", true);
	json_object_end(w);
}

static void put_offer(struct json_writer *w, const struct mcp_call *c, const struct mcp_offer *o)
{
	struct look look = {.title = dialect_tool(o->dialect), .open_world = true};
	scoped(buffer_donep) struct buffer about = {0};

	for (size_t i = 0; i < array_size(looks); i++)
		if (strcmp(looks[i].tool, dialect_tool(o->dialect)) == 0)
			look = (struct look){.title = looks[i].title,
			                     .read_only = looks[i].read_only,
			                     .open_world = looks[i].open_world};
	json_object_begin(w);
	about_offer(o, &about);
	dialect_put_members(o->dialect, o->tool, o->engine->profile,
	                    buffer_error(&about) == 0 ? buffer_str(&about) : "", w);
	put_look(w, c, &look);
	if (!c->modern && c->revision == MCP_2025_11_25) {
		json_member_object(w, "execution");
		json_member_string(w, "taskSupport", "optional");
		json_object_end(w);
	}
	put_always(w);
	json_object_end(w);
}

static void put_tool(struct json_writer *w, const struct mcp_call *c, const struct mcp_tool *t)
{
	json_object_begin(w);
	json_member_string(w, "name", t->name);
	json_member_string(w, "description", t->description);
	json_put_key(w, "inputSchema");
	arguments_put_schema(t->arguments, argument_count(t), w);
	put_look(w, c,
	         &(struct look){.title = t->title,
	                        .read_only = t->read_only,
	                        .idempotent = t->idempotent});
	if (t->main)
		put_always(w);
	json_object_end(w);
}

static bool is_listed(const struct mcp_peer *p, const struct mcp_tool *t)
{
	for (size_t i = 0; i < p->offer_count; i++)
		if (t->always ||
		    t->for_bash == (strcmp(dialect_tool(p->offers[i].dialect), "Bash") == 0))
			return true;
	return false;
}

void method_tools_list(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_answer a;

	if (rpc_param(m, "cursor")) /* all are on one page: we have never given one out */
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such cursor", NULL);
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "tools");
	for (size_t i = 0; i < c->peer->offer_count; i++)
		put_offer(&a.w, c, &c->peer->offers[i]);
	for (size_t i = 0; i < mcp_tool_count; i++)
		if (is_listed(c->peer, &mcp_tools[i]))
			put_tool(&a.w, c, &mcp_tools[i]);
	mcp_fixture_put_tools(&a.w, c);
	json_array_end(&a.w);
	answer_cacheable(&a, 3600000, !c->peer->principal);
	(void)answer_send(&a);
}

static const struct mcp_tool *find_tool(const char *name)
{
	for (size_t i = 0; i < mcp_tool_count; i++)
		if (strcmp(mcp_tools[i].name, name) == 0 ||
		    (mcp_tools[i].alias && strcmp(mcp_tools[i].alias, name) == 0))
			return &mcp_tools[i];
	return NULL;
}

static void call_tool(struct mcp_call *c, const struct mcp_tool *t, json_t *arguments)
{
	struct argument_value values[TOOL_ARGUMENTS_MAX];
	struct error err = {0};

	if (arguments_read(t->arguments, argument_count(t), arguments, values, &err) < 0)
		return mcp_call_refuse(c, err.text);
	t->call(c, values);
}

static void no_such_tool(struct mcp_call *c, const char *name)
{
	const struct mcp_peer *p = c->peer;
	const struct dialect *d = dialect_find(name);
	char near[SUGGEST_WORDS_MAX], words[SUGGEST_WORDS_MAX + 32];
	unsigned best = SUGGEST_NONE;
	const char *found = NULL;

	for (size_t i = 0; i < p->offer_count; i++)
		if (d ? p->offers[i].dialect == d && !found
		      : suggest_is_near(name, p->offers[i].tool, &best))
			found = p->offers[i].tool;
	for (size_t i = 0; i < mcp_tool_count; i++)
		if (!(d && found) && suggest_is_near(name, mcp_tools[i].name, &best))
			found = mcp_tools[i].name;
	snprintf(words, sizeof(words), "there is no such tool%s", suggest_words(found, near));
	mcp_call_error(c, RPC_INVALID_PARAMS, words, NULL);
}

void method_tools_call(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(json_decrefp) json_t *none = json_object();
	json_t *arguments = rpc_param(m, "arguments");
	const char *name = json_string_value(rpc_param(m, "name"));
	const struct mcp_offer *offer;
	const struct mcp_tool *tool;

	if (!name)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'name' must be a string", NULL);
	if (arguments && !json_is_object(arguments))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'arguments' must be an object", NULL);
	if (!arguments)
		arguments = none;
	if (mcp_fixture_call(c, m, name))
		return;
	offer = mcp_offer_find(c->peer, name);
	tool = find_tool(name);
	if (!offer && !tool)
		return no_such_tool(c, name);
	if (!offer && !c->modern && rpc_param(m, "task"))
		return mcp_call_error(c, RPC_METHOD_NOT_FOUND, "this tool cannot be run as a task",
		                      NULL);
	if (m->has_nul)
		return mcp_call_refuse(c,
		                       "the arguments hold U+0000, which no command can be given");
	if (offer)
		mcp_run_begin(c, m, offer, arguments);
	else
		call_tool(c, tool, arguments);
}
