/*
 * A question as the caller gets it. It is copied when it comes up: the engine's own may be gone
 * while somebody still looks at it.
 */
#include <string.h>
#include <nacre.h>
#include "api/inside.h"
#include "approval/approval.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "json/write.h"

#define QUESTION_MAX ((size_t)16 << 20)

struct given_question {
	struct nacre_question question;
	struct arena *arena;
};

static const char *put(struct arena *a, const char *text)
{
	return arena_strndup(a, text ? text : "", text ? strlen(text) : 0);
}

struct nacre_question *api_question_new(const struct approval *approval)
{
	scoped(arena_freep) struct arena *a = arena_new(QUESTION_MAX);
	scoped(buffer_donep) struct buffer json = {0};
	struct given_question *g = a ? arena_new_object(a, struct given_question) : NULL;
	struct json_writer w = {.out = &json};

	if (!g)
		return NULL;
	json_object_begin(&w);
	approval_put_json(&w, approval);
	json_object_end(&w);
	g->question = (struct nacre_question){
		.size = sizeof(g->question),
		.id = put(a, approval->id),
		.command = put(a, approval->command),
		.cwd = put(a, approval->cwd),
		.description = put(a, approval->description),
		.rule = put(a, approval->rule_id),
		.reason = put(a, approval->reason),
		.json = put(a, buffer_str(&json)),
	};
	if (buffer_error(&json) < 0 || !g->question.json)
		return NULL;
	g->arena = take_ptr(&a);
	return &g->question;
}

void api_question_free(struct nacre_question *q)
{
	if (q)
		arena_free(((struct given_question *)q)->arena);
}
