#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "engine/request-json.h"

static int read_text(const char *text, struct arena *arena, struct request *rq, const char **ret_id,
                     struct error *err)
{
	return request_read_json(text, strlen(text), arena, rq, ret_id, err);
}

static void every_member_is_read(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq = {.input_fd = -1};
	const char *id;

	assert_int_equal(
		read_text("{\"id\": 7, \"argv\": [\"a\", \"\", \"c\\u00e4\"], \"cwd\": \"sub\","
	                  "\"env\": {\"A\": \"1\", \"B\": \"x=y\"}, \"input\": \"in\\n\","
	                  "\"timeout_ms\": 1500, \"description\": \"d\","
	                  "\"output_mode\": \"merged\"}",
	                  arena, &rq, &id, NULL),
		0);
	assert_string_equal(id, "7");
	assert_string_equal(rq.argv[0], "a");
	assert_string_equal(rq.argv[1], "");
	assert_string_equal(rq.argv[2], "c\xc3\xa4");
	assert_null(rq.argv[3]);
	assert_null(rq.command);
	assert_string_equal(rq.cwd, "sub");
	assert_string_equal(rq.env[0], "A=1");
	assert_string_equal(rq.env[1], "B=x=y");
	assert_null(rq.env[2]);
	assert_string_equal(rq.input, "in\n");
	assert_int_equal(rq.input_len, 3);
	assert_int_equal(rq.timeout_ms, 1500);
	assert_string_equal(rq.description, "d");
	assert_int_equal(rq.output_mode, OUTPUT_MERGED);
	assert_int_equal(rq.input_fd, -1);
}

static void the_wait_for_a_person_is_a_member(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq = {0};
	const char *id;

	assert_int_equal(read_text("{\"command\": \"ls\", \"approval_timeout_ms\": 1500}", arena,
	                           &rq, &id, NULL),
	                 0);
	assert_true(rq.can_ask && rq.approval_timeout_ms == 1500);
	assert_int_equal(read_text("{\"command\": \"ls\", \"approval_timeout_ms\": 0}", arena, &rq,
	                           &id, NULL),
	                 0);
	assert_false(rq.can_ask);
}

static void members_that_are_not_named_stay_as_they_were(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq = {.cwd = "kept", .timeout_ms = 42, .output_mode = OUTPUT_STDERR};
	const char *id = "old";

	assert_int_equal(read_text("{\"command\": \"ls | wc\"}", arena, &rq, &id, NULL), 0);
	assert_string_equal(rq.command, "ls | wc");
	assert_null(rq.argv);
	assert_string_equal(rq.cwd, "kept");
	assert_int_equal(rq.timeout_ms, 42);
	assert_int_equal(rq.output_mode, OUTPUT_STDERR);
	assert_null(id);
}

static void the_id_comes_back_as_any_json_value(void **state)
{
	static const struct {
		const char *json, *back;
	} cases[] = {{"null", "null"},
	             {"\"a\\\"b\"", "\"a\\\"b\""},
	             {"-12", "-12"},
	             {"true", "true"},
	             {"[1, {\"x\": null}]", "[1,{\"x\":null}]"}};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct request rq = {0};
		char text[100];
		const char *id;

		snprintf(text, sizeof(text), "{\"id\": %s, \"command\": \"x\"}", cases[i].json);
		assert_int_equal(read_text(text, arena, &rq, &id, NULL), 0);
		assert_string_equal(id, cases[i].back);
	}
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{"[]", "object"},
		{"{}", "'argv'"},
		{"{\"argv\": [\"a\"], \"command\": \"b\"}", "'argv'"},
		{"{\"command\": 1}", "'command'"},
		{"{\"command\": null}", "'command'"},
		{"{\"argv\": []}", "'argv'"},
		{"{\"argv\": \"ls\"}", "'argv'"},
		{"{\"argv\": [\"ls\", 1]}", "'argv'"},
		{"{\"argv\": {\"0\": \"ls\"}}", "'argv'"},
		{"{\"command\": \"x\", \"cwd\": []}", "'cwd'"},
		{"{\"command\": \"x\", \"env\": [\"A=b\"]}", "'env'"},
		{"{\"command\": \"x\", \"env\": {\"A\": 1}}", "'env'"},
		{"{\"command\": \"x\", \"input\": 1}", "'input'"},
		{"{\"command\": \"x\", \"timeout_ms\": 0}", "'timeout_ms'"},
		{"{\"command\": \"x\", \"timeout_ms\": -5}", "'timeout_ms'"},
		{"{\"command\": \"x\", \"timeout_ms\": 1.5}", "'timeout_ms'"},
		{"{\"command\": \"x\", \"timeout_ms\": \"5\"}", "'timeout_ms'"},
		{"{\"command\": \"x\", \"output_mode\": \"both\"}", "'output_mode'"},
		{"{\"command\": \"x\", \"output_mode\": 1}", "'output_mode'"},
		{"{\"command\": \"x\", \"description\": {}}", "'description'"},
		{"{\"command\": \"x\", \"timeout\": 5}", "'timeout'"},
		{"{\"command\": \"x\", \"input_fd\": 5}", "'input_fd'"},
		{"{\"command\": \"x\", \"Command\": \"y\"}", "'Command'"},
		{"{\"command\": \"x\", \"command\": \"y\"}", "command"},
		{"{\"command\": \"a\\u0000b\"}", "NUL"},
		{"{\"command\": \"x\"", "line 1"},
	};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct request rq = {0};
		struct error err;
		const char *id;

		assert_int_equal(read_text(cases[i].text, arena, &rq, &id, &err), -EINVAL);
		assert_int_equal(err.kind, ERROR_INPUT);
		if (!strstr(err.text, cases[i].names) && strcmp(cases[i].names, "NUL") != 0)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

/* "A=B": "c" would set A, whatever a rule for names has to say about "A=B". */
static void a_name_with_an_equals_sign_is_refused(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq = {0};
	const char *id;

	assert_int_equal(
		read_text("{\"command\": \"x\", \"env\": {\"A=B\": \"c\"}}", arena, &rq, &id, NULL),
		-EINVAL);
}

/* So that an answer to a bad request can still be matched with it. */
static void the_id_of_a_bad_request_is_known(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq = {0};
	const char *id = NULL;

	assert_int_equal(read_text("{\"nonsense\": 1, \"id\": \"x\"}", arena, &rq, &id, NULL),
	                 -EINVAL);
	assert_string_equal(id, "\"x\"");
}

static void a_request_longer_than_a_mebibyte_is_refused(void **state)
{
	enum { MOST = 1 << 20 };
	scoped(arena_freep) struct arena *arena = arena_new(4 << 20);
	scoped(freep) char *text = malloc(MOST + 1);
	struct request rq = {0};
	struct error err;
	const char *id;

	memset(text, ' ', MOST + 1);
	memcpy(text, "{\"command\": \"x\"}", 16);
	assert_int_equal(request_read_json(text, MOST, arena, &rq, &id, &err), 0);
	assert_int_equal(request_read_json(text, MOST + 1, arena, &rq, &id, &err), -E2BIG);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void memory_that_runs_out_is_reported(void **state)
{
	static const char *const texts[] = {"{\"id\": 1, \"command\": \"x\"}",
	                                    "{\"command\": \"x\"}", "{\"argv\": [\"x\"]}",
	                                    "{\"env\": {\"A\": \"b\"}, \"command\": \"x\"}"};

	for (size_t i = 0; i < array_size(texts); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(0);
		struct request rq = {0};
		const char *id;

		assert_int_equal(read_text(texts[i], arena, &rq, &id, NULL), -ENOMEM);
	}
}

static void output_modes_have_names(void **state)
{
	enum output_mode mode;

	for (int i = 0; i < OUTPUT_MODE_MAX; i++) {
		assert_int_equal(output_mode_parse(output_mode_name((enum output_mode)i), &mode),
		                 0);
		assert_int_equal(mode, i);
	}
	assert_int_equal(output_mode_parse("", &mode), -EINVAL);
	assert_int_equal(output_mode_parse("Merged", &mode), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_is_read),
		cmocka_unit_test(the_wait_for_a_person_is_a_member),
		cmocka_unit_test(members_that_are_not_named_stay_as_they_were),
		cmocka_unit_test(the_id_comes_back_as_any_json_value),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_name_with_an_equals_sign_is_refused),
		cmocka_unit_test(the_id_of_a_bad_request_is_known),
		cmocka_unit_test(a_request_longer_than_a_mebibyte_is_refused),
		cmocka_unit_test(memory_that_runs_out_is_reported),
		cmocka_unit_test(output_modes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
