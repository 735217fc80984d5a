#include "base/test-support.h"

#include <errno.h>
#include "hook/answer.h"
#include "hook/client.h"
#include "json/read.h"

static void expect(const char *client, enum hook_verdict verdict, const char *command,
                   const char *wanted)
{
	scoped(json_decrefp) json_t *input = json_pack("{s:s,s:i}", "command", "ls", "timeout", 7);
	scoped(buffer_donep) struct buffer b = {0};
	struct hook_answer a = {.verdict = verdict,
	                        .reason = verdict == HOOK_ALLOW ? NULL : "why",
	                        .input = input,
	                        .command = command};

	assert_int_equal(hook_answer_write(hook_client_find(client), &a, &b), 0);
	assert_string_equal(buffer_str(&b), wanted);
}

static void every_client_is_answered_in_its_own_shape(void **state)
{
	expect("claude", HOOK_ALLOW, NULL,
	       "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
	       "\"allow\"}}\n");
	expect("claude", HOOK_ASK, "nsh",
	       "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
	       "\"ask\","
	       "\"permissionDecisionReason\":\"why\",\"updatedInput\":{\"command\":\"nsh\","
	       "\"timeout\":7}}}\n");
	expect("codex", HOOK_ALLOW, "nsh",
	       "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
	       "\"allow\","
	       "\"updatedInput\":{\"command\":\"nsh\",\"timeout\":7}}}\n");
	expect("gemini", HOOK_ALLOW, "nsh",
	       "{\"decision\":\"allow\",\"hookSpecificOutput\":{\"hookEventName\":\"BeforeTool\","
	       "\"tool_input\":"
	       "{\"command\":\"nsh\",\"timeout\":7}}}\n");
	expect("gemini", HOOK_DENY, "nsh", "{\"decision\":\"deny\",\"reason\":\"why\"}\n");
	expect("copilot", HOOK_ALLOW, "nsh",
	       "{\"permissionDecision\":\"allow\",\"modifiedArgs\":{\"command\":\"nsh\","
	       "\"timeout\":7}}\n");
	expect("cursor", HOOK_DENY, NULL,
	       "{\"continue\":false,\"permission\":\"deny\",\"userMessage\":\"why\","
	       "\"agentMessage\":\"why\","
	       "\"user_message\":\"why\",\"agent_message\":\"why\"}\n");
}

static void who_cannot_ask_is_told_no(void **state)
{
	expect("codex", HOOK_ASK, "nsh",
	       "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
	       "\"deny\","
	       "\"permissionDecisionReason\":\"why\"}}\n");
	expect("copilot", HOOK_ASK, NULL,
	       "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"why\"}\n");
}

static void who_runs_the_old_line_is_not_given_a_new_one(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct hook_answer a = {.verdict = HOOK_ALLOW, .command = "nsh"};

	assert_int_equal(hook_answer_write(hook_client_find("qwen"), &a, &b), -ENOTSUP);
}

static void a_line_is_quoted_for_the_shell(void **state)
{
	static const char *const variables[] = {"A=it's", NULL};
	scoped(buffer_donep) struct buffer b = {0};

	hook_rewrite("/opt/n sh", variables, "echo 'a'\n$B", &b);
	assert_string_equal(buffer_str(&b), "A='it'\\''s' '/opt/n sh' -c 'echo '\\''a'\\''\n$B'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_client_is_answered_in_its_own_shape),
		cmocka_unit_test(who_cannot_ask_is_told_no),
		cmocka_unit_test(who_runs_the_old_line_is_not_given_a_new_one),
		cmocka_unit_test(a_line_is_quoted_for_the_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
