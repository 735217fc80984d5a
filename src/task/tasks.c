#include "task/tasks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/write.h"
#include "output/clean.h"
#include "task/reach.h"

#define READ_BYTES       65536
#define STOP_PATIENCE_MS 75000 /* the longest grace, and all that follows it */
#define KILL_PATIENCE_MS 15000

struct tasks_reader {
	char id[STORE_ID_MAX];
	int dir_fd;
	struct follow *follow;
	struct pick *pick; /* NULL: raw */
	bool keep_escapes;
	tasks_sink sink;
	void *owner;
	struct buffer clean;
};

static int on_line(void *owner, const struct pick_line *line)
{
	struct tasks_reader *r = owner;
	struct clean_options options = {.keep_escapes = r->keep_escapes};
	struct clean_facts facts;
	int code;

	buffer_clear(&r->clean);
	code = clean_text(line->text, line->len, &options, &r->clean, &facts);
	if (code < 0)
		return code;
	return r->sink(r->owner, &(struct tasks_text){.stream = line->stream,
	                                              .text = buffer_str(&r->clean),
	                                              .len = r->clean.len,
	                                              .skipped = line->skipped});
}

int tasks_reader_new(struct store *store, const struct tasks_query *q, tasks_sink sink, void *owner,
                     struct tasks_reader **ret_reader, struct error *err)
{
	scoped(tasks_reader_freep) struct tasks_reader *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return error_nomem(err);
	r->dir_fd = -1;
	r->sink = sink;
	r->owner = owner;
	r->keep_escapes = q->keep_escapes;
	code = find_id(store, q->id, r->id, err);
	if (code < 0)
		return code;
	r->dir_fd = find_open(store, r->id, err);
	if (r->dir_fd < 0)
		return r->dir_fd;
	if (!q->raw) {
		code = pick_new(&q->pick, on_line, r, &r->pick, err);
		if (code < 0)
			return code;
	}
	code = follow_new(r->dir_fd, q->stream, q->since, &r->follow, err);
	if (code < 0)
		return code;
	*ret_reader = take_ptr(&r);
	return 0;
}

struct tasks_reader *tasks_reader_free(struct tasks_reader *r)
{
	if (!r)
		return NULL;
	follow_free(r->follow);
	pick_free(r->pick);
	fd_close(r->dir_fd);
	buffer_done(&r->clean);
	free(r);
	return NULL;
}

static int take_bytes(struct tasks_reader *r, const char *bytes, const struct follow_piece *piece)
{
	if (r->pick)
		return pick_put(r->pick, piece->stream, bytes, (size_t)piece->n);
	return r->sink(r->owner, &(struct tasks_text){.stream = piece->stream,
	                                              .text = bytes,
	                                              .len = (size_t)piece->n});
}

int tasks_reader_step(struct tasks_reader *r)
{
	char bytes[READ_BYTES]; /* here and not in the reader: thousands may wait */
	struct follow_piece piece;
	int code = 0;

	switch (follow_next(r->follow, bytes, sizeof(bytes), &piece)) {
	case FOLLOW_BYTES:
		code = take_bytes(r, bytes, &piece);
		break;
	case FOLLOW_GAP:
		code = r->sink(r->owner,
		               &(struct tasks_text){.stream = piece.stream, .missing = piece.n});
		break;
	case FOLLOW_NOTHING:
		code = r->pick ? pick_flush(r->pick) : 0;
		return code < 0 ? code : TASKS_WAIT;
	case FOLLOW_ENDED:
		return TASKS_DONE;
	}
	if (code < 0)
		return code;
	return code > 0 ? TASKS_DONE : TASKS_MORE;
}

int tasks_reader_end(struct tasks_reader *r)
{
	return r->pick ? pick_end(r->pick) : 0;
}

struct follow *tasks_reader_follow(struct tasks_reader *r)
{
	return r->follow;
}

int tasks_reader_dir(const struct tasks_reader *r)
{
	return r->dir_fd;
}

void tasks_reader_look(struct tasks_reader *r, struct find_entry *ret_entry)
{
	find_look(r->dir_fd, r->id, ret_entry);
}

uint64_t tasks_reader_next(const struct tasks_reader *r)
{
	return follow_offset(r->follow);
}

/* The report is there before the keeper leaves. */
static int stop(int dir_fd, bool now, struct error *err)
{
	scoped(reach_donep) struct reach keeper = {-1, -1};
	int r;

	r = reach_open(dir_fd, &keeper, err);
	if (r < 0)
		return r;
	r = reach_order(&keeper, now ? CONTROL_STOP_NOW : CONTROL_STOP, NULL, 0);
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return error_sys(err, -r, "the keeper of the task does not listen");
	if (reach_wait(&keeper, now ? KILL_PATIENCE_MS : STOP_PATIENCE_MS))
		return 0;
	reach_kill(&keeper);
	return reach_wait(&keeper, KILL_PATIENCE_MS)
	               ? 0
	               : error_set(err, ERROR_SYSTEM, ETIMEDOUT, "the task cannot be ended");
}

int tasks_stop(struct store *store, const char *id, bool now, struct find_entry *ret_entry,
               struct error *err)
{
	scoped(fd_closep) int dir_fd = -1;
	char whole[STORE_ID_MAX];
	int r;

	r = find_id(store, id, whole, err);
	if (r < 0)
		return r;
	dir_fd = find_open(store, whole, err);
	if (dir_fd < 0)
		return dir_fd;
	r = stop(dir_fd, now, err);
	find_look(dir_fd, whole, ret_entry);
	return r;
}

static void put_how_it_ended(struct json_writer *w, const struct find_entry *e)
{
	int code = find_exit_code(e), number = find_signal(e);
	char name[32] = "";

	if (number)
		snprintf(name, sizeof(name), "SIG%s",
		         sigabbrev_np(number) ? sigabbrev_np(number) : "?");
	json_put_key(w, "exit_code");
	if (code < 0)
		json_put_null(w);
	else
		json_put_int(w, code);
	json_member_text(w, "signal", name);
}

void tasks_put_entry(struct json_writer *w, const struct store *store, const struct find_entry *e)
{
	scoped(buffer_donep) struct buffer file = {0};
	int64_t now = clock_wall_ms(), end = e->state == FIND_RUNNING ? now : e->ended_ms;

	json_member_text(w, "task_id", e->id);
	json_member_text(w, "state", find_state_name(e));
	json_member_text(w, "command", e->command);
	json_member_text(w, "description", e->description);
	if (e->origin.principal[0])
		json_member_text(w, "principal", e->origin.principal);
	json_member_text(w, "door", e->origin.door);
	json_member_text(w, "workspace", e->origin.workspace);
	json_member_bool(w, "background", e->background);
	json_member_int(w, "started_ms", e->started_ms);
	json_member_int(w, "age_ms", now > e->started_ms ? now - e->started_ms : 0);
	json_member_int(w, "duration_ms", end > e->started_ms ? end - e->started_ms : 0);
	put_how_it_ended(w, e);
	json_member_int(w, "stdout_bytes", (int64_t)e->bytes[0]);
	json_member_int(w, "stderr_bytes", (int64_t)e->bytes[1]);
	if (e->state == FIND_ENDED && e->report.streams[0].lost_bytes > 0)
		json_member_int(w, "lost_bytes", (int64_t)e->report.streams[0].lost_bytes);
	buffer_printf(&file, "%s/%s/out", store->path, e->id);
	json_member_text(w, "output_file", buffer_str(&file));
	find_put_ports(e, w);
	if (e->quiet[0])
		json_member_text(w, "quiet", e->quiet);
}
