#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "engine/dialect.h"
#include "engine/result.h"
#include "json/read.h"
#include "json/write.h"

static void read_ok(const char *tool, const char *text, struct arena *arena, struct request *rq)
{
	struct error err = {0};

	*rq = (struct request){.input_fd = -1};
	if (dialect_read(dialect_find(tool), text, strlen(text), arena, rq, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

static void each_tool_fills_the_request_in_its_own_words(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct request rq;

	read_ok("safe_shell",
	        "{\"args\": [\"-c\", \"a b\"], \"command\": \"node\", \"force\": true,"
	        "\"timeout_millis\": 7000, \"output_mode\": \"stderr\", \"input\": \"x\"}",
	        arena, &rq);
	assert_string_equal(rq.argv[0], "node");
	assert_string_equal(rq.argv[1], "-c");
	assert_string_equal(rq.argv[2], "a b");
	assert_null(rq.argv[3]);
	assert_true(rq.force);
	assert_int_equal(rq.timeout_ms, 7000);
	assert_true(rq.output_mode_given);
	assert_int_equal(rq.output_mode, OUTPUT_STDERR);

	read_ok("safe.shell", "{\"command\": \"./prog\"}", arena, &rq);
	assert_string_equal(rq.argv[0], "./prog");
	assert_null(rq.argv[1]);

	read_ok("run_command", "{\"command\": \"a | b\", \"working_dir\": \"d\", \"timeout\": 3}",
	        arena, &rq);
	assert_string_equal(rq.command, "a | b");
	assert_string_equal(rq.cwd, "d");
	assert_int_equal(rq.timeout_ms, 3000);
	assert_false(rq.output_mode_given);

	read_ok("shell", "{\"command\": [\"ls\", \"-l\"], \"timeout_seconds\": 2}", arena, &rq);
	assert_string_equal(rq.argv[1], "-l");
	assert_int_equal(rq.timeout_ms, 2000);

	read_ok("run_shell", "{\"command\": \"ls\", \"workspace\": \"/w\"}", arena, &rq);
	assert_string_equal(rq.workspace, "/w");

	read_ok("Bash", "{\"command\": \"ls\", \"timeout\": 50, \"env\": {\"A\": \"b\"}}", arena,
	        &rq);
	assert_int_equal(rq.timeout_ms, 50);
	assert_false(rq.background);
	assert_string_equal(rq.env[0], "A=b");
	read_ok("run_shell", "{\"command\": \"ls\", \"timeout\": 30.0}", arena, &rq);
	assert_int_equal(rq.timeout_ms, 30000);
	read_ok("shell", "{\"command\": [\"ls\"], \"pty\": {\"rows\": 30.0, \"cols\": 90}}", arena,
	        &rq);
	assert_int_equal(rq.rows, 30);
	assert_int_equal(rq.cols, 90);
	read_ok("Bash", "{\"command\": \"ls\", \"run_in_background\": true}", arena, &rq);
	assert_true(rq.background);
	read_ok("Bash", "{\"command\": \"ls\", \"timeout\": 0}", arena, &rq);
	assert_int_equal(rq.timeout_ms, 0); /* the profile's */
	read_ok("run_command", "{\"command\": \"ls\", \"background\": true, \"pty\": true}", arena,
	        &rq);
	assert_true(rq.background && rq.rows > 0);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *tool, *text, *names;
	} cases[] = {
		{"safe_shell", "{}", "'command'"},
		{"safe_shell", "{\"command\": [\"ls\"]}", "'command'"},
		{"safe_shell", "{\"command\": \"ls\", \"args\": \"-l\"}", "'args'"},
		{"safe_shell", "{\"command\": \"ls\", \"args\": [1]}", "'args'"},
		{"safe_shell", "{\"command\": \"ls\", \"force\": 1}", "'force'"},
		{"safe_shell", "{\"command\": \"ls\", \"force\": \"true\"}", "'force'"},
		{"safe_shell", "{\"command\": \"ls\", \"timeout_millis\": 0}", "'timeout_millis'"},
		{"safe_shell", "{\"command\": \"ls\", \"timeout_millis\": -1}", "'timeout_millis'"},
		{"safe_shell", "{\"command\": \"ls\", \"timeout\": 5}", "'timeout'"},
		{"safe_shell", "{\"command\": \"ls\", \"output_mode\": \"x\"}", "'output_mode'"},
		{"run_command", "{\"command\": [\"ls\"]}", "'command'"},
		{"run_command", "{\"command\": \"ls\", \"timeout\": 9223372036854775807}",
	         "'timeout'"},
		{"run_command", "{\"command\": \"ls\", \"force\": true}", "'force'"},
		{"shell", "{\"command\": \"ls\"}", "'command'"},
		{"shell", "{\"command\": []}", "'command'"},
		{"run_shell", "{\"command\": \"ls\", \"cwd\": \"/\"}", "'cwd'"},
		{"Bash", "{\"command\": \"ls\", \"env\": {\"A=\": \"b\"}}", "'env'"},
		{"Bash", "{\"command\": \"\"}", "'command'"},
		{"Bash", "{\"command\": \"ls\", \"timeout\": 1.5}", "'timeout'"},
		{"Bash", "{\"command\": \"ls\", \"timeout\": -1}", "from 0 on"},
		{"run_shell", "{\"command\": \"ls\", \"timeout\": 0}", "seconds from 1 on"},
		{"shell", "{\"command\": [\"ls\"], \"pty\": {\"rows\": 5}}", "'pty'"},
		{"shell", "{\"command\": [\"ls\"], \"pty\": {\"rows\": 5, \"cols\": 5, \"x\": 1}}",
	         "'pty'"},
		{"shell", "{\"command\": [\"ls\"], \"pty\": [5, 5]}", "'pty'"},
		{"Bash", "[\"ls\"]", "object"},
		{"Bash", "{\"command\": \"ls\"", "line 1"},
	};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct request rq = {.input_fd = -1};
		struct error err = {0};

		assert_int_equal(dialect_read(dialect_find(cases[i].tool), cases[i].text,
		                              strlen(cases[i].text), arena, &rq, &err),
		                 -EINVAL);
		if (!strstr(err.text, cases[i].names))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static json_t *parsed(const struct buffer *text)
{
	json_t *root = NULL;

	assert_int_equal(json_read(text->data, text->len, 1 << 20, "text", &root, NULL), 0);
	return root;
}

static void every_tool_has_a_schema_that_names_its_parameters(void **state)
{
	size_t n = 0;

	for (; dialect_at(n); n++) {
		scoped(buffer_donep) struct buffer text = {0};
		scoped(json_decrefp) json_t *root = NULL;
		struct json_writer w = {.out = &text};
		json_t *schema;

		dialect_write_json(dialect_at(n), &w);
		root = parsed(&text);
		assert_string_equal(json_string_value(json_object_get(root, "name")),
		                    dialect_tool(dialect_at(n)));
		schema = json_object_get(root, "inputSchema");
		assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(schema, "required"), 0)),
			"command");
		assert_non_null(json_object_get(json_object_get(schema, "properties"), "command"));
	}
	assert_int_equal(n, 5);
	assert_null(dialect_find("sh"));
}

static void a_refusal_has_the_shape_of_a_result(void **state)
{
	struct result r = {.exit_code = EXIT_REFUSED,
	                   .reason = "not allowed",
	                   .verdict = "deny",
	                   .recommended = {"file.read"},
	                   .recommended_count = 1};
	static const struct {
		const char *tool, *code, *why;
	} cases[] = {{"safe_shell", "exit_code", "reason"},
	             {"run_command", "exit_code", "reason"},
	             {"shell", "exit_code", "reason"},
	             {"run_shell", "returncode", "stderr"},
	             {"Bash", "exit_code", "reason"}};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(buffer_donep) struct buffer text = {0};
		scoped(json_decrefp) json_t *root = NULL;

		assert_int_equal(dialect_write_result(dialect_find(cases[i].tool), &r, &text), 0);
		root = parsed(&text);
		assert_int_equal(json_integer_value(json_object_get(root, cases[i].code)), 126);
		assert_string_equal(json_string_value(json_object_get(root, cases[i].why)),
		                    "not allowed");
		if (strcmp(cases[i].tool, "run_shell") == 0)
			assert_int_equal(json_object_size(root), 4);
		else
			assert_string_equal(json_string_value(json_array_get(
						    json_object_get(root, "recommended"), 0)),
			                    "file.read");
	}
}

static void a_background_task_tells_where_it_is_found(void **state)
{
	struct result r = {.success = true,
	                   .background = true,
	                   .ran = true,
	                   .task_id = "bash-x",
	                   .note = "running as bash-x",
	                   .output_files = {"/state/tasks/bash-x/out"}};

	for (size_t i = 0; dialect_at(i); i++) {
		scoped(buffer_donep) struct buffer text = {0};
		scoped(json_decrefp) json_t *root = NULL;

		assert_int_equal(dialect_write_result(dialect_at(i), &r, &text), 0);
		root = parsed(&text);
		assert_true(json_is_true(json_object_get(root, "success")));
		assert_string_equal(json_string_value(json_object_get(root, "stdout")), r.note);
		if (strcmp(dialect_tool(dialect_at(i)), "run_shell") == 0) {
			assert_int_equal(json_object_size(root), 4);
			continue;
		}
		assert_string_equal(json_string_value(json_object_get(root, "task_id")), r.task_id);
		assert_string_equal(json_string_value(json_object_get(root, "output_file")),
		                    r.output_files[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_tool_fills_the_request_in_its_own_words),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(every_tool_has_a_schema_that_names_its_parameters),
		cmocka_unit_test(a_refusal_has_the_shape_of_a_result),
		cmocka_unit_test(a_background_task_tells_where_it_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
