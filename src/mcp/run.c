/*
 * A run waits in the server's queue while too many commands run, then is a job until that has
 * ended. A call that is cancelled says nothing any more, and its run goes on to the end of the
 * tree that it stops. What takes too long for a client to wait becomes a task; so does what the
 * client asks for as one.
 */
#include "mcp/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/result.h"
#include "mcp/ask.h"
#include "mcp/begun.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/last-line.h"
#include "mcp/memo.h"
#include "mcp/run-inside.h"
#include "mcp/tasks.h"

#define ARENA_MAX         ((size_t)16 << 20)
#define PROGRESS_EVERY_MS 250
#define PROGRESS_ALIVE_MS 10000 /* some clients wait longer when they hear something */

static void run_free(struct mcp_run *run)
{
	loop_timer_clear(&run->progress);
	loop_timer_clear(&run->patience);
	arena_free(run->arena);
	free(run);
}

static enum mcp_place take_place(const struct mcp_run *run, bool waits)
{
	const struct mcp_peer *p = run->call->peer;
	struct mcp_server *s = p->server;
	enum mcp_place place = MCP_PLACE_TAKEN;

	if (p->places)
		place = p->places->take(p->owner, run->request.background, waits);
	else if (s->running >= s->options.running_max)
		place = waits || s->queued < s->options.queued_max ? MCP_PLACE_LATER
		                                                   : MCP_PLACE_NONE;
	s->running += place == MCP_PLACE_TAKEN;
	return place;
}

static void give_place(const struct mcp_run *run, const struct result *r)
{
	const struct mcp_peer *p = run->call->peer;

	p->server->running--;
	if (p->places)
		p->places->give(p->owner, run->engine->wishes.profile, r);
}

static void unqueue(struct mcp_server *s, struct mcp_run *run)
{
	struct mcp_run **at = &s->queue, *previous = NULL;

	while (*at != run) {
		previous = *at;
		at = &(*at)->next;
	}
	*at = run->next;
	if (s->queue_end == run)
		s->queue_end = previous;
	s->queued--;
}

static void on_cancel(struct mcp_call *c)
{
	struct mcp_run *run = c->work;

	if (run->job) {
		job_stop(run->job, false);
		return;
	}
	unqueue(c->peer->server, run);
	run_free(run);
	mcp_call_free(c);
}

static void on_leave(struct mcp_call *c)
{
	struct mcp_run *run = c->work;
	struct mcp_server *s = c->peer->server;

	job_leave(run->job); /* what is queued was ended by on_cancel() */
	if (run->memo)
		run->memo->run = NULL;
	give_place(run, NULL);
	run_free(run);
	mcp_call_free(c);
	mcp_server_go_on(s);
}

static int on_progress(struct loop_timer *t)
{
	struct mcp_run *run = container_of(t, struct mcp_run, progress);
	struct loop *l = run->call->peer->server->options.loop;
	char line[256] = "";

	if (run->dirty)
		last_line_read(&run->last, job_task_dir(run->job), line, sizeof(line));
	mcp_call_progress(run->call, line);
	run->dirty = false;
	run->told_at = loop_now(l);
	return loop_timer_set(l, t, run->told_at + PROGRESS_ALIVE_MS, on_progress);
}

static void on_output(void *owner, struct job *j)
{
	struct mcp_run *run = owner;
	struct loop *l = run->call->peer->server->options.loop;

	if (run->dirty || !run->call->token)
		return;
	run->dirty = true;
	(void)loop_timer_set(l, &run->progress, run->told_at + PROGRESS_EVERY_MS, on_progress);
}

static void on_note(void *owner, struct job *j, const char *text)
{
	struct mcp_run *run = owner;

	mcp_call_progress(run->call, text);
}

static int on_patience(struct loop_timer *t)
{
	struct mcp_run *run = container_of(t, struct mcp_run, patience);

	/* A person who is asked has time of their own. */
	if (!job_task_id(run->job))
		return loop_timer_set(t->loop, t, loop_now(t->loop) + 1000, on_patience);
	job_let_go(run->job);
	return 0;
}

/* What a client gets that knows tasks is a task; another reads how to go on in the text. */
static bool answer(struct mcp_run *run, const struct result *r)
{
	scoped(content_donep) struct content content = {0};
	struct mcp_call *c = run->call;

	content_of_result(&content, r, run->engine, run->separate);
	if (r->background)
		mcp_begun_add(c->peer, r->task_id);
	if (r->background && c->modern && c->capabilities.tasks)
		return mcp_task_created(c, r->task_id);
	if (run->as_task)
		return r->background ? mcp_task_created(c, r->task_id)
		                     : mcp_memo_created(c, &content);
	return mcp_call_answer_content(c, &content);
}

/* The call has its answer since a person was asked; what came of it is for who asks for the task.
 */
static bool settle(struct mcp_run *run, const struct result *r)
{
	scoped(content_donep) struct content content = {0};

	content_of_result(&content, r, run->engine, run->separate);
	if (r->background)
		mcp_begun_add(run->call->peer, r->task_id);
	mcp_memo_settle(run, r->background ? NULL : &content);
	mcp_call_free(run->call);
	return true;
}

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	struct mcp_run *run = owner;
	struct mcp_server *s = run->call->peer->server;
	struct mcp_call *c = run->call;
	bool delivered = true;

	give_place(run, r);
	mcp_call_unask(c); /* somebody else has answered, or nobody in time */
	if (r->verdict && !r->ran)
		mcp_call_log(c, MCP_LOG_NOTICE, r->reason);
	if (run->memo) {
		delivered = settle(run, r);
	} else if (c->silent) {
		delivered = c->cancelled; /* else the client was lost, and looks for it later */
		mcp_call_free(c);
	} else if (!mcp_ask_again(run, r)) {
		delivered = answer(run, r);
	}
	run_free(run);
	mcp_server_go_on(s);
	return delivered;
}

static const struct job_ops job_ops = {
	.output = on_output,
	.note = on_note,
	.asked = mcp_ask,
	.ended = on_ended,
};

static int64_t patience_of(const struct mcp_run *run)
{
	const struct mcp_call *c = run->call;
	const struct mcp_options *o = &c->peer->server->options;

	return c->modern && c->capabilities.tasks ? o->task_after_ms : o->foreground_max_ms;
}

/* It has a place. */
static void start(struct mcp_run *run)
{
	struct mcp_call *c = run->call;
	struct mcp_server *s = c->peer->server;
	struct loop *l = s->options.loop;
	struct error err = {0};
	int r;

	run->told_at = loop_now(l);
	r = job_start(run->engine, l, &run->request, run->arena, &job_ops, run, &run->job, &err);
	if (r < 0) {
		give_place(run, NULL);
		mcp_call_refuse(c, err.kind == ERROR_SYSTEM ? "the command could not be started"
		                                            : err.text);
		run_free(run);
		return;
	}
	run->arena = NULL; /* the job's */
	mcp_call_log(c, MCP_LOG_DEBUG, "the command is started");
	if (c->token)
		(void)loop_timer_set(l, &run->progress, run->told_at + PROGRESS_ALIVE_MS,
		                     on_progress);
	if (!run->request.background)
		(void)loop_timer_set(l, &run->patience, run->told_at + patience_of(run),
		                     on_patience);
}

static void refuse(struct mcp_run *run)
{
	mcp_call_refuse(run->call, "too many commands run at this time; try again later");
	run_free(run);
}

static void enqueue(struct mcp_server *s, struct mcp_run *run)
{
	if (s->queue_end)
		s->queue_end->next = run;
	else
		s->queue = run;
	s->queue_end = run;
	s->queued++;
}

/* The first that may run goes: whoever is at a limit of their own does not hold up the others. What
 * is started or refused may change the queue, so it is looked at from the start again. */
void mcp_server_go_on(struct mcp_server *s)
{
	struct mcp_run *run = s->queue;

	while (run) {
		enum mcp_place place = take_place(run, true);

		if (place == MCP_PLACE_LATER) {
			run = run->next;
			continue;
		}
		unqueue(s, run);
		if (place == MCP_PLACE_TAKEN)
			start(run);
		else
			refuse(run);
		run = s->queue;
	}
}

void mcp_run_start(struct mcp_run *run)
{
	switch (take_place(run, false)) {
	case MCP_PLACE_TAKEN:
		start(run);
		break;
	case MCP_PLACE_LATER:
		enqueue(run->call->peer->server, run);
		break;
	case MCP_PLACE_NONE:
		refuse(run);
		break;
	}
}

static struct mcp_run *run_new(struct mcp_call *c, const struct mcp_offer *offer)
{
	struct mcp_run *run = calloc(1, sizeof(*run));
	const struct mcp_peer *p = c->peer;

	if (run)
		run->arena = arena_new(ARENA_MAX);
	if (!run || !run->arena) {
		free(run);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		return NULL;
	}
	run->call = c;
	run->engine = offer->engine;
	run->dialect = offer->dialect;
	run->request = (struct request){
		.input_fd = -1,
		.principal = p->principal,
		.door = p->door,
		.session = dialect_keeps_session(offer->dialect) ? p->session : NULL,
		.follow = c->token != NULL,
	};
	c->work = run;
	c->cancel = on_cancel;
	c->leave = on_leave;
	return run;
}

/* How long it is kept is ours to say, but what is asked for must make sense. */
static bool is_task_wish(json_t *task)
{
	json_t *ttl = json_object_get(task, "ttl");

	return json_is_object(task) &&
	       (!ttl || json_is_null(ttl) || (json_is_number(ttl) && json_number_value(ttl) >= 0));
}

void mcp_run_begin(struct mcp_call *c, const struct rpc_message *m, const struct mcp_offer *offer,
                   json_t *arguments)
{
	struct mcp_run *run = run_new(c, offer);
	/* A request for a task belongs to one revision; elsewhere it is not looked at. */
	bool may_wish = !c->modern && c->revision == MCP_2025_11_25;
	json_t *task = may_wish ? rpc_param(m, "task") : NULL;
	struct error err = {0};

	if (!run)
		return;
	if (task && !is_task_wish(task)) {
		mcp_call_error(c, RPC_INVALID_PARAMS,
		               "'task' must be an object, and its 'ttl' a number from 0 on", NULL);
		run_free(run);
		return;
	}
	if (dialect_read_value(offer->dialect, arguments, run->arena, &run->request, &err) < 0) {
		mcp_call_refuse(c, err.text);
		run_free(run);
		return;
	}
	if (run->request.workspace && c->peer->places)
		run->engine = c->peer->places->find(c->peer->owner, offer, run->request.workspace);
	run->separate =
		run->request.output_mode_given && run->request.output_mode == OUTPUT_SEPARATE;
	run->as_task = task != NULL;
	run->request.background |= run->as_task;
	if (!mcp_ask_prepare(run, m, arguments)) {
		run_free(run); /* it has answered */
		return;
	}
	mcp_run_start(run);
}
