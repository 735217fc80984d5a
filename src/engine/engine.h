#pragma once
/*
 * Engine: from a request to a result, by way of a task.
 */
#include "base/cleanup.h"
#include "engine/request.h"
#include "task/store.h"
#include "task/task.h"

struct error;
struct launcher;
struct result;

struct engine {
	struct engine_settings settings;
	struct store store;
	struct launcher *launcher;      /* NULL: keepers are children of this process */
	const char *const *environment; /* nacre's own, from which a command's is built */
};

struct engine_run; /* one request under way */

void engine_init(struct engine *e, const char *const *environment);
void engine_done(struct engine *e);

/* Starts the request. A request that cannot be run for reasons of its own (no such directory, a bad
 * variable) is no error: *ret_run is then already at its end, with a result that says why. */
int engine_start(struct engine *e, const struct request *rq, struct engine_run **ret_run,
                 struct error *err);

struct task *engine_run_task(struct engine_run *run); /* NULL: it never started */

/* After TASK_ENDED or TASK_LOST, or without a task. */
void engine_result(struct engine *e, struct engine_run *run, struct result *ret_result);

/* Frees the run. The task's directory goes with it unless KEEP: say so when it holds more than the
 * result does (output_kept), or when the result could not be delivered. */
void engine_run_done(struct engine *e, struct engine_run *run, bool keep);
