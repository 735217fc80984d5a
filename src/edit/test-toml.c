#include "base/test-support.h"

#include <errno.h>
#include "base/arena.h"
#include "base/error.h"
#include "edit/toml.h"

static const char *const shell_tool[] = {"features", "shell_tool", NULL},
			 *const model[] = {"model", NULL},
			 *const server[] = {"mcp_servers", "nacre", NULL},
			 *const command[] = {"mcp_servers", "nacre", "command", NULL};

enum { SET, REMOVE, REMOVE_TABLE };

static int edit(int how, const char *text, const char *const *path, const char *value,
                struct buffer *b, struct error *err)
{
	size_t n = strlen(text);

	return how == SET      ? toml_set(text, n, path, value, b, err)
	       : how == REMOVE ? toml_remove(text, n, path, b, err)
	                       : toml_remove_table(text, n, path, b, err);
}

static void expect(int how, const char *text, const char *const *path, const char *value,
                   const char *wanted)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct error err = {0};
	int r = edit(how, text, path, value, &b, &err);

	if (r < 0)
		printf("# %d %s\n", r, err.text);
	assert_int_equal(r, 0);
	assert_string_equal(buffer_str(&b), wanted);
}

static void a_key_goes_into_its_table(void **state)
{
	expect(SET, "[features]\na = 1 # of a\n\n[b]\nc = 2\n", shell_tool, "false",
	       "[features]\na = 1 # of a\nshell_tool = false\n\n[b]\nc = 2\n");
	expect(SET, "[features]", shell_tool, "false", "[features]\nshell_tool = false\n");
	expect(SET, "[ 'features' ] # x\r\n", shell_tool, "false",
	       "[ 'features' ] # x\r\nshell_tool = false\r\n");
}

static void a_table_that_is_missing_stands_at_the_end(void **state)
{
	expect(SET, "", command, "\"n\"", "[mcp_servers.nacre]\ncommand = \"n\"\n");
	expect(SET, "a = 1", command, "\"n\"", "a = 1\n\n[mcp_servers.nacre]\ncommand = \"n\"\n");
	expect(SET,
	       "a = [\n  1, # ]\n  2,\n]\n[mcp_servers.other]\nx = '''\n[mcp_servers.nacre]\n'''\n",
	       command, "\"n\"",
	       "a = [\n  1, # ]\n  2,\n]\n[mcp_servers.other]\nx = "
	       "'''\n[mcp_servers.nacre]\n'''\n\n[mcp_servers.nacre]\n"
	       "command = \"n\"\n");
}

static void a_key_of_no_table_stands_before_all_tables(void **state)
{
	expect(SET, "# mine\n[t]\nx = 1\n", model, "1", "# mine\nmodel = 1\n[t]\nx = 1\n");
	expect(SET, "a = 1\n\n[t]\nx = 1\n", model, "1", "a = 1\nmodel = 1\n\n[t]\nx = 1\n");
	expect(SET, "", model, "1", "model = 1\n");
}

static void a_value_is_replaced_however_its_key_is_spelled(void **state)
{
	expect(SET, "[features]\nshell_tool=true#x\n", shell_tool, "false",
	       "[features]\nshell_tool=false#x\n");
	expect(SET, "features.shell_tool = true\n", shell_tool, "false",
	       "features.shell_tool = false\n");
	expect(SET, "\"features\" . 'shell_tool' = \"\"\"a\n\"b\"\"\"\"\n", shell_tool, "false",
	       "\"features\" . 'shell_tool' = false\n");
	expect(SET, "model = 2026-11-18 10:00:00Z # d\n", model, "1", "model = 1 # d\n");
}

static void keys_and_tables_are_removed(void **state)
{
	expect(REMOVE, "[features]\na = 1\nshell_tool = false # x\nb = 2\n", shell_tool, NULL,
	       "[features]\na = 1\nb = 2\n");
	expect(REMOVE_TABLE,
	       "a = 1\n\n[mcp_servers.nacre]\ncommand = \"n\"\nargs = [\n 'x',\n]\n\n[b]\n", server,
	       NULL, "a = 1\n\n[b]\n");
	expect(REMOVE_TABLE, "[mcp_servers.nacre]\n", server, NULL, "");
}

static void what_was_added_is_removed_without_a_trace(void **state)
{
	static const char *const texts[] = {
		"", "a = 1\n", "[t]\nx = 1\n\n# end\n",
		"a = 1\r\n[mcp_servers.x]\r\nb = {c = [1, {d = \"}\"}]}\r\n"};

	for (size_t i = 0; i < array_size(texts); i++) {
		scoped(buffer_donep) struct buffer b = {0};

		assert_int_equal(edit(SET, texts[i], command, "\"n\"", &b, NULL), 0);
		expect(REMOVE_TABLE, buffer_str(&b), server, NULL, texts[i]);
	}
}

static void what_is_in_doubt_is_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{"features = {shell_tool = true}\n", -EEXIST},
		{"features = 1\n", -EEXIST},
		{"[[features]]\nx = 1\n", -EEXIST},
		{"[features.shell_tool]\nx = 1\n", -EEXIST},
		{"[features]\nshell_tool.x = 1\n", -EEXIST},
		{"a = \n", -EINVAL},
		{"a\n", -EINVAL},
		{"[a\n", -EINVAL},
		{"a = 'x\n'\n", -EINVAL},
		{"a = \"\"\"x\n", -EINVAL},
		{"a = [1\n", -EINVAL},
		{"a = 1 b = 2\n", -EINVAL},
		{"a = \"\\", -EINVAL},
		{"a = '\xff'\n", -EINVAL},
		{"features.shell_tool = 1\n[features]\nshell_tool = 2\n", -EEXIST},
	};

	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(buffer_donep) struct buffer b = {0};
		struct error err = {0};

		assert_int_equal(edit(SET, bad[i].text, shell_tool, "false", &b, &err),
		                 bad[i].code);
		assert_true(err.text[0]);
	}
}

static void a_value_is_found(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *text = "[features]\nshell_tool = [1,\n 2] # x\n", *value;

	assert_int_equal(toml_find(text, strlen(text), shell_tool, arena, &value, NULL), 0);
	assert_string_equal(value, "[1,\n 2]");
	assert_int_equal(toml_find(text, strlen(text), model, arena, &value, NULL), 0);
	assert_null(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_goes_into_its_table),
		cmocka_unit_test(a_table_that_is_missing_stands_at_the_end),
		cmocka_unit_test(a_key_of_no_table_stands_before_all_tables),
		cmocka_unit_test(a_value_is_replaced_however_its_key_is_spelled),
		cmocka_unit_test(keys_and_tables_are_removed),
		cmocka_unit_test(what_was_added_is_removed_without_a_trace),
		cmocka_unit_test(what_is_in_doubt_is_refused),
		cmocka_unit_test(a_value_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
