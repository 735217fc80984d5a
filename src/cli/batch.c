/*
 * Requests are read while there is room for one more command, and answered in the order in which
 * they end. Commands are started through a launcher, so a start costs the same however large this
 * process grows. A bad line gets an error as its answer and is skipped.
 */
#include "cli/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/run-options.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/request-json.h"
#include "engine/result.h"
#include "json/write.h"
#include "base/loop.h"
#include "launch/launcher.h"

#define LINE_BYTES_MAX ((size_t)1 << 20)

struct batch;

struct place {
	struct batch *batch;
	struct job *job; /* NULL: the place is free */
	const char *id;  /* JSON text, or NULL; lives in the job */
};

struct batch {
	struct engine *engine;
	const struct run_options *options;
	struct loop *loop;
	struct loop_source input, signals;
	struct buffer pending; /* read, not yet taken */
	struct place *places;
	int place_count, busy;
	bool ended;      /* no more input */
	bool skipping;   /* inside of a line that is too long */
	int stop_signal; /* 0: go on */
	int write_error;
	int failed; /* why the loop was stopped; 0: it has done its work */
};

static void answer(struct batch *b, const char *id, const char *member, const char *json)
{
	scoped(buffer_donep) struct buffer line = {0};
	int r;

	buffer_printf(&line, "{\"id\":%s,\"%s\":%s}\n", id ? id : "null", member, json);
	r = buffer_error(&line) < 0 ? buffer_error(&line)
	                            : fd_write_all(STDOUT_FILENO, line.data, line.len);
	if (r < 0 && !b->write_error)
		b->write_error = r;
}

static void answer_error(struct batch *b, const char *id, const char *text)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_put_string(&w, text);
	answer(b, id, "error", buffer_str(&json));
}

static int pump(struct batch *b);

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct place *p = owner;
	struct batch *b = p->batch;

	if (result_write_json(r, &json) < 0)
		answer_error(b, p->id, "out of memory");
	else
		answer(b, p->id, "result", json.data);
	p->job = NULL;
	b->busy--;
	b->failed = pump(b);
	if (b->failed < 0)
		loop_stop(b->loop);
	return b->write_error == 0;
}

static const struct job_ops ops = {.ended = on_ended};

static struct place *free_place(struct batch *b)
{
	for (int i = 0; i < b->place_count; i++)
		if (!b->places[i].job)
			return &b->places[i];
	return NULL;
}

static void start_line(struct batch *b, const char *line, size_t n)
{
	scoped(arena_freep) struct arena *arena = arena_new(8 * LINE_BYTES_MAX);
	struct place *p = free_place(b);
	struct request rq = b->options->request;
	struct error err = {0};
	const char *id = NULL;

	if (!p)
		return; /* not reached: lines are taken only while a place is free */
	if (!arena) {
		answer_error(b, NULL, "out of memory");
		return;
	}
	p->batch = b;
	if (request_read_json(line, n, arena, &rq, &id, &err) < 0 ||
	    job_start(b->engine, b->loop, &rq, arena, &ops, p, &p->job, &err) < 0) {
		answer_error(b, id, err.text);
		return;
	}
	p->id = id;
	(void)take_ptr(&arena);
	b->busy++;
}

/* Takes whole lines out of what was read while there are places. */
static void take_lines(struct batch *b)
{
	size_t done = 0;
	char *end;

	while (b->busy < b->place_count && !b->stop_signal && !b->write_error &&
	       done < b->pending.len) {
		end = memchr(b->pending.data + done, '\n', b->pending.len - done);
		if (!end && !b->ended)
			break;
		if (!end)
			end = b->pending.data + b->pending.len;
		if (b->skipping)
			b->skipping = false;
		else if (end > b->pending.data + done)
			start_line(b, b->pending.data + done,
			           (size_t)(end - b->pending.data) - done);
		done = (size_t)(end - b->pending.data) + 1;
	}
	if (done > b->pending.len)
		done = b->pending.len;
	if (done > 0) {
		memmove(b->pending.data, b->pending.data + done, b->pending.len - done);
		b->pending.len -= done;
	}
	if (b->pending.len > LINE_BYTES_MAX && b->busy < b->place_count) {
		if (!b->skipping)
			answer_error(b, NULL, "a line is longer than 1 MiB");
		b->skipping = true;
		buffer_clear(&b->pending);
	}
}

static int on_input(struct loop_source *s, uint32_t events)
{
	struct batch *b = container_of(s, struct batch, input);
	char *to = buffer_reserve(&b->pending, 65536);
	ssize_t n;

	if (!to)
		return -ENOMEM;
	n = read(s->fd, to, 65536);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return -errno;
	if (n == 0)
		b->ended = true;
	else
		b->pending.len += (size_t)n;
	return pump(b);
}

/* Watches the input only while a request could be started: what is not read waits in the pipe. */
static int pump(struct batch *b)
{
	bool want;
	int r = 0;

	take_lines(b);
	want = !b->ended && !b->stop_signal && !b->write_error && b->busy < b->place_count;
	if (want && b->input.fd < 0)
		r = loop_add(b->loop, &b->input, STDIN_FILENO, EPOLLIN, on_input, NULL);
	else if (!want)
		loop_remove(&b->input);
	if (b->busy == 0 && !want)
		loop_stop(b->loop);
	return r;
}

static int on_signal(struct loop_source *s, uint32_t events)
{
	struct batch *b = container_of(s, struct batch, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	for (int i = 0; i < b->place_count; i++)
		if (b->places[i].job)
			job_stop(b->places[i].job, false);
	b->stop_signal = (int)info.ssi_signo;
	return pump(b);
}

int cli_batch(struct engine *engine, const struct run_options *o, int signal_fd)
{
	struct batch b = {.engine = engine,
	                  .options = o,
	                  .input = {.fd = -1},
	                  .pending = {.max = 2 * LINE_BYTES_MAX},
	                  .place_count = (int)o->jobs};
	struct launcher launcher = {.socket = -1, .pidfd = -1};
	struct error err = {0};
	int r;

	r = launcher_start(&launcher, &err);
	if (r == 0)
		r = loop_new(&b.loop, &err);
	b.places = calloc((size_t)o->jobs, sizeof(*b.places));
	if (r == 0 && !b.places)
		r = error_nomem(&err);
	if (r == 0)
		r = loop_add(b.loop, &b.signals, signal_fd, EPOLLIN, on_signal, &err);
	if (r == 0) {
		engine->launcher = &launcher;
		r = pump(&b);
		if (r == 0)
			r = loop_run(b.loop);
		if (r == 0)
			r = b.failed;
		loop_remove(&b.input);
		loop_remove(&b.signals);
	}
	if (r < 0)
		cli_complain("batch: %s", err.text[0] ? err.text : strerrordesc_np(-r));
	if (b.write_error)
		cli_complain("standard output: %s", strerrordesc_np(-b.write_error));
	launcher_done(&launcher);
	loop_free(b.loop);
	buffer_done(&b.pending);
	free(b.places);
	if (r < 0 || b.write_error)
		return EXIT_NACRE_FAILED;
	return b.stop_signal ? 128 + b.stop_signal : 0;
}
