#include "base/test-support.h"

#include <errno.h>
#include "base/arena.h"
#include "base/error.h"
#include "hook/call.h"
#include "hook/client.h"

static int read_call(const char *client, const char *text, struct arena *arena,
                     struct hook_call *call, struct error *err)
{
	return hook_call_read(hook_client_find(client), text, strlen(text), arena, call, err);
}

static void every_client_says_what_it_runs(void **state)
{
	static const char *const said[][2] = {
		{"claude", "{\"session_id\":\"s-1\",\"cwd\":\"/"
	                   "w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
	                   "\"tool_input\":{\"command\":\"ls\",\"timeout\":1}}"},
		{"codex", "{\"session_id\":\"s-1\",\"cwd\":\"/"
	                  "w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
	                  "\"tool_input\":{\"command\":\"ls\"}}"},
		{"gemini",
	         "{\"session_id\":\"s-1\",\"cwd\":\"/"
	         "\",\"hook_event_name\":\"BeforeTool\",\"tool_name\":"
	         "\"run_shell_command\",\"tool_input\":{\"command\":\"ls\",\"dir_path\":\"/w\"}}"},
		{"copilot",
	         "{\"sessionId\":\"s-1\",\"cwd\":\"/"
	         "w\",\"toolName\":\"bash\",\"toolArgs\":\"{\\\"command\\\":\\\"ls\\\"}\"}"},
		{"copilot", "{\"sessionId\":\"s-1\",\"cwd\":\"/"
	                    "w\",\"toolName\":\"bash\",\"toolArgs\":{\"command\":\"ls\"}}"},
		{"qwen", "{\"session_id\":\"s-1\",\"cwd\":\"/"
	                 "w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":"
	                 "\"run_shell_command\",\"tool_input\":{\"command\":\"ls\"}}"},
		{"cursor", "{\"conversation_id\":\"s-1\",\"cwd\":\"/"
	                   "w\",\"hook_event_name\":\"beforeShellExecution\","
	                   "\"command\":\"ls\"}"},
	};

	for (size_t i = 0; i < array_size(said); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		scoped(hook_call_done) struct hook_call call = {0};

		assert_int_equal(read_call(said[i][0], said[i][1], arena, &call, NULL), 0);
		assert_string_equal(call.command, "ls");
		assert_string_equal(call.session, "s-1");
		assert_string_equal(call.cwd, "/w");
	}
}

static void what_is_not_as_documented_is_an_error(void **state)
{
#define REST "\"tool_input\":{\"command\":\"ls\"}}"
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"session_id\":\"s\",\"cwd\":\"/w\",\"tool_name\":\"Bash\"," REST,
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\"," REST,
		"{\"session_id\":\"s\",\"cwd\":\"/w\",\"hook_event_name\":\"PreToolUse\"," REST,
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Edit\"," REST,
		"{\"session_id\":\"s\",\"cwd\":\"w\",\"hook_event_name\":\"PreToolUse\",\"tool_"
		"name\":\"Bash\"," REST,
		"{\"session_id\":\"s\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":"
		"\"Bash\"," REST,
		"{\"cwd\":\"/w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"," REST,
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"}",
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":"
		"{\"command\":[\"ls\"]}}",
		"{\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":"
		"{\"command\":\"ls\",\"command\":\"rm\"}}",
		"{\"session_id\":7,\"cwd\":\"/"
		"w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"," REST,
	};

	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		scoped(hook_call_done) struct hook_call call = {0};
		struct error err = {0};

		assert_true(read_call("claude", bad[i], arena, &call, &err) < 0);
		assert_true(err.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_client_says_what_it_runs),
		cmocka_unit_test(what_is_not_as_documented_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
