#pragma once
/*
 * Job: one request under way in a loop, for whoever has many of them at a time. It is started,
 * watched and ended here; its owner is told what comes of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "approval/approval.h"
#include "task/request.h"

struct arena;
struct engine;
struct error;
struct job;
struct loop;
struct result;
struct view_limits;

struct job_ops {
	/* It has waited for its permit, and is started when this returns. May be NULL. */
	void (*permitted)(void *owner, struct job *j);
	/* The task's files have grown; comes only if the request wants to follow. May be NULL. */
	void (*output)(void *owner, struct job *j);
	/* What is waited for before the command can start, now and then, in words. May be NULL. */
	void (*note)(void *owner, struct job *j, const char *text);
	/* A person is asked, and the job waits: it goes on by itself when somebody has answered,
	 * here or elsewhere, or when the time for that is over. Comes once before the start, and
	 * for each connection of the running command that waits; only if the request can ask. May
	 * be NULL. */
	void (*asked)(void *owner, struct job *j, const struct approval *a);
	/* No connection waits for the last question any more. The job goes on. May be NULL. */
	void (*answered)(void *owner, struct job *j);
	/* Somebody has approved it, and the command is started. May be NULL. */
	void (*approved)(void *owner, struct job *j);
	/* Once, and last: the job is gone when this returns. The result and its strings are the
	 * callee's to read until then. False: the result could not be delivered, so the task is
	 * kept. */
	bool (*ended)(void *owner, struct job *j, struct result *r);
};

/* ARENA holds the strings of the request and becomes the job's if this succeeds; NULL: they live
 * longer than the job. A request that may
 * not be run is no error: it ends at once. One whose share is used up waits for its permit; -EBUSY:
 * too many do. No callback comes before this has returned. */
int job_start(struct engine *e, struct loop *l, const struct request *rq, struct arena *arena,
              const struct job_ops *ops, void *owner, struct job **ret_job, struct error *err);

void job_stop(struct job *j, bool now); /* the whole tree; NOW: without grace. ended() follows */
void job_let_go(struct job *j);         /* it goes on as a task; ended() follows */
/* What is typed on the command's terminal, and its new size, if it has one. -EAGAIN: it is not
 * taken at this time; the job is told nothing of what comes of it. */
int job_input(struct job *j, const void *bytes, size_t n);
int job_resize(struct job *j, uint16_t rows, uint16_t cols);
/* A person at this door has answered; BY names them, WHY may be NULL. The job goes on in the next
 * turn of the loop. -EALREADY: somebody else was first, and their answer holds; -EPERM: it cannot
 * be approved for a session. */
int job_answer(struct job *j, enum approval_answer answer, const char *by, const char *why,
               struct error *err);
/* Nobody at this door will answer: the job ends refused, or the connection is, and the question
 * stays open for others. */
void job_give_up(struct job *j);
/* The owner goes away: the job is gone at once and nothing is called any more. The command goes on
 * as a task; after job_stop() only to its end. */
void job_leave(struct job *j);

/* What a person is asked; NULL: it does not wait for one. */
const struct approval *job_asks(const struct job *j);

bool job_waits(const struct job *j);          /* for its permit: it is not decided about yet */
const char *job_id(const struct job *j);      /* of its task, if there will be one */
const char *job_task_id(const struct job *j); /* NULL: it never started */
int job_task_dir(const struct job *j);        /* borrowed; -1: none */
enum output_mode job_output_mode(const struct job *j);
const struct view_limits *job_view(const struct job *j); /* within which its output is shown */
