#pragma once
/*
 * The tools about tasks; see the table in task-tools.c.
 */
struct argument_value;
struct mcp_call;

typedef void mcp_tool_call(struct mcp_call *c, const struct argument_value *values);
mcp_tool_call tool_shell_output, tool_task_output; /* read-output.c */
mcp_tool_call tool_shell_input, tool_shell_kill, tool_task_stop, tool_list;
mcp_tool_call tool_explain; /* explain.c */
