#include "base/test-packet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "launch/launcher.h"
#include "launch/task.h"

/* A store of its own; every test runs with keepers as children and through a launcher. */
struct place {
	char dir[64];
	char policy[80]; /* a profile without a box: what is tried here is the keeper's own work */
	struct store store;
	struct launcher launcher;
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_directory_make(p->dir);
	snprintf(p->policy, sizeof(p->policy), "%s/bare.yaml", p->dir);
	test_file_write(p->policy, "profile: bare\ninherits: bash\nsandbox: {mode: none}\n");
	setenv("NACRE_STATE_DIR", p->dir, 1);
	store_open(&p->store);
	assert_int_equal(launcher_start(&p->launcher, NULL), 0);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	launcher_done(&p->launcher);
	store_done(&p->store);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static struct keeper_order order_of(const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};

	return (struct keeper_order){.command = "test",
	                             .argv = argv,
	                             .envp = env,
	                             .cwd = "/",
	                             .timeout_ms = TEST_PATIENCE_MS,
	                             .grace_ms = 100,
	                             .spool_cap = 1 << 20,
	                             .kept = {.head = 1000, .tail = 1000}};
}

static void fill_request(struct place *p, struct keeper_order *o)
{
	o->request = (struct keeper_request){.policy_file = p->policy,
	                                     .argv = o->argv,
	                                     .workspace = "/",
	                                     .root = "/",
	                                     .cwd = ".",
	                                     .state = p->dir};
}

static struct task *start_order(struct place *p, bool launched, struct keeper_order *o)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct task *t = NULL;

	fill_request(p, o);

	assert_int_equal(task_start(&p->store, launched ? &p->launcher : NULL, o, null, &t, NULL),
	                 0);
	return t;
}

static struct task *start(struct place *p, bool launched, const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct keeper_order o = order_of(argv);

	o.follow = true;
	return start_order(p, launched, &o);
}

static enum task_event next_event(struct task *t)
{
	enum task_event e;

	do { /* the hello of a keeper that the launcher started is no event */
		test_wait_readable(t->control);
		e = task_receive(t);
	} while (e == TASK_NOTHING);
	return e;
}

static void expect_end(struct task *t, enum task_event end)
{
	enum task_event e;

	do
		e = next_event(t);
	while (e == TASK_OUTPUT);
	assert_int_equal(e, end);
}

static void expect_capture(struct task *t, int stream, const char *text)
{
	struct capture_snapshot *c = &t->captures[stream];

	assert_int_equal(c->head_len + c->tail_len, strlen(text));
	if (*text)
		assert_memory_equal(c->data, text, strlen(text));
}

static void expect_echo(struct place *p, bool launched)
{
	struct task *t = start(p, launched, "echo out; echo error >&2; exit 3");

	assert_int_equal(t->keeper == 0, launched);
	expect_end(t, TASK_ENDED);
	assert_false(t->lost);
	assert_int_equal(t->report.end, KEEPER_END_EXITED);
	assert_int_equal(WEXITSTATUS(t->report.status), 3);
	expect_capture(t, 0, "out\n");
	expect_capture(t, 1, "error\n");
	assert_int_equal(t->report.streams[0].bytes, 4);
	assert_int_equal(faccessat(task_dir(t), "state.json", F_OK, 0), 0);
	assert_int_equal(faccessat(task_dir(t), "out", F_OK, 0), 0);
	task_done(t, &p->store, false);
	assert_int_equal(test_count_entries(p->store.path), 0);
}

static void a_command_runs_and_reports(void **state)
{
	expect_echo(*state, false);
	expect_echo(*state, true);
}

static void output_is_announced_while_it_comes(void **state)
{
	for (int launched = 0; launched < 2; launched++) {
		struct place *p = *state;
		struct task *t = start(p, launched, "echo now; exec sleep 1000");
		char text[8];
		int fd;

		assert_int_equal(next_event(t), TASK_OUTPUT);
		fd = openat(task_dir(t), "out", O_RDONLY | O_CLOEXEC);
		assert_int_equal(read(fd, text, sizeof(text)), 4);
		close(fd);
		assert_int_equal(task_receive(t), TASK_NOTHING);
		task_stop(t, true);
		expect_end(t, TASK_ENDED);
		assert_int_equal(t->report.end, KEEPER_END_STOPPED);
		assert_int_equal(t->report.killed, 1);
		task_done(t, &p->store, false);
	}
}

static void a_stop_is_polite_first(void **state)
{
	static const char *const argv[] = {"sh", "-c",
	                                   "trap 'echo bye; exit 0' TERM; echo now; "
	                                   "while :; do sleep 0.01; done",
	                                   NULL};
	struct keeper_order o = order_of(argv);
	struct place *p = *state;
	struct task *t;

	o.follow = true;
	o.grace_ms = TEST_PATIENCE_MS; /* to say goodbye in, on a busy machine */
	t = start_order(p, true, &o);
	assert_int_equal(next_event(t), TASK_OUTPUT);
	task_stop(t, false);
	expect_end(t, TASK_ENDED);
	assert_int_equal(t->report.end, KEEPER_END_STOPPED);
	expect_capture(t, 0, "now\nbye\n");
	task_done(t, &p->store, false);
}

static void a_time_limit_ends_the_command(void **state)
{
	static const char *const argv[] = {"sleep", "1000", NULL};
	struct keeper_order o = order_of(argv);
	struct place *p = *state;
	struct task *t;

	o.timeout_ms = 50;
	t = start_order(p, true, &o);
	expect_end(t, TASK_ENDED);
	assert_int_equal(t->report.end, KEEPER_END_TIMEOUT);
	assert_int_equal(WTERMSIG(t->report.status), SIGTERM);
	assert_true(t->report.duration_ms >= 50);
	task_done(t, &p->store, false);
}

/* The directory in /proc of the process whose number the command has written. */
static int open_written_pid(struct task *t)
{
	scoped(fd_closep) int out = openat(task_dir(t), "out", O_RDONLY | O_CLOEXEC);
	char text[32] = "", name[64];
	int fd;

	assert_true(read(out, text, sizeof(text) - 1) > 1);
	snprintf(name, sizeof(name), "/proc/%.20s", text);
	*strchrnul(name, '\n') = '\0';
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void a_killed_keeper_is_a_lost_task_and_its_command_ends(void **state)
{
	struct place *p = *state;
	struct task *t = start(p, false, "echo $$; exec sleep 1000");
	scoped(fd_closep) int proc = -1;

	assert_int_equal(next_event(t), TASK_OUTPUT);
	proc = open_written_pid(t);
	task_kill_keeper(t);
	expect_end(t, TASK_LOST);
	assert_true(t->lost);
	task_done(t, &p->store, true);
	/* Its init notices and ends it, and is itself reaped here. */
	while (faccessat(proc, "stat", F_OK, 0) == 0 && waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(faccessat(proc, "stat", F_OK, 0), -1);
}

static void an_order_that_is_too_long_is_refused_and_leaves_nothing(void **state)
{
	struct place *p = *state;
	scoped(freep) char *word = calloc(1, ORDER_BYTES_MAX);
	const char *const argv[] = {"echo", memset(word, 'x', ORDER_BYTES_MAX - 1), NULL};
	struct keeper_order o = order_of(argv);
	struct task *t = NULL;
	struct error err;
	int before = test_open_fds();

	assert_int_equal(task_start(&p->store, NULL, &o, 0, &t, &err), -E2BIG);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_null(t);
	assert_int_equal(test_count_entries(p->store.path), 0);
	assert_int_equal(test_open_fds(), before);
}

/* The kernel takes no such words, so what is expected is an answer: it could not be executed. */
static void the_longest_order_reaches_its_keeper(void **state)
{
	struct place *p = *state;
	scoped(freep) char *word = calloc(1, ORDER_BYTES_MAX);
	const char *const argv[] = {"echo", memset(word, 'x', ORDER_BYTES_MAX - 1000), NULL};
	struct keeper_order o = order_of(argv);
	struct task *t = start_order(p, true, &o);

	expect_end(t, TASK_ENDED);
	assert_int_equal(t->report.end, KEEPER_END_FAILED);
	assert_int_equal(t->report.sys, E2BIG);
	task_done(t, &p->store, false);
}

static void without_a_store_all_stays_in_memory(void **state)
{
	struct place *p = *state;
	struct store none = {.tasks_fd = -1};
	static const char *const argv[] = {"echo", "kept", NULL};
	struct keeper_order o = order_of(argv);

	for (int launched = 0; launched < 2; launched++) {
		scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		struct task *t = NULL;

		fill_request(p, &o);
		o.task_id = NULL; /* that of the turn before was the task's, and is gone with it */
		assert_int_equal(
			task_start(&none, launched ? &p->launcher : NULL, &o, null, &t, NULL), 0);
		expect_end(t, TASK_ENDED);
		expect_capture(t, 0, "kept\n");
		task_done(t, &none, false);
	}
}

static void a_killed_launcher_is_replaced(void **state)
{
	struct place *p = *state;
	pid_t first = p->launcher.pid;

	kill(first, SIGKILL);
	test_wait_readable(p->launcher.pidfd);
	expect_echo(p, true);
	assert_int_not_equal(p->launcher.pid, first);
}

static void damaged_packets_do_not_disturb_the_launcher(void **state)
{
	static const uint32_t three = 3, many = UINT32_MAX;
	struct place *p = *state;
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t launcher = p->launcher.pid;
	char fds[64];
	int before;

	snprintf(fds, sizeof(fds), "/proc/%d/fd", (int)launcher);
	expect_echo(p, true); /* it has started by now */
	before = test_count_entries(fds);
	for (size_t count = 0; count <= 8; count++) {
		test_packet_send(p->launcher.socket, &many, sizeof(many), null, count);
		test_packet_send(p->launcher.socket, "x", 1, null, count);
		if (count != 3)
			test_packet_send(p->launcher.socket, &three, sizeof(three), null, count);
	}
	expect_echo(p, true);
	assert_int_equal(p->launcher.pid, launcher);
	/* After an answer it looks whether to keep a box, which takes it a moment: before, it may
	 * have had some more for that. Of the packets it would have kept dozens. */
	for (int i = 0; i < TEST_PATIENCE_MS && test_count_entries(fds) > before; i++)
		(void)poll(NULL, 0, 1);
	assert_in_range(test_count_entries(fds), 1, before);
}

static void tasks_leave_no_descriptor_behind(void **state)
{
	struct place *p = *state;
	int before = test_open_fds();

	expect_echo(p, false);
	expect_echo(p, true);
	assert_int_equal(test_open_fds(), before);
	task_done(NULL, &p->store, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_command_runs_and_reports),
		TEST(output_is_announced_while_it_comes),
		TEST(a_stop_is_polite_first),
		TEST(a_time_limit_ends_the_command),
		TEST(a_killed_keeper_is_a_lost_task_and_its_command_ends),
		TEST(an_order_that_is_too_long_is_refused_and_leaves_nothing),
		TEST(the_longest_order_reaches_its_keeper),
		TEST(without_a_store_all_stays_in_memory),
		TEST(a_killed_launcher_is_replaced),
		TEST(damaged_packets_do_not_disturb_the_launcher),
		TEST(tasks_leave_no_descriptor_behind),
	};

	/* The tree of a killed keeper falls to this process, which waits for its end. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
