/*
 * The table of nacre's own tools, and those about tasks: list them, stop one, type on its terminal.
 *
 * A client sees the tasks of its own workspace and principal. A task of somebody else is answered
 * as one that does not exist. An order to a keeper is an errand: the call waits in the loop for the
 * answer and blocks nothing. A client that leaves ends the waiting, not the task.
 */
#include "mcp/task-tools.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "task/errand.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/task-put.h"
#include "mcp/task-text.h"
#include "mcp/tasks.h"
#include "mcp/tools.h"
#include "output/keys.h"
#include "process/pty.h"
#include "task/replay.h"

#define WAIT_MS_MAX 600000
#define OUTPUT_MAX  ((uint64_t)1 << 20)
#define TYPED_MAX   65536
#define LISTED_MAX  50

#define TASK_ID                                                                                    \
	{                                                                                          \
		"task_id", ARGUMENT_STRING, true, "its id", 0                                      \
	}

const struct mcp_tool mcp_tools[] = {
	{
		.name = "shell_output",
		.title = "Read the output of a task",
		.description =
			"Read what a command that runs in the background, or whose output was "
			"cut, has printed. Ids are good for a week after the end of a task.",
		.read_only = true,
		.main = true,
		.arguments = {TASK_ID,
                              {"since", ARGUMENT_NUMBER, false,
                               "pass over that many bytes: 'next' of the answer before", 0},
                              {"wait_ms", ARGUMENT_NUMBER, false, "wait so long for something new",
                               WAIT_MS_MAX},
                              {"max_bytes", ARGUMENT_NUMBER, false,
                               "return at most so much (default: what you can read)", OUTPUT_MAX},
                              {"lines", ARGUMENT_STRING, false, "by number: A-B", 0}},
		.call = tool_shell_output,
	},
	{
		.name = "shell_kill",
		.title = "End a task",
		.description =
			"End a command that runs in the background, with all that it started.",
		.idempotent = true,
		.arguments = {TASK_ID,
                              {"signal", ARGUMENT_STRING, false,
                               "TERM (default): it may clean up, then it is killed; KILL: at once",
                               0}},
		.call = tool_shell_kill,
	},
	{
		.name = "shell_list",
		.title = "List tasks",
		.description =
			"List the commands that run in the background, and those whose output "
			"is kept.",
		.read_only = true,
		.call = tool_list,
	},
	{
		.name = "TaskOutput",
		.title = "Read the output of a task",
		.description = "Read the output of a background command, or of one that was cut: "
                               "what is new, or all.",
		.for_bash = true,
		.read_only = true,
		.main = true,
		.arguments = {TASK_ID,
                              {"block", ARGUMENT_BOOL, false, "wait for its end first", 0},
                              {"timeout", ARGUMENT_NUMBER, false, "of block, in ms (default 30000)",
                               WAIT_MS_MAX},
                              {"filter", ARGUMENT_STRING, false, "lines that match this regex", 0},
                              {"all", ARGUMENT_BOOL, false, "from the beginning", 0},
                              {"since", ARGUMENT_NUMBER, false, "from this byte on", 0},
                              {"lines", ARGUMENT_STRING, false, "by number: A-B", 0}},
		.call = tool_task_output,
	},
	{
		.name = "TaskList",
		.title = "List tasks",
		.description = "List background commands and kept outputs.",
		.for_bash = true,
		.read_only = true,
		.call = tool_list,
	},
	{
		.name = "TaskStop",
		.title = "End a task",
		.description = "End a background command with all that it started.",
		.for_bash = true,
		.idempotent = true,
		.arguments = {TASK_ID},
		.call = tool_task_stop,
	},
	{
		.name = "shell_input",
		.title = "Type into a task",
		.description = "Type on a task's terminal, press keys, or change its size.",
		.always = true,
		.arguments = {TASK_ID,
                              {"text", ARGUMENT_STRING, false, "typed without Enter", 0},
                              {"keys", ARGUMENT_STRINGS, false,
                               "after that: Enter, Tab, Up, C-c, M-x, F1 ...", 0},
                              {"eof", ARGUMENT_BOOL, false, "then C-d", 0},
                              {"rows", ARGUMENT_NUMBER, false, "first", 1000},
                              {"cols", ARGUMENT_NUMBER, false, "with rows", 1000}},
		.call = tool_shell_input,
	},
	{
		.name = "shell_explain",
		.title = "Explain the policy's decision",
		.description = "What the policy says about a command, without running it.",
		.always = true,
		.read_only = true,
		.arguments = {{"command", ARGUMENT_STRING, false, "a line, or a program", 0},
                              {"argv", ARGUMENT_STRINGS, false, "a program and its arguments", 0},
                              {"cwd", ARGUMENT_STRING, false, "inside the workspace", 0},
                              {"tool", ARGUMENT_STRING, false, "the tool that would run it", 0},
                              {"args", ARGUMENT_STRINGS_OR_NONE, false,
                               "arguments of the program in command", 0}},
		.call = tool_explain,
	},
};
const size_t mcp_tool_count = array_size(mcp_tools);

struct order {
	struct mcp_call *call;
	char id[STORE_ID_MAX];
	int dir_fd;
	bool stop;
	struct errand *errand;
};

static void order_free(struct order *o)
{
	if (o->errand)
		errand_leave(o->errand);
	fd_close(o->dir_fd);
	free(o);
}

static void on_leave(struct mcp_call *c)
{
	order_free(c->work);
	mcp_call_free(c);
}

static void on_done(void *owner, int code)
{
	scoped(content_donep) struct content content = {0};
	struct order *o = owner;
	struct mcp_call *c = o->call;
	struct find_entry e;

	o->errand = NULL;
	find_look(o->dir_fd, o->id, &e);
	if (code == -ESRCH && !o->stop)
		content_refuse(&content, "the task is not running");
	else if (code < 0 && code != -ESRCH)
		content_refuse(&content, "the task does not answer");
	else if (o->stop)
		task_text_status(&e, &content.text);
	else
		buffer_puts(&content.text, "[typed]");
	order_free(o);
	(void)mcp_call_answer_content(c, &content);
}

/* DIR_FD becomes the order's. */
static void give_order(struct mcp_call *c, const char *id, int dir_fd,
                       const struct errand_order *order)
{
	struct order *o = calloc(1, sizeof(*o));

	if (!o) {
		fd_close(dir_fd);
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
	*o = (struct order){.call = c, .dir_fd = dir_fd, .stop = order->stop};
	snprintf(o->id, sizeof(o->id), "%s", id);
	c->work = o;
	c->leave = on_leave; /* it cannot be cancelled: an order that was given stays given */
	if (errand_start(c->peer->server->options.loop, dir_fd, order, on_done, o, &o->errand,
	                 NULL) < 0) {
		order_free(o);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
}

static void no_such_task(struct mcp_call *c)
{
	mcp_call_refuse(c, "There is no such task: the id is wrong, or it ended long ago and was "
	                   "cleaned up.");
}

static void stop(struct mcp_call *c, const char *id, bool now)
{
	struct find_entry e;
	int fd = mcp_task_open(c->peer, id, &e);

	if (fd < 0)
		return no_such_task(c);
	give_order(c, id, fd, &(struct errand_order){.stop = true, .now = now});
}

void tool_task_stop(struct mcp_call *c, const struct argument_value *v)
{
	stop(c, v[0].text, false);
}

void tool_shell_kill(struct mcp_call *c, const struct argument_value *v)
{
	const char *name = v[1].given ? v[1].text : "TERM";

	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	if (strcmp(name, "TERM") != 0 && strcmp(name, "KILL") != 0)
		return mcp_call_refuse(c, "'signal' must be TERM or KILL");
	stop(c, v[0].text, strcmp(name, "KILL") == 0);
}

static const char *press(const struct argument_value *keys, bool application, struct buffer *into)
{
	json_t *key;
	size_t i;

	json_array_foreach (keys->list, i, key)
		if (keys_write(json_string_value(key), application, into) < 0)
			return json_string_value(key);
	return NULL;
}

void tool_shell_input(struct mcp_call *c, const struct argument_value *v)
{
	scoped(buffer_donep) struct buffer typed = {.max = TYPED_MAX}, problem = {0};
	scoped(fd_closep) int fd = -1;
	struct errand_order order = {.rows = (uint16_t)v[4].number, .cols = (uint16_t)v[5].number};
	struct find_entry e;
	const char *wrong;

	fd = mcp_task_open(c->peer, v[0].text, &e);
	if (fd < 0)
		return no_such_task(c);
	if (e.state != FIND_RUNNING)
		return mcp_call_refuse(c, "the task is not running");
	if (!replay_has_terminal(fd))
		return mcp_call_refuse(c, "the task has no terminal: start it with pty");
	if (v[4].given != v[5].given ||
	    (v[4].given && !pty_size_is_valid((int64_t)v[4].number, (int64_t)v[5].number)))
		return mcp_call_refuse(c, "'rows' and 'cols' go together, from 1 to 1000");
	if (v[1].given)
		buffer_puts(&typed, v[1].text);
	wrong = press(&v[2], replay_wants_application_keys(fd), &typed);
	if (wrong) {
		buffer_printf(&problem, "there is no key '%.40s'", wrong);
		return mcp_call_refuse(c, buffer_str(&problem));
	}
	if (v[3].flag)
		(void)keys_write("C-d", false, &typed);
	if (buffer_error(&typed) < 0)
		return mcp_call_refuse(c, "this is too much to be typed at once");
	order.typed = buffer_str(&typed);
	order.typed_len = typed.len;
	give_order(c, v[0].text, take_fd(&fd), &order);
}

static void put_line(const struct find_entry *e, struct buffer *text)
{
	int64_t end = e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms;
	int code = find_exit_code(e);
	char took[32];

	number_format_duration(end > e->started_ms ? end - e->started_ms : 0, took);
	buffer_printf(text, "%s  %s", e->id, find_state_name(e));
	if (code >= 0)
		buffer_printf(text, " (exit %d)", code);
	for (int i = 0; i < e->port_count; i++)
		buffer_printf(text, "%s%u", i ? ", " : "  port ", e->ports[i]);
	for (int i = 0; i < e->published_count; i++)
		buffer_printf(text, "%s127.0.0.1:%u", i ? ", " : " at ", e->published[i].host);
	buffer_printf(text, "  %s  %s%s%s%s\n", took, e->command, e->description[0] ? "  (" : "",
	              e->description, e->description[0] ? ")" : "");
}

void tool_list(struct mcp_call *c, const struct argument_value *v)
{
	scoped(content_donep) struct content content = {0};
	scoped(find_list_donep) struct find_list list = {0};
	struct json_writer w = {.out = &content.facts};

	if (!mcp_tasks_find(c, NULL, LISTED_MAX, &list))
		return;
	json_object_begin(&w);
	json_member_array(&w, "tasks");
	for (size_t i = 0; i < list.count; i++) {
		const struct find_entry *e = &list.entries[i];

		put_line(e, &content.text);
		json_object_begin(&w);
		task_put_facts(&w, e);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	if (list.count == 0)
		buffer_puts(&content.text, "[no tasks]");
	if (list.more)
		buffer_puts(&content.text, "[older ones are left out]");
	(void)mcp_call_answer_content(c, &content);
}
