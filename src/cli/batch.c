/*
 * Requests are read as long as there is a free place for one, and answered in the order in which
 * they end. Commands are started through a launcher, so this process may grow without making each
 * start dearer. A bad line is answered and skipped.
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
#include "engine/request-json.h"
#include "engine/result.h"
#include "json/write.h"
#include "loop/loop.h"
#include "task/launcher.h"

#define LINE_BYTES_MAX ((size_t)1 << 20)

struct batch;

struct job {
	struct batch *batch;
	struct engine_run *run; /* NULL: the place is free */
	struct loop_source control;
	struct loop_timer watchdog; /* beyond all of the keeper's own limits */
	struct arena *arena;
	const char *id; /* JSON text, or NULL */
};

struct batch {
	struct engine *engine;
	const struct run_options *options;
	struct loop *loop;
	struct loop_source input, signals;
	struct buffer pending; /* read, not yet taken */
	struct job *jobs;
	int job_count, busy;
	bool ended;      /* no more input */
	bool skipping;   /* inside of a line that is too long */
	int stop_signal; /* 0: go on */
	bool taking;     /* a request that ends at once must not start the next from inside */
	int write_error;
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

static int job_end(struct job *j)
{
	scoped(buffer_donep) struct buffer json = {0};
	scoped(result_donep) struct result result = {0};
	struct batch *b = j->batch;

	loop_remove(&j->control);
	loop_timer_clear(&j->watchdog);
	engine_result(b->engine, j->run, &result);
	if (result_write_json(&result, &json) < 0)
		answer_error(b, j->id, "out of memory");
	else
		answer(b, j->id, "result", json.data);
	engine_run_done(b->engine, j->run, result.output_kept || b->write_error);
	j->arena = arena_free(j->arena);
	j->run = NULL;
	b->busy--;
	return pump(b);
}

static int on_packet(struct loop_source *s, uint32_t events)
{
	struct job *j = container_of(s, struct job, control);
	enum task_event e = task_receive(engine_run_task(j->run));

	if (e == TASK_STARTED || e == TASK_LET_GO)
		engine_run_let_go(j->run, e == TASK_LET_GO);
	return e == TASK_NOTHING || e == TASK_OUTPUT ? 0 : job_end(j);
}

/* A keeper that was stopped does not report: without it, its init ends the command. */
static int on_watchdog(struct loop_timer *t)
{
	struct job *j = container_of(t, struct job, watchdog);

	task_abandon(engine_run_task(j->run));
	return job_end(j);
}

static struct job *free_job(struct batch *b)
{
	for (int i = 0; i < b->job_count; i++)
		if (!b->jobs[i].run)
			return &b->jobs[i];
	return NULL;
}

static void start_line(struct batch *b, const char *line, size_t n)
{
	struct job *j = free_job(b);
	struct request rq = b->options->request;
	struct error err = {0};
	struct task *task;
	int r;

	if (!j)
		return; /* not reached: lines are taken only while a place is free */
	j->arena = arena_new(8 * LINE_BYTES_MAX);
	if (!j->arena) {
		answer_error(b, NULL, "out of memory");
		return;
	}
	r = request_read_json(line, n, j->arena, &rq, &j->id, &err);
	if (r == 0)
		r = engine_start(b->engine, &rq, &j->run, &err);
	if (r < 0) {
		answer_error(b, j->id, err.text);
		j->arena = arena_free(j->arena);
		return;
	}
	j->batch = b;
	b->busy++;
	task = engine_run_task(j->run);
	if (task &&
	    (loop_add(b->loop, &j->control, task->control, EPOLLIN, on_packet, &err) < 0 ||
	     loop_timer_set(b->loop, &j->watchdog,
	                    loop_now(b->loop) + engine_run_patience_ms(j->run), on_watchdog) < 0))
		task_abandon(task);
	if (!task || task->lost)
		(void)job_end(j);
}

/* Takes whole lines out of what was read while there are places. */
static void take_lines(struct batch *b)
{
	size_t done = 0;
	char *end;

	while (b->busy < b->job_count && !b->stop_signal && !b->write_error &&
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
	if (b->pending.len > LINE_BYTES_MAX && b->busy < b->job_count) {
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

	if (b->taking)
		return 0;
	b->taking = true;
	take_lines(b);
	b->taking = false;
	want = !b->ended && !b->stop_signal && !b->write_error && b->busy < b->job_count;
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
	for (int i = 0; i < b->job_count; i++)
		if (b->jobs[i].run && engine_run_task(b->jobs[i].run))
			task_stop(engine_run_task(b->jobs[i].run), b->stop_signal != 0);
	b->stop_signal = (int)info.ssi_signo;
	return pump(b);
}

int cli_batch(struct engine *engine, const struct run_options *o, int signal_fd)
{
	struct batch b = {.engine = engine,
	                  .options = o,
	                  .input = {.fd = -1},
	                  .pending = {.max = 2 * LINE_BYTES_MAX},
	                  .job_count = o->jobs};
	struct launcher launcher = {.socket = -1, .pidfd = -1};
	struct error err = {0};
	int r;

	r = launcher_start(&launcher, &err);
	if (r == 0)
		r = loop_new(&b.loop, &err);
	b.jobs = calloc((size_t)o->jobs, sizeof(*b.jobs));
	if (r == 0 && !b.jobs)
		r = error_set(&err, ERROR_SYSTEM, ENOMEM, "out of memory");
	if (r == 0)
		r = loop_add(b.loop, &b.signals, signal_fd, EPOLLIN, on_signal, &err);
	if (r == 0) {
		engine->launcher = &launcher;
		r = pump(&b);
		if (r == 0)
			r = loop_run(b.loop);
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
	free(b.jobs);
	if (r < 0 || b.write_error)
		return EXIT_NACRE_FAILED;
	return b.stop_signal ? 128 + b.stop_signal : 0;
}
