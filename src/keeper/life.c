/*
 * The life of the command: state by event. Nothing here waits for a peer that may not answer: an
 * init that does not obey is killed and its tree taken over, a pipe that a stranger holds open is
 * left after a bounded drain.
 */
#include "keeper/inside.h"

#include <stdio.h>
#include "base/clock.h"
#include "base/error.h"
#include "process/spawn.h"
#include "sandbox/plan.h"

#define LINGER_MAX_MS     500 /* how long jobs may outlive the command at most, or be looked at */
#define LEFTOVER_GRACE_MS 200
#define KEPT_GRACE_MS     100 /* what is gone within it was only ending */
#define KEPT_LOOK_MS      50
#define KEPT_MAX_MS       1000 /* how long it may take to start before the result is told */
#define KILL_WAIT_MS      6000 /* init gives up by itself a little earlier */
#define DRAIN_MS          250

void keeper_set_deadline(struct keeper *k, int64_t from_now_ms)
{
	k->deadline = clock_now_ms() + from_now_ms;
}

typedef enum keeper_state (*life_action)(struct keeper *k);

static enum keeper_state on_failed(struct keeper *k)
{
	struct error err = {0};

	k->report.end = KEEPER_END_FAILED;
	k->refused = k->report.step == CHILD_SANDBOX;
	if (k->refused) {
		sandbox_plan_explain(k->plan, k->detail, k->report.sys, &err);
		snprintf(k->report.why, sizeof(k->report.why), "%s", err.text);
	}
	return k->state; /* init reaps the child and says goodbye next */
}

static enum keeper_state on_leftover(struct keeper *k)
{
	k->linger_end = clock_now_ms() + (keeper_keeps_leftover(k) ? KEPT_MAX_MS : LINGER_MAX_MS);
	k->time_limit = k->deadline;
	keeper_set_deadline(k, keeper_keeps_leftover(k) ? KEPT_GRACE_MS : KEEPER_LINGER_QUIET_MS);
	return LINGER;
}

static enum keeper_state end_leftover(struct keeper *k)
{
	keeper_note_living(k);
	process_order(k->process, INIT_TERM);
	keeper_set_deadline(k, LEFTOVER_GRACE_MS);
	return LEFTOVER;
}

/* Processes that only needed a moment to end are gone by now. One that is starting has a moment
 * more, so that the port on which it will listen is told. */
static enum keeper_state linger_over(struct keeper *k)
{
	if (!keeper_keeps_leftover(k))
		return end_leftover(k);
	if (keeper_relays(k) ||
	    (clock_now_ms() < k->linger_end && keeper_leftover_is_starting(k))) {
		keeper_set_deadline(k, KEPT_LOOK_MS);
		return LINGER;
	}
	if (keeper_keep_leftover(k) < 0)
		return end_leftover(k);
	/* The limit is about how long a caller waits, unless the caller has set it. */
	k->deadline = k->order.timeout_asked ? k->time_limit : KEEPER_DEADLINE_NONE;
	return KEPT;
}

static enum keeper_state end_tree(struct keeper *k, enum keeper_end end)
{
	k->report.end = end;
	if (end != KEEPER_END_STOPPED)
		keeper_explain_quiet(k);
	keeper_note_living(k);
	process_order(k->process, INIT_TERM);
	keeper_set_deadline(k, k->order.grace_ms);
	return ENDING;
}

static enum keeper_state on_timeout(struct keeper *k)
{
	if (k->order.timeout_lets_go && !k->let_go) {
		keeper_let_go(k);
		k->deadline = KEEPER_DEADLINE_NONE;
		return RUNNING;
	}
	return end_tree(k, KEEPER_END_TIMEOUT);
}

static enum keeper_state on_kept_timeout(struct keeper *k)
{
	return end_tree(k, KEEPER_END_TIMEOUT);
}

static enum keeper_state on_idle(struct keeper *k)
{
	return end_tree(k, KEEPER_END_IDLE);
}

static enum keeper_state on_stop(struct keeper *k)
{
	return end_tree(k, KEEPER_END_STOPPED);
}

static enum keeper_state kill_tree(struct keeper *k)
{
	keeper_note_slain(k);
	process_order(k->process, INIT_KILL);
	keeper_set_deadline(k, KILL_WAIT_MS);
	return KILLING;
}

static enum keeper_state on_stop_now(struct keeper *k)
{
	k->report.end = KEEPER_END_STOPPED;
	return kill_tree(k);
}

static enum keeper_state on_crowd(struct keeper *k)
{
	k->report.end = KEEPER_END_CROWDED;
	return kill_tree(k);
}

/* What the kernel does to one process with a limit of its own, for all of them. */
static enum keeper_state on_cpu(struct keeper *k)
{
	keeper_note_living(k);
	process_order(k->process, INIT_XCPU);
	keeper_set_deadline(k, k->order.grace_ms);
	return ENDING;
}

static enum keeper_state drain(struct keeper *k)
{
	keeper_set_deadline(k, DRAIN_MS);
	return DRAIN;
}

static enum keeper_state take_over(struct keeper *k)
{
	k->report.killed += process_take_over(k->process, &k->report.survivors);
	return drain(k);
}

/* What init could not end is now below us. */
static enum keeper_state on_gone(struct keeper *k)
{
	if (k->refused && keeper_start_again(k) == 0)
		return RUNNING;
	return k->report.survivors > 0 ? take_over(k) : drain(k);
}

/* The status of the command went with init, unless it had ended before. */
static enum keeper_state on_init_lost(struct keeper *k)
{
	if (k->state == RUNNING && k->report.end == KEEPER_END_EXITED)
		k->report.end = KEEPER_END_LOST;
	return take_over(k);
}

/* A reader of the relay may be slow: what it has not taken is not lost. */
static enum keeper_state finish(struct keeper *k)
{
	if (!keeper_relays(k))
		return DONE;
	keeper_set_deadline(k, DRAIN_MS);
	return DRAIN;
}

/* An event that a state does not name changes nothing in it. */
static const life_action life[STATE_MAX][EV_MAX] = {
	[RUNNING] =
		{
			[EV_FAILED] = on_failed,
			[EV_LEFTOVER] = on_leftover,
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = on_timeout,
			[EV_CROWD] = on_crowd,
			[EV_ROOM] = kill_tree,
			[EV_CPU] = on_cpu,
			[EV_IDLE] = on_idle,
			[EV_STOP] = on_stop,
			[EV_STOP_NOW] = on_stop_now,
		},
	[LINGER] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = linger_over,
			[EV_CROWD] = on_crowd,
			[EV_ROOM] = kill_tree,
			[EV_CPU] = on_cpu,
			[EV_STOP] = end_leftover,
			[EV_STOP_NOW] = kill_tree,
		},
	[LEFTOVER] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = kill_tree,
			[EV_CROWD] = on_crowd,
			[EV_ROOM] = kill_tree,
			[EV_STOP_NOW] = kill_tree,
		},
	[KEPT] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = on_kept_timeout,
			[EV_CROWD] = on_crowd,
			[EV_CPU] = on_cpu,
			[EV_STOP] = on_stop,
			[EV_STOP_NOW] = on_stop_now,
		},
	[ENDING] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = kill_tree,
			[EV_CROWD] = on_crowd,
			[EV_ROOM] = kill_tree,
			[EV_STOP_NOW] = kill_tree,
		},
	[KILLING] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = take_over,
		},
	[DRAIN] =
		{
			[EV_DEADLINE] = finish,
		},
	[DONE] = {NULL},
};

void keeper_step(struct keeper *k, enum keeper_event e)
{
	life_action act = life[k->state][e];

	if (act)
		k->state = act(k);
}
