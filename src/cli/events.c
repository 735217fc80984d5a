#include "cli/events.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>
#include "approval/approval.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "engine/result.h"
#include "json/write.h"
#include "task/tasks.h"

#define PIECE_MAX ((size_t)64 << 10)
#define STEPS_MAX 16 /* of 64 KiB: signals and the end are seen in between */

void events_done(struct events *e)
{
	e->reader = tasks_reader_free(e->reader);
	buffer_done(&e->text);
}

static void begin(struct json_writer *w, const char *event)
{
	json_object_begin(w);
	json_member_string(w, "event", event);
}

static void print(struct events *e, struct json_writer *w)
{
	json_object_end(w);
	buffer_putc(w->out, '\n');
	if (e->failed == 0)
		e->failed = buffer_error(w->out);
	if (e->failed == 0)
		e->failed = fd_write_all(STDOUT_FILENO, w->out->data, w->out->len);
}

/* MISSING: so many bytes are in no file; else what has been gathered. */
static void print_output(struct events *e, int stream, uint64_t missing)
{
	scoped(buffer_donep) struct buffer line = {0};
	struct json_writer w = {.out = &line};

	begin(&w, "output");
	json_member_string(&w, "stream", follow_stream_name((enum follow_stream)stream));
	if (missing > 0)
		json_member_uint(&w, "missing_bytes", missing);
	else
		json_member_bytes(&w, "text", e->text.data, e->text.len);
	print(e, &w);
}

static void flush(struct events *e)
{
	if (e->text.len > 0)
		print_output(e, e->stream, 0);
	buffer_done(&e->text);
}

static int on_text(void *owner, const struct tasks_text *t)
{
	struct events *e = owner;

	if (t->missing > 0 || t->stream != e->stream || e->text.len + t->len > PIECE_MAX)
		flush(e);
	if (t->missing > 0)
		print_output(e, t->stream, t->missing);
	e->stream = t->stream;
	buffer_append(&e->text, t->text, t->len);
	if (e->failed == 0)
		e->failed = buffer_error(&e->text);
	return e->failed;
}

static bool find_task(struct events *e, struct store *store, const char *task_id)
{
	const struct tasks_query q = {.id = task_id, .stream = FOLLOW_BOTH};

	if (!e->reader && e->failed == 0 && task_id)
		(void)tasks_reader_new(store, &q, on_text, e, &e->reader, NULL);
	return e->reader && e->failed == 0;
}

bool events_output(struct events *e, struct store *store, const char *task_id)
{
	int r = TASKS_WAIT;

	if (!find_task(e, store, task_id))
		return false;
	for (int n = 0; n < STEPS_MAX && (r = tasks_reader_step(e->reader)) == TASKS_MORE; n++)
		;
	flush(e);
	return r == TASKS_MORE;
}

void events_output_end(struct events *e, struct store *store, const char *task_id)
{
	if (!find_task(e, store, task_id))
		return;
	while (tasks_reader_step(e->reader) == TASKS_MORE)
		;
	(void)tasks_reader_end(e->reader);
	flush(e);
}

void events_asked(struct events *e, const struct approval *a)
{
	scoped(buffer_donep) struct buffer line = {0};
	struct json_writer w = {.out = &line};

	begin(&w, "asked");
	json_member_object(&w, "approval");
	approval_put_json(&w, a);
	json_object_end(&w);
	print(e, &w);
}

int events_result(struct events *e, const struct result *r)
{
	scoped(buffer_donep) struct buffer line = {0}, json = {0};
	struct json_writer w = {.out = &line};

	if (result_write_json(r, &json) < 0)
		return -ENOMEM;
	begin(&w, "result");
	json_member_raw(&w, "result", buffer_str(&json));
	print(e, &w);
	return e->failed;
}
