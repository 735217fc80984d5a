#include "base/test-support.h"
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "container/tool.h"

static const char *const no_variables[] = {"PATH=/usr/bin:/bin", NULL};

static int run(const char *script, int64_t timeout_ms, struct buffer *out, struct buffer *words)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct tool_command c = {
		.argv = argv, .envp = no_variables, .timeout_ms = timeout_ms};
	int status = -1, r = tool_run(&c, out, words, &status, NULL);

	return r < 0 ? r : status;
}

static void both_streams_and_the_status_come_back(void **state)
{
	scoped(buffer_donep) struct buffer out = {.max = 100};
	scoped(buffer_donep) struct buffer words = {.max = 100};
	int status = run("echo one; echo two >&2; read x; exit 7", TEST_PATIENCE_MS, &out, &words);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_string_equal(buffer_str(&out), "one\n");
	assert_string_equal(buffer_str(&words), "two\n");
}

static void what_does_not_fit_is_let_go(void **state)
{
	scoped(buffer_donep) struct buffer out = {.max = 1000};
	int before = test_open_fds();

	assert_int_equal(run("yes | head -c 300000", TEST_PATIENCE_MS, &out, NULL), 0);
	assert_in_range(out.len, 0, 1000);
	assert_int_equal(test_open_fds(), before);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	const struct tool_command c = {.argv = argv, .envp = no_variables, .timeout_ms = 1000};
	struct error err = {0};
	int status;

	assert_int_equal(tool_run(&c, NULL, NULL, &status, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no-such-program-here"));
}

static void the_time_is_bounded(void **state)
{
	int64_t begun = clock_now_ms();

	assert_int_equal(run("exec sleep 100", 100, NULL, NULL), -ETIMEDOUT);
	assert_in_range(clock_now_ms() - begun, 90, 10000);
}

static bool is_over(void *owner)
{
	char byte;

	return read(*(int *)owner, &byte, 1) == 1;
}

static void somebody_beside_can_end_it(void **state)
{
	const char *const argv[] = {"sleep", "100", NULL};
	struct docker_watch watch = {.is_over = is_over};
	const struct tool_command c = {.argv = argv,
	                               .envp = no_variables,
	                               .timeout_ms = TEST_PATIENCE_MS,
	                               .watch = &watch};
	int pair[2], status;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	watch.fd = pair[0];
	watch.owner = &pair[0];
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(tool_run(&c, NULL, NULL, &status, NULL), -ECANCELED);
	assert_int_equal(docker_watch_pause(&watch, 20), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(docker_watch_pause(&watch, TEST_PATIENCE_MS), -ECANCELED);
	close(pair[0]);
	close(pair[1]);
}

/* Whoever is started apart falls to the next subreaper, which is this test. */
static void a_program_apart_tells_its_end_and_has_nothing_of_ours(void **state)
{
	static const char script[] = "ls /proc/self/fd | wc -l; exit 3";
	const char *const argv[] = {"sh", "-c", script, NULL};
	char path[] = "/tmp/nacre-tool-XXXXXX", text[64];
	scoped(fd_closep) int log = mkostemp(path, O_CLOEXEC);
	scoped(fd_closep) int held = open("/dev/null", O_RDONLY); /* not close-on-exec */
	int end = -1, status;
	ssize_t n;

	assert_true(held >= 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(tool_start_apart(argv, no_variables, log, &end, NULL), 0);
	test_wait_readable(end);
	assert_int_equal(read(end, &status, sizeof(status)), sizeof(status));
	close(end);
	assert_int_equal(WEXITSTATUS(status), 3);
	n = pread(log, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(strtol(text, NULL, 10), 4); /* the streams, and the directory itself */
	unlink(path);
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void the_last_line_is_fit_for_a_message(void **state)
{
	char line[12];

	tool_last_line("one\ntwo\n\n", line, sizeof(line));
	assert_string_equal(line, "two");
	tool_last_line("a\x1b[31mred", line, sizeof(line));
	assert_string_equal(line, "a?[31mred");
	tool_last_line("0123456789abcdef", line, sizeof(line));
	assert_string_equal(line, "0123456789a");
	tool_last_line("\n \n", line, sizeof(line));
	assert_string_equal(line, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_streams_and_the_status_come_back),
		cmocka_unit_test(what_does_not_fit_is_let_go),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error),
		cmocka_unit_test(the_time_is_bounded),
		cmocka_unit_test(somebody_beside_can_end_it),
		cmocka_unit_test(a_program_apart_tells_its_end_and_has_nothing_of_ours),
		cmocka_unit_test(the_last_line_is_fit_for_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
