#pragma once
/*
 * Clients: the agents whose hooks nacre answers, as one table: how the JSON is called that comes
 * in, and which answers the client understands.
 */
#include <stdbool.h>
#include <stddef.h>

enum hook_shape {
	HOOK_SHAPE_CLAUDE,  /* hookSpecificOutput.permissionDecision, updatedInput */
	HOOK_SHAPE_GEMINI,  /* decision, hookSpecificOutput.tool_input */
	HOOK_SHAPE_COPILOT, /* permissionDecision, modifiedArgs */
	HOOK_SHAPE_CURSOR,  /* permission */
};

struct hook_client {
	const char *name;  /* of `nacre hook NAME` */
	const char *title; /* for people */
	const char *event; /* the one that we answer */
	bool names_event;  /* "hook_event_name" is in the JSON */
	enum hook_shape shape;
	const char *const *tools; /* that run commands; up to NULL; NULL: the event says it */
	const char *tool_key;     /* the member with the tool's name; NULL: there is none */
	const char *input_key;    /* the member with its arguments; NULL: they stand at the top */
	const char *session_key;
	const char *directory_key;      /* in the arguments: where it runs; NULL: only "cwd" */
	const char *workspace_variable; /* its environment says which project it is; NULL: no */
	bool asks;                      /* it can put a question to its person */
	bool rewrites;                  /* it runs the changed command */
	const char *shell_variable;     /* names the shell that it starts; NULL: there is none */
	bool shell_by_path;             /* it starts the first `bash` of PATH */
};

extern const struct hook_client hook_clients[]; /* up to a NULL name */

const struct hook_client *hook_client_find(const char *name); /* NULL: there is none */
