#include "engine/test-engine.h"

#include <signal.h>
#include <string.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "engine/job.h"
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

	start(p, "echo on; sleep 0.1", false);
	job_let_go(p->job);
	wait_for_end(p);
	assert_true(p->result.background);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
