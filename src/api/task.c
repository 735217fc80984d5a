/*
 * Tasks by their id. All of it is done with their files and with their keepers: the context is
 * asked only for the place where they lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <nacre.h>
#include "api/inside.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/tasks.h"
#include "output/keys.h"
#include "task/find.h"
#include "task/follow.h"
#include "task/reach.h"
#include "task/replay.h"

#define OUTPUT_BYTES ((size_t)1 << 20)
#define OUTPUT_MAX   ((size_t)64 << 20)
#define READ_BYTES   65536
#define LOOK_MS      1000

struct given_output {
	struct nacre_output output;
	char *bytes;
};

/* The tasks of others look as if there were none. */
int api_open_task(struct nacre_context *c, const char *id, char ret_id[STORE_ID_MAX], int *ret_fd,
                  struct error *err)
{
	scoped(fd_closep) int fd = -1;
	struct find_entry e;
	int r;

	if (!id || !*id)
		return error_set(err, ERROR_INPUT, EINVAL, "the id of a task is wanted");
	r = find_id(&c->engine.store, id, ret_id, err);
	if (r < 0)
		return r;
	fd = find_open(&c->engine.store, ret_id, err);
	if (fd < 0)
		return fd;
	find_look(fd, ret_id, &e);
	if (c->principal && strcmp(e.origin.principal, c->principal) != 0)
		return error_set(err, ERROR_INPUT, ENOENT, "there is no task '%.40s'", id);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Up to MAX bytes. A gap behind bytes is left for the next call, so that it is clear where it lies.
 */
static int read_more(struct follow *f, size_t max, struct buffer *into, struct nacre_output *o)
{
	struct follow_piece piece;
	size_t want;
	char *to;

	while (into->len < max) {
		want = max - into->len < READ_BYTES ? max - into->len : READ_BYTES;
		to = buffer_reserve(into, want);
		if (!to)
			return -ENOMEM;
		switch (follow_next(f, to, want, &piece)) {
		case FOLLOW_BYTES:
			into->len += (size_t)piece.n;
			into->data[into->len] = '\0'; /* the reservation has room for it */
			o->next = piece.offset + piece.n;
			break;
		case FOLLOW_GAP:
			if (into->len > 0)
				return 1;
			o->missing += piece.n;
			o->next = piece.offset + piece.n;
			break;
		case FOLLOW_NOTHING:
			return 0;
		case FOLLOW_ENDED:
			return 1;
		}
	}
	return 1;
}

static int read_output(int dir_fd, const struct nacre_output_query *q, struct buffer *into,
                       struct nacre_output *o, struct error *err)
{
	static const enum follow_stream streams[] = {[NACRE_STREAM_BOTH] = FOLLOW_BOTH,
	                                             [NACRE_STREAM_STDOUT] = FOLLOW_OUT,
	                                             [NACRE_STREAM_STDERR] = FOLLOW_ERR};
	scoped(follow_freep) struct follow *f = NULL;
	int64_t end = clock_now_ms() + (q->wait_ms > 0 ? q->wait_ms : 0), left;
	int r;

	if (q->stream >= array_size(streams) || q->reserved)
		return error_set(err, ERROR_INPUT, EINVAL, "there is no stream %u", q->stream);
	r = follow_new(dir_fd, streams[q->stream], q->since, &f, err);
	if (r < 0)
		return r;
	for (;;) {
		r = read_more(f, q->max_bytes, into, o);
		if (r < 0)
			return error_set(err, ERROR_SYSTEM, -r, "out of memory");
		left = q->wait_ms < 0 ? LOOK_MS : end - clock_now_ms();
		if (r > 0 || into->len > 0 || q->wait_ms == 0 || left <= 0)
			return 0;
		follow_wait(f, left);
	}
}

static void tell_state(int dir_fd, const char *id, struct nacre_output *o)
{
	static const uint32_t states[] = {[FIND_RUNNING] = NACRE_TASK_RUNNING,
	                                  [FIND_ENDED] = NACRE_TASK_ENDED,
	                                  [FIND_LOST] = NACRE_TASK_LOST};
	struct find_entry e;

	find_look(dir_fd, id, &e);
	o->state = states[e.state];
	o->exit_code = find_exit_code(&e);
	o->signal = find_signal(&e);
}

int nacre_output(struct nacre_context *c, const char *task_id,
                 const struct nacre_output_query *query, struct nacre_output **ret_output,
                 struct nacre_error *to)
{
	struct nacre_output_query q = NACRE_OUTPUT_QUERY_INIT;
	scoped(buffer_donep) struct buffer text = {.max = OUTPUT_MAX + 1};
	scoped(freep) struct given_output *g = calloc(1, sizeof(*g));
	scoped(fd_closep) int dir_fd = -1;
	struct error err = {0};
	char id[STORE_ID_MAX];
	int r = 0;

	if (!g)
		return api_fail(to, -ENOMEM, &err);
	if (query)
		r = api_take(&q, sizeof(q), offsetof(struct nacre_output_query, max_bytes), query,
		             &err);
	if (q.max_bytes == 0)
		q.max_bytes = OUTPUT_BYTES;
	if (q.max_bytes > OUTPUT_MAX)
		q.max_bytes = OUTPUT_MAX;
	if (r == 0)
		r = api_open_task(c, task_id, id, &dir_fd, &err);
	if (r < 0)
		return api_fail(to, r, &err);
	g->output = (struct nacre_output){.size = sizeof(g->output), .next = q.since};
	/* Looked at before: what has ended by then is all read. */
	tell_state(dir_fd, id, &g->output);
	r = read_output(dir_fd, &q, &text, &g->output, &err);
	if (r < 0)
		return api_fail(to, r, &err);
	if (text.len == 0)
		tell_state(dir_fd, id, &g->output);
	g->output.byte_count = text.len;
	g->output.bytes = g->bytes = buffer_take(&text);
	if (!g->bytes)
		return api_fail(to, -ENOMEM, &err);
	*ret_output = &take_ptr(&g)->output;
	return 0;
}

void nacre_output_free(struct nacre_output *output)
{
	struct given_output *g = (struct given_output *)output;

	if (g)
		free(g->bytes);
	free(g);
}

int nacre_stop(struct nacre_context *c, const char *task_id, int now, struct nacre_error *to)
{
	scoped(fd_closep) int dir_fd = -1;
	struct error err = {0};
	struct find_entry e;
	char id[STORE_ID_MAX];
	int r;

	r = api_open_task(c, task_id, id, &dir_fd, &err);
	if (r == 0)
		r = tasks_stop(&c->engine.store, id, now != 0, &e, &err);
	return r < 0 ? api_fail(to, r, &err) : 0;
}

static int type(struct reach *keeper, const struct buffer *typed)
{
	int r = buffer_error(typed);

	for (size_t at = 0; r == 0 && at < typed->len; at += CONTROL_INPUT_MAX) {
		size_t n = typed->len - at;

		r = reach_order(keeper, CONTROL_INPUT, typed->data + at,
		                n < CONTROL_INPUT_MAX ? n : CONTROL_INPUT_MAX);
	}
	return r;
}

static int collect(const struct nacre_input *in, bool application, struct buffer *typed,
                   struct error *err)
{
	if (in->text_bytes && !in->text)
		return error_set(err, ERROR_INPUT, EINVAL, "text_bytes without text");
	buffer_append(typed, in->text ? in->text : "", in->text_bytes);
	for (const char *const *k = in->keys; k && *k; k++)
		if (keys_write(*k, application, typed) < 0)
			return error_set(err, ERROR_INPUT, EINVAL, "there is no key '%.60s'", *k);
	if (in->end)
		(void)keys_write("C-d", application, typed);
	if (!in->rows != !in->cols || in->rows > 1000 || in->cols > 1000)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "rows and cols are both 0, or from 1 to 1000");
	return 0;
}

static int send_input(int dir_fd, const struct nacre_input *in, struct error *err)
{
	scoped(reach_donep) struct reach keeper = {-1, -1};
	scoped(buffer_donep) struct buffer typed = {0};
	struct control_size size = {.rows = in->rows, .cols = in->cols};
	int r;

	if (!replay_has_terminal(dir_fd))
		return error_set(err, ERROR_INPUT, ENOTTY, "the task has no terminal");
	/* All of it is looked at before any of it is typed. */
	r = collect(in, replay_wants_application_keys(dir_fd), &typed, err);
	if (r == 0)
		r = reach_open(dir_fd, &keeper, err);
	if (r < 0)
		return r;
	if (in->rows)
		r = reach_order(&keeper, CONTROL_RESIZE, &size, sizeof(size));
	if (r == 0)
		r = type(&keeper, &typed);
	return r < 0 ? error_sys(err, -r, "the task does not take it") : 0;
}

int nacre_input(struct nacre_context *c, const char *task_id, const struct nacre_input *input,
                struct nacre_error *to)
{
	scoped(fd_closep) int dir_fd = -1;
	struct nacre_input in;
	struct error err = {0};
	char id[STORE_ID_MAX];
	int r;

	r = api_take(&in, sizeof(in), offsetof(struct nacre_input, keys), input, &err);
	if (r == 0)
		r = api_open_task(c, task_id, id, &dir_fd, &err);
	if (r == 0)
		r = send_input(dir_fd, &in, &err);
	return r < 0 ? api_fail(to, r, &err) : 0;
}
