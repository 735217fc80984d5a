/*
 * Reading the output of a task: at once, or after waiting for something new, or for the end.
 *
 * A waiting call follows the files of the task and holds no other call up. Each client has its own
 * position in each task, so "what is new" is new to that client. An answer is bounded; the next
 * call continues where it ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/tasks.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/task-put.h"
#include "mcp/task-text.h"
#include "mcp/task-tools.h"
#include "mcp/tasks.h"
#include "mcp/tools.h"
#include "mcp/vigil.h"

#define MAX_DEFAULT     30000
#define TIMEOUT_DEFAULT 30000
#define TURN_MS         10
#define STATUS_BYTES    240

struct reading {
	struct mcp_call *call;
	char id[STORE_ID_MAX];
	int dir_fd;
	struct vigil vigil;
	uint64_t since;
	size_t max;
	char *filter;                /* NULL: none */
	struct pick_options lines;   /* by their numbers; from is 0: all */
	uint64_t lines_put;          /* of them */
	bool lines_left;             /* there was no room for more */
	struct tasks_reader *search; /* with either */
	struct loop_timer turn;
	struct content content;
	struct find_entry entry;
	bool for_end;  /* the end is waited for, not just something new */
	bool remember; /* where this client is */
};

static void reading_free(struct reading *r)
{
	vigil_stop(&r->vigil);
	loop_timer_clear(&r->turn);
	tasks_reader_free(r->search);
	content_done(&r->content);
	fd_close(r->dir_fd);
	free(r->filter);
	free(r);
}

static void on_cancel(struct mcp_call *c)
{
	reading_free(c->work);
	mcp_call_free(c);
}

static struct mcp_mark *find_mark(struct mcp_peer *p, const char *id)
{
	for (size_t i = 0; i < p->mark_count; i++)
		if (strcmp(p->marks[i].id, id) == 0)
			return &p->marks[i];
	return NULL;
}

/* Of too many the oldest is forgotten: that task is read from its beginning again. */
static void set_mark(struct mcp_peer *p, const char *id, uint64_t offset)
{
	struct mcp_mark *mark = find_mark(p, id);

	if (!mark && p->mark_count == MCP_MARKS) {
		memmove(p->marks, p->marks + 1, (MCP_MARKS - 1) * sizeof(p->marks[0]));
		p->mark_count--;
	}
	if (!mark) {
		mark = &p->marks[p->mark_count++];
		snprintf(mark->id, sizeof(mark->id), "%s", id);
	}
	mark->offset = offset;
}

static void put_status(struct content *content, const struct reading *r, uint64_t next)
{
	struct json_writer w = {.out = &content->facts};
	const struct find_entry *e = &r->entry;

	task_text_status(e, &content->text);
	if (r->lines_left && r->lines.to > 0)
		buffer_printf(&content->text, " [more: lines %" PRIu64 "-%" PRIu64 "]",
		              r->lines.from + r->lines_put, r->lines.to);
	else if (r->lines_left)
		buffer_printf(&content->text, " [more: lines %" PRIu64 "-]",
		              r->lines.from + r->lines_put);
	else if (r->lines.from > 0)
		; /* that is all of them */
	else if (next < e->bytes[0] + e->bytes[1])
		buffer_printf(&content->text, " [more: since %" PRIu64 "]", next);
	else if (e->state == FIND_RUNNING)
		buffer_printf(&content->text, " [next %" PRIu64 "]", next);
	json_object_begin(&w);
	task_put_facts(&w, e);
	json_member_uint(&w, "next", next);
	json_object_end(&w);
}

static void finish(struct reading *r, uint64_t next)
{
	struct mcp_call *c = r->call;
	struct content content = r->content;

	put_status(&content, r, next);
	if (r->remember)
		set_mark(c->peer, r->id, next);
	r->content = (struct content){0};
	reading_free(r);
	(void)mcp_call_answer_content(c, &content);
	content_done(&content);
}

static void fail(struct reading *r, const char *text)
{
	struct mcp_call *c = r->call;

	reading_free(r);
	mcp_call_refuse(c, text);
}

static int on_line(void *owner, const struct tasks_text *t)
{
	struct reading *r = owner;

	if (r->lines.from > 0 && t->missing == 0) {
		/* One line that is longer than an answer has to be shown nevertheless. */
		if (r->lines_put > 0 && r->content.text.len + t->len > r->max) {
			r->lines_left = true;
			return 1;
		}
		r->lines_put++;
	}
	if (t->missing > 0)
		buffer_printf(&r->content.text, "[%" PRIu64 " bytes are missing here]\n",
		              t->missing);
	else
		buffer_append(&r->content.text, t->text, t->len);
	return buffer_error(&r->content.text);
}

/* A long output is searched a part a turn, and one output at a time: others are not to wait. */
static int on_turn(struct loop_timer *t)
{
	struct reading *r = container_of(t, struct reading, turn);
	struct mcp_server *server = r->call->peer->server;
	int64_t end = clock_now_ms() + TURN_MS;
	int code = TASKS_MORE;

	if (server->searched_ms == loop_now(t->loop))
		return loop_timer_set(t->loop, t, loop_now(t->loop) + 1, on_turn);
	server->searched_ms = loop_now(t->loop);
	while (code == TASKS_MORE && r->content.text.len < r->max && clock_now_ms() < end)
		code = tasks_reader_step(r->search);
	if (code == TASKS_MORE && r->content.text.len < r->max)
		return loop_timer_set(t->loop, t, loop_now(t->loop), on_turn);
	if (code >= 0)
		code = tasks_reader_end(r->search);
	if (code < 0)
		fail(r, code == -ETIME ? "the regular expression takes too long on this output"
		                       : "the output cannot be read");
	else
		finish(r, tasks_reader_next(r->search));
	return 0;
}

static void search(struct reading *r)
{
	struct loop *l = r->call->peer->server->options.loop;
	struct tasks_query q = {
		.id = r->id, .stream = FOLLOW_BOTH, .since = r->since, .pick = r->lines};
	struct error err = {0};

	q.pick.regex = r->filter;

	if (tasks_reader_new(mcp_peer_store(r->call->peer), &q, on_line, r, &r->search, &err) < 0)
		fail(r, err.kind == ERROR_SYSTEM ? "the output cannot be read" : err.text);
	else if (loop_timer_set(l, &r->turn, loop_now(l), on_turn) < 0)
		fail(r, "the output cannot be read");
}

static void answer(struct reading *r)
{
	struct task_part part = {.stream = -1, .since = r->since, .entry = &r->entry};

	vigil_stop(&r->vigil);
	/* First how it stands, then the text: what is told to have ended is then there as a whole.
	 */
	find_look(r->dir_fd, r->id, &r->entry);
	/* Of a choice: only whether there is text at all. */
	part.max = r->filter || r->lines.from > 0 ? 0 : r->max;
	if (task_text_read(r->dir_fd, &part, &r->content.text) < 0)
		return fail(r, "the output cannot be read");
	if ((r->filter || r->lines.from > 0) && part.binary == 0)
		return search(r);
	if (part.missing > 0)
		buffer_printf(&r->content.text, "\n[%" PRIu64 " bytes are missing here]\n",
		              part.missing);
	task_text_say_binary(&part, r->id, &r->content.text);
	finish(r, part.next);
}

static void on_look(void *owner)
{
	struct reading *r = owner;
	struct find_entry e;

	if (loop_now(r->vigil.timer.loop) < r->vigil.deadline) {
		find_look(r->dir_fd, r->id, &e);
		if (e.state == FIND_RUNNING && (r->for_end || e.bytes[0] + e.bytes[1] <= r->since))
			return;
	}
	answer(r);
}

/* Answers at once, or waits first. */
static void begin(struct reading *r, int64_t wait_ms)
{
	struct mcp_call *c = r->call;
	struct loop *l = c->peer->server->options.loop;

	c->work = r;
	c->cancel = on_cancel;
	c->leave = on_cancel;
	r->vigil.source.fd = -1;
	r->vigil.deadline = loop_now(l) + wait_ms;
	r->vigil.look = on_look;
	r->vigil.owner = r;
	r->vigil.timer.loop = l;
	if (wait_ms > 0 && vigil_start(&r->vigil, l, r->dir_fd) < 0)
		r->vigil.deadline = 0;
	on_look(r);
}

/* What the client passes on, without the line that tells how the task stands. */
static size_t default_max(const struct mcp_call *c)
{
	size_t given = c->peer->server->options.answer_bytes;
	size_t bytes = given ? given : c->appetite.bytes;

	if (bytes > MAX_DEFAULT && !given)
		return MAX_DEFAULT;
	return bytes > 2 * STATUS_BYTES ? bytes - STATUS_BYTES : STATUS_BYTES;
}

/* False: it has refused, and the reading is no more. */
static bool choose_lines(struct reading *r, const struct argument_value *v)
{
	struct mcp_call *c = r->call;

	if (!v->given || pick_lines_parse(v->text, &r->lines))
		return true;
	reading_free(r);
	mcp_call_refuse(c, "'lines' must be line numbers: A-B, A-, -B or A, counted from 1");
	return false;
}

static struct reading *reading_new(struct mcp_call *c, const char *id)
{
	struct find_entry e;
	int fd = mcp_task_open(c->peer, id, &e);
	struct reading *r = fd < 0 ? NULL : calloc(1, sizeof(*r));

	if (fd < 0) {
		mcp_call_refuse(c,
		                "There is no such task: the id is wrong, or it ended long ago and "
		                "was cleaned up.");
	} else if (!r) {
		fd_close(fd);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	} else {
		*r = (struct reading){.call = c, .dir_fd = fd, .max = default_max(c)};
		memcpy(r->id, e.id, sizeof(r->id));
	}
	return r;
}

void tool_shell_output(struct mcp_call *c, const struct argument_value *v)
{
	struct reading *r = reading_new(c, v[0].text);

	if (!r || !choose_lines(r, &v[4]))
		return;
	r->since = r->lines.from ? 0 : v[1].number;
	if (v[3].number > 0)
		r->max = (size_t)v[3].number;
	begin(r, (int64_t)v[2].number);
}

void tool_task_output(struct mcp_call *c, const struct argument_value *v)
{
	struct reading *r = reading_new(c, v[0].text);
	const struct mcp_mark *mark;

	if (!r || !choose_lines(r, &v[6]))
		return;
	mark = find_mark(c->peer, r->id);
	r->remember = !c->peer->shared && !v[3].given && !v[6].given;
	if (v[6].given) /* they are counted from the beginning */
		r->since = 0;
	else if (v[5].given) /* who has no connection of their own has no place in it, either */
		r->since = v[5].number;
	else if (mark && !v[4].flag && !v[3].given)
		r->since = mark->offset;
	r->for_end = v[1].flag;
	if (v[3].given) {
		r->filter = strdup(v[3].text);
		r->max = (size_t)1 << 20;
		if (!r->filter) {
			reading_free(r);
			return mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		}
	}
	begin(r, !v[1].flag ? 0 : v[2].given ? (int64_t)v[2].number : TIMEOUT_DEFAULT);
}
