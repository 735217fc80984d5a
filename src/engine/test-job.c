#include "engine/test-engine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "engine/job.h"
#include "engine/permits.h"
#include "engine/result.h"
#include "base/loop.h"
#include "task/find.h"

/* An engine with directories of its own, a loop, and what was heard of a job. */
struct place {
	char dir[64], workspace[80];
	struct engine engine;
	struct loop *loop;
	struct job *job; /* the one that is under way */
	struct loop_timer patience;
	int ended, outputs;
	struct result result; /* what is copied here has no text */
	char output[256];
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_engine_make(&p->engine, p->dir, p->workspace, environment);
	assert_int_equal(loop_new(&p->loop, NULL), 0);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	loop_timer_clear(&p->patience);
	loop_free(p->loop);
	test_engine_remove(&p->engine, p->dir);
	free(p);
	return 0;
}

static void on_output(void *owner, struct job *j)
{
	struct place *p = owner;

	assert_ptr_equal(j, p->job);
	p->outputs++;
}

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	struct place *p = owner;

	assert_ptr_equal(j, p->job);
	p->ended++;
	p->result = *r;
	snprintf(p->output, sizeof(p->output), "%s", r->views[0].text ? r->views[0].text : "");
	loop_stop(p->loop);
	return true;
}

static int on_patience(struct loop_timer *t)
{
	fail_msg("nothing was heard of the job");
	return 0;
}

static const struct job_ops ops = {.output = on_output, .ended = on_ended};

static void start(struct place *p, const char *line, bool background)
{
	struct arena *arena = arena_new(1 << 20);
	struct request rq = {.input_fd = -1, .follow = true, .background = background};

	rq.command = arena_strdup(arena, line);
	assert_int_equal(job_start(&p->engine, p->loop, &rq, arena, &ops, p, &p->job, NULL), 0);
	assert_int_equal(p->ended, 0);
}

static void wait_for_end(struct place *p)
{
	assert_int_equal(loop_timer_set(p->loop, &p->patience, loop_now(p->loop) + TEST_PATIENCE_MS,
	                                on_patience),
	                 0);
	assert_int_equal(loop_run(p->loop), 0);
	assert_int_equal(p->ended, 1);
}

static void an_end_is_told_once_with_the_result(void **state)
{
	struct place *p = *state;

	start(p, "echo one; exit 3", false);
	assert_non_null(job_task_id(p->job));
	wait_for_end(p);
	assert_int_equal(p->result.exit_code, 3);
	assert_string_equal(p->output, "one\n");
	assert_true(p->outputs > 0);
}

static void a_refusal_comes_after_the_start_has_returned(void **state)
{
	struct place *p = *state;

	start(p, "mkfs.ext4 /dev/null", false);
	assert_null(job_task_id(p->job));
	assert_int_equal(job_task_dir(p->job), -1);
	wait_for_end(p);
	assert_false(p->result.ran);
	assert_string_equal(p->result.verdict, "deny");
}

static void a_stop_ends_the_command(void **state)
{
	struct place *p = *state;

	start(p, "sleep 60", false);
	job_stop(p->job, true);
	wait_for_end(p);
	assert_true(p->result.stopped);
}

static void a_background_job_ends_when_it_has_started(void **state)
{
	struct place *p = *state;

	start(p, "echo started; sleep 0.1", true);
	wait_for_end(p);
	assert_true(p->result.background);
}

/* The state of the task says when what went on alone has ended. */
static void wait_for_task(struct place *p, const char *id)
{
	int64_t deadline = clock_now_ms() + TEST_PATIENCE_MS;
	scoped(fd_closep) int dir = -1;

	while ((dir = find_open(&p->engine.store, id, NULL)) < 0) /* its keeper makes it */
		assert_true(clock_now_ms() < deadline);
	while (find_state(dir) == FIND_RUNNING)
		assert_true(clock_now_ms() < deadline);
	assert_int_equal(find_state(dir), FIND_ENDED);
}

static void what_is_let_go_becomes_a_task(void **state)
{
	struct place *p = *state;

	scoped(fd_closep) int dir = -1;

	start(p, "echo on; sleep 0.1", false);
	job_let_go(p->job); /* sooner than others could have found it */
	wait_for_end(p);
	assert_true(p->result.background);
	dir = find_open(&p->engine.store, p->result.task_id, NULL);
	assert_true(dir >= 0);
	wait_for_task(p, p->result.task_id);
}

static void an_owner_that_has_left_hears_nothing(void **state)
{
	struct place *p = *state;
	char id[STORE_ID_MAX];

	start(p, "sleep 60", false);
	snprintf(id, sizeof(id), "%s", job_task_id(p->job));
	job_stop(p->job, true);
	job_leave(p->job);
	wait_for_task(p, id);
	assert_int_equal(p->ended, 0);
	start(p, "mkfs.ext4 /dev/null", false);
	job_leave(p->job);
	assert_int_equal(p->ended, 0);
}

/* Jobs that share one permit. */
struct shared {
	struct permits permits;
	struct permit_share share;
	struct loop *loop;
	int wanted; /* ends, then the loop stops */
};

struct sharer {
	struct shared *shared;
	struct job *job;
	int permitted, ended;
	bool ran, waited; /* waited: it had no task when it was permitted */
	char output[64], reason[128];
};

static void on_permitted(void *owner, struct job *j)
{
	struct sharer *s = owner;

	s->permitted++;
	s->waited = !job_waits(j) && !job_task_id(j);
}

static bool on_sharer_ended(void *owner, struct job *j, struct result *r)
{
	struct sharer *s = owner;

	s->ended++;
	s->ran = r->ran;
	snprintf(s->output, sizeof(s->output), "%s", r->views[0].text ? r->views[0].text : "");
	snprintf(s->reason, sizeof(s->reason), "%.120s", r->reason);
	if (--s->shared->wanted == 0)
		loop_stop(s->shared->loop);
	return true;
}

static int start_shared(struct place *p, struct shared *all, struct sharer *s, const char *line)
{
	static const struct job_ops sharer_ops = {.permitted = on_permitted,
	                                          .ended = on_sharer_ended};
	const struct request rq = {.input_fd = -1, .command = line, .share = &all->share};

	*s = (struct sharer){.shared = all};
	all->loop = p->loop;
	return job_start(&p->engine, p->loop, &rq, NULL, &sharer_ops, s, &s->job, NULL);
}

static void wait_for_all(struct place *p, struct shared *all, int count)
{
	all->wanted = count;
	assert_int_equal(loop_timer_set(p->loop, &p->patience, loop_now(p->loop) + TEST_PATIENCE_MS,
	                                on_patience),
	                 0);
	assert_int_equal(loop_run(p->loop), 0);
	loop_timer_clear(&p->patience);
}

static void a_job_waits_for_its_permit_and_then_runs(void **state)
{
	struct shared all = {.permits = {.running_max = 1, .queued_max = 1},
	                     .share = {.permits = &all.permits}};
	struct place *p = *state;
	struct sharer a, b, c;

	assert_int_equal(start_shared(p, &all, &a, "echo a"), 0);
	assert_false(job_waits(a.job));
	assert_int_equal(start_shared(p, &all, &b, "echo b"), 0);
	assert_true(job_waits(b.job));
	assert_null(job_task_id(b.job));
	assert_null(job_asks(b.job));
	assert_int_equal(start_shared(p, &all, &c, "echo c"), -EBUSY);
	wait_for_all(p, &all, 2);
	assert_string_equal(a.output, "a\n");
	assert_string_equal(b.output, "b\n");
	assert_int_equal(a.permitted, 0); /* it had its own at once */
	assert_true(b.permitted == 1 && b.waited);
	assert_int_equal(a.ended + b.ended, 2);
	assert_int_equal(all.permits.running + all.permits.queued, 0);
}

static void what_waits_can_be_stopped_let_go_and_left(void **state)
{
	struct shared all = {.permits = {.running_max = 1, .queued_max = 8},
	                     .share = {.permits = &all.permits}};
	struct place *p = *state;
	struct sharer a, stopped, let_go, left;

	assert_int_equal(start_shared(p, &all, &a, "sleep 60"), 0);
	assert_int_equal(start_shared(p, &all, &stopped, "echo never"), 0);
	assert_int_equal(start_shared(p, &all, &let_go, "echo never"), 0);
	assert_int_equal(start_shared(p, &all, &left, "echo never"), 0);
	job_stop(stopped.job, false);
	job_let_go(let_go.job);
	job_leave(left.job);
	assert_int_equal(all.permits.queued, 0);
	wait_for_all(p, &all, 2);
	assert_true(stopped.ended == 1 && !stopped.ran);
	assert_string_equal(stopped.reason, "stopped before it was started");
	assert_true(let_go.ended == 1 && !let_go.ran);
	assert_int_equal(left.ended + a.ended, 0);
	job_stop(a.job, true);
	wait_for_all(p, &all, 1);
	assert_int_equal(stopped.permitted + let_go.permitted + left.permitted, 0);
	assert_int_equal(all.permits.running, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_end_is_told_once_with_the_result),
		TEST(a_refusal_comes_after_the_start_has_returned),
		TEST(a_stop_ends_the_command),
		TEST(a_background_job_ends_when_it_has_started),
		TEST(what_is_let_go_becomes_a_task),
		TEST(an_owner_that_has_left_hears_nothing),
		TEST(a_job_waits_for_its_permit_and_then_runs),
		TEST(what_waits_can_be_stopped_let_go_and_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
