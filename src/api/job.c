/*
 * A job of the caller's is a job of the engine in a loop of its own, so that each can be waited for
 * by a thread of its own. What the loop does touches the engine and happens under the context's
 * lock; the waiting does not.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <nacre.h>
#include "api/inside.h"
#include "approval/approval.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/job.h"
#include "engine/result.h"
#include "task/order.h"
#include "base/loop.h"

#define QUESTIONS_MAX 64 /* that a job tells its caller of; more can be answered elsewhere */

struct nacre_job {
	struct nacre_context *context;
	struct loop *loop;
	struct job *job; /* NULL: it has ended */
	struct loop_source end_source;
	int end_fd; /* readable from the end on, and while a question is news: so is the loop's */
	bool given; /* the result has been */
	int failed; /* why there is no result; 0: there is one */
	struct nacre_result *result;
	struct nacre_question *question, *older[QUESTIONS_MAX - 1]; /* the caller may hold them */
	size_t older_count;
	bool asked; /* and the caller has not been told */
	char task_id[STORE_ID_MAX];
};

static void wake(struct nacre_job *j)
{
	uint64_t one = 1;

	(void)fd_write_all(j->end_fd, &one, sizeof(one));
}

static bool on_ended(void *owner, struct job *job, struct result *r)
{
	struct nacre_job *j = owner;

	j->job = NULL;
	j->failed = api_result_new(r, &j->result);
	wake(j);
	return j->failed == 0;
}

/* Without memory for it the question can still be answered elsewhere. */
static void on_asked(void *owner, struct job *job, const struct approval *a)
{
	struct nacre_job *j = owner;

	if (j->question && j->older_count == array_size(j->older))
		return;
	if (j->question)
		j->older[j->older_count++] = j->question;
	j->question = api_question_new(a);
	j->asked = j->question != NULL;
	if (j->asked)
		wake(j);
}

static const struct job_ops ops = {.asked = on_asked, .ended = on_ended};

/* It stays readable: there is nothing to do but to fetch the result. */
static int on_end(struct loop_source *s, uint32_t events)
{
	return 0;
}

/* Under the lock. */
static void job_done(struct nacre_job *j)
{
	if (j->job) {
		job_stop(j->job, true);
		job_leave(take_ptr(&j->job));
	}
	if (j->loop)
		loop_remove(&j->end_source);
	loop_free(j->loop);
	fd_close(j->end_fd);
	nacre_result_free(j->result);
	api_question_free(j->question);
	for (size_t i = 0; i < j->older_count; i++)
		api_question_free(j->older[i]);
	free(j);
}

void nacre_job_free(struct nacre_job *j)
{
	struct nacre_context *c = j ? j->context : NULL;

	if (!j)
		return;
	(void)pthread_mutex_lock(&c->lock);
	job_done(j);
	(void)pthread_mutex_unlock(&c->lock);
}
DEFINE_CLEANUP(struct nacre_job *, nacre_job_free);

static int prepare(struct nacre_job *j, struct error *err)
{
	j->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (j->end_fd < 0)
		return error_sys(err, errno, "descriptor for a job");
	if (loop_new(&j->loop, err) < 0)
		return -ENOMEM;
	return loop_add(j->loop, &j->end_source, j->end_fd, EPOLLIN, on_end, err);
}

/* Under the lock. What waits for an answer has no task until then. */
static int turn(struct nacre_job *j)
{
	int r = loop_turn(j->loop);
	const char *id = j->job && !j->task_id[0] ? job_task_id(j->job) : NULL;

	if (id)
		memcpy(j->task_id, id, strlen(id) + 1);
	return r;
}

/* What may not run has ended after one turn: its descriptor shows so from the start. */
static int start(struct nacre_job *j, const struct nacre_request *request, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ORDER_BYTES_MAX);
	struct nacre_context *c = j->context;
	struct request rq;
	int r;

	if (!arena)
		return error_nomem(err);
	r = api_read_request(c, request, arena, &rq, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&c->lock);
	r = job_start(&c->engine, j->loop, &rq, arena, &ops, j, &j->job, err);
	if (r == 0) {
		(void)take_ptr(&arena);
		(void)turn(j);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return r;
}

int nacre_start(struct nacre_context *context, const struct nacre_request *request,
                struct nacre_job **ret_job, struct nacre_error *to)
{
	scoped(nacre_job_freep) struct nacre_job *j = calloc(1, sizeof(*j));
	struct error err = {0};
	int r;

	if (!j)
		return api_fail(to, -ENOMEM, &err);
	j->context = context;
	j->end_fd = -1;
	r = prepare(j, &err);
	if (r == 0)
		r = start(j, request, &err);
	if (r < 0)
		return api_fail(to, r, &err);
	*ret_job = take_ptr(&j);
	return 0;
}

/* How long to sleep: to the caller's end, to the loop's next timer, and a turn of poll() at most.
 */
static int nap_ms(const struct nacre_job *j, int64_t timeout_ms, int64_t end)
{
	int64_t left = timeout_ms < 0 ? INT32_MAX : end - clock_now_ms();
	int timer = loop_wait_ms(j->loop);

	if (timer >= 0 && timer < left)
		left = timer;
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static int tell_question(struct nacre_job *j, struct nacre_error *to)
{
	struct error err = {0};
	uint64_t news;

	j->asked = false;
	if (read(j->end_fd, &news, sizeof(news)) < 0) {
		/* It was not written either: the descriptor is as it should be. */
	}
	return api_fail(to, error_set(&err, ERROR_INPUT, EINPROGRESS, "a person is asked"), &err);
}

int nacre_poll(struct nacre_job *j, int64_t timeout_ms, struct nacre_result **ret_result,
               struct nacre_error *to)
{
	int64_t end = timeout_ms > 0 ? clock_now_ms() + timeout_ms : 0;
	struct pollfd p = {.fd = loop_fd(j->loop), .events = POLLIN};
	struct error err = {0};
	int r = 0;

	while (j->job) {
		(void)pthread_mutex_lock(&j->context->lock);
		r = turn(j);
		(void)pthread_mutex_unlock(&j->context->lock);
		if (r < 0)
			return api_fail(to, error_sys(&err, -r, "waiting for a command"), &err);
		if (!j->job)
			break;
		if (j->asked)
			return tell_question(j, to);
		if (timeout_ms >= 0 && (timeout_ms == 0 || clock_now_ms() >= end))
			return api_fail(to, -EAGAIN, &err);
		(void)poll(&p, 1, nap_ms(j, timeout_ms, end));
	}
	if (j->given)
		return api_fail(to,
		                error_set(&err, ERROR_INPUT, ESRCH,
		                          "the result has been given out already"),
		                &err);
	if (j->failed < 0)
		return api_fail(to, j->failed, &err);
	j->given = true;
	*ret_result = take_ptr(&j->result);
	return 0;
}

int nacre_job_fd(const struct nacre_job *j)
{
	return loop_fd(j->loop);
}

const char *nacre_job_task_id(const struct nacre_job *j)
{
	return j->task_id;
}

int nacre_job_let_go(struct nacre_job *j, struct nacre_error *to)
{
	struct error err = {0};

	if (!j->job)
		return api_fail(to, error_set(&err, ERROR_INPUT, ESRCH, "the command has ended"),
		                &err);
	(void)pthread_mutex_lock(&j->context->lock);
	job_let_go(j->job);
	(void)loop_turn(j->loop);
	(void)pthread_mutex_unlock(&j->context->lock);
	return 0;
}

int nacre_run(struct nacre_context *context, const struct nacre_request *request,
              struct nacre_result **ret_result, struct nacre_error *to)
{
	scoped(nacre_job_freep) struct nacre_job *j = NULL;
	int r = nacre_start(context, request, &j, to);

	while (j && (r == 0 || r == -EINPROGRESS)) {
		r = nacre_poll(j, -1, ret_result, to);
		if (r == 0)
			return 0;
	}
	return r;
}

const struct nacre_question *nacre_job_question(const struct nacre_job *j)
{
	return j->question;
}

int nacre_job_answer(struct nacre_job *j, int answer, const char *by, struct nacre_error *to)
{
	static const enum approval_answer answers[] = {
		[NACRE_ANSWER_DENY] = APPROVAL_DENY,
		[NACRE_ANSWER_ONCE] = APPROVAL_ONCE,
		[NACRE_ANSWER_SESSION] = APPROVAL_SESSION,
	};
	const struct approval *now;
	struct error err = {0};
	int r;

	if (answer < 0 || (size_t)answer >= array_size(answers))
		return api_fail(
			to, error_set(&err, ERROR_INPUT, EINVAL, "there is no answer %d", answer),
			&err);
	if (!j->job || !j->question)
		return api_fail(to, error_set(&err, ERROR_INPUT, ESRCH, "there is no question"),
		                &err);
	(void)pthread_mutex_lock(&j->context->lock);
	/* What was answered is what the caller has seen, or nothing. */
	now = job_asks(j->job);
	if (j->asked || (now && strcmp(now->id, j->question->id) != 0))
		r = error_set(&err, ERROR_INPUT, EALREADY, "another question has come up");
	else
		r = job_answer(j->job, answers[answer], by ? by : "", NULL, &err);
	(void)pthread_mutex_unlock(&j->context->lock);
	return r < 0 ? api_fail(to, r, &err) : 0;
}
