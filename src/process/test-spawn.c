#include "base/test-support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "process/spawn.h"

static const char *const no_env[] = {NULL};
static const char *const shell[] = {"/bin/sh", NULL};

static struct process *start(struct process_command *c)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct process *p = NULL;

	if (c->stdin_fd == 0)
		c->stdin_fd = null;
	if (!c->cwd)
		c->cwd = "/";
	if (!c->envp)
		c->envp = no_env;
	assert_int_equal(process_spawn(c, &p, NULL), 0);
	return p;
}

static struct process *start_shell(const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct process_command c = {.paths = shell, .argv = argv};

	return start(&c);
}

static struct init_message expect_message(struct process *p, enum init_event event)
{
	struct init_message m;

	test_wait_readable(p->socket);
	assert_int_equal(process_receive(p, &m), 1);
	assert_int_equal(m.event, event);
	return m;
}

/* Nothing may follow the farewell; init ends well and is reaped. */
static struct init_message expect_gone(struct process *p)
{
	struct init_message m = expect_message(p, INIT_GONE), none;
	int status;

	test_wait_readable(p->socket);
	assert_int_equal(process_receive(p, &none), -EPIPE);
	assert_int_equal(waitpid(p->init_pid, &status, 0), p->init_pid);
	assert_int_equal(status, 0);
	return m;
}

/* All that a stream holds, to its end. */
static void expect_output(struct process *p, int stream, const char *text)
{
	scoped(buffer_donep) struct buffer b = {0};
	int fd = p->output[stream];

	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	do
		test_wait_readable(fd);
	while (fd_read_all(fd, &b) == -EAGAIN);
	assert_string_equal(buffer_str(&b), text);
}

/* Reads the first line and leaves the rest: a message from the command. */
static void expect_line(struct process *p, const char *line)
{
	char text[64];
	size_t n = 0;

	do {
		test_wait_readable(p->output[0]);
		assert_int_equal(read(p->output[0], text + n, 1), 1);
	} while (text[n++] != '\n');
	text[n - 1] = '\0';
	if (line)
		assert_string_equal(text, line);
}

/* Runs a script to its end and compares what it says. */
static void expect_script(const char *script, const char *output)
{
	scoped(process_freep) struct process *p = start_shell(script);

	expect_message(p, INIT_STARTED);
	assert_int_equal(expect_message(p, INIT_EXITED).status, 0);
	expect_gone(p);
	expect_output(p, 0, output);
	expect_output(p, 1, "");
}

static void a_command_is_started_exits_and_leaves_nothing(void **state)
{
	scoped(process_freep) struct process *p = start_shell("exit 7");
	struct init_message m = expect_message(p, INIT_STARTED);

	assert_true(m.pid > 1);
	m = expect_message(p, INIT_EXITED);
	assert_true(WIFEXITED(m.status));
	assert_int_equal(WEXITSTATUS(m.status), 7);
	assert_int_equal(m.leftover, 0);
	m = expect_gone(p);
	assert_int_equal(m.killed, 0);
	assert_int_equal(m.survivors, 0);
	assert_true(m.max_rss_kb > 0);
}

static void a_command_that_dies_of_a_signal_says_which(void **state)
{
	scoped(process_freep) struct process *p = start_shell("kill -SEGV $$");
	struct init_message m;

	expect_message(p, INIT_STARTED);
	m = expect_message(p, INIT_EXITED);
	assert_true(WIFSIGNALED(m.status));
	assert_int_equal(WTERMSIG(m.status), SIGSEGV);
	expect_gone(p);
}

static void streams_are_separate(void **state)
{
	scoped(process_freep) struct process *p = start_shell("echo out; echo err >&2");

	expect_output(p, 0, "out\n");
	expect_output(p, 1, "err\n");
	expect_message(p, INIT_STARTED);
	expect_message(p, INIT_EXITED);
	expect_gone(p);
}

static void merged_streams_keep_the_order_of_writes(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", NULL};
	struct process_command c = {.paths = shell, .argv = argv, .merged = true};
	scoped(process_freep) struct process *p = start(&c);

	assert_int_equal(p->output[1], -1);
	expect_output(p, 0, "1\n2\n3\n4\n");
	expect_message(p, INIT_STARTED);
	expect_message(p, INIT_EXITED);
	expect_gone(p);
}

static void the_command_gets_input_directory_and_environment_and_nothing_else(void **state)
{
	const char *const argv[] = {
		"sh", "-c", "cat; pwd; tr \"\\\\0\" \"\\\\n\" </proc/$$/environ; ls /proc/self/fd",
		NULL};
	const char *const env[] = {"PATH=/bin:/usr/bin", "A=b", NULL};
	struct process_command c = {.paths = shell, .argv = argv, .envp = env, .cwd = "/proc"};
	scoped(process_freep) struct process *p = NULL;
	scoped(fd_closep) int leak = open("/dev/null", O_RDONLY); /* inherited by mistake */
	int ends[2];

	assert_true(leak >= 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "input\n", 6), 6);
	c.stdin_fd = ends[0];
	p = start(&c);
	close(ends[0]);
	close(ends[1]);
	/* The 3 is the directory that ls reads. */
	expect_output(p, 0, "input\n/proc\nPATH=/bin:/usr/bin\nA=b\n0\n1\n2\n3\n");
	expect_message(p, INIT_STARTED);
	expect_message(p, INIT_EXITED);
	expect_gone(p);
}

static void signals_session_and_privileges_are_reset(void **state)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigaction(SIGPIPE, &ignore, &before);
	expect_script("/bin/grep -E '^(SigBlk|SigIgn|NoNewPrivs):' /proc/self/status",
	              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nNoNewPrivs:\t1\n");
	sigaction(SIGPIPE, &before, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	expect_script("read -r a b c parent group session rest </proc/$$/stat;"
	              "test $session = $$ && test $group = $$ && echo own",
	              "own\n");
}

static void limits_hold_for_the_command(void **state)
{
	const char *const argv[] = {"sh", "-c", "ulimit -n; ulimit -c", NULL};
	struct process_command c = {.paths = shell,
	                            .argv = argv,
	                            .limits = {{RLIMIT_NOFILE, {50, 50}}, {RLIMIT_CORE, {0, 0}}},
	                            .limit_count = 2};
	scoped(process_freep) struct process *p = start(&c);

	expect_output(p, 0, "50\n0\n");
	expect_message(p, INIT_STARTED);
	expect_message(p, INIT_EXITED);
	expect_gone(p);
}

static void expect_failure(struct process_command *c, enum child_step step, int sys)
{
	static const char *const argv[] = {"x", NULL};
	scoped(process_freep) struct process *p = NULL;
	struct init_message m;

	c->argv = argv;
	p = start(c);
	m = expect_message(p, INIT_FAILED);
	assert_int_equal(m.step, step);
	assert_int_equal(m.sys, sys);
	expect_message(p, INIT_STARTED);
	assert_int_equal(WEXITSTATUS(expect_message(p, INIT_EXITED).status), 127);
	expect_gone(p);
	assert_non_null(process_step_text(step));
}

static void a_failed_start_tells_step_and_reason(void **state)
{
	static const char *const missing[] = {"/nonexistent/a", "/dev/null/b", NULL};
	static const char *const none[] = {NULL};
	static const char *const denied[] = {"/nonexistent/a", "/etc/passwd", "/nonexistent/b",
	                                     NULL};
	struct process_command c = {.paths = missing};

	expect_failure(&c, CHILD_EXEC, ENOENT);
	c.paths = none;
	expect_failure(&c, CHILD_EXEC, ENOENT);
	c.paths = denied;
	expect_failure(&c, CHILD_EXEC, EACCES);
	c = (struct process_command){.paths = shell, .cwd = "/nonexistent"};
	expect_failure(&c, CHILD_CWD, ENOENT);
	c = (struct process_command){
		.paths = shell, .limits = {{RLIMIT_NOFILE, {60, 50}}}, .limit_count = 1};
	expect_failure(&c, CHILD_LIMITS, EINVAL);
}

static void the_first_path_that_can_be_executed_wins(void **state)
{
	static const char *const paths[] = {"/nonexistent/sh", "/etc/passwd", "/bin/sh",
	                                    "/bin/false", NULL};
	const char *const argv[] = {"sh", "-c", "exit 3", NULL};
	struct process_command c = {.paths = paths, .argv = argv};
	scoped(process_freep) struct process *p = start(&c);

	expect_message(p, INIT_STARTED);
	assert_int_equal(WEXITSTATUS(expect_message(p, INIT_EXITED).status), 3);
	expect_gone(p);
}

static void a_polite_order_ends_a_tree_that_obeys(void **state)
{
	scoped(process_freep) struct process *p =
		start_shell("/bin/sleep 1000 & /bin/sleep 1000 & echo ready; wait");
	struct init_message m;

	expect_message(p, INIT_STARTED);
	expect_line(p, "ready");
	process_order(p, INIT_TERM);
	m = expect_message(p, INIT_EXITED);
	assert_int_equal(WTERMSIG(m.status), SIGTERM);
	assert_int_equal(expect_gone(p).killed, 0);
	expect_output(p, 0, "");
}

static void a_deaf_tree_is_killed_and_counted(void **state)
{
	scoped(process_freep) struct process *p =
		start_shell("trap '' TERM; /bin/sleep 1000 & /bin/sleep 1000 & echo ready; wait");
	struct init_message m;

	expect_message(p, INIT_STARTED);
	expect_line(p, "ready");
	process_order(p, INIT_TERM);
	process_order(p, INIT_KILL);
	m = expect_message(p, INIT_EXITED);
	assert_int_equal(WTERMSIG(m.status), SIGKILL);
	assert_int_equal(expect_gone(p).killed, 3);
	expect_output(p, 0, "");
}

static void a_daemon_outlives_its_command_but_not_the_order_to_kill(void **state)
{
	scoped(process_freep) struct process *p =
		start_shell("(/usr/bin/setsid /bin/sh -c 'echo daemon; exec /bin/sleep 1000' &)");
	struct init_message m;

	expect_message(p, INIT_STARTED);
	m = expect_message(p, INIT_EXITED);
	assert_int_equal(m.status, 0);
	assert_int_equal(m.leftover, 1);
	expect_line(p, "daemon");
	process_order(p, INIT_KILL);
	assert_int_equal(expect_gone(p).killed, 1);
	expect_output(p, 0, ""); /* it held the stream open, so its end is the daemon's end */
}

/* Freeing much memory takes many milliseconds, and init looks again meanwhile. */
static void what_takes_long_to_die_is_counted_once(void **state)
{
	const char *script = "exec /bin/dd if=/dev/zero bs=200M count=1 2>/dev/null";
	scoped(process_freep) struct process *p = start_shell(script);
	scoped(process_freep) struct process *second = NULL;

	expect_message(p, INIT_STARTED);
	test_wait_readable(p->output[0]); /* all of it is resident, and nobody reads */
	process_order(p, INIT_KILL);
	expect_message(p, INIT_EXITED);
	assert_int_equal(expect_gone(p).killed, 1);
	second = start_shell(script);
	test_wait_readable(second->output[0]);
	assert_int_equal(process_take_over(second, &(int){0}), 1);
}

static void the_tree_ends_when_its_keeper_is_gone(void **state)
{
	struct process *p = start_shell("echo ready; exec /bin/sleep 1000");
	struct process watch = {.output = {-1, -1}};
	pid_t init = p->init_pid;
	int status;

	expect_line(p, "ready");
	watch.output[0] = take_fd(&p->output[0]);
	process_free(p);
	expect_output(&watch, 0, "");
	assert_int_equal(waitpid(init, &status, 0), init);
	assert_int_equal(status, 0);
	close(watch.output[0]);
}

static void the_tree_is_taken_over_from_a_dead_init(void **state)
{
	scoped(process_freep) struct process *p = start_shell(
		"(/usr/bin/setsid /bin/sleep 1000 &); /bin/sleep 1000 & echo ready; wait");
	struct init_message m;

	expect_message(p, INIT_STARTED);
	expect_line(p, "ready");
	kill(p->init_pid, SIGKILL);
	test_wait_readable(p->socket);
	assert_int_equal(process_receive(p, &m), -EPIPE);
	assert_in_range(process_take_over(p, &(int){0}), 2,
	                3); /* setsid may fork once more, or not */
	expect_output(p, 0, "");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void an_init_that_does_not_answer_is_ended_too(void **state)
{
	scoped(process_freep) struct process *p = start_shell("echo ready; exec /bin/sleep 1000");

	expect_line(p, "ready");
	kill(p->init_pid, SIGSTOP);
	assert_int_equal(process_take_over(p, &(int){0}), 1);
	expect_output(p, 0, "");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void no_descriptor_stays_behind(void **state)
{
	int before = test_open_fds();

	expect_script("echo x", "x\n");
	assert_int_equal(test_open_fds(), before);
	assert_null(process_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_started_exits_and_leaves_nothing),
		cmocka_unit_test(a_command_that_dies_of_a_signal_says_which),
		cmocka_unit_test(streams_are_separate),
		cmocka_unit_test(merged_streams_keep_the_order_of_writes),
		cmocka_unit_test(the_command_gets_input_directory_and_environment_and_nothing_else),
		cmocka_unit_test(signals_session_and_privileges_are_reset),
		cmocka_unit_test(limits_hold_for_the_command),
		cmocka_unit_test(a_failed_start_tells_step_and_reason),
		cmocka_unit_test(the_first_path_that_can_be_executed_wins),
		cmocka_unit_test(a_polite_order_ends_a_tree_that_obeys),
		cmocka_unit_test(a_deaf_tree_is_killed_and_counted),
		cmocka_unit_test(a_daemon_outlives_its_command_but_not_the_order_to_kill),
		cmocka_unit_test(what_takes_long_to_die_is_counted_once),
		cmocka_unit_test(the_tree_ends_when_its_keeper_is_gone),
		cmocka_unit_test(the_tree_is_taken_over_from_a_dead_init),
		cmocka_unit_test(an_init_that_does_not_answer_is_ended_too),
		cmocka_unit_test(no_descriptor_stays_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
