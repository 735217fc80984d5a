#include "serve/tail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "task/tasks.h"
#include "http/server.h"
#include "json/write.h"
#include "serve/watch.h"

#define PIECE_MAX                                                                                  \
	((size_t)256 << 10) /* as much text of the files as is read at a time, and more            \
	                     */

#define PIECE_LEAST ((size_t)16 << 10)
#define STEPS_MAX   16 /* of 64 KiB, where a choice among lines lets little through */
#define PUMP_MS     10 /* or where it takes long */

struct tail {
	struct tasks_reader *reader;
	struct http_exchange *x;
	struct watcher watcher;
	void (*wake)(void *owner);
	void *owner;
	struct buffer text; /* of one stream, that is not yet an event */
	int stream;
	char task[STORE_ID_MAX]; /* empty: the stream is of this task alone */
	bool done;
};

static void on_wake(struct watcher *w)
{
	struct tail *t = container_of(w, struct tail, watcher);

	t->wake(t->owner);
}

/* ID: whether all up to the next offset has been sent. */
static int flush(struct tail *t, bool with_id)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	char id[24];

	if (t->text.len == 0)
		return 0;
	json_object_begin(&w);
	if (t->task[0])
		json_member_string(&w, "task_id", t->task);
	json_member_string(&w, "stream", follow_stream_name((enum follow_stream)t->stream));
	json_member_bytes(&w, "text", t->text.data, t->text.len);
	if (t->task[0] && with_id)
		json_member_uint(&w, "next", tasks_reader_next(t->reader));
	json_object_end(&w);
	buffer_done(&t->text);
	if (buffer_error(&json) < 0)
		return buffer_error(&json);
	snprintf(id, sizeof(id), "%llu", (unsigned long long)tasks_reader_next(t->reader));
	return http_stream_event(t->x, with_id && !t->task[0] ? id : NULL, "output", json.data,
	                         json.len)
	               ? 0
	               : -EPIPE;
}

static int send_gap(struct tail *t, const struct tasks_text *text)
{
	char json[96 + STORE_ID_MAX];
	int n = snprintf(json, sizeof(json), "{%s%s%s\"stream\":\"%s\",\"missing_bytes\":%llu}",
	                 t->task[0] ? "\"task_id\":\"" : "", t->task, t->task[0] ? "\"," : "",
	                 follow_stream_name((enum follow_stream)text->stream),
	                 (unsigned long long)text->missing);

	return http_stream_event(t->x, NULL, "output", json, (size_t)n) ? 0 : -EPIPE;
}

static int on_text(void *owner, const struct tasks_text *text)
{
	struct tail *t = owner;
	int r = 0;

	if (text->missing > 0 || text->stream != t->stream || t->text.len >= PIECE_MAX)
		r = flush(t, false);
	if (r < 0)
		return r;
	if (text->missing > 0)
		return send_gap(t, text);
	t->stream = text->stream;
	buffer_append(&t->text, text->text, text->len);
	return buffer_error(&t->text);
}

int tail_new(struct store *store, struct watch *watch, const struct tasks_query *q,
             struct http_exchange *x, void (*wake)(void *owner), void *owner,
             struct tail **ret_tail, struct error *err)
{
	scoped(tail_freep) struct tail *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_nomem(err);
	t->x = x;
	t->wake = wake;
	t->owner = owner;
	r = tasks_reader_new(store, q, on_text, t, &t->reader, err);
	if (r < 0)
		return r;
	follow_unwatch(tasks_reader_follow(t->reader));
	r = watch_add(watch, tasks_reader_dir(t->reader), &t->watcher, on_wake);
	if (r < 0)
		return error_sys(err, -r, "watching a task");
	*ret_tail = take_ptr(&t);
	return 0;
}

void tail_name(struct tail *t, const char *task_id)
{
	snprintf(t->task, sizeof(t->task), "%s", task_id);
}

int tail_dir(const struct tail *t)
{
	return tasks_reader_dir(t->reader);
}

uint64_t tail_next(const struct tail *t)
{
	return tasks_reader_next(t->reader);
}

struct tail *tail_free(struct tail *t)
{
	if (!t)
		return NULL;
	watch_remove(&t->watcher);
	tasks_reader_free(t->reader);
	buffer_done(&t->text);
	free(t);
	return NULL;
}

enum tail_state tail_pump(struct tail *t)
{
	int64_t end = clock_now_ms() + PUMP_MS;
	int r = TASKS_MORE;

	for (int steps = 0; !t->done && http_stream_waiting(t->x) == 0; steps++) {
		if (steps == STEPS_MAX || (steps > 0 && clock_now_ms() > end))
			return TAIL_MORE;
		r = tasks_reader_step(t->reader);
		if (r == TASKS_DONE || r < 0) {
			t->done = true;
			if (r >= 0)
				(void)tasks_reader_end(t->reader);
		}
		if (r == TASKS_MORE && t->text.len < PIECE_LEAST)
			continue;
		/* With lines that wait for their end the offset would be ahead of what was sent. */
		if (flush(t, r == TASKS_WAIT || t->done) < 0)
			t->done = true;
		if (r == TASKS_WAIT)
			break;
	}
	return t->done ? TAIL_DONE : TAIL_WAITS;
}

bool tail_is_past(const struct tail *t, uint64_t offset)
{
	return tasks_reader_next(t->reader) >= offset;
}

void tail_end(struct tail *t)
{
	(void)tasks_reader_end(t->reader);
	(void)flush(t, true);
	t->done = true;
}

void tail_look(struct tail *t, struct find_entry *ret_entry)
{
	tasks_reader_look(t->reader, ret_entry);
}
