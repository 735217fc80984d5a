/*
 * A job ends in one place, end(), whatever the cause: its task has ended, was lost, was let go, or
 * never started. The last is told by a timer that is due at once, so that an owner never hears of
 * a job that it does not have yet.
 */
#include "engine/job.h"

#include <errno.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/permits.h"
#include "engine/result.h"
#include "engine/run.h"
#include "launch/task.h"
#include "base/loop.h"

#define ASK_LOOK_MS      1000
#define FOUND_MS         5000
#define STOP_PATIENCE_MS 80000 /* beyond the longest grace and all of the keeper's own limits */

struct job {
	struct run *run;
	struct loop *loop;
	struct arena *arena;
	struct request request;
	struct permit permit;
	const struct job_ops *ops; /* NULL: the owner has left */
	void *owner;
	struct loop_source control;
	struct loop_source answer; /* of a person; or look timer is due */
	struct loop_timer look;
	struct loop_timer timer; /* beyond all of the keeper's own limits; or due: it has ended */
	bool stopping;
	bool told; /* the owner knows that a person is asked */
};

/* The command goes on as a task of which nobody waits for the end; the result says so. TIMED_OUT:
 * since its time is over. */
static void let_go(struct job *j, bool timed_out)
{
	j->run->left = true;
	j->run->timed_out = timed_out;
}

static void stop_asking(struct job *j)
{
	loop_remove(&j->answer);
	loop_timer_clear(&j->look);
}

static void end(struct job *j)
{
	struct result result = {0};
	bool keep = false;

	loop_remove(&j->control);
	stop_asking(j);
	loop_timer_clear(&j->timer);
	if (j->ops) {
		run_result(j->run, &result);
		keep = !j->ops->ended(j->owner, j, &result) || result.output_kept;
		result_done(&result);
	}
	run_done(j->run, keep);
	permit_drop(&j->permit);
	arena_free(j->arena);
	free(j);
}

static int on_end(struct loop_timer *t)
{
	end(container_of(t, struct job, timer));
	return 0;
}

/* A keeper that was stopped does not report: without it, its init ends the command. */
static int on_late(struct loop_timer *t)
{
	struct job *j = container_of(t, struct job, timer);

	task_abandon(j->run->task);
	end(j);
	return 0;
}

/* A connection of the command waits for a person, or none does any more. */
static void hold(struct job *j)
{
	bool asked = j->run->held.state == ASK_WAITING;

	run_hold(j->run, j->run->task->held);
	if (asked && j->ops && j->ops->answered)
		j->ops->answered(j->owner, j);
	if (j->run->held.state == ASK_WAITING && j->ops && j->ops->asked)
		j->ops->asked(j->owner, j, job_asks(j)); /* last: the owner may leave */
}

static int on_packet(struct loop_source *s, uint32_t events)
{
	struct job *j = container_of(s, struct job, control);

	switch (task_receive(j->run->task)) {
	case TASK_NOTHING:
		break;
	case TASK_OUTPUT:
		if (j->ops && j->ops->output)
			j->ops->output(j->owner, j);
		break;
	case TASK_NOTE:
		if (j->ops && j->ops->note)
			j->ops->note(j->owner, j, j->run->task->note);
		break;
	case TASK_HELD:
		hold(j);
		break;
	case TASK_STARTED:
		let_go(j, false);
		end(j);
		break;
	case TASK_LET_GO:
		let_go(j, true);
		end(j);
		break;
	case TASK_ENDED:
	case TASK_LOST:
		end(j);
		break;
	}
	return 0;
}

/* Due in the next turn of the loop. */
static int end_soon(struct job *j)
{
	loop_remove(&j->control);
	return loop_timer_set(j->loop, &j->timer, loop_now(j->loop), on_end);
}

static int watch(struct job *j);
static int on_look(struct loop_timer *t);

static int look_later(struct job *j)
{
	int64_t until = j->run->ask.until_ms, next = loop_now(j->loop) + ASK_LOOK_MS;

	return loop_timer_set(j->loop, &j->look, next < until ? next : until, on_look);
}

/* Somebody may have answered, or it is time to look all the same. */
static int look(struct job *j)
{
	bool told = j->told;
	int r;

	if (!run_asked(j->run)) {
		j->told = true;
		r = look_later(j);
		/* Last: the owner may answer, or leave. */
		if (!told && r == 0 && j->ops && j->ops->asked)
			j->ops->asked(j->owner, j, job_asks(j));
		return r;
	}
	stop_asking(j);
	ask_done(&j->run->ask);
	if (j->stopping && j->run->task)
		task_stop(j->run->task, false);
	if (watch(j) < 0)
		end(j);
	else if (j->run->task && j->ops && j->ops->approved)
		j->ops->approved(j->owner, j); /* last: the owner may leave */
	return 0;
}

static int on_look(struct loop_timer *t)
{
	return look(container_of(t, struct job, look));
}

static int on_answer(struct loop_source *s, uint32_t events)
{
	return look(container_of(s, struct job, answer));
}

static int watch_answer(struct job *j)
{
	/* Without a descriptor the timer does it. */
	if (j->run->ask.watch >= 0)
		(void)loop_add(j->loop, &j->answer, j->run->ask.watch, EPOLLIN, on_answer, NULL);
	/* The first look comes in the next turn of the loop, when the owner knows the job. */
	return loop_timer_set(j->loop, &j->look, loop_now(j->loop), on_look);
}

static int watch(struct job *j)
{
	struct task *task = j->run->task;
	int r;

	if (j->run->ask.state == ASK_WAITING)
		return watch_answer(j);
	if (!task)
		return end_soon(j);
	r = loop_add(j->loop, &j->control, task->control, EPOLLIN, on_packet, NULL);
	if (r == 0)
		r = loop_timer_set(j->loop, &j->timer, loop_now(j->loop) + run_patience_ms(j->run),
		                   on_late);
	if (r < 0) {
		task_abandon(task);
		return end_soon(j);
	}
	return 0;
}

static void on_permit(struct permit *p)
{
	struct job *j = container_of(p, struct job, permit);

	if (j->ops && j->ops->permitted)
		j->ops->permitted(j->owner, j);
	run_start(j->run, &j->request);
	if (watch(j) < 0)
		end(j);
}

/* Now, or when it has its permit. */
static int start(struct job *j, struct error *err)
{
	int r = permit_take(&j->permit, j->request.share);

	if (r < 0)
		return error_set(err, ERROR_LIMIT, EBUSY,
		                 "too many commands run at this time; try again later");
	if (j->permit.waits)
		return 0;
	run_start(j->run, &j->request);
	return watch(j) < 0 ? error_nomem(err) : 0;
}

int job_start(struct engine *e, struct loop *l, const struct request *rq, struct arena *arena,
              const struct job_ops *ops, void *owner, struct job **ret_job, struct error *err)
{
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return error_nomem(err);
	*j = (struct job){.loop = l,
	                  .ops = ops,
	                  .owner = owner,
	                  .request = *rq,
	                  .permit = {.granted = on_permit},
	                  .control = {.fd = -1},
	                  .answer = {.fd = -1}};
	r = run_new(e, &j->run, err);
	if (r < 0) {
		free(j);
		return r;
	}
	r = start(j, err);
	if (r < 0) {
		job_leave(j);
		return r;
	}
	j->arena = arena;
	*ret_job = j;
	return 0;
}

/* What never ran cannot go on, either. */
static void give_up_waiting(struct job *j)
{
	error_set(&j->run->refusal, ERROR_INPUT, ECANCELED, "stopped before it was started");
	permit_drop(&j->permit);
	if (end_soon(j) < 0)
		end(j);
}

/* From now on its keeper has less time, whatever the limit on the command's was. */
void job_stop(struct job *j, bool now)
{
	struct task *task = j->run->task;
	int64_t late = loop_now(j->loop) + STOP_PATIENCE_MS;

	if (j->permit.waits) {
		give_up_waiting(j);
		return;
	}
	if (task)
		task_stop(task, now || j->stopping);
	if (j->control.fd >= 0 && j->timer.at > late)
		(void)loop_timer_set(j->loop, &j->timer, late, on_late);
	j->stopping = true;
	job_give_up(j);
}

int job_input(struct job *j, const void *bytes, size_t n)
{
	return j->control.fd < 0 ? -EPIPE : task_input(j->run->task, bytes, n);
}

int job_resize(struct job *j, uint16_t rows, uint16_t cols)
{
	return j->control.fd < 0 ? -EPIPE : task_resize(j->run->task, rows, cols);
}

int job_answer(struct job *j, enum approval_answer answer, const char *by, const char *why,
               struct error *err)
{
	bool held = j->run->held.state == ASK_WAITING;
	int r = ask_answer(held ? &j->run->held : &j->run->ask, answer, by, why, err);

	/* Also where somebody else was first: then that is what counts. */
	if (!held && job_asks(j) &&
	    loop_timer_set(j->loop, &j->look, loop_now(j->loop), on_look) < 0)
		r = error_nomem(err);
	return r;
}

void job_give_up(struct job *j)
{
	if (j->run->held.state == ASK_WAITING) {
		run_hold(j->run, "");
		task_give_up(j->run->task);
	}
	if (!job_asks(j))
		return;
	ask_give_up(&j->run->ask);
	if (loop_timer_set(j->loop, &j->look, loop_now(j->loop), on_look) < 0)
		end(j);
}

/* The keeper does not answer: a task that was stopped, say, is found when it goes on. */
static int on_unheard(struct loop_timer *t)
{
	struct job *j = container_of(t, struct job, timer);

	let_go(j, false);
	end(j);
	return 0;
}

/* Who is told of a task must find it: a keeper that has just begun is waited for. */
static bool await_directory(struct job *j)
{
	return task_keep(j->run->task) &&
	       loop_timer_set(j->loop, &j->timer, loop_now(j->loop) + FOUND_MS, on_unheard) == 0;
}

void job_let_go(struct job *j)
{
	if (j->run->ask.state == ASK_WAITING) {
		job_give_up(j); /* what never ran cannot go on */
		return;
	}
	if (j->permit.waits)
		give_up_waiting(j);
	if (j->control.fd < 0)
		return; /* its end is near */
	if (await_directory(j))
		return; /* TASK_STARTED follows, or its end */
	let_go(j, false);
	if (end_soon(j) < 0)
		end(j);
}

void job_leave(struct job *j)
{
	if (j->control.fd >= 0)
		let_go(j, false);
	j->ops = NULL;
	end(j);
}

const struct approval *job_asks(const struct job *j)
{
	if (j->run->held.state == ASK_WAITING)
		return &j->run->held.approval;
	return j->run->ask.state == ASK_WAITING ? &j->run->ask.approval : NULL;
}

bool job_waits(const struct job *j)
{
	return j->permit.waits;
}

const char *job_id(const struct job *j)
{
	return j->run->task_id;
}

const char *job_task_id(const struct job *j)
{
	const struct task *task = j->run->task;

	return task ? task->id : NULL;
}

int job_task_dir(const struct job *j)
{
	struct task *task = j->run->task;

	return task ? task_dir(task) : -1;
}

enum output_mode job_output_mode(const struct job *j)
{
	return j->run->output_mode;
}

const struct view_limits *job_view(const struct job *j)
{
	return &j->run->view;
}
