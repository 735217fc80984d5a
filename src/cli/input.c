/*
 * `nacre input`: types on the terminal of a task, or changes its size. Texts, keys and sizes reach
 * it in the order of the command line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "json/write.h"
#include "output/keys.h"
#include "task/find.h"
#include "task/reach.h"
#include "task/replay.h"

#define NO_SUCH_KEY "--key %.60s: there is no such key; 'nacre input --help' lists them"

struct input {
	struct store store;
	char id[STORE_ID_MAX];
	int dir_fd;
	struct reach reach;
	struct buffer typed; /* since the last order */
	uint64_t bytes;      /* typed in all */
	struct error err;
	bool json;
};

static void done(void *options)
{
	struct input *in = options;

	buffer_done(&in->typed);
	reach_done(&in->reach);
	fd_close(in->dir_fd);
	store_done(&in->store);
}

/* What was typed goes in packets that the keeper takes as a whole. */
static int flush(struct input *in)
{
	int r = 0;

	if (buffer_error(&in->typed) < 0)
		return error_nomem(&in->err);
	for (size_t at = 0; r == 0 && at < in->typed.len; at += CONTROL_INPUT_MAX) {
		size_t n = in->typed.len - at;

		if (n > CONTROL_INPUT_MAX)
			n = CONTROL_INPUT_MAX;
		r = reach_order(&in->reach, CONTROL_INPUT, in->typed.data + at, n);
	}
	if (r < 0)
		return error_sys(&in->err, -r, "the task does not accept input");
	in->bytes += in->typed.len;
	buffer_clear(&in->typed);
	return 0;
}

static int resize(struct input *in, const char *text)
{
	struct control_size size;
	int r;

	if (pty_read_size(text, &size.rows, &size.cols) < 0)
		return error_set(&in->err, ERROR_INPUT, EINVAL,
		                 "--resize %.60s: expected " PTY_SIZE, text);
	r = flush(in);
	if (r < 0)
		return r;
	r = reach_order(&in->reach, CONTROL_RESIZE, &size, sizeof(size));
	return r < 0 ? error_sys(&in->err, -r, "the task does not accept input") : 0;
}

/* Names with commas between; a comma of its own is the key. */
static int type_keys(struct input *in, const char *names)
{
	bool application = replay_wants_application_keys(in->dir_fd);
	char name[64];

	while (*names) {
		size_t n = strcspn(names + 1, ",") + 1; /* the first byte may be a comma itself */

		if (n >= sizeof(name))
			return error_set(&in->err, ERROR_INPUT, EINVAL, NO_SUCH_KEY, names);
		memcpy(name, names, n);
		name[n] = '\0';
		if (keys_write(name, application, &in->typed) < 0)
			return error_set(&in->err, ERROR_INPUT, EINVAL, NO_SUCH_KEY, name);
		names += n;
		if (*names == ',' && names[1])
			names++;
	}
	return 0;
}

static int open_task(struct input *in, const char *prefix)
{
	int r;

	r = find_id(&in->store, prefix, in->id, &in->err);
	if (r < 0)
		return r;
	in->dir_fd = find_open(&in->store, in->id, &in->err);
	if (in->dir_fd < 0)
		return in->dir_fd;
	r = reach_open(in->dir_fd, &in->reach, &in->err);
	if (r < 0)
		return r;
	return replay_has_terminal(in->dir_fd)
	               ? 0
	               : error_set(&in->err, ERROR_INPUT, ENOTTY,
	                           "the task has no terminal; start it with --pty");
}

/* The first word is the task; nothing can be typed before. */
static int take(void *options, const struct cli_option *o, const char *value)
{
	struct input *in = options;
	int r = 0;

	if (in->dir_fd < 0)
		r = o->letter == CLI_OPERAND ? open_task(in, value)
		                             : error_set(&in->err, ERROR_INPUT, EINVAL,
		                                         "the id of the task must come first");
	else if (o->letter == CLI_OPERAND)
		buffer_puts(&in->typed, value);
	else if (strcmp(o->name, "resize") == 0)
		r = resize(in, value);
	else
		r = type_keys(in, value ? value : "C-d");
	if (r < 0)
		cli_complain("%s", in->err.text);
	return r;
}

static int print(const struct input *in)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	json_object_begin(&w);
	json_member_bool(&w, "success", true);
	json_member_string(&w, "task_id", in->id);
	json_member_uint(&w, "bytes", in->bytes);
	json_object_end(&w);
	buffer_putc(&text, '\n');
	return cli_print(&text);
}

static int input(void *options, int argc, char **argv)
{
	static const struct cli_option word = {.letter = CLI_OPERAND};
	struct input *in = options;
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++) /* after "--" */
		r = take(in, &word, argv[i]);
	if (r == 0 && in->dir_fd < 0)
		cli_complain("input: give the id of a task; 'nacre tasks --running' lists them");
	else if (r == 0 && flush(in) < 0)
		cli_complain("%s", in->err.text);
	else if (r == 0)
		return in->json ? print(in) : 0;
	return EXIT_NACRE_FAILED;
}

static void prepare(void *options)
{
	struct input *in = options;

	*in = (struct input){.dir_fd = -1, .reach = {.socket = -1, .keeper = -1}};
	store_look(&in->store);
}

static const struct cli_option options[] = {
	{.letter = CLI_OPERAND, .value = "TEXT", CLI_BY(take)},
	{"key", "KEYS", "press keys, with commas between them; see below", CLI_BY(take)},
	{"eof", NULL, "end the input: Ctrl-D at the start of a line", CLI_BY(take)},
	{"resize", "ROWSxCOLS", "change the size of the terminal", CLI_BY(take)},
	{"json", NULL, "print one JSON object", CLI_FLAG(struct input, json)},
	{0},
};

const struct cli_command cli_input = {
	.name = "input",
	.summary = "type on the terminal of a task, or change its size",
	.usage = "TASK [TEXT | OPTION]...",
	.about = "Types on the terminal of a task that was started with --pty, in the order given. "
		 "TEXT is typed as it is, without Enter.",
	.notes = "Keys: Enter Tab Escape Space Backspace Delete Insert Up Down Left Right Home End "
		 "PageUp PageDown F1-F12, or a character. The prefixes C-, M- and S- are Control, "
		 "Alt and Shift: C-c, M-x, S-Tab. 'nacre output TASK --screen' prints what the "
		 "terminal shows.",
	.operand = "TASK",
	.options = options,
	.order = CLI_IN_ORDER,
	.most = -1,
	.size = sizeof(struct input),
	.prepare = prepare,
	.done = done,
	.main = input,
};
