/*
 * The names of the members are a contract with programs: spec and man page list them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "engine/result.h"
#include "engine/network.h"
#include "json/write.h"
#include "process/living.h"
#include "protect/protect.h"
#include "sandbox/layers.h"

static void put_view(struct json_writer *w, const char *key, const struct view *v)
{
	json_member_bytes(w, key, v->text ? v->text : "", v->len);
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
	json_member_bool(w, "truncated",
	                 (result_shows(r, 0) && r->views[0].truncated) ||
	                         (result_shows(r, 1) && r->views[1].truncated));
	json_member_uint(w, "stdout_bytes", r->report.streams[0].bytes);
	json_member_uint(w, "stderr_bytes", r->report.streams[1].bytes);
	json_member_text(w, "output_file", r->output_kept ? r->output_files[0] : NULL);
	json_member_text(w, "stderr_file", r->output_kept ? r->output_files[1] : NULL);
}

static void put_verdict(struct json_writer *w, const struct result *r)
{
	json_member_text(w, "verdict", r->verdict);
	json_member_text(w, "reason", r->reason);
	json_put_key(w, "rule");
	if (r->rule_id[0]) {
		json_object_begin(w);
		json_member_text(w, "id", r->rule_id);
		json_member_text(w, "file", r->rule_file);
		json_member_uint(w, "line", r->rule_line);
		json_object_end(w);
	} else {
		json_put_null(w);
	}
	json_member_array(w, "recommended");
	for (int i = 0; i < r->recommended_count; i++)
		json_put_string(w, r->recommended[i]);
	json_array_end(w);
	json_put_key(w, "approval");
	if (r->approval_id[0]) {
		json_object_begin(w);
		json_member_text(w, "id", r->approval_id);
		json_member_text(w, "state", r->approval_state);
		json_member_text(w, "by", r->approval_by);
		json_object_end(w);
	} else {
		json_put_null(w);
	}
	json_member_bool(w, "left_to_sandbox", r->left_to_sandbox);
}

static void put_layers(struct json_writer *w, const char *key, uint32_t layers)
{
	json_member_array(w, key);
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (layers & (1U << i))
			json_put_string(w, sandbox_layer_name((enum sandbox_layer)(1U << i)));
	json_array_end(w);
}

/* What really was in force, and what the profile would have had beside it. */
static void put_sandbox(struct json_writer *w, const struct result *r)
{
	const struct sandbox_standing *s = &r->report.sandbox;
	uint32_t bare = SANDBOX_LAYER_NO_NEW_PRIVS |
	                (r->report.processes_bounded ? SANDBOX_LAYER_PROCESSES : 0);
	uint32_t all = ((1U << SANDBOX_LAYER_COUNT) - 1) & ~(uint32_t)SANDBOX_LAYER_NETWORK_NAMES;
	bool known = r->ran && !r->background; /* of a task its state.json tells */

	json_member_object(w, "sandbox");
	json_member_text(w, "tier", known ? sandbox_tier_name(s->tier) : NULL);
	put_layers(w, "layers", !known ? 0 : s->tier == SANDBOX_TIER_NONE ? bare : s->layers);
	put_layers(w, "missing", s->tier == SANDBOX_TIER_NONE ? all & ~bare : s->missing);
	json_member_text(w, "limit_hit", limit_hit_name(r->report.limit_hit));
	json_object_end(w);
}

/* What it shared with other calls of its session; null: nothing. */
static void put_room(struct json_writer *w, const struct result *r)
{
	const struct keeper_room_report *room = &r->report.room;

	json_put_key(w, "room");
	if (!room->id[0] || r->background) {
		json_put_null(w);
		return;
	}
	json_object_begin(w);
	json_member_string(w, "id", room->id);
	json_member_uint(w, "generation", room->generation);
	json_member_bool(w, "fresh", room->fresh);
	json_object_end(w);
}

static void put_names(struct json_writer *w, const char *key, const char *names)
{
	json_member_array(w, key);
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
	json_member_object(w, "processes");
	json_member_int(w, "total", r->report.processes);
	put_names(w, "ended", r->report.ended);
	put_names(w, "killed", r->report.killed > 0 ? r->report.slain : "");
	json_object_end(w);
}

/* Files that wait for a person. */
static void put_held(struct json_writer *w, const struct result *r)
{
	const char *end, *tab;

	if (!*r->report.held)
		return;
	json_member_array(w, "held");
	for (const char *line = r->report.held; *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		tab = memchr(line, '\t', (size_t)(end - line));
		if (!tab || tab[1] == PROTECT_STAYS)
			continue;
		json_object_begin(w);
		json_member_bytes(w, "path", line, (size_t)(tab - line));
		json_member_bytes(w, "id", tab + 1, (size_t)(end - tab - 1));
		json_object_end(w);
	}
	json_array_end(w);
}

void result_put_left(const struct result *r, struct json_writer *w)
{
	const char *line = r->left_running ? r->report.left : "";
	struct living_process p;

	json_member_array(w, "left_running");
	while ((line = living_parse(line, &p))) {
		json_object_begin(w);
		json_member_int(w, "pid", p.inner);
		json_member_text(w, "name", p.name);
		json_member_array(w, "ports");
		for (int i = 0; i < p.port_count; i++)
			json_put_int(w, p.ports[i]);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

int result_write_json(const struct result *r, struct buffer *into)
{
	struct json_writer w = {.out = into};
	char signal_name[32] = "";

	if (r->signal)
		snprintf(signal_name, sizeof(signal_name), "SIG%s",
		         sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
	json_object_begin(&w);
	json_member_bool(&w, "success", r->success);
	json_member_int(&w, "exit_code", r->exit_code);
	json_member_text(&w, "signal", signal_name);
	json_member_bool(&w, "timed_out", r->timed_out);
	json_member_int(&w, "duration_ms", r->report.duration_ms);
	if (r->stage_count > 0) {
		json_member_array(&w, "stages");
		for (int i = 0; i < r->stage_count; i++)
			json_put_int(&w, r->stages[i]);
		json_array_end(&w);
	}
	put_output(&w, r);
	json_member_text(&w, "task_id", r->task_id);
	json_member_bool(&w, "background", r->background);
	result_put_left(r, &w);
	if (r->background)
		json_member_text(&w, "note", r->note);
	put_verdict(&w, r);
	json_member_int(&w, "killed", r->report.killed);
	put_processes(&w, r);
	put_held(&w, r);
	json_member_array(&w, "notices");
	for (int i = 0; i < r->notice_count; i++)
		json_put_string(&w, r->notices[i]);
	for (int i = 0; i < 2; i++)
		if (result_shows(r, i) && result_notice(r, i))
			json_put_string(&w, result_notice(r, i));
	json_array_end(&w);
	put_sandbox(&w, r);
	put_room(&w, r);
	network_put(&w, &r->report.network);
	result_put_changes(r, &w);
	json_member_object(&w, "usage");
	json_member_int(&w, "cpu_ms", r->report.cpu_ms);
	json_member_int(&w, "max_rss_kb", r->report.max_rss_kb);
	json_object_end(&w);
	json_object_end(&w);
	return buffer_error(into);
}
