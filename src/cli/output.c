/*
 * `nacre output`: the output of a task, all or a part, now or as it comes.
 *
 * One reader (task/tasks.h) serves every form: it hands over pieces of text, and this file prints
 * them as text, as one JSON object at the end, or as one object per line. An answer in JSON is
 * bounded; `next` says where to continue.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "task/tasks.h"
#include "json/write.h"

#define JSON_TEXT_MAX ((size_t)16 << 20) /* of one answer; --since goes on from there */

struct output_options {
	struct tasks_query query;
	bool json, follow, screen;
	int64_t wait_ms; /* -1: does not wait */
};

/* One answer under way. */
struct output {
	const struct output_options *options;
	struct buffer
		text[2]; /* for one JSON object; [0] alone unless both streams are asked for */
	bool full;
};

static int read_lines(void *options, const struct cli_option *o, const char *value)
{
	if (pick_lines_parse(value, &((struct output_options *)options)->query.pick))
		return 0;
	return cli_refuse(o, value, "line numbers: A-B, A-, -B or A, counted from 1");
}

static int read_stream(void *options, const struct cli_option *o, const char *value)
{
	struct output_options *to = options;

	return follow_stream_parse(value, &to->query.stream) == 0 ? 0
	                                                          : cli_refuse(o, value, o->value);
}

static int check_whole(const struct output_options *o)
{
	const struct pick_options *p = &o->query.pick;
	bool chooses = p->regex || p->from || p->head || p->tail;

	if (o->query.raw && (chooses || o->json))
		cli_complain("--raw prints all bytes; omit --json and the options that select "
		             "lines");
	else if (o->screen && (chooses || o->query.raw || o->follow || o->wait_ms >= 0))
		cli_complain(
			"--screen shows the terminal as it is now; combine it only with --json");
	else if (p->head && p->tail)
		cli_complain("--head and --tail cannot be combined");
	else
		return 0;
	return -EINVAL;
}

/* A line as an object of its own. */
static int print_json_line(const struct tasks_text *t)
{
	scoped(buffer_donep) struct buffer line = {0};
	struct json_writer w = {.out = &line};

	json_object_begin(&w);
	json_member_string(&w, "stream", t->stream ? "stderr" : "stdout");
	if (t->missing > 0)
		json_member_uint(&w, "missing_bytes", t->missing);
	else
		json_member_bytes(&w, "text", t->text, t->len);
	json_object_end(&w);
	buffer_putc(&line, '\n');
	return cli_print(&line) ? -EIO : 0;
}

static int print_text(const struct output_options *o, const struct tasks_text *t)
{
	/* Where one stream was asked for, it is the output. */
	int to = t->stream && o->query.stream == FOLLOW_BOTH ? STDERR_FILENO : STDOUT_FILENO;

	if (t->missing > 0) {
		cli_complain("%llu bytes are missing here", (unsigned long long)t->missing);
		return 0;
	}
	if (t->skipped && o->query.pick.regex && o->query.pick.context > 0 &&
	    fd_write_all(to, "--\n", 3) < 0)
		return -EIO;
	return fd_write_all(to, t->text, t->len);
}

static int on_text(void *owner, const struct tasks_text *t)
{
	struct output *out = owner;
	struct buffer *b = &out->text[t->stream && out->options->query.stream == FOLLOW_BOTH];

	if (!out->options->json)
		return print_text(out->options, t);
	if (out->options->follow)
		return print_json_line(t);
	if (t->missing > 0)
		buffer_printf(b, "[%llu bytes are missing here]\n", (unsigned long long)t->missing);
	else
		buffer_append(b, t->text, t->len);
	if (buffer_error(b) < 0)
		return buffer_error(b);
	out->full = out->text[0].len + out->text[1].len >= JSON_TEXT_MAX;
	return 0;
}

/* The object at the end: the text, unless it was printed line by line, and how the task stands. */
static int print_json_end(const struct output *out, struct tasks_reader *reader,
                          const struct store *store)
{
	const struct output_options *o = out->options;
	scoped(buffer_donep) struct buffer line = {.max = 8 * JSON_TEXT_MAX};
	struct json_writer w = {.out = &line};
	struct find_entry e;

	tasks_reader_look(reader, &e);
	json_object_begin(&w);
	if (!o->follow) {
		bool apart = o->query.stream == FOLLOW_BOTH && !e.merged;

		json_member_bytes(&w,
		                  o->query.stream == FOLLOW_ERR ? "stderr"
		                  : e.merged                    ? "output"
		                                                : "stdout",
		                  buffer_str(&out->text[0]), out->text[0].len);
		if (apart)
			json_member_bytes(&w, "stderr", buffer_str(&out->text[1]),
			                  out->text[1].len);
		json_member_bool(&w, "truncated", out->full);
	}
	json_member_uint(&w, "next", tasks_reader_next(reader));
	tasks_put_entry(&w, store, &e);
	json_object_end(&w);
	buffer_putc(&line, '\n');
	return cli_print(&line) ? -EIO : 0;
}

/* Waits for the end first, or prints as it comes. Returns 1 if the time was over before the end. */
static int read_on(struct output *out, struct tasks_reader *reader)
{
	const struct output_options *o = out->options;
	int64_t end = clock_now_ms() + o->wait_ms, left;
	int r = TASKS_MORE;

	while (r != TASKS_DONE && !out->full) {
		r = tasks_reader_step(reader);
		if (r < 0)
			return r;
		if (r != TASKS_WAIT)
			continue;
		left = o->wait_ms >= 0 ? end - clock_now_ms() : INT32_MAX;
		if (!o->follow && o->wait_ms < 0)
			break;
		if (left <= 0)
			return tasks_reader_end(reader) < 0 ? -EIO : 1;
		follow_wait(tasks_reader_follow(reader), left);
	}
	return tasks_reader_end(reader);
}

static int show(struct store *store, const struct output_options *o)
{
	scoped(tasks_reader_freep) struct tasks_reader *reader = NULL;
	struct output out = {.options = o};
	struct error err = {0};
	int r, late;

	r = tasks_reader_new(store, &o->query, on_text, &out, &reader, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	late = r = read_on(&out, reader);
	if (r >= 0 && o->json)
		r = print_json_end(&out, reader, store);
	buffer_done(&out.text[0]);
	buffer_done(&out.text[1]);
	if (r < 0) {
		cli_complain("%s", r == -ETIME
		                           ? "the regular expression takes too long on this output"
		                           : strerrordesc_np(-r));
		return EXIT_NACRE_FAILED;
	}
	return late == 1 ? EXIT_TIMED_OUT : 0;
}

static int show_screen(struct store *store, const struct output_options *o)
{
	scoped(fd_closep) int dir_fd = -1;
	struct find_entry e = {0};
	char id[STORE_ID_MAX];
	struct error err = {0};

	if (find_id(store, o->query.id, id, &err) == 0)
		dir_fd = find_open(store, id, &err);
	if (dir_fd < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	find_look(dir_fd, id, &e);
	return cli_screen(id, dir_fd, e.state == FIND_ENDED ? &e.report : NULL, o->json);
}

static int output(void *options, int argc, char **argv)
{
	struct output_options *o = options;
	struct store store;
	int code;

	o->query.id = argv[0];
	if (check_whole(o) < 0)
		return EXIT_NACRE_FAILED;
	store_look(&store);
	code = o->screen ? show_screen(&store, o) : show(&store, o);
	store_done(&store);
	return code;
}

static void prepare(void *options)
{
	*(struct output_options *)options =
		(struct output_options){.query.stream = FOLLOW_BOTH, .wait_ms = -1};
}

#define OUTPUT struct output_options
static const struct cli_option options[] = {
	{"follow", NULL, "continue until the task ends", .letter = 'f', CLI_FLAG(OUTPUT, follow)},
	{"wait", "DUR", "wait at most this long for the end (exit code 124 if it has not come)",
         CLI_DURATION(OUTPUT, wait_ms, 0, CLI_FOREVER)},
	{"since", "BYTES", "skip this many bytes", CLI_COUNT(OUTPUT, query.since, 0, UINT64_MAX)},
	{"stream", "stdout|stderr|both", "which stream (default both)", CLI_BY(read_stream)},
	{"lines", "A-B", "lines by number; also A- and -B", CLI_BY(read_lines)},
	{"grep", "REGEX", "lines that match (PCRE2)", CLI_TEXT(OUTPUT, query.pick.regex)},
	{"context", "N", "with --grep: also N lines around each match", .letter = 'C',
         CLI_COUNT(OUTPUT, query.pick.context, 0, UINT64_MAX)},
	{"head", "N", "only the first N of the selected lines",
         CLI_COUNT(OUTPUT, query.pick.head, 0, UINT64_MAX)},
	{"tail", "N", "only the last N of the selected lines",
         CLI_COUNT(OUTPUT, query.pick.tail, 0, UINT64_MAX)},
	{"raw", NULL, "print the bytes as they were written, unsafe for a terminal",
         CLI_FLAG(OUTPUT, query.raw)},
	{"screen", NULL, "print what the terminal of the task shows (see 'nacre input')",
         CLI_FLAG(OUTPUT, screen)},
	{"keep-escapes", NULL, "keep terminal escape sequences",
         CLI_FLAG(OUTPUT, query.keep_escapes)},
	{"json", NULL, "print one JSON object; with --follow one per line", CLI_FLAG(OUTPUT, json)},
	{0},
};
#undef OUTPUT

const struct cli_command cli_output = {
	.name = "output",
	.summary = "show the output of a task, or follow it",
	.usage = "[OPTIONS] TASK",
	.about = "Prints the output of a task. TASK is an id that 'nacre tasks' lists, or a unique "
		 "beginning of it.",
	.operand = "TASK",
	.options = options,
	.least = 1,
	.most = 1,
	.size = sizeof(struct output_options),
	.prepare = prepare,
	.main = output,
};
