#include "serve/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/loop.h"
#include "json/write.h"
#include "serve/watch.h"
#include "task/find.h"
#include "task/live.h"

#define FRAME_MS 34

struct show {
	struct loop *loop;
	const struct show_ops *ops;
	void *owner;
	char task[STORE_ID_MAX];
	int dir_fd;
	struct watcher watcher;
	struct live *live;
	struct loop_timer timer; /* the next look */
	int64_t last_at;         /* of the last frame */
	bool dirty, full;        /* FULL: the client has to take what it has first */
	const char *reason;      /* that it is about to end; NULL: it is not */
};

static int on_timer(struct loop_timer *t);

static void look_soon(struct show *s)
{
	int64_t now = loop_now(s->loop), at = s->last_at + FRAME_MS;

	if (!s->timer.slot)
		(void)loop_timer_set(s->loop, &s->timer, at > now ? at : now, on_timer);
}

static void on_changed(struct watcher *w)
{
	struct show *s = container_of(w, struct show, watcher);

	s->dirty = true;
	look_soon(s);
}

static void put_colour(struct json_writer *w, const char *key, uint32_t colour)
{
	char text[8];

	if (colour & SCREEN_COLOUR_PALETTE) {
		json_member_uint(w, key, colour & 0xff);
	} else if (colour & SCREEN_COLOUR_RGB) {
		snprintf(text, sizeof(text), "#%06x", colour & 0xffffff);
		json_member_string(w, key, text);
	}
}

static void put_run(struct json_writer *w, const struct screen_run *run, const char *text)
{
	static const char letters[] = "biursk"; /* by bit; see screen.h */
	char attributes[8];
	size_t n = 0;

	json_object_begin(w);
	json_member_bytes(w, "text", text, run->len);
	put_colour(w, "fg", run->fg);
	put_colour(w, "bg", run->bg);
	for (int i = 0; i < 6; i++)
		if (run->attributes & (1U << i))
			attributes[n++] = letters[i];
	attributes[n] = '\0';
	if (n > 0)
		json_member_string(w, "attributes", attributes);
	json_object_end(w);
}

static void put_frame(struct json_writer *w, const char *task, const struct live_frame *f)
{
	const char *at = NULL, *text;
	struct screen_run run;
	unsigned row, runs;

	json_object_begin(w);
	json_member_string(w, "task_id", task);
	json_member_uint(w, "rows", f->facts.rows);
	json_member_uint(w, "cols", f->facts.cols);
	json_member_bool(w, "whole", f->whole);
	json_member_object(w, "cursor");
	json_member_uint(w, "row", f->facts.cursor_row);
	json_member_uint(w, "col", f->facts.cursor_col);
	json_member_bool(w, "visible", f->facts.cursor_visible);
	json_object_end(w);
	json_member_text(w, "title", f->title);
	json_member_bool(w, "alternate", f->facts.alternate);
	json_member_bool(w, "application_keys", f->application_keys);
	json_member_bool(w, "bracketed_paste", f->bracketed_paste);
	json_member_array(w, "lines");
	while (live_row(f, &at, &row, &runs)) {
		if (f->whole && runs == 0)
			continue;
		json_object_begin(w);
		json_member_uint(w, "row", row);
		json_member_array(w, "runs");
		for (unsigned i = 0; i < runs; i++) {
			live_run(&at, &run, &text);
			put_run(w, &run, text);
		}
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

/* The owner may free us in what it is told at the end; of a frame it may not. */
static void on_frame(void *owner, const struct live_frame *f)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct show *s = owner;

	put_frame(&w, s->task, f);
	s->last_at = loop_now(s->loop);
	s->ops->frame(s->owner, &json);
	s->dirty = true; /* more may have come meanwhile */
	look_soon(s);
}

static void on_failed(void *owner)
{
	struct show *s = owner;

	s->reason = "failed";
	look_soon(s);
}

static const struct live_ops ops = {.frame = on_frame, .failed = on_failed};

static int on_timer(struct loop_timer *t)
{
	struct show *s = container_of(t, struct show, timer);
	enum find_state state;

	if (s->reason) {
		s->ops->ended(s->owner, s->reason);
		return 0;
	}
	s->full = s->ops->has_room && !s->ops->has_room(s->owner);
	if (!s->dirty || s->full)
		return 0;
	state = find_state(s->dir_fd); /* before the look: what was written before is then seen */
	s->dirty = false;
	if (live_pump(s->live) || s->reason)
		return 0;
	if (state != FIND_RUNNING)
		s->ops->ended(s->owner, "ended");
	return 0;
}

void show_wake(struct show *s)
{
	if (s->full)
		look_soon(s);
}

int show_new(struct loop *l, struct watch *watch, int dir_fd, const char *task_id,
             const struct show_ops *show_ops, void *owner, struct show **ret_show)
{
	scoped(show_freep) struct show *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		fd_close(dir_fd);
		return -ENOMEM;
	}
	s->loop = l;
	s->ops = show_ops;
	s->owner = owner;
	s->dir_fd = dir_fd;
	snprintf(s->task, sizeof(s->task), "%s", task_id);
	r = watch_add(watch, dir_fd, &s->watcher, on_changed);
	if (r == 0)
		r = live_new(l, dir_fd, &ops, s, &s->live, NULL);
	if (r < 0)
		return r;
	s->dirty = true;
	look_soon(s);
	*ret_show = take_ptr(&s);
	return 0;
}

struct show *show_free(struct show *s)
{
	if (!s)
		return NULL;
	watch_remove(&s->watcher);
	loop_timer_clear(&s->timer);
	s->live = live_free(s->live);
	fd_close(s->dir_fd);
	free(s);
	return NULL;
}
