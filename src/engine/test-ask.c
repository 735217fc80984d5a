#include "engine/test-engine.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "approval/desk.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/job.h"
#include "engine/result.h"
#include "base/loop.h"

/* An engine whose profile asks about touch, a loop, and what was heard of a job. */
struct place {
	char dir[64], workspace[80], policy[80], state[80];
	struct engine engine;
	struct loop *loop;
	struct job *job;
	struct loop_timer patience;
	void (*on_asked)(struct place *p, const struct approval *a);
	int asked, ended;
	char id[APPROVAL_ID_MAX];
	struct result result; /* what is copied here has no text */
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_engine_make(&p->engine, p->dir, p->workspace, environment);
	snprintf(p->state, sizeof(p->state), "%s/state", p->dir);
	snprintf(p->policy, sizeof(p->policy), "%s/p.yaml", p->dir);
	test_file_write(p->policy, "profile: asking\ninherits: bash\nask: [touch]\n"
	                           "approval: {timeout: 10s}\nsandbox: {mode: none}\n");
	assert_int_equal(chmod(p->policy, 0600), 0);
	p->engine.wishes.policy_file = p->policy;
	assert_int_equal(loop_new(&p->loop, NULL), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	loop_timer_clear(&p->patience);
	loop_free(p->loop);
	test_engine_remove(&p->engine, p->dir);
	free(p);
	return 0;
}

static void on_asked(void *owner, struct job *j, const struct approval *a)
{
	struct place *p = owner;

	assert_ptr_equal(j, p->job);
	p->asked++;
	memcpy(p->id, a->id, sizeof(p->id));
	if (p->on_asked)
		p->on_asked(p, a);
}

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	struct place *p = owner;

	p->ended++;
	p->result = *r;
	loop_stop(p->loop);
	return true;
}

static int on_patience(struct loop_timer *t)
{
	fail_msg("nothing was heard of the job");
	return 0;
}

static void run(struct place *p, struct request rq)
{
	static const struct job_ops ops = {.asked = on_asked, .ended = on_ended};
	static const char *const words[] = {"touch", "x", NULL};

	rq.argv = words;
	rq.input_fd = -1;
	assert_int_equal(
		job_start(&p->engine, p->loop, &rq, arena_new(4096), &ops, p, &p->job, NULL), 0);
	assert_int_equal(p->asked + p->ended, 0);
	assert_int_equal(loop_timer_set(p->loop, &p->patience, loop_now(p->loop) + TEST_PATIENCE_MS,
	                                on_patience),
	                 0);
	assert_int_equal(loop_run(p->loop), 0);
	loop_timer_clear(&p->patience);
}

static bool was_made(struct place *p)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/x", p->workspace);
	return access(path, F_OK) == 0;
}

static enum approval_state state_of(struct place *p)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(fd_closep) int desk = desk_open(p->state, false, NULL);
	struct approval a;

	assert_int_equal(desk_read(desk, p->id, arena, &a, NULL), 0);
	return a.state;
}

static void say_yes(struct place *p, const struct approval *a)
{
	assert_string_equal(a->command, "'touch' 'x'");
	assert_string_equal(a->sandbox, "none");
	assert_string_equal(a->network, "host");
	assert_int_equal(job_answer(p->job, APPROVAL_ONCE, "a person", NULL, NULL), 0);
	assert_int_equal(job_answer(p->job, APPROVAL_DENY, "another", NULL, NULL), -EALREADY);
}

static void a_job_goes_on_when_its_door_says_yes(void **state)
{
	struct place *p = *state;

	p->on_asked = say_yes;
	run(p, (struct request){.can_ask = true});
	assert_true(p->asked == 1 && p->ended == 1 && p->result.success && was_made(p));
	assert_string_equal(p->result.approval_by, "a person");
	assert_string_equal(p->result.approval_id, p->id);
	assert_int_equal(state_of(p), APPROVAL_USED);
}

static void say_no(struct place *p, const struct approval *a)
{
	assert_int_equal(job_answer(p->job, APPROVAL_SESSION, "a person", NULL, NULL), -EPERM);
	assert_int_equal(job_answer(p->job, APPROVAL_DENY, "a person", "not now", NULL), 0);
}

static void a_job_ends_when_its_door_says_no(void **state)
{
	struct place *p = *state;

	p->on_asked = say_no;
	run(p, (struct request){.can_ask = true});
	assert_true(p->ended == 1 && p->result.exit_code == EXIT_REFUSED && !was_made(p));
	assert_non_null(strstr(p->result.reason, "not now"));
	assert_int_equal(state_of(p), APPROVAL_REFUSED);
}

static void give_up(struct place *p, const struct approval *a)
{
	job_give_up(p->job);
}

static void a_door_that_gives_up_leaves_the_question(void **state)
{
	struct place *p = *state;

	p->on_asked = give_up;
	run(p, (struct request){.can_ask = true});
	assert_true(p->ended == 1 && p->result.exit_code == EXIT_REFUSED && !was_made(p));
	assert_non_null(strstr(p->result.reason, p->id));
	assert_int_equal(state_of(p), APPROVAL_OPEN);
}

static void stop(struct place *p, const struct approval *a)
{
	job_stop(p->job, false);
}

static void a_job_that_is_stopped_while_it_waits_ends(void **state)
{
	struct place *p = *state;

	p->on_asked = stop;
	run(p, (struct request){.can_ask = true});
	assert_true(p->ended == 1 && !was_made(p));
	assert_int_equal(state_of(p), APPROVAL_OPEN);
}

static void leave(struct place *p, const struct approval *a)
{
	job_leave(p->job);
	loop_stop(p->loop);
}

static void an_owner_may_leave_while_it_waits(void **state)
{
	struct place *p = *state;

	p->on_asked = leave;
	run(p, (struct request){.can_ask = true});
	assert_true(p->asked == 1 && p->ended == 0 && !was_made(p));
	assert_int_equal(state_of(p), APPROVAL_OPEN);
}

static void answer_elsewhere(struct place *p, const struct approval *a)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(fd_closep) int desk = desk_open(p->state, false, NULL);
	struct approval now;

	assert_int_equal(desk_answer(desk, a->id, NULL,
	                             &(struct desk_answer){.answer = APPROVAL_ONCE, .by = "far"},
	                             arena, &now, NULL),
	                 0);
}

static void a_job_hears_of_an_answer_from_elsewhere(void **state)
{
	struct place *p = *state;

	p->on_asked = answer_elsewhere;
	run(p, (struct request){.can_ask = true});
	assert_true(p->result.success && was_made(p));
	assert_string_equal(p->result.approval_by, "far");
}

static void without_a_person_it_ends_at_once_and_a_repetition_finds_the_answer(void **state)
{
	struct place *p = *state;
	struct approval a = {0};

	run(p, (struct request){.principal = "alice"});
	assert_true(p->asked == 0 && p->ended == 1 && p->result.exit_code == EXIT_REFUSED);
	memcpy(a.id, p->result.approval_id, sizeof(a.id));
	answer_elsewhere(p, &a);
	p->ended = 0;
	run(p, (struct request){.principal = "eve"});
	assert_int_equal(p->result.exit_code, EXIT_REFUSED);
	assert_string_not_equal(p->result.approval_id, a.id);
	p->ended = 0;
	run(p, (struct request){.principal = "alice"});
	assert_true(p->result.success && was_made(p));
	assert_string_equal(p->result.approval_id, a.id);
}

static void the_time_ends(void **state)
{
	struct place *p = *state;

	/* A busy machine may need longer than that to ask at all. */
	for (int64_t ms = 50; ms <= 5000 && p->asked == 0; ms *= 10) {
		p->ended = 0;
		run(p, (struct request){.can_ask = true, .approval_timeout_ms = ms});
	}
	assert_true(p->asked == 1 && p->ended == 1 && !was_made(p));
	assert_non_null(strstr(p->result.reason, "in time"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_job_goes_on_when_its_door_says_yes),
		TEST(a_job_ends_when_its_door_says_no),
		TEST(a_door_that_gives_up_leaves_the_question),
		TEST(a_job_that_is_stopped_while_it_waits_ends),
		TEST(an_owner_may_leave_while_it_waits),
		TEST(a_job_hears_of_an_answer_from_elsewhere),
		TEST(without_a_person_it_ends_at_once_and_a_repetition_finds_the_answer),
		TEST(the_time_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
