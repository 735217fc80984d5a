/*
 * `nacre output`: what a task has printed, all or a part, now or as it comes.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/pty.h"
#include "engine/result.h"
#include "task/tasks.h"
#include "json/write.h"

#define JSON_TEXT_MAX ((size_t)16 << 20) /* of one answer; --since goes on from there */

struct output_options {
	struct tasks_query query;
	bool json, follow, screen;
	bool waits;
	int64_t wait_ms;
};

/* One answer under way. */
struct output {
	const struct output_options *options;
	struct buffer
		text[2]; /* for one JSON object; [0] alone unless both streams are asked for */
	bool full;
};

static int help(void)
{
	puts("usage: nacre output [OPTIONS] TASK\n\n"
	     "Prints what a task has written. TASK is an id of 'nacre tasks', or as much of its\n"
	     "beginning as is needed.\n\n"
	     "  --follow            go on until the task ends\n"
	     "  --wait DUR          wait for its end, but not longer than this (then exit code "
	     "124)\n"
	     "  --since BYTES       pass over that many bytes\n"
	     "  --stream WHICH      stdout, stderr or both (default both)\n"
	     "  --lines A-B         lines by number; A- and -B too\n"
	     "  --grep REGEX        lines that match (PCRE)\n"
	     "  -C, --context N     and N lines around each\n"
	     "  --head N            of these the first\n"
	     "  --tail N            of these the last\n"
	     "  --raw               bytes as they were written, not text made harmless\n"
	     "  --screen            what the terminal of the task shows (see nacre input)\n"
	     "  --keep-escapes      keep terminal escape sequences\n"
	     "  --json              one JSON object; with --follow one for each line\n"
	     "  --help              this text");
	return 0;
}

static int read_number(const char *option, const char *value, uint64_t *ret)
{
	if (number_parse_u64(value, ret) == 0)
		return 0;
	cli_complain("--%s %s: expected a number", option, value);
	return -EINVAL;
}

static int read_lines(const char *value, struct pick_options *p)
{
	const char *dash = strchr(value, '-');
	char from[24] = "1";
	bool ok;

	if (!dash) {
		ok = number_parse_u64(value, &p->from) == 0;
		p->to = p->from;
	} else {
		if (dash > value)
			snprintf(from, sizeof(from), "%.*s", (int)(dash - value), value);
		ok = dash - value < (int)sizeof(from) && (dash > value || dash[1]) &&
		     number_parse_u64(from, &p->from) == 0 &&
		     (!dash[1] || number_parse_u64(dash + 1, &p->to) == 0);
	}
	if (ok && p->from > 0 && (p->to == 0 || p->to >= p->from) && !(dash && dash[1] && !p->to))
		return 0;
	cli_complain("--lines %s: expected A-B, A-, -B or A, from 1 on", value);
	return -EINVAL;
}

static int read_stream(const char *value, enum follow_stream *ret)
{
	if (follow_stream_parse(value, ret) == 0)
		return 0;
	cli_complain("--stream %s: expected stdout, stderr or both", value);
	return -EINVAL;
}

static int read_wait(struct output_options *o, const char *value)
{
	o->waits = true;
	if (number_parse_duration_ms(value, &o->wait_ms) == 0)
		return 0;
	cli_complain("--wait %s: expected a duration such as 500ms, 5s or 2m", value);
	return -EINVAL;
}

static int read_option(struct output_options *o, int id, const char *value)
{
	struct pick_options *p = &o->query.pick;

	switch (id) {
	case 'f':
		o->follow = true;
		return 0;
	case 'w':
		return read_wait(o, value);
	case 's':
		return read_number("since", value, &o->query.since);
	case 'S':
		return read_stream(value, &o->query.stream);
	case 'l':
		return read_lines(value, p);
	case 'g':
		p->regex = value;
		return 0;
	case 'C':
		return read_number("context", value, &p->context);
	case 'H':
		return read_number("head", value, &p->head);
	case 't':
		return read_number("tail", value, &p->tail);
	case 'r':
		o->query.raw = true;
		return 0;
	case 'k':
		o->query.keep_escapes = true;
		return 0;
	case 'v':
		o->screen = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int check_whole(const struct output_options *o)
{
	const struct pick_options *p = &o->query.pick;
	bool chooses = p->regex || p->from || p->head || p->tail;

	if (o->query.raw && (chooses || o->json))
		cli_complain("--raw is about all bytes: it goes neither with a choice of lines nor "
		             "with --json");
	else if (o->screen && (chooses || o->query.raw || o->follow || o->waits))
		cli_complain("--screen is what is shown now; it goes with --json only");
	else if (p->head && p->tail)
		cli_complain("--head and --tail exclude each other");
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
	if (buffer_error(&line) < 0)
		return buffer_error(&line);
	return fd_write_all(STDOUT_FILENO, line.data, line.len);
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
	if (buffer_error(&line) < 0)
		return buffer_error(&line);
	return fd_write_all(STDOUT_FILENO, line.data, line.len);
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
		left = o->waits ? end - clock_now_ms() : INT32_MAX;
		if (!o->follow && !o->waits)
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

int cli_output(int argc, char **argv)
{
	static const struct option options[] = {{"follow", no_argument, NULL, 'f'},
	                                        {"wait", required_argument, NULL, 'w'},
	                                        {"since", required_argument, NULL, 's'},
	                                        {"stream", required_argument, NULL, 'S'},
	                                        {"lines", required_argument, NULL, 'l'},
	                                        {"grep", required_argument, NULL, 'g'},
	                                        {"context", required_argument, NULL, 'C'},
	                                        {"head", required_argument, NULL, 'H'},
	                                        {"tail", required_argument, NULL, 't'},
	                                        {"raw", no_argument, NULL, 'r'},
	                                        {"keep-escapes", no_argument, NULL, 'k'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"screen", no_argument, NULL, 'v'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	struct output_options o = {.query.stream = FOLLOW_BOTH};
	static char name[] = "nacre output";
	struct store store;
	int id, code;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "hfC:", options)) != -1) {
		if (id == 'h')
			return help();
		if (read_option(&o, id, optarg) < 0)
			return EXIT_NACRE_FAILED;
	}
	if (optind + 1 != argc) {
		cli_complain("give the id of one task; 'nacre tasks' lists them");
		return EXIT_NACRE_FAILED;
	}
	o.query.id = argv[optind];
	if (check_whole(&o) < 0)
		return EXIT_NACRE_FAILED;
	store_look(&store);
	code = o.screen ? show_screen(&store, &o) : show(&store, &o);
	store_done(&store);
	return code;
}
