/*
 * A run is a job, which waits for its permit while too many commands run. A call that is cancelled
 * says nothing any more, and its run goes on to the end of the tree that it stops. What takes too
 * long for a client to wait becomes a task; so does what the client asks for as one.
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
#include "mcp/given-up.h"
#include "mcp/inside.h"
#include "mcp/last-line.h"
#include "mcp/memo.h"
#include "mcp/run-inside.h"
#include "mcp/tasks.h"
#include "profile/profile.h"

#define ARENA_MAX         ((size_t)16 << 20)
#define PROGRESS_EVERY_MS 250
#define TIMEOUT_SLACK_MS  10000 /* the keeper ends it before that */
#define UNLIMITED_MS      50000 /* waited for what has no time limit */
#define PROGRESS_ALIVE_MS 10000 /* some clients wait longer when they hear something */

static void run_free(struct mcp_run *run)
{
	loop_timer_clear(&run->progress);
	loop_timer_clear(&run->patience);
	arena_free(run->arena);
	free(run);
}

static void on_cancel(struct mcp_call *c)
{
	struct mcp_run *run = c->work;

	if (!job_waits(run->job)) {
		/* The client's time limit is not the command's. */
		if (c->gave_up && job_task_id(run->job))
			job_let_go(run->job);
		else
			job_stop(run->job, false);
		return;
	}
	job_leave(run->job);
	run_free(run);
	mcp_call_free(c);
}

static void on_leave(struct mcp_call *c)
{
	struct mcp_run *run = c->work;

	job_leave(run->job); /* what is queued was ended by on_cancel() */
	if (run->memo)
		run->memo->run = NULL;
	run_free(run);
	mcp_call_free(c);
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
	if (!job_task_id(run->job) || job_asks(run->job))
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
	mcp_given_up_tell(c->peer, &content);
	if (r->background || r->left_running)
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
	if (r->background || r->left_running)
		mcp_begun_add(run->call->peer, r->task_id);
	mcp_memo_settle(run, r->background ? NULL : &content);
	mcp_call_free(run->call);
	return true;
}

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	struct mcp_run *run = owner;
	struct mcp_call *c = run->call;
	const struct mcp_peer *p = c->peer;
	bool delivered = true;

	if (p->house)
		p->house->ended(p->owner, run->engine->wishes.profile, r);
	mcp_call_unask(c); /* somebody else has answered, or nobody in time */
	if (r->verdict && !r->ran)
		mcp_call_log(c, MCP_LOG_NOTICE, r->reason);
	if (run->memo) {
		delivered = settle(run, r);
	} else if (c->silent) {
		delivered = c->cancelled; /* else the client was lost, and looks for it later */
		if (c->gave_up && r->background) {
			mcp_begun_add(c->peer, r->task_id);
			mcp_given_up_note(c->peer, r->task_id);
		}
		mcp_call_free(c);
	} else if (!mcp_ask_again(run, r)) {
		delivered = answer(run, r);
	}
	run_free(run);
	return delivered;
}

static int64_t patience_of(const struct mcp_run *run)
{
	const struct mcp_call *c = run->call;
	const struct mcp_options *o = &c->peer->server->options;
	const struct profile *profile = run->engine->profile;
	int64_t asked = run->request.timeout_ms, patience = o->foreground_max_ms;

	if (c->modern && c->capabilities.tasks)
		return o->task_after_ms;
	if (c->peer->patience_ms > 0) /* it has shown how long it waits */
		return c->peer->patience_ms;
	if (asked == 0 && patience == 0)
		asked = profile ? profile->timeout.default_ms : 0;
	/* A caller who says how long it may take waits for so long. */
	if (asked > 0 && asked + TIMEOUT_SLACK_MS > patience)
		return asked + TIMEOUT_SLACK_MS;
	return patience > 0 ? patience : UNLIMITED_MS;
}

/* It has its permit. */
static void on_permitted(void *owner, struct job *j)
{
	struct mcp_run *run = owner;
	struct mcp_call *c = run->call;
	struct loop *l = c->peer->server->options.loop;

	run->told_at = loop_now(l);
	mcp_call_log(c, MCP_LOG_DEBUG, "the command is started");
	if (c->token)
		(void)loop_timer_set(l, &run->progress, run->told_at + PROGRESS_ALIVE_MS,
		                     on_progress);
	if (!run->request.background)
		(void)loop_timer_set(l, &run->patience, run->told_at + patience_of(run),
		                     on_patience);
}

static const struct job_ops job_ops = {
	.permitted = on_permitted,
	.output = on_output,
	.note = on_note,
	.asked = mcp_ask,
	.answered = mcp_ask_over,
	.ended = on_ended,
};

static void start(struct mcp_run *run)
{
	struct mcp_call *c = run->call;
	struct error err = {0};
	int r;

	/* What it leaves running would be a task as well. */
	if (!run->request.background && c->peer->house)
		run->request.end_leftover = !c->peer->house->may_begin_task(c->peer->owner);
	r = job_start(run->engine, c->peer->server->options.loop, &run->request, run->arena,
	              &job_ops, run, &run->job, &err);
	if (r < 0) {
		mcp_call_refuse(c, err.kind == ERROR_SYSTEM ? "the command could not be started"
		                                            : err.text);
		run_free(run);
		return;
	}
	run->arena = NULL; /* the job's */
	if (!job_waits(run->job))
		on_permitted(run, run->job);
}

static struct mcp_run *run_new(struct mcp_call *c, const struct mcp_offer *offer)
{
	struct mcp_run *run = calloc(1, sizeof(*run));
	const struct mcp_peer *p = c->peer;
	size_t answer_bytes;

	if (run)
		run->arena = arena_new(ARENA_MAX);
	if (!run || !run->arena) {
		free(run);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		return NULL;
	}
	run->call = c;
	answer_bytes = p->server->options.answer_bytes;
	run->engine = offer->engine;
	run->dialect = offer->dialect;
	run->request = (struct request){
		.input_fd = -1,
		.principal = p->principal,
		.door = p->door,
		.session = dialect_keeps_session(offer->dialect) ? p->session : NULL,
		.job = p->session,
		.follow = c->token != NULL,
		.share = p->share,
		.one_text = true,
		.answer_bytes = answer_bytes ? answer_bytes : c->appetite.bytes,
		.answer_lines = answer_bytes ? 0 : c->appetite.lines,
		.answer_given = answer_bytes > 0,
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
	const struct mcp_house *house = c->peer->house;
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
	if (run->request.workspace && house)
		run->engine = house->find(c->peer->owner, offer, run->request.workspace);
	run->separate =
		run->request.output_mode_given && run->request.output_mode == OUTPUT_SEPARATE;
	run->as_task = task != NULL;
	run->request.background |= run->as_task;
	if (!mcp_ask_prepare(run, m, arguments)) {
		run_free(run); /* it has answered */
		return;
	}
	if (run->request.background && house && !house->may_begin_task(c->peer->owner)) {
		mcp_call_refuse(c, "too many commands run at this time; try again later");
		run_free(run);
		return;
	}
	start(run);
}
