/*
 * Prints what a compiled program relies on: sizes, places of members, and values of constants. The
 * test compares it with abi.txt, of which lines may be added and never changed.
 */
#include <stdio.h>
#include <nacre.h>

#define SIZE(type) printf("size %s %zu\n", #type, sizeof(struct type))
#define PLACE(type, member)                                                                        \
	printf("place %s.%s %zu\n", #type, #member, offsetof(struct type, member))
#define VALUE(name) printf("value %s %d\n", #name, (int)(name))

static void structs_in(void)
{
	SIZE(nacre_error);
	PLACE(nacre_error, kind);
	PLACE(nacre_error, code);
	PLACE(nacre_error, text);
	PLACE(nacre_options, size);
	PLACE(nacre_options, program);
	PLACE(nacre_options, profile);
	PLACE(nacre_options, agent);
	PLACE(nacre_options, policy_file);
	PLACE(nacre_options, workspace);
	PLACE(nacre_options, environment);
	PLACE(nacre_options, principal);
	PLACE(nacre_request, size);
	PLACE(nacre_request, command);
	PLACE(nacre_request, argv);
	PLACE(nacre_request, workspace);
	PLACE(nacre_request, cwd);
	PLACE(nacre_request, env);
	PLACE(nacre_request, input);
	PLACE(nacre_request, input_bytes);
	PLACE(nacre_request, description);
	PLACE(nacre_request, session);
	PLACE(nacre_request, timeout_ms);
	PLACE(nacre_request, idle_timeout_ms);
	PLACE(nacre_request, output_mode);
	PLACE(nacre_request, flags);
	PLACE(nacre_request, rows);
	PLACE(nacre_request, cols);
	PLACE(nacre_request, reserved);
	PLACE(nacre_request, approval_timeout_ms);
	PLACE(nacre_output_query, size);
	PLACE(nacre_output_query, since);
	PLACE(nacre_output_query, max_bytes);
	PLACE(nacre_output_query, wait_ms);
	PLACE(nacre_output_query, stream);
	PLACE(nacre_output_query, reserved);
	PLACE(nacre_input, size);
	PLACE(nacre_input, text);
	PLACE(nacre_input, text_bytes);
	PLACE(nacre_input, keys);
	PLACE(nacre_input, rows);
	PLACE(nacre_input, cols);
	PLACE(nacre_input, end);
}

static void structs_out(void)
{
	PLACE(nacre_result, size);
	PLACE(nacre_result, flags);
	PLACE(nacre_result, verdict);
	PLACE(nacre_result, exit_code);
	PLACE(nacre_result, signal);
	PLACE(nacre_result, reason);
	PLACE(nacre_result, rule);
	PLACE(nacre_result, task_id);
	PLACE(nacre_result, note);
	PLACE(nacre_result, out);
	PLACE(nacre_result, out_bytes);
	PLACE(nacre_result, err);
	PLACE(nacre_result, err_bytes);
	PLACE(nacre_result, written);
	PLACE(nacre_result, duration_ms);
	PLACE(nacre_result, cpu_ms);
	PLACE(nacre_result, max_rss_kb);
	PLACE(nacre_result, recommended);
	PLACE(nacre_result, notices);
	PLACE(nacre_result, json);
	PLACE(nacre_question, size);
	PLACE(nacre_question, id);
	PLACE(nacre_question, command);
	PLACE(nacre_question, cwd);
	PLACE(nacre_question, description);
	PLACE(nacre_question, rule);
	PLACE(nacre_question, reason);
	PLACE(nacre_question, json);
	PLACE(nacre_output, size);
	PLACE(nacre_output, bytes);
	PLACE(nacre_output, byte_count);
	PLACE(nacre_output, next);
	PLACE(nacre_output, missing);
	PLACE(nacre_output, state);
	PLACE(nacre_output, exit_code);
	PLACE(nacre_output, signal);
	PLACE(nacre_output, reserved);
	PLACE(nacre_explanation, size);
	PLACE(nacre_explanation, verdict);
	PLACE(nacre_explanation, flags);
	PLACE(nacre_explanation, reason);
	PLACE(nacre_explanation, rule);
	PLACE(nacre_explanation, recommended);
	PLACE(nacre_explanation, json);
}

static void values(void)
{
	VALUE(NACRE_ERROR_SYSTEM);
	VALUE(NACRE_ERROR_INPUT);
	VALUE(NACRE_ERROR_LIMIT);
	VALUE(NACRE_ERROR_UNSUPPORTED);
	VALUE(NACRE_OUTPUT_PROFILE);
	VALUE(NACRE_OUTPUT_SEPARATE);
	VALUE(NACRE_OUTPUT_MERGED);
	VALUE(NACRE_OUTPUT_STDOUT);
	VALUE(NACRE_OUTPUT_STDERR);
	VALUE(NACRE_BACKGROUND);
	VALUE(NACRE_FORCE);
	VALUE(NACRE_ASK);
	VALUE(NACRE_ANSWER_DENY);
	VALUE(NACRE_ANSWER_ONCE);
	VALUE(NACRE_ANSWER_SESSION);
	VALUE(NACRE_VERDICT_NONE);
	VALUE(NACRE_VERDICT_ALLOW);
	VALUE(NACRE_VERDICT_ASK);
	VALUE(NACRE_VERDICT_NUDGE);
	VALUE(NACRE_VERDICT_DENY);
	VALUE(NACRE_SUCCESS);
	VALUE(NACRE_RAN);
	VALUE(NACRE_TIMED_OUT);
	VALUE(NACRE_STOPPED);
	VALUE(NACRE_IN_BACKGROUND);
	VALUE(NACRE_TRUNCATED);
	VALUE(NACRE_LEFT_TO_SANDBOX);
	VALUE(NACRE_LEFT_RUNNING);
	VALUE(NACRE_STREAM_BOTH);
	VALUE(NACRE_STREAM_STDOUT);
	VALUE(NACRE_STREAM_STDERR);
	VALUE(NACRE_TASK_RUNNING);
	VALUE(NACRE_TASK_ENDED);
	VALUE(NACRE_TASK_LOST);
}

int main(void)
{
	structs_in();
	structs_out();
	values();
	return 0;
}
