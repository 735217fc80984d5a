#pragma once
/*
 * Run: one request under way, from its decision to its result. A run does not wait by itself: job.c
 * does, and nobody else has one. Not for other rooms: they have job.h.
 */
#include <stdbool.h>
#include <stdint.h>
#include "engine/ask-names.h"
#include "engine/ask.h"
#include "engine/record.h"
#include "base/error.h"
#include "output/view.h"
#include "policy/policy.h"
#include "session/use.h"
#include "task/order.h"
#include "task/request.h"
#include "task/store.h"

struct ahead;
struct arena;
struct engine;
struct result;
struct task;

struct run {
	struct engine *engine;
	const struct request *request; /* from its start on */
	struct arena *arena;
	struct task *task; /* NULL: it never started, or not yet */
	struct keeper_order order;
	enum output_mode output_mode;
	struct view_limits view;
	int64_t timeout_asked_ms;      /* more than the maximum; 0: it was granted */
	bool left, timed_out;          /* it goes on without us */
	uint64_t profile_number;       /* of the engine's profile that decided */
	bool decided;                  /* there is a finding */
	struct policy_finding finding; /* about the whole line */
	struct error refusal;          /* why it did not start */
	struct session_use session;
	struct ask ask;
	struct ask held; /* while it runs: what a connection waits for */
	struct arena *held_arena;
	bool only_names; /* the question was about names alone */
	struct connection_asker asker;
	const char *reaches;        /* names that were approved for this run; or NULL */
	bool answered;              /* what was asked is no question any more */
	char task_id[STORE_ID_MAX]; /* known before there is a task: its records are found by it */
	char audit_notice[ENGINE_RECORD_NOTICE_MAX];
	int input;           /* the command's, until it is started; -1: none */
	struct ahead *ahead; /* its keeper, before there is a task; or NULL */
	bool dropped;        /* no order goes to that any more */
	bool leaves;         /* no launcher stands by for the next call of its session */
};

int run_new(struct engine *e, struct run **ret_run, struct error *err);

/* Starts the request. One that cannot or may not be run (no such directory, a bad variable, the
 * verdict) is already at its end then, with a result that says why. The request lives longer. */
void run_start(struct run *run, const struct request *rq);

/* A run that waits for a person (ask.state) is looked at when ask.watch is readable, at
 * ask.until_ms and now and then. Whether that is over: there is a task now, or the run is at its
 * end. */
bool run_asked(struct run *run);

/* What a connection of the running command waits for: the approval with this id; "": none. */
void run_hold(struct run *run, const char *id);

/* Upper bound for any keeper. Past it, treat the keeper as dead. */
int64_t run_patience_ms(const struct run *run);

/* After TASK_ENDED or TASK_LOST, without a task, or when it was left. */
void run_result(const struct run *run, struct result *ret_result);

/* Frees the run. The task's directory goes with it unless KEEP: say so when it holds more than the
 * result does (output_kept), or when the result could not be delivered. */
void run_done(struct run *run, bool keep);
