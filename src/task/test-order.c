#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "task/order.h"

static const char *const some_argv[] = {"sh", "-c", "echo \"a b\"\n", "", NULL};
static const char *const some_env[] = {"PATH=/bin", "EMPTY=", NULL};

static struct keeper_order some_order(void)
{
	return (struct keeper_order){
		.request = {.argv = some_argv,
	                    .workspace = "/w",
	                    .root = "/w",
	                    .cwd = ".",
	                    .session = "s-1"},
		.task_id = "bash-0",
		.principal = "alice",
		.door = "http",
		.command = "echo",
		.description = "says something",
		.argv = some_argv,
		.envp = some_env,
		.cwd = "/tmp/with \xc3\xa4",
		.merged = true,
		.follow = false,
		.timeout_ms = 120000,
		.ask_ms = 300000,
		.idle_timeout_ms = 5000,
		.grace_ms = 2000,
		.spool_cap = (uint64_t)256 << 20,
		.max_processes = 1024,
		.kept = {.head = 1000, .tail = 2000},
	};
}

static void expect_strings(const char *const *actual, const char *const *expected)
{
	size_t i;

	for (i = 0; expected[i]; i++) {
		assert_non_null(actual[i]);
		assert_string_equal(actual[i], expected[i]);
	}
	assert_null(actual[i]);
}

/* Writes the order, reads it, and expects the same. */
static void expect_comes_back(const struct keeper_order *o)
{
	scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};
	scoped(arena_freep) struct arena *arena = arena_new(4 * ORDER_BYTES_MAX);
	struct keeper_order again;

	assert_int_equal(keeper_order_write(o, &text), 0);
	assert_int_equal(keeper_order_read(text.data, text.len, arena, &again, NULL), 0);
	buffer_done(&text); /* nothing of the order lives in the text */
	assert_string_equal(again.task_id, o->task_id);
	assert_string_equal(again.command, o->command);
	assert_string_equal(again.principal, o->principal);
	assert_string_equal(again.door, o->door);
	if (o->description)
		assert_string_equal(again.description, o->description);
	else
		assert_null(again.description);
	expect_strings(again.argv, o->argv);
	if (o->request.argv)
		expect_strings(again.request.argv, o->request.argv);
	expect_strings(again.envp, o->envp);
	assert_string_equal(again.cwd, o->cwd);
	assert_int_equal(again.merged, o->merged);
	assert_int_equal(again.follow, o->follow);
	assert_int_equal(again.background, o->background);
	assert_int_equal(again.timeout_lets_go, o->timeout_lets_go);
	assert_int_equal(again.timeout_ms, o->timeout_ms);
	assert_int_equal(again.ask_ms, o->ask_ms);
	assert_int_equal(again.idle_timeout_ms, o->idle_timeout_ms);
	assert_int_equal(again.grace_ms, o->grace_ms);
	if (o->request.session)
		assert_string_equal(again.request.session, o->request.session);
	assert_int_equal(again.spool_cap, o->spool_cap);
	assert_int_equal(again.max_processes, o->max_processes);
	assert_int_equal(again.kept.head, o->kept.head);
	assert_int_equal(again.kept.tail, o->kept.tail);
	assert_int_equal(again.terminal.rows, o->terminal.rows);
	assert_int_equal(again.terminal.cols, o->terminal.cols);
	assert_int_equal(again.interactive, o->interactive);
}

static void a_terminal_comes_back_with_its_size(void **state)
{
	struct keeper_order o = some_order();

	o.terminal = (struct pty_size){.rows = 24, .cols = PTY_SIDE_MAX};
	o.interactive = true;
	expect_comes_back(&o);
}

static void an_impossible_terminal_is_refused(void **state)
{
	scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};
	scoped(arena_freep) struct arena *arena = arena_new(4 * ORDER_BYTES_MAX);
	struct keeper_order o = some_order(), again;

	o.terminal = (struct pty_size){.rows = 24, .cols = PTY_SIDE_MAX + 1};
	assert_int_equal(keeper_order_write(&o, &text), 0);
	assert_int_equal(keeper_order_read(text.data, text.len, arena, &again, NULL), -EINVAL);
}

static void the_raw_request_comes_back_as_it_was(void **state)
{
	scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct keeper_order o = some_order(), again;

	o.request = (struct keeper_request){.profile = "bash",
	                                    .agent = "coder",
	                                    .policy_file = "/etc/p.yaml",
	                                    .command = "echo \xff; ls",
	                                    .env = some_env,
	                                    .workspace = "/w",
	                                    .root = "/w",
	                                    .cwd = "sub",
	                                    .force = true};
	assert_int_equal(keeper_order_write(&o, &text), 0);
	assert_int_equal(keeper_order_read(text.data, text.len, arena, &again, NULL), 0);
	assert_string_equal(again.request.profile, "bash");
	assert_string_equal(again.request.agent, "coder");
	assert_string_equal(again.request.policy_file, "/etc/p.yaml");
	assert_string_equal(again.request.command, "echo \xff; ls");
	assert_null(again.request.argv);
	expect_strings(again.request.env, some_env);
	assert_string_equal(again.request.workspace, "/w");
	assert_string_equal(again.request.cwd, "sub");
	assert_true(again.request.force);
}

static void an_order_without_a_request_is_refused(void **state)
{
	static const struct keeper_request bad[] = {
		{.argv = some_argv, .cwd = "."},
		{.argv = some_argv, .workspace = "/w", .root = "/w"},
		{.argv = some_env, .command = "x", .workspace = "/w", .root = "/w", .cwd = "."},
	};

	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct keeper_order o = some_order(), again;

		o.request = bad[i];
		assert_int_equal(keeper_order_write(&o, &text), 0);
		assert_int_equal(keeper_order_read(text.data, text.len, arena, &again, NULL),
		                 -EINVAL);
	}
}

static void an_order_comes_back_as_it_was(void **state)
{
	struct keeper_order o = some_order();

	expect_comes_back(&o);
	o.description = NULL;
	o.merged = false;
	o.follow = o.background = o.timeout_lets_go = true;
	o.max_processes = 0;
	o.timeout_ms = INT64_MAX;
	expect_comes_back(&o);
}

static void expect_bytes(const struct keeper_order *o, const char *expected)
{
	scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};

	assert_int_equal(keeper_order_write(o, &text), 0);
	assert_string_equal(buffer_str(&text), expected);
}

/* The order of the members counts: lists read only the beginning (find.c). */
static void a_full_order_is_these_bytes(void **state)
{
	static const char *const words[] = {"a", "\xff\x01", NULL};
	const struct keeper_order o = {
		.request = {.profile = "bash",
	                    .agent = "coder",
	                    .policy_file = "/etc/p.yaml",
	                    .argv = words,
	                    .env = some_env,
	                    .workspace = "/r/w",
	                    .root = "/r\xfe",
	                    .cwd = "sub",
	                    .state = "/s",
	                    .session = "s-1",
	                    .approval = "a-1",
	                    .force = true},
		.task_id = "bash-0",
		.principal = "alice",
		.door = "http",
		.base = "/",
		.command = "e\xff",
		.description = "says \"something\"",
		.argv = some_argv,
		.envp = some_env,
		.cwd = "/tmp/\xc3\xa4",
		.terminal = {.rows = 24, .cols = 80},
		.interactive = true,
		.merged = true,
		.background = true,
		.timeout_lets_go = true,
		.follow = true,
		.findable = true,
		.timeout_ms = INT64_MAX,
		.ask_ms = 7,
		.idle_timeout_ms = 5000,
		.grace_ms = 2000,
		.spool_cap = 1 << 20,
		.max_processes = 1024,
		.patience = 999,
		.kept = {.head = 1000, .tail = 2000},
	};

	expect_bytes(&o, "{\"task_id\":\"bash-0\",\"principal\":\"alice\",\"door\":\"http\","
	                 "\"root\":{\"hex\":\"2f72fe\"},\"base\":\"/\",\"workspace\":\"/r/w\","
	                 "\"command\":\"e�\",\"description\":\"says \\\"something\\\"\","
	                 "\"cwd\":\"/tmp/ä\",\"merged\":true,\"follow\":true,\"findable\":true,"
	                 "\"interactive\":true,\"background\":true,\"timeout_lets_go\":true,"
	                 "\"timeout_ms\":9223372036854775807,\"ask_ms\":7,\"idle_timeout_ms\":5000,"
	                 "\"grace_ms\":2000,"
	                 "\"spool_cap\":1048576,\"max_processes\":1024,\"patience\":999,"
	                 "\"head_bytes\":1000,\"tail_bytes\":2000,\"rows\":24,\"cols\":80,"
	                 "\"argv\":[\"sh\",\"-c\",\"echo \\\"a b\\\"\\n\",\"\"],"
	                 "\"env\":[\"PATH=/bin\",\"EMPTY=\"],\"request\":{\"profile\":\"bash\","
	                 "\"agent\":\"coder\",\"policy_file\":\"/etc/p.yaml\","
	                 "\"workspace\":\"/r/w\",\"state\":\"/s\",\"cwd\":\"sub\","
	                 "\"session\":\"s-1\",\"approval\":\"a-1\","
	                 "\"argv\":[\"a\",{\"hex\":\"ff01\"}],\"env\":[\"PATH=/bin\",\"EMPTY=\"],"
	                 "\"force\":true}}\n");
}

/* A list that is asked for and executed, and a directory that is root and workspace, are written
 * once. */
static void a_minimal_order_is_these_bytes(void **state)
{
	static const char *const none[] = {NULL};
	const struct keeper_order o = {
		.request = {.argv = some_argv, .workspace = "/w", .root = "/w", .cwd = "."},
		.task_id = "bash-0",
		.base = "/w",
		.command = "x",
		.argv = some_argv,
		.envp = none,
		.cwd = "/",
	};

	expect_bytes(&o, "{\"task_id\":\"bash-0\",\"root\":\"/w\",\"command\":\"x\",\"cwd\":\"/\","
	                 "\"merged\":false,\"follow\":false,\"background\":false,"
	                 "\"timeout_lets_go\":false,\"timeout_ms\":0,\"ask_ms\":0,\"idle_timeout_"
	                 "ms\":0,\"grace_ms\":0,"
	                 "\"spool_cap\":0,\"max_processes\":0,\"patience\":0,\"head_bytes\":0,"
	                 "\"tail_bytes\":0,\"argv\":[\"sh\",\"-c\",\"echo \\\"a b\\\"\\n\",\"\"],"
	                 "\"env\":[],\"request\":{\"workspace\":\"/w\",\"cwd\":\".\","
	                 "\"force\":false}}\n");
}

static void an_empty_environment_is_one(void **state)
{
	static const char *const none[] = {NULL};
	struct keeper_order o = some_order();

	o.envp = none;
	expect_comes_back(&o);
}

/* A string of up to 20 bytes that are not NUL; every second one is mostly not UTF-8. */
static char *random_string(struct arena *arena, uint64_t *seed)
{
	size_t n = test_random(seed) % 20;
	bool text = test_random(seed) & 1;
	char *s = arena_alloc(arena, n + 1);

	for (size_t i = 0; i < n; i++)
		s[i] = (char)(text ? ' ' + test_random(seed) % 95 : 1 + test_random(seed) % 255);
	return s;
}

static void words_of_any_bytes_come_back_exactly(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	uint64_t seed = 21;

	for (int i = 0; i < 3000; i++) {
		const char *argv[6] = {0}, *env[6] = {0};
		struct keeper_order o = some_order();
		size_t words = 1 + test_random(&seed) % 5;

		for (size_t j = 0; j < words; j++) {
			argv[j] = random_string(arena, &seed);
			env[j] = random_string(arena, &seed);
		}
		o.argv = argv;
		o.envp = env;
		o.cwd = random_string(arena, &seed);
		expect_comes_back(&o);
		arena_reset(arena);
	}
}

static void a_command_for_people_is_repaired(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct keeper_order o = some_order(), again;

	o.command = "a\xff";
	assert_int_equal(keeper_order_write(&o, &text), 0);
	assert_int_equal(keeper_order_read(text.data, text.len, arena, &again, NULL), 0);
	assert_string_equal(again.command, "a\xef\xbf\xbd");
}

static void an_order_that_is_too_long_is_refused_by_the_writer(void **state)
{
	static const struct {
		size_t bytes, max;
		int fill;
	} cases[] = {{ORDER_BYTES_MAX, ORDER_BYTES_MAX, 'x'}, {2000, 3000, 0xff}};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(buffer_donep) struct buffer text = {.max = cases[i].max};
		scoped(freep) char *word = calloc(1, cases[i].bytes);
		const char *argv[] = {word, NULL};
		struct keeper_order o = some_order();

		o.argv = argv;
		memset(word, cases[i].fill, cases[i].bytes - 1);
		assert_int_equal(keeper_order_write(&o, &text), -E2BIG);
	}
}

static void expect_refused(const char *text, size_t n)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct keeper_order o = {.cwd = "untouched"};
	struct error err;
	int r = keeper_order_read(text, n, arena, &o, &err);

	if (r >= 0)
		fail_msg("accepted: %.*s", (int)n, text);
	assert_true(err.text[0]);
	assert_string_equal(o.cwd, "untouched");
}

/* Replaces the first OLD in the written order by NEW and expects a refusal. */
static void expect_change_refused(const char *old, const char *new)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(buffer_donep) struct buffer changed = {0};
	struct keeper_order o = some_order();

	assert_int_equal(keeper_order_write(&o, &text), 0);
	test_replace(text.data, old, new, &changed);
	expect_refused(changed.data, changed.len);
}

static void values_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *old, *new;
	} changes[] = {
		{"\"timeout_ms\":120000", "\"timeout_ms\":-1"},
		{"\"timeout_ms\":120000", "\"timeout_ms\":1.5"},
		{"\"timeout_ms\":120000", "\"timeout_ms\":\"1\""},
		{"\"timeout_ms\":120000", "\"timeout_ms\":99999999999999999999"},
		{"\"grace_ms\":2000", "\"grace_ms\":-1"},
		{"\"idle_timeout_ms\":5000", "\"idle_timeout_ms\":-1"},
		{"\"session\":\"s-1\"", "\"session\":\"../s\""},
		{"\"session\":\"s-1\"", "\"session\":\"\""},
		{"\"head_bytes\":1000", "\"head_bytes\":-1"},
		{"\"merged\":true", "\"merged\":1"},
		{"\"merged\":true,", ""},
		{"\"task_id\":\"bash-0\"", "\"task_id\":null"},
		{"\"task_id\":", "\"x\":1,\"task_id\":"},
		{"\"cwd\":\"", "\"cwd\":[], \"y\":\""},
		{"[\"sh\"", "[1"},
		{"[\"sh\"", "[null"},
		{"[\"sh\"", "[{\"hex\":\"4\"}"},
		{"[\"sh\"", "[{\"hex\":\"4g\"}"},
		{"[\"sh\"", "[{\"hex\":\"4A\"}"},
		{"[\"sh\"", "[{\"hex\":\"4100\"}"}, /* a NUL would hide what follows */
		{"[\"sh\"", "[{\"hex\":65}"},
		{"[\"sh\"", "[{}"},
		{"[\"sh\"", "[\"s\\u0000h\""},
		{"\"argv\":[\"sh\",\"-c\",\"echo \\\"a b\\\"\\n\",\"\"]", "\"argv\":[]"},
		{"\"argv\":[\"sh\",\"-c\",\"echo \\\"a b\\\"\\n\",\"\"]", "\"argv\":{}"},
		{"\"env\":[", "\"env\":1,\"z\":["},
		{"\"force\":false", "\"force\":0"},
		{"\"force\":false", "\"force\":false,\"more\":1"},
		{",\"force\":false", ""},
		{"\"patience\":0", "\"patience\":1001"},
		{"\"patience\":0", "\"rows\":24"},
	};

	for (size_t i = 0; i < array_size(changes); i++)
		expect_change_refused(changes[i].old, changes[i].new);
}

static void every_cut_of_an_order_is_refused(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct keeper_order o = some_order();

	assert_int_equal(keeper_order_write(&o, &text), 0);
	for (size_t n = 0; n < text.len - 2; n++) /* brace and newline */
		expect_refused(text.data, n);
	expect_refused("[]", 2);
	expect_refused("{}", 2);
}

static void a_text_past_the_limit_is_refused(void **state)
{
	scoped(freep) char *text = calloc(1, ORDER_BYTES_MAX + 1);

	memset(text, ' ', ORDER_BYTES_MAX + 1);
	expect_refused(text, ORDER_BYTES_MAX + 1);
}

static void an_arena_that_is_too_small_is_a_failure(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(arena_freep) struct arena *arena = arena_new(0);
	struct keeper_order o = some_order(), again;

	assert_int_equal(keeper_order_write(&o, &text), 0);
	assert_true(keeper_order_read(text.data, text.len, arena, &again, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_comes_back_with_its_size),
		cmocka_unit_test(an_impossible_terminal_is_refused),
		cmocka_unit_test(an_order_comes_back_as_it_was),
		cmocka_unit_test(a_full_order_is_these_bytes),
		cmocka_unit_test(a_minimal_order_is_these_bytes),
		cmocka_unit_test(the_raw_request_comes_back_as_it_was),
		cmocka_unit_test(an_order_without_a_request_is_refused),
		cmocka_unit_test(an_empty_environment_is_one),
		cmocka_unit_test(words_of_any_bytes_come_back_exactly),
		cmocka_unit_test(a_command_for_people_is_repaired),
		cmocka_unit_test(an_order_that_is_too_long_is_refused_by_the_writer),
		cmocka_unit_test(values_that_cannot_be_are_refused),
		cmocka_unit_test(every_cut_of_an_order_is_refused),
		cmocka_unit_test(a_text_past_the_limit_is_refused),
		cmocka_unit_test(an_arena_that_is_too_small_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
