/*
 * `nacre input`: types on the terminal of a task, or changes its size. Texts, keys and sizes reach
 * it in the order in which they stand on the command line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "json/write.h"
#include "output/keys.h"
#include "task/find.h"
#include "task/reach.h"
#include "task/replay.h"

enum option_id {
	OPT_WORD = 1, /* what is no option */
	OPT_HELP = 'h',
	OPT_KEY = 256,
	OPT_EOF,
	OPT_RESIZE,
	OPT_JSON,
};

static const struct option options[] = {
	{.name = "key", .has_arg = required_argument, .val = OPT_KEY},
	{.name = "eof", .has_arg = no_argument, .val = OPT_EOF},
	{.name = "resize", .has_arg = required_argument, .val = OPT_RESIZE},
	{.name = "json", .has_arg = no_argument, .val = OPT_JSON},
	{.name = "help", .has_arg = no_argument, .val = OPT_HELP},
	{0},
};

struct input {
	struct store store;
	char id[STORE_ID_MAX];
	int dir_fd;
	struct reach reach;
	struct buffer typed; /* since the last order */
	uint64_t bytes;      /* typed in all */
	struct error err;
};

static void input_done(struct input *in)
{
	buffer_done(&in->typed);
	reach_done(&in->reach);
	fd_close(in->dir_fd);
	store_done(&in->store);
}

static void help(void)
{
	puts("usage: nacre input TASK [TEXT | --key KEY[,KEY]... | --eof | --resize "
	     "ROWSxCOLS]...\n\n"
	     "Type on the terminal of a task that was started with --pty, in the order given.\n"
	     "A TEXT is typed as it is, without Enter.\n\n"
	     "  --key KEYS               Enter Tab Escape Space Backspace Delete Insert Up Down "
	     "Left\n"
	     "                           Right Home End PageUp PageDown F1-F12, or a character;\n"
	     "                           C- Control, M- Alt, S- Shift in front: C-c, M-x, S-Tab\n"
	     "  --eof                    the end of the input, as Ctrl-D at the start of a line\n"
	     "  --resize ROWSxCOLS       give the terminal another size\n"
	     "  --json                   print what was done as one JSON object\n"
	     "  --help                   this text\n\n"
	     "'nacre output TASK --screen' shows what the terminal shows.");
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
		return error_sys(&in->err, -r, "the task does not take it");
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
		                 "--resize %.60s: expected rows and columns from 1 to 1000, as in "
		                 "24x80",
		                 text);
	r = flush(in);
	if (r < 0)
		return r;
	r = reach_order(&in->reach, CONTROL_RESIZE, &size, sizeof(size));
	return r < 0 ? error_sys(&in->err, -r, "the task does not take it") : 0;
}

/* Names with commas between; a comma of its own is the key. */
static int type_keys(struct input *in, const char *names)
{
	bool application = replay_wants_application_keys(in->dir_fd);
	char name[64];

	while (*names) {
		size_t n = strcspn(names + 1, ",") + 1; /* the first byte may be a comma itself */

		if (n >= sizeof(name))
			return error_set(&in->err, ERROR_INPUT, EINVAL, "--key %.60s: no such key",
			                 names);
		memcpy(name, names, n);
		name[n] = '\0';
		if (keys_write(name, application, &in->typed) < 0)
			return error_set(&in->err, ERROR_INPUT, EINVAL, "--key %.60s: no such key",
			                 name);
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
	               : error_set(&in->err, ERROR_INPUT, ENOTTY, "the task has no terminal");
}

/* One argument. The first word is the task, and nothing can be typed before. */
static int take(struct input *in, int id, const char *value)
{
	if (in->dir_fd < 0)
		return id == OPT_WORD ? open_task(in, value)
		                      : error_set(&in->err, ERROR_INPUT, EINVAL,
		                                  "the id of the task comes first");
	switch (id) {
	case OPT_WORD:
		buffer_puts(&in->typed, value);
		return 0;
	case OPT_KEY:
		return type_keys(in, value);
	case OPT_EOF:
		return type_keys(in, "C-d");
	case OPT_RESIZE:
		return resize(in, value);
	default:
		return -EINVAL;
	}
}

static int print_json(const struct input *in)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	json_object_begin(&w);
	json_member_bool(&w, "success", true);
	json_member_string(&w, "task_id", in->id);
	json_member_uint(&w, "bytes", in->bytes);
	json_object_end(&w);
	buffer_putc(&text, '\n');
	return buffer_error(&text) < 0 ? -ENOMEM : fd_write_all(STDOUT_FILENO, text.data, text.len);
}

static int run(struct input *in, int argc, char **argv, bool *json)
{
	int id, r = 0;

	/* "-": words come in their order, as if they were options. */
	while (r == 0 && (id = cli_next_option(argc, argv, "-h", options)) != -1) {
		if (id == '?')
			return error_set(&in->err, ERROR_INPUT, EINVAL,
			                 "'nacre input --help' tells the options");
		if (id == OPT_HELP) {
			help();
			return -ECANCELED;
		}
		if (id == OPT_JSON)
			*json = true;
		else
			r = take(in, id, optarg);
	}
	for (; r == 0 && optind < argc; optind++)
		r = take(in, OPT_WORD, argv[optind]);
	if (r == 0 && in->dir_fd < 0)
		return error_set(&in->err, ERROR_INPUT, EINVAL, "give the id of a task");
	return r < 0 ? r : flush(in);
}

int cli_input(int argc, char **argv)
{
	scoped(input_done) struct input in = {.dir_fd = -1, .reach = {.socket = -1, .keeper = -1}};
	static char name[] = "nacre input";
	bool json = false;
	int r;

	argv[0] = name;
	optind = 1;
	store_look(&in.store);
	r = run(&in, argc, argv, &json);
	if (r == -ECANCELED)
		return 0;
	if (r < 0) {
		cli_complain("%s", in.err.text);
		return EXIT_NACRE_FAILED;
	}
	return json && print_json(&in) < 0 ? EXIT_NACRE_FAILED : 0;
}
