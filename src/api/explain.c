#include <errno.h>
#include <string.h>
#include <nacre.h>
#include "api/inside.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "engine/explain.h"
#include "json/write.h"
#include "decide/check.h"
#include "shell/facts.h"

#define EXPLANATION_MAX ((size_t)64 << 20)

struct given_explanation {
	struct nacre_explanation explanation;
	struct arena *arena;
};

static const uint32_t verdicts[] = {
	[POLICY_VERDICT_ALLOW] = NACRE_VERDICT_ALLOW,
	[POLICY_VERDICT_ASK] = NACRE_VERDICT_ASK,
	[POLICY_VERDICT_NUDGE] = NACRE_VERDICT_NUDGE,
	[POLICY_VERDICT_DENY] = NACRE_VERDICT_DENY,
};

static const char *put(struct arena *a, const char *text)
{
	return arena_strndup(a, text ? text : "", text ? strlen(text) : 0);
}

/* Under the lock: what is said about rules is in the profile, which the next request may change. */
static int fill(struct given_explanation *g, const struct check *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	const struct policy_finding *f = &c->answer.line;
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	explain_put_json(c, &w);
	json_object_end(&w);
	if (buffer_error(&json) < 0)
		return -ENOMEM;
	g->explanation = (struct nacre_explanation){
		.size = sizeof(g->explanation),
		.verdict = verdicts[f->verdict],
		.flags = policy_answer_is_left(&c->answer) ? NACRE_LEFT_TO_SANDBOX : 0,
		.reason = put(g->arena, f->reason),
		.rule = put(g->arena, f->rule_id),
		.recommended = api_copy_list(g->arena, f->use),
		.json = put(g->arena, buffer_str(&json)),
	};
	return g->explanation.json ? 0 : -ENOMEM;
}

static int explain(struct nacre_context *c, const struct request *rq, struct given_explanation *g,
                   struct error *err)
{
	scoped(arena_freep) struct arena *facts = arena_new(SHELL_FACTS_ARENA_MAX);
	struct check check = {0};
	int r;

	if (!facts)
		return error_nomem(err);
	(void)pthread_mutex_lock(&c->lock);
	r = engine_explain(&c->engine, rq, facts, &check, err);
	if (r == 0 && fill(g, &check) < 0)
		r = error_nomem(err);
	(void)pthread_mutex_unlock(&c->lock);
	return r;
}

int nacre_explain(struct nacre_context *c, const struct nacre_request *request,
                  struct nacre_explanation **ret_explanation, struct nacre_error *to)
{
	scoped(arena_freep) struct arena *arena = arena_new(EXPLANATION_MAX);
	struct given_explanation *g;
	struct error err = {0};
	struct request rq;
	int r;

	g = arena ? arena_new_object(arena, struct given_explanation) : NULL;
	if (!g)
		return api_fail(to, -ENOMEM, &err);
	g->arena = arena;
	r = api_read_request(c, request, NULL, &rq, &err);
	if (r == 0)
		r = explain(c, &rq, g, &err);
	if (r < 0)
		return api_fail(to, r, &err);
	(void)take_ptr(&arena);
	*ret_explanation = &g->explanation;
	return 0;
}

void nacre_explanation_free(struct nacre_explanation *explanation)
{
	if (explanation)
		arena_free(((struct given_explanation *)explanation)->arena);
}
