#include "engine/test-engine.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "engine/job.h"
#include "engine/result.h"

/* An engine with a state directory of its own, and a workspace beside it. */
struct place {
	char dir[64], workspace[80];
	struct engine engine;
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", "SECRET_TOKEN=x", NULL};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_engine_make(&p->engine, p->dir, p->workspace, environment);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	test_engine_remove(&p->engine, p->dir);
	free(p);
	return 0;
}

struct awaited {
	struct loop *loop;
	struct result *result;
};

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	struct awaited *a = owner;

	*a->result = *r;
	r->views[0] = r->views[1] = (struct view){0}; /* the test's now */
	loop_stop(a->loop);
	return true;
}

/* Runs the request to its end; the caller releases the result. */
static void run(struct place *p, const struct request *rq, struct result *ret_result)
{
	static const struct job_ops ops = {.ended = on_ended};
	struct awaited a = {.result = ret_result};
	struct job *job = NULL;

	assert_int_equal(loop_new(&a.loop, NULL), 0);
	assert_int_equal(job_start(&p->engine, a.loop, rq, NULL, &ops, &a, &job, NULL), 0);
	assert_int_equal(loop_run(a.loop), 0);
	loop_free(a.loop);
}

static struct request line(struct place *p, const char *command)
{
	return (struct request){.command = command, .input_fd = -1};
}

static void expect_text(const struct result *r, int stream, const char *text)
{
	assert_non_null(r->views[stream].text);
	assert_string_equal(r->views[stream].text, text);
}

static void words_are_executed_directly(void **state)
{
	static const char *const argv[] = {"echo", "$HOME;", "a  b", NULL};
	struct request rq = {.argv = argv, .input_fd = -1};
	scoped(result_donep) struct result r = {0};

	run(*state, &rq, &r);
	assert_true(r.success && r.ran);
	assert_int_equal(r.exit_code, 0);
	expect_text(&r, 0, "$HOME; a  b\n");
	expect_text(&r, 1, "");
	assert_string_equal(r.reason, "");
}

static void a_line_is_run_by_a_shell_without_secrets(void **state)
{
	struct request rq = line(*state, "cd /; echo $((1+2)) \"[$SECRET_TOKEN]\" >&2; exit 5");
	scoped(result_donep) struct result r = {0};

	run(*state, &rq, &r);
	assert_false(r.success);
	assert_int_equal(r.exit_code, 5);
	expect_text(&r, 1, "3 []\n");
}

static void the_working_directory_lies_in_the_workspace(void **state)
{
	struct place *p = *state;
	struct request rq = line(p, "pwd; echo $PWD");
	char sub[120], expected[300];

	snprintf(sub, sizeof(sub), "%s/sub", p->workspace);
	assert_int_equal(mkdir(sub, 0700), 0);
	snprintf(expected, sizeof(expected), "%s\n%s\n", sub, sub);
	for (int i = 0; i < 3; i++) {
		scoped(result_donep) struct result r = {0};

		rq.cwd = (const char *const[]){"sub", sub, "sub/../sub/."}[i];
		run(p, &rq, &r);
		expect_text(&r, 0, expected);
	}
}

static void a_directory_outside_of_the_workspace_is_a_refusal(void **state)
{
	struct place *p = *state;
	struct request rq = line(p, "echo ran");
	char link[120], beside[120];

	snprintf(link, sizeof(link), "%s/link", p->workspace);
	snprintf(beside, sizeof(beside), "%s-beside", p->workspace);
	assert_int_equal(symlink("/", link), 0);
	assert_int_equal(mkdir(beside, 0700), 0);
	for (int i = 0; i < 6; i++) {
		scoped(result_donep) struct result r = {0};

		rq.cwd = (const char *const[]){"..", "/", "link", "link/tmp", beside, "missing"}[i];
		run(p, &rq, &r);
		assert_false(r.ran);
		assert_int_equal(r.exit_code, EXIT_NACRE_FAILED);
		assert_non_null(strstr(r.reason, "working directory"));
		assert_null(r.views[0].text);
	}
	rq.cwd = NULL;
	rq.workspace = "/nonexistent";
	{
		scoped(result_donep) struct result r = {0};

		run(p, &rq, &r);
		assert_non_null(strstr(r.reason, "workspace '/nonexistent'"));
	}
}

static void input_comes_from_bytes_a_descriptor_or_nowhere(void **state)
{
	struct place *p = *state;
	struct request rq = line(p, "cat");
	scoped(result_donep) struct result empty = {0};
	scoped(result_donep) struct result bytes = {0};
	scoped(result_donep) struct result file = {0};
	int ends[2];

	run(p, &rq, &empty);
	expect_text(&empty, 0, "");
	rq.input = "given";
	rq.input_len = 5;
	run(p, &rq, &bytes);
	expect_text(&bytes, 0, "given");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "piped", 5), 5);
	close(ends[1]);
	rq.input = NULL;
	rq.input_fd = ends[0];
	run(p, &rq, &file);
	expect_text(&file, 0, "piped");
	assert_int_equal(fcntl(ends[0], F_GETFD), FD_CLOEXEC); /* stays the caller's */
	close(ends[0]);
}

static void failed_starts_have_the_exit_codes_of_env(void **state)
{
	static const struct {
		const char *const argv[2];
		int code;
		const char *reason;
	} cases[] = {{{"no-such-program"}, EXIT_NOT_FOUND, "no-such-program: command not found"},
	             {{"/no/such/file"}, EXIT_NOT_FOUND, "no such file"},
	             {{"/etc/passwd"}, EXIT_NOT_EXECUTABLE, "cannot be executed"},
	             {{"/"}, EXIT_NOT_EXECUTABLE, "cannot be executed"},
	             {{""}, EXIT_NOT_FOUND, "not found"}};

	for (size_t i = 0; i < array_size(cases); i++) {
		struct request rq = {.argv = cases[i].argv, .input_fd = -1};
		scoped(result_donep) struct result r = {0};

		run(*state, &rq, &r);
		assert_false(r.ran);
		assert_int_equal(r.exit_code, cases[i].code);
		if (!strstr(r.reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].argv[0], r.reason);
	}
}

static void nothing_to_run_and_bad_variables_are_refusals(void **state)
{
	static const char *const empty[] = {NULL}, *const bad[] = {"LD_PRELOAD=/x", NULL};
	struct request rqs[3] = {{.input_fd = -1}, {.argv = empty}, line(*state, "true")};

	rqs[2].env = bad;
	for (int i = 0; i < 3; i++) {
		scoped(result_donep) struct result r = {0};

		run(*state, &rqs[i], &r);
		assert_false(r.ran || r.success);
		assert_int_equal(r.exit_code, EXIT_NACRE_FAILED);
		assert_true(r.reason[0]);
	}
}

static void signals_and_time_limits_are_told(void **state)
{
	struct request rq = line(*state, "kill -KILL $$");
	scoped(result_donep) struct result killed = {0};
	scoped(result_donep) struct result late = {0};

	run(*state, &rq, &killed);
	assert_int_equal(killed.signal, SIGKILL);
	assert_int_equal(killed.exit_code, 128 + SIGKILL);
	assert_false(killed.timed_out);
	rq = line(*state, "echo before; sleep 1000");
	rq.timeout_ms = 100;
	/* How much it prints until then is a matter of the machine: it may need another try. */
	for (int turn = 0; turn < 50 && !(late.views[0].text && *late.views[0].text); turn++) {
		result_done(&late);
		run(*state, &rq, &late);
	}
	assert_true(late.timed_out);
	assert_int_equal(late.exit_code, EXIT_TIMED_OUT);
	assert_string_equal(late.reason, "timed out after 100ms");
	expect_text(&late, 0, "before\n");
}

static void a_time_limit_past_the_maximum_is_lowered_with_a_notice(void **state)
{
	struct request rq = line(*state, "true");
	scoped(result_donep) struct result r = {0};

	rq.timeout_ms = INT64_MAX;
	run(*state, &rq, &r);
	assert_true(r.success);
	assert_int_equal(r.notice_count, 1);
	assert_non_null(strstr(r.notices[0], "lowered to the maximum of 10m 0s"));
}

static void output_modes_choose_what_is_shown(void **state)
{
	struct request rq = line(*state, "echo 1; echo 2 >&2; echo 3");
	static const struct {
		enum output_mode mode;
		bool out, err;
	} cases[] = {{OUTPUT_SEPARATE, true, true},
	             {OUTPUT_MERGED, true, false},
	             {OUTPUT_STDOUT, true, false},
	             {OUTPUT_STDERR, false, true}};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(result_donep) struct result r = {0};

		rq.output_mode = cases[i].mode;
		rq.output_mode_given = true;
		run(*state, &rq, &r);
		assert_int_equal(result_shows(&r, 0), cases[i].out);
		assert_int_equal(result_shows(&r, 1), cases[i].err);
		expect_text(&r, 0, cases[i].mode == OUTPUT_MERGED ? "1\n2\n3\n" : "1\n3\n");
		assert_int_equal(r.output_kept, i > 1); /* what is not shown lies in a file */
	}
}

static void only_output_that_is_not_all_shown_is_kept(void **state)
{
	struct place *p = *state;
	struct request rq = line(p, "seq 20000");
	scoped(result_donep) struct result small = {0};
	scoped(result_donep) struct result large = {0};
	struct stat st;

	run(p, &rq, &large);
	assert_true(large.output_kept && large.views[0].truncated);
	assert_int_equal(stat(large.output_files[0], &st), 0);
	assert_int_equal(st.st_size, 108894);
	assert_int_equal(test_count_entries(p->engine.store.path), 1);
	rq = line(p, "echo small");
	run(p, &rq, &small);
	assert_false(small.output_kept);
	assert_int_equal(test_count_entries(p->engine.store.path), 1);
}

/* What is shown to people must not make what runs impossible. */
static void many_long_words_can_be_run(void **state)
{
	static char word[10000];
	const char *argv[66] = {"true"};
	struct request rq = {.argv = argv, .input_fd = -1};
	scoped(result_donep) struct result r = {0};

	memset(word, 'x', sizeof(word) - 1);
	for (int i = 1; i < 65; i++)
		argv[i] = word;
	run(*state, &rq, &r);
	assert_string_equal(r.reason, "");
	assert_true(r.success);
}

static void a_result_is_one_json_object(void **state)
{
	struct request rq = line(*state, "printf 'a\\303\\244\"'; kill -TERM $$");
	scoped(result_donep) struct result r = {0};
	scoped(buffer_donep) struct buffer b = {0};
	scoped(json_decrefp) json_t *root = NULL;

	run(*state, &rq, &r);
	assert_int_equal(result_write_json(&r, &b), 0);
	assert_null(strchr(buffer_str(&b), '\n'));
	root = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_true(json_is_false(json_object_get(root, "success")));
	assert_int_equal(json_integer_value(json_object_get(root, "exit_code")), 128 + SIGTERM);
	assert_string_equal(json_string_value(json_object_get(root, "signal")), "SIGTERM");
	assert_string_equal(json_string_value(json_object_get(root, "stdout")), "a\xc3\xa4\"");
	assert_int_equal(json_integer_value(json_object_get(root, "stdout_bytes")), 4);
	assert_true(json_is_null(json_object_get(root, "reason")));
	buffer_done(&b);
	b.max = 100;
	assert_int_equal(result_write_json(&r, &b), -E2BIG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(words_are_executed_directly),
		TEST(a_line_is_run_by_a_shell_without_secrets),
		TEST(the_working_directory_lies_in_the_workspace),
		TEST(a_directory_outside_of_the_workspace_is_a_refusal),
		TEST(input_comes_from_bytes_a_descriptor_or_nowhere),
		TEST(failed_starts_have_the_exit_codes_of_env),
		TEST(nothing_to_run_and_bad_variables_are_refusals),
		TEST(signals_and_time_limits_are_told),
		TEST(a_time_limit_past_the_maximum_is_lowered_with_a_notice),
		TEST(output_modes_choose_what_is_shown),
		TEST(only_output_that_is_not_all_shown_is_kept),
		TEST(many_long_words_can_be_run),
		TEST(a_result_is_one_json_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
