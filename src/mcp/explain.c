/*
 * What would be decided, in words for a model and with all of it for programs.
 */
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "decide/check.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/task-tools.h"
#include "mcp/tools.h"
#include "shell/facts.h"

/* NAME: the program, if the list has only its arguments; NULL: the list begins with it. */
static const char *const *read_words(struct arena *arena, const char *name, json_t *list)
{
	const char **words = arena_new_array(arena, const char *, json_array_size(list) + 2);
	size_t n = 0;

	if (words && name)
		words[n++] = name;
	for (size_t i = 0; words && i < json_array_size(list); i++)
		words[n++] = json_string_value(json_array_get(list, i));
	return words;
}

static void put_words(struct check *check, struct content *content)
{
	const struct policy_finding *f = &check->answer.line;
	struct json_writer w = {.out = &content->facts};

	buffer_printf(&content->text, "verdict: %s\n", policy_verdict_name(f->verdict));
	if (f->rule_id)
		buffer_printf(&content->text, "rule: %s\n", f->rule_id);
	if (f->reason && *f->reason)
		buffer_printf(&content->text, "reason: %s\n", f->reason);
	for (size_t i = 0; f->use && f->use[i]; i++)
		buffer_printf(&content->text, "use instead: %s\n", f->use[i]);
	explain_hide_places(check);
	json_object_begin(&w);
	explain_put_json(check, &w);
	json_object_end(&w);
}

void tool_explain(struct mcp_call *c, const struct argument_value *v)
{
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	scoped(content_donep) struct content content = {0};
	const struct mcp_offer *offer =
		v[3].given ? mcp_offer_find(c->peer, v[3].text) : &c->peer->offers[0];
	bool has_args = v[4].given;
	struct request rq = {.input_fd = -1, .cwd = v[2].text};
	struct error err = {0};
	struct check check;

	if (!offer)
		return mcp_call_refuse(c, "'tool' is none of those that run commands");
	if (v[0].given == v[1].given)
		return mcp_call_refuse(c, "give either 'command' or 'argv'");
	if (has_args && !v[0].given)
		return mcp_call_refuse(c, "'args' go with 'command', the name of a program");
	if (!has_args)
		rq.command = v[0].text;
	if (arena && (has_args || v[1].given))
		rq.argv = read_words(arena, v[0].text, has_args ? v[4].list : v[1].list);
	if (!arena || (!rq.command && !rq.argv))
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	if (engine_explain(offer->engine, &rq, arena, &check, &err) < 0)
		return mcp_call_refuse(c, err.kind == ERROR_SYSTEM ? "there is no decision"
		                                                   : err.text);
	put_words(&check, &content);
	(void)mcp_call_answer_content(c, &content);
}
