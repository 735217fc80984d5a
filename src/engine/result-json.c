/*
 * The names of the members are a contract with programs: spec and man page list them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "engine/result.h"
#include "json/write.h"

/* A missing word is null. */
static void put_text(struct json_writer *w, const char *key, const char *text)
{
	json_put_key(w, key);
	json_put_string(w, text && *text ? text : NULL);
}

static void put_view(struct json_writer *w, const char *key, const struct view *v)
{
	json_put_key(w, key);
	json_put_bytes(w, v->text ? v->text : "", v->len);
}

static void put_output(struct json_writer *w, const struct result *r)
{
	if (r->output_mode == OUTPUT_MERGED) {
		put_view(w, "output", &r->views[0]);
	} else {
		if (result_shows(r, 0))
			put_view(w, "stdout", &r->views[0]);
		if (result_shows(r, 1))
			put_view(w, "stderr", &r->views[1]);
	}
	json_put_key(w, "truncated");
	json_put_bool(w, (result_shows(r, 0) && r->views[0].truncated) ||
	                         (result_shows(r, 1) && r->views[1].truncated));
	json_put_key(w, "stdout_bytes");
	json_put_uint(w, r->report.streams[0].bytes);
	json_put_key(w, "stderr_bytes");
	json_put_uint(w, r->report.streams[1].bytes);
	put_text(w, "output_file", r->output_kept ? r->output_files[0] : NULL);
	put_text(w, "stderr_file", r->output_kept ? r->output_files[1] : NULL);
}

static void put_verdict(struct json_writer *w, const struct result *r)
{
	put_text(w, "verdict", r->verdict);
	put_text(w, "reason", r->reason);
	json_put_key(w, "rule");
	if (r->rule_id[0]) {
		json_object_begin(w);
		put_text(w, "id", r->rule_id);
		put_text(w, "file", r->rule_file);
		json_put_key(w, "line");
		json_put_uint(w, r->rule_line);
		json_object_end(w);
	} else {
		json_put_null(w);
	}
	json_put_key(w, "recommended");
	json_array_begin(w);
	for (int i = 0; i < r->recommended_count; i++)
		json_put_string(w, r->recommended[i]);
	json_array_end(w);
	json_put_key(w, "approval");
	if (r->approval_id[0]) {
		json_object_begin(w);
		put_text(w, "id", r->approval_id);
		put_text(w, "state", r->approval_state);
		put_text(w, "by", r->approval_by);
		json_object_end(w);
	} else {
		json_put_null(w);
	}
	json_put_key(w, "left_to_sandbox");
	json_put_bool(w, r->left_to_sandbox);
}

static void put_layers(struct json_writer *w, const char *key, uint32_t layers)
{
	json_put_key(w, key);
	json_array_begin(w);
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (layers & (1U << i))
			json_put_string(w, sandbox_layer_name((enum sandbox_layer)(1U << i)));
	json_array_end(w);
}

/* What really was in force, and what the profile would have had beside it. */
static void put_sandbox(struct json_writer *w, const struct result *r)
{
	static const char *const tiers[SANDBOX_TIER_MAX] = {
		[SANDBOX_TIER_FULL] = "full",
		[SANDBOX_TIER_LANDLOCK] = "landlock",
		[SANDBOX_TIER_NONE] = "none",
		[SANDBOX_TIER_CONTAINER] = "container",
	};
	const struct sandbox_standing *s = &r->report.sandbox;
	uint32_t bare = SANDBOX_LAYER_NO_NEW_PRIVS |
	                (r->report.processes_bounded ? SANDBOX_LAYER_PROCESSES : 0);

	bool known = r->ran && !r->background; /* of a task its state.json tells */

	json_put_key(w, "sandbox");
	json_object_begin(w);
	put_text(w, "tier", known ? tiers[s->tier] : NULL);
	put_layers(w, "layers", !known ? 0 : s->tier == SANDBOX_TIER_NONE ? bare : s->layers);
	put_layers(w, "missing",
	           s->tier == SANDBOX_TIER_NONE ? ((1U << SANDBOX_LAYER_COUNT) - 1) & ~bare
	                                        : s->missing);
	put_text(w, "limit_hit", limit_hit_name(r->report.limit_hit));
	json_object_end(w);
}

static void put_names(struct json_writer *w, const char *key, const char *names)
{
	json_put_key(w, key);
	json_array_begin(w);
	for (const char *name = names, *end; *name; name = end + (*end == '\n')) {
		end = strchrnul(name, '\n');
		json_put_bytes(w, name, (size_t)(end - name));
	}
	json_array_end(w);
}

/* How many there were, and the names of those that had to be ended, and for that killed. Of these
 * some may have ended by themselves in the last moment. */
static void put_processes(struct json_writer *w, const struct result *r)
{
	json_put_key(w, "processes");
	json_object_begin(w);
	json_put_key(w, "total");
	json_put_int(w, r->report.processes);
	put_names(w, "ended", r->report.ended);
	put_names(w, "killed", r->report.killed > 0 ? r->report.slain : "");
	json_object_end(w);
}

int result_write_json(const struct result *r, struct buffer *into)
{
	struct json_writer w = {.out = into};
	char signal_name[32] = "";

	if (r->signal)
		snprintf(signal_name, sizeof(signal_name), "SIG%s",
		         sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
	json_object_begin(&w);
	json_put_key(&w, "success");
	json_put_bool(&w, r->success);
	json_put_key(&w, "exit_code");
	json_put_int(&w, r->exit_code);
	put_text(&w, "signal", signal_name);
	json_put_key(&w, "timed_out");
	json_put_bool(&w, r->timed_out);
	json_put_key(&w, "duration_ms");
	json_put_int(&w, r->report.duration_ms);
	put_output(&w, r);
	put_text(&w, "task_id", r->task_id);
	json_put_key(&w, "background");
	json_put_bool(&w, r->background);
	if (r->background)
		put_text(&w, "note", r->note);
	put_verdict(&w, r);
	json_put_key(&w, "killed");
	json_put_int(&w, r->report.killed);
	put_processes(&w, r);
	json_put_key(&w, "notices");
	json_array_begin(&w);
	for (int i = 0; i < r->notice_count; i++)
		json_put_string(&w, r->notices[i]);
	for (int i = 0; i < 2; i++)
		if (result_shows(r, i) && result_notice(r, i))
			json_put_string(&w, result_notice(r, i));
	json_array_end(&w);
	put_sandbox(&w, r);
	json_put_key(&w, "usage");
	json_object_begin(&w);
	json_put_key(&w, "cpu_ms");
	json_put_int(&w, r->report.cpu_ms);
	json_put_key(&w, "max_rss_kb");
	json_put_int(&w, r->report.max_rss_kb);
	json_object_end(&w);
	json_object_end(&w);
	return buffer_error(into);
}
