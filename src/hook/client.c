#include "hook/client.h"

#include <string.h>

static const char *const claude_tools[] = {"Bash", NULL};
static const char *const gemini_tools[] = {"run_shell_command", NULL};
static const char *const copilot_tools[] = {"bash", NULL};

const struct hook_client hook_clients[] = {
	{
		.name = "claude",
		.title = "Claude Code",
		.event = "PreToolUse",
		.names_event = true,
		.shape = HOOK_SHAPE_CLAUDE,
		.tools = claude_tools,
		.tool_key = "tool_name",
		.input_key = "tool_input",
		.session_key = "session_id",
		.workspace_variable = "CLAUDE_PROJECT_DIR",
		.asks = true,
		.rewrites = true,
		.shell_variable = "CLAUDE_CODE_SHELL",
	},
	{
		.name = "codex",
		.title = "Codex",
		.event = "PreToolUse",
		.names_event = true,
		.shape = HOOK_SHAPE_CLAUDE,
		.tools = claude_tools,
		.tool_key = "tool_name",
		.input_key = "tool_input",
		.session_key = "session_id",
		.rewrites = true,
	},
	{
		.name = "gemini",
		.title = "Gemini CLI",
		.event = "BeforeTool",
		.names_event = true,
		.shape = HOOK_SHAPE_GEMINI,
		.tools = gemini_tools,
		.tool_key = "tool_name",
		.input_key = "tool_input",
		.session_key = "session_id",
		.directory_key = "dir_path",
		.workspace_variable = "GEMINI_PROJECT_DIR",
		.rewrites = true,
	},
	{
		.name = "copilot",
		.title = "Copilot CLI",
		.event = "preToolUse",
		.shape = HOOK_SHAPE_COPILOT,
		.tools = copilot_tools,
		.tool_key = "toolName",
		.input_key = "toolArgs",
		.session_key = "sessionId",
		.rewrites = true,
	},
	{
		.name = "qwen",
		.title = "Qwen Code",
		.event = "PreToolUse",
		.names_event = true,
		.shape = HOOK_SHAPE_CLAUDE,
		.tools = gemini_tools,
		.tool_key = "tool_name",
		.input_key = "tool_input",
		.session_key = "session_id",
		.directory_key = "directory",
		.workspace_variable = "QWEN_PROJECT_DIR",
		.asks = true,
		.shell_by_path = true,
	},
	{
		.name = "cursor",
		.title = "Cursor",
		.event = "beforeShellExecution",
		.names_event = true,
		.shape = HOOK_SHAPE_CURSOR,
		.session_key = "conversation_id",
		.workspace_variable = "CURSOR_PROJECT_DIR",
		.asks = true,
	},
	{0},
};

const struct hook_client *hook_client_find(const char *name)
{
	for (const struct hook_client *c = hook_clients; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}
