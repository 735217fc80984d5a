#pragma once
/*
 * Hint, left: what a command left running, which goes on as a task, and how to find and end it by
 * the door that the caller came by.
 */
struct buffer;
struct hint_facts;

void hint_put_left(const struct hint_facts *f, struct buffer *into);
/* The names of what was ended instead, and "was" or "were". */
void hint_put_names(const struct hint_facts *f, struct buffer *into);

/* The tool, call or command of the caller's door. */
enum hint_tool {
	HINT_TOOL_LIST,
	HINT_TOOL_OUTPUT,
	HINT_TOOL_STOP,
	HINT_TOOL_LINES, /* of the output by their numbers, which stand for the '@'; may be "" */
	HINT_TOOL_MAX
};
void hint_put_tool(const struct hint_facts *f, enum hint_tool which, struct buffer *into);
