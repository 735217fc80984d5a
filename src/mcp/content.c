/*
 * Models read the text: the output, then one line that says how it ended. A long text begins with
 * such a line as well, and with the id of the output that is kept: many clients cut the end. Hosts
 * that support structured content give their model nothing else. So it is sent only on request, and
 * then it is complete. If the files of the host must not be named, resources are named instead.
 */
#include "mcp/content.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "base/number.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "mcp/inside.h"

void content_done(struct content *c)
{
	buffer_done(&c->text);
	buffer_done(&c->structured);
	buffer_done(&c->facts);
}

void content_refuse(struct content *c, const char *text)
{
	c->is_error = true;
	buffer_clear(&c->text);
	buffer_puts(&c->text, text);
}

/* A name of something in the directory of this task that is read as a resource; behind it, or NULL:
 * it is none. With two streams the address without one is that of both. */
static const char *put_resource(struct buffer *into, const char *name, const struct result *r)
{
	bool err = strncmp(name, "/err", 4) == 0;

	if (!err && strncmp(name, "/out", 4) != 0)
		return NULL;
	buffer_printf(into, "nacre://output/%s%s", r->task_id,
	              r->output_mode == OUTPUT_MERGED ? ""
	              : err                           ? "?stream=stderr"
	                                              : "?stream=stdout");
	return name + 4;
}

/* Appends TEXT with every name of a file of this task, and of the directory of the tasks,
 * replaced: where they lie is no business of the client. */
static void put_scrubbed(struct buffer *into, const char *text, size_t n, const struct result *r,
                         const char *tasks)
{
	size_t known = strlen(tasks);
	const char *end = text + n, *hit, *rest;

	while (known > 0 && (hit = memmem(text, (size_t)(end - text), tasks, known))) {
		buffer_append(into, text, (size_t)(hit - text));
		text = hit + known;
		if (r->task_id[0] && *text == '/' &&
		    strncmp(text + 1, r->task_id, strlen(r->task_id)) == 0) {
			text += 1 + strlen(r->task_id);
			rest = put_resource(into, text, r);
			if (!rest)
				buffer_printf(into, "the directory of task %s", r->task_id);
			text = rest ? rest : text;
		} else {
			buffer_puts(into, "[nacre's state]");
		}
	}
	buffer_append(into, text, (size_t)(end - text));
}

static void end_line(struct buffer *b)
{
	if (b->len > 0 && b->data[b->len - 1] != '\n')
		buffer_putc(b, '\n');
}

static void put_streams(struct content *c, const struct result *r, const char *tasks)
{
	for (int i = 0; i < 2; i++) {
		const struct view *v = &r->views[i];

		if (!result_shows(r, i) || !v->text || v->len == 0)
			continue;
		end_line(&c->text);
		if (i == 1 && r->output_mode == OUTPUT_SEPARATE)
			buffer_puts(&c->text, "[stderr]\n");
		if (v->truncated || v->binary)
			put_scrubbed(&c->text, v->text, v->len, r, tasks);
		else
			buffer_append(&c->text, v->text, v->len);
	}
}

static void put_note(struct content *c, const char *text, const struct result *r, const char *tasks)
{
	end_line(&c->text);
	buffer_putc(&c->text, '[');
	put_scrubbed(&c->text, text, strlen(text), r, tasks);
	buffer_puts(&c->text, "]\n");
}

static void put_exit(struct content *c, const struct result *r, const char *took)
{
	buffer_printf(&c->text, "[exit %d after %s", r->exit_code, took);
	for (int i = 0; i < r->stage_count; i++)
		buffer_printf(&c->text, "%s%d", i ? ", " : "; stages ", r->stages[i]);
	buffer_putc(&c->text, ']');
}

static void put_status(struct content *c, const struct result *r, const char *tasks)
{
	char took[32];

	number_format_duration(r->report.duration_ms, took);
	end_line(&c->text);
	if (r->background)
		buffer_printf(&c->text, "[task %s running]", r->task_id);
	else if (!r->ran || r->timed_out || r->stopped) {
		buffer_putc(&c->text, '[');
		if (r->ran)
			buffer_puts(&c->text, "killed: ");
		put_scrubbed(&c->text, r->reason, strlen(r->reason), r, tasks);
		buffer_putc(&c->text, ']');
	} else if (r->signal)
		buffer_printf(&c->text, "[killed by SIG%s after %s]",
		              sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?", took);
	else
		put_exit(c, r, took);
}

#define FIRST_LINE_FROM 400 /* bytes of a text that a client may cut */

/* In front of a long text: how it ended, and where all of it is. */
static void put_first_line(struct content *c, const struct result *r, const char *tasks)
{
	scoped(buffer_donep) struct buffer rest = c->text;
	const struct view *v = &r->views[0];

	if (!c->link[0] && rest.len < FIRST_LINE_FROM) {
		rest = (struct buffer){0};
		return;
	}
	c->text = (struct buffer){0};
	put_status(c, r, tasks);
	if (c->link[0]) {
		c->text.len--; /* the bracket */
		buffer_printf(&c->text, "; output nacre://output/%s, %" PRIu64 " bytes", c->link,
		              c->link_bytes);
		if (v->total_lines > 0)
			buffer_printf(&c->text, ", %" PRIu64 " of %" PRIu64 " lines shown",
			              v->shown_lines, v->total_lines);
		buffer_putc(&c->text, ']');
	}
	buffer_putc(&c->text, '\n');
	buffer_append(&c->text, buffer_str(&rest), rest.len);
}

/* Nothing ran: what, why, and what to do instead. */
static void put_refusal(struct content *c, const struct result *r, const char *tasks)
{
	put_scrubbed(&c->text, r->reason, strlen(r->reason), r, tasks);
	if (r->recommended_count > 0)
		buffer_puts(&c->text, "\nUse instead: ");
	for (int i = 0; i < r->recommended_count; i++)
		buffer_printf(&c->text, "%s%s", i ? ", " : "", r->recommended[i]);
}

/* Of an error only what there is to know and the text does not say: some clients show all of it to
 * their model. */
static void put_error_facts(struct content *c, const struct result *r)
{
	struct json_writer w = {.out = &c->facts};

	json_object_begin(&w);
	if (r->ran && !r->background)
		json_member_int(&w, "exit_code", r->exit_code);
	if (r->signal)
		json_member_text(&w, "signal", sigabbrev_np(r->signal));
	if (r->timed_out)
		json_member_bool(&w, "timed_out", true);
	if (r->background || r->output_kept)
		json_member_text(&w, "task_id", r->task_id);
	if (r->verdict && !r->ran)
		json_member_text(&w, "verdict", r->verdict);
	if (r->verdict && !r->ran && r->rule_id[0])
		json_member_text(&w, "rule", r->rule_id);
	json_object_end(&w);
}

static void put_facts(struct content *c, const struct result *r)
{
	struct json_writer w = {.out = &c->facts};

	if ((!r->ran || r->timed_out) && !r->background)
		return put_error_facts(c, r);
	json_object_begin(&w);
	json_put_key(&w, "exit_code");
	if (r->ran && !r->background)
		json_put_int(&w, r->exit_code);
	else
		json_put_null(&w);
	json_member_text(&w, "signal", r->signal ? sigabbrev_np(r->signal) : NULL);
	json_member_bool(&w, "timed_out", r->timed_out);
	json_member_int(&w, "duration_ms", r->report.duration_ms);
	json_member_uint(&w, "stdout_bytes", r->report.streams[0].bytes);
	json_member_uint(&w, "stderr_bytes", r->report.streams[1].bytes);
	json_member_bool(&w, "truncated", r->views[0].truncated || r->views[1].truncated);
	json_member_text(&w, "task_id", r->background || r->output_kept ? r->task_id : NULL);
	if (r->left_running)
		result_put_left(r, &w);
	json_member_text(&w, "verdict", r->verdict);
	json_member_text(&w, "rule", r->rule_id);
	json_object_end(&w);
}

/* The streams apart, as a program wants them. */
static void put_structured(struct content *c, const struct result *r, const char *tasks)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &c->structured};

	json_object_begin(&w);
	for (int i = 0; i < 2; i++) {
		buffer_clear(&text);
		put_scrubbed(&text, r->views[i].text ? r->views[i].text : "", r->views[i].len, r,
		             tasks);
		json_member_bytes(&w, i ? "stderr" : "stdout", buffer_str(&text), text.len);
	}
	json_member_int(&w, "exit_code", r->exit_code);
	json_member_int(&w, "duration_ms", r->report.duration_ms);
	json_member_bool(&w, "truncated", r->views[0].truncated || r->views[1].truncated);
	if (r->timed_out)
		json_member_bool(&w, "timed_out", true);
	if (r->left_running) {
		json_member_text(&w, "task_id", r->task_id);
		result_put_left(r, &w);
	}
	if (r->notice_count > 0) {
		json_member_array(&w, "notices");
		for (int i = 0; i < r->notice_count; i++) {
			buffer_clear(&text);
			put_scrubbed(&text, r->notices[i], strlen(r->notices[i]), r, tasks);
			json_put_bytes(&w, buffer_str(&text), text.len);
		}
		json_array_end(&w);
	}
	if (c->link[0]) {
		json_put_key(&w, "output_uri");
		buffer_clear(&text);
		buffer_printf(&text, "nacre://output/%s", c->link);
		json_put_string(&w, buffer_str(&text));
	}
	json_object_end(&w);
	buffer_clear(&c->text);
	buffer_append(&c->text, buffer_str(&c->structured), c->structured.len);
}

void content_of_result(struct content *c, const struct result *r, const struct engine *e,
                       bool separate)
{
	const char *tasks = e->store.path;

	put_facts(c, r);
	if (!r->ran && !r->background) {
		c->is_error = true;
		put_refusal(c, r, tasks);
		return;
	}
	c->is_error = r->timed_out && !r->background;
	if (r->output_kept && !r->background && (r->output_files[0][0] || r->output_files[1][0])) {
		memcpy(c->link, r->task_id, sizeof(c->link));
		c->link_bytes = r->report.streams[0].bytes + r->report.streams[1].bytes;
		c->link_binary = r->views[0].binary || r->views[1].binary;
	}
	if (separate && !r->background) {
		put_structured(c, r, tasks);
		return;
	}
	put_streams(c, r, tasks);
	for (int i = 0; i < 2; i++)
		if (result_shows(r, i) && result_notice(r, i) && r->views[i].total_lines == 0)
			put_note(c, result_notice(r, i), r, tasks);
	for (int i = 0; i < r->notice_count; i++)
		put_note(c, r->notices[i], r, tasks);
	if (r->let_go)
		put_note(c, r->note, r, tasks);
	put_first_line(c, r, tasks);
	put_status(c, r, tasks);
}

static void put_link(const struct content *c, struct json_writer *w)
{
	char uri[64];

	snprintf(uri, sizeof(uri), "nacre://output/%s", c->link);
	json_object_begin(w);
	json_member_text(w, "type", "resource_link");
	json_member_text(w, "uri", uri);
	json_member_text(w, "name", c->link);
	json_member_text(w, "title", "full output");
	json_member_text(w, "mimeType", c->link_binary ? "application/octet-stream" : "text/plain");
	json_member_uint(w, "size", c->link_bytes);
	json_object_end(w);
}

void content_put(const struct content *c, enum mcp_revision revision, struct json_writer *w,
                 struct json_writer *meta)
{
	json_member_array(w, "content");
	json_object_begin(w);
	json_member_text(w, "type", "text");
	json_member_bytes(w, "text", buffer_str(&c->text), c->text.len);
	json_object_end(w);
	if (c->link[0] && revision >= MCP_2025_06_18)
		put_link(c, w);
	json_array_end(w);
	if (c->structured.len > 0 && revision >= MCP_2025_06_18)
		json_member_raw(w, "structuredContent", buffer_str(&c->structured));
	json_member_bool(w, "isError", c->is_error);
	if (c->facts.len > 0)
		json_member_raw(meta, "dev.nacre/run", buffer_str(&c->facts));
}

bool mcp_call_answer_content(struct mcp_call *call, const struct content *c)
{
	struct mcp_answer a;

	if (buffer_error(&c->text) || buffer_error(&c->structured) || buffer_error(&c->facts)) {
		mcp_call_error(call, RPC_INTERNAL_ERROR, "the answer is too large", NULL);
		return false;
	}
	answer_begin(&a, call, "complete");
	content_put(c, call->revision, &a.w, &a.meta);
	return answer_send(&a);
}

void mcp_call_refuse(struct mcp_call *call, const char *text)
{
	scoped(content_donep) struct content c = {0};

	content_refuse(&c, text);
	(void)mcp_call_answer_content(call, &c);
}
