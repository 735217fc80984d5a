/*
 * Keepers that make the box of a command before they have it. Where the kernel gives no namespaces
 * the same commands run, in a weaker box that is made when the order has come.
 */
#include "base/test-support.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/error.h"
#include "base/fd.h"
#include "profile/profile.h"
#include "launch/ahead.h"

struct place {
	char dir[64];
	char workspace[80], state[80]; /* beside each other: no workspace lies in the state */
	struct store store;
	struct profile *profile;
	struct keeper_ahead wanted;
};

static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/home/someone", NULL};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	scoped(fd_closep) int workspace = -1;
	struct profile_request rq;
	char buffer[PATH_MAX];

	assert_non_null(p);
	test_directory_make(p->dir);
	snprintf(p->workspace, sizeof(p->workspace), "%s/work", p->dir);
	snprintf(p->state, sizeof(p->state), "%s/state", p->dir);
	assert_int_equal(mkdir(p->state, 0700), 0);
	assert_int_equal(mkdir(p->workspace, 0755), 0);
	setenv("NACRE_STATE_DIR", p->state, 1);
	store_open(&p->store);
	workspace = open(p->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.system_dir = rq.user_dir = NULL;
	rq.workspace_fd = workspace;
	assert_int_equal(profile_load(&rq, &p->profile, NULL), 0);
	p->wanted = (struct keeper_ahead){.profile = p->profile,
	                                  .workspace = p->workspace,
	                                  .root = p->workspace,
	                                  .state = p->state,
	                                  .envp = env};
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	profile_free(p->profile);
	store_done(&p->store);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static struct keeper_order order_of(const struct place *p, const char *const *argv)
{
	return (struct keeper_order){.command = "test",
	                             .argv = argv,
	                             .envp = env,
	                             .cwd = p->workspace,
	                             .timeout_ms = TEST_PATIENCE_MS,
	                             .grace_ms = 100,
	                             .spool_cap = 1 << 20,
	                             .kept = {.head = 1000, .tail = 1000},
	                             .request = {.argv = argv,
	                                         .workspace = p->workspace,
	                                         .root = p->workspace,
	                                         .cwd = ".",
	                                         .state = p->state}};
}

static struct task *run(struct place *p, struct ahead *a, struct keeper_order *o)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct task *t = NULL;
	enum task_event e;

	assert_int_equal(ahead_start(a, &p->store, o, null, &t, NULL), 0);
	do {
		test_wait_readable(t->control);
		e = task_receive(t);
	} while (e == TASK_NOTHING || e == TASK_OUTPUT);
	assert_int_equal(e, TASK_ENDED);
	return t;
}

static void expect_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

static void the_command_runs_in_the_box_that_was_made_before(void **state)
{
	static const char *const argv[] = {"sh", "-c", "cat /proc/1/comm; exit 3", NULL};
	struct place *p = *state;
	struct ahead *a = ahead_new(&p->wanted);
	struct keeper_order o = order_of(p, argv);
	struct task *t = run(p, a, &o);

	assert_int_equal(t->report.end, KEEPER_END_EXITED);
	assert_int_equal(WEXITSTATUS(t->report.status), 3);
	if (t->report.sandbox.tier == SANDBOX_TIER_STRICT) {
		assert_int_equal(t->captures[0].head_len, strlen("nacre-init\n"));
		assert_memory_equal(t->captures[0].data, "nacre-init\n", strlen("nacre-init\n"));
	}
	task_done(t, &p->store, false);
	ahead_free(a);
	expect_no_child();
}

/* The keeper decides once more, whatever it was forked from. */
static void what_may_not_run_does_not(void **state)
{
	static const char *const argv[] = {"rm", "-rf", "/", NULL};
	struct place *p = *state;
	struct ahead *a = ahead_new(&p->wanted);
	struct keeper_order o = order_of(p, argv);
	struct task *t = run(p, a, &o);

	assert_int_equal(t->report.end, KEEPER_END_REFUSED);
	task_done(t, &p->store, false);
	ahead_free(a);
	expect_no_child();
}

static void a_box_for_something_else_is_not_used(void **state)
{
	static const char *const argv[] = {"true", NULL};
	struct place *p = *state;
	struct keeper_order o = order_of(p, argv);
	struct ahead *a;
	struct task *t;

	p->wanted.workspace = "/tmp";
	a = ahead_new(&p->wanted);
	t = run(p, a, &o);
	assert_int_equal(t->report.end, KEEPER_END_FAILED);
	assert_non_null(strstr(t->report.why, "not that of the order"));
	task_done(t, &p->store, false);
	ahead_free(a);
	expect_no_child();
}

static void without_an_order_nothing_is_left(void **state)
{
	struct place *p = *state;
	int before = test_open_fds();
	struct ahead *a = ahead_new(&p->wanted);

	assert_non_null(a);
	ahead_drop(a);
	ahead_drop(a);
	ahead_free(a);
	expect_no_child();
	assert_int_equal(test_open_fds(), before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_command_runs_in_the_box_that_was_made_before),
		TEST(what_may_not_run_does_not),
		TEST(a_box_for_something_else_is_not_used),
		TEST(without_an_order_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
