/*
 * A result as the caller gets it: one arena with the struct in it, so that there is one thing to
 * release, and nothing that changes later.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <nacre.h>
#include "api/inside.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "engine/result.h"

#define RESULT_MAX ((size_t)128 << 20)

/* What is given out lies in front, so that the one is found from the other. */
struct given_result {
	struct nacre_result result;
	struct arena *arena;
};

static uint32_t verdict_of(const char *name)
{
	static const char *const names[] = {[NACRE_VERDICT_ALLOW] = "allow",
	                                    [NACRE_VERDICT_ASK] = "ask",
	                                    [NACRE_VERDICT_NUDGE] = "nudge",
	                                    [NACRE_VERDICT_DENY] = "deny"};

	for (uint32_t i = 1; name && i < array_size(names); i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return NACRE_VERDICT_NONE;
}

static uint32_t flags_of(const struct result *r)
{
	bool cut = (result_shows(r, 0) && r->views[0].truncated) ||
	           (result_shows(r, 1) && r->views[1].truncated);

	return (r->success ? NACRE_SUCCESS : 0) | (r->ran ? NACRE_RAN : 0) |
	       (r->timed_out ? NACRE_TIMED_OUT : 0) | (r->stopped ? NACRE_STOPPED : 0) |
	       (r->background ? NACRE_IN_BACKGROUND : 0) | (cut ? NACRE_TRUNCATED : 0) |
	       (r->left_running ? NACRE_LEFT_RUNNING : 0) |
	       (r->left_to_sandbox ? NACRE_LEFT_TO_SANDBOX : 0);
}

static const char *put(struct arena *a, const char *text)
{
	return arena_strdup(a, text);
}

static const char *put_view(struct arena *a, const struct result *r, int stream, size_t *ret_bytes)
{
	const struct view *v = &r->views[stream];
	bool shown = result_shows(r, stream) && v->text;

	*ret_bytes = shown ? v->len : 0;
	return arena_strndup(a, shown ? v->text : "", *ret_bytes);
}

static const char *const *put_recommended(struct arena *a, const struct result *r)
{
	const char *list[RESULT_RECOMMENDED_MAX + 1] = {NULL};

	for (int i = 0; i < r->recommended_count; i++)
		list[i] = r->recommended[i];
	return api_copy_list(a, list);
}

static const char *const *put_notices(struct arena *a, const struct result *r)
{
	const char *list[RESULT_NOTICES_MAX + 3] = {NULL};
	int n = 0;

	for (; n < r->notice_count; n++)
		list[n] = r->notices[n];
	for (int i = 0; i < 2; i++)
		if (result_shows(r, i) && result_notice(r, i))
			list[n++] = result_notice(r, i);
	return api_copy_list(a, list);
}

int api_result_new(const struct result *r, struct nacre_result **ret_result)
{
	scoped(buffer_donep) struct buffer json = {0};
	scoped(arena_freep) struct arena *a = arena_new(RESULT_MAX);
	struct given_result *g = a ? arena_new_object(a, struct given_result) : NULL;
	struct nacre_result *n = g ? &g->result : NULL;

	if (!n || result_write_json(r, &json) < 0)
		return -ENOMEM;
	*n = (struct nacre_result){
		.size = sizeof(*n),
		.flags = flags_of(r),
		.verdict = verdict_of(r->verdict),
		.exit_code = r->exit_code,
		.signal = r->signal,
		.written = {r->report.streams[0].bytes, r->report.streams[1].bytes},
		.duration_ms = r->report.duration_ms,
		.cpu_ms = r->report.cpu_ms,
		.max_rss_kb = r->report.max_rss_kb,
		.reason = put(a, r->reason),
		.rule = put(a, r->rule_id),
		.task_id = put(a, r->task_id),
		.note = put(a, r->background ? r->note : ""),
		.recommended = put_recommended(a, r),
		.notices = put_notices(a, r),
		.json = put(a, buffer_str(&json)),
	};
	n->out = put_view(a, r, 0, &n->out_bytes);
	n->err = put_view(a, r, 1, &n->err_bytes);
	/* After the first failure an arena gives nothing any more. */
	if (!n->err || !n->out || !n->json)
		return -ENOMEM;
	g->arena = take_ptr(&a);
	*ret_result = n;
	return 0;
}

void nacre_result_free(struct nacre_result *result)
{
	if (result)
		arena_free(((struct given_result *)result)->arena);
}
