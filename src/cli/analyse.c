/*
 * nacre analyse: what a command line would do. Runs nothing, and reads no file but its input.
 */
#include <jansson.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "cli/analyse-text.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/lines.h"
#include "engine/result.h"
#include "json/write.h"
#include "shell/analysis-json.h"

#define INPUT_MAX ((size_t)1 << 20) /* far above what is analysed; more is refused unread */

struct analyse {
	const char *line;
	bool json, batch;
};

/* Lines are shown as bash would read them: a control character is a fact, not an error. */
static const struct shell_parse_options as_bash_reads = {.allow_control = true};

static void write_failure(struct buffer *out, const char *message)
{
	struct json_writer w = {.out = out};

	json_object_begin(&w);
	json_member_string(&w, "status", "error");
	json_member_object(&w, "error");
	json_member_string(&w, "message", message);
	json_object_end(&w);
	json_object_end(&w);
}

/* One answer as JSON; what cannot be analysed for want of memory is answered as opaque. */
static void analyse_json(struct arena *arena, const char *text, size_t n, struct buffer *out)
{
	struct json_writer w = {.out = out};
	struct shell_facts *facts;

	if (shell_facts_read(arena, text, n, &as_bash_reads, &facts) < 0)
		buffer_puts(out, "{\"status\":\"opaque\",\"commands\":[],\"effects\":[\"limit\"]}");
	else
		shell_facts_write_json(facts, &w);
	arena_reset(arena);
}

static int flush_line(struct buffer *out)
{
	buffer_putc(out, '\n');
	if (buffer_error(out)) {
		buffer_clear(out);
		write_failure(out, "the answer is too large");
		buffer_putc(out, '\n');
	}
	return cli_print(out);
}

static void answer_line(struct arena *arena, const struct buffer *line, struct buffer *out)
{
	json_error_t e;
	json_t *value =
		json_loadb(buffer_str(line), line->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);

	if (!value)
		write_failure(out, e.text);
	else if (!json_is_string(value))
		write_failure(out, "expected a JSON string");
	else
		analyse_json(arena, json_string_value(value), json_string_length(value), out);
	json_decref(value);
}

static int batch(struct arena *arena)
{
	scoped(buffer_donep) struct buffer line = {.max = INPUT_MAX}, out = {0};
	int r;

	while ((r = cli_line_read(stdin, &line)) != 0) {
		if (r < 0)
			write_failure(&out, "the line is too long");
		else
			answer_line(arena, &line, &out);
		if (flush_line(&out))
			return EXIT_NACRE_FAILED;
	}
	return ferror(stdin) ? EXIT_NACRE_FAILED : 0;
}

static int read_all(FILE *in, struct buffer *text)
{
	char chunk[16384];
	size_t n;

	while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0)
		buffer_append(text, chunk, n);
	if (ferror(in))
		return -EIO;
	return buffer_error(text);
}

static int one(struct arena *arena, const char *text, size_t n, bool json)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct shell_facts *facts;

	if (json) {
		analyse_json(arena, text, n, &out);
		return flush_line(&out);
	}
	if (shell_facts_read(arena, text, n, &as_bash_reads, &facts) < 0) {
		cli_complain("not enough memory to analyse the line");
		return EXIT_NACRE_FAILED;
	}
	analyse_print(facts, &out);
	return cli_print(&out);
}

static int analyse(void *options, int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	scoped(buffer_donep) struct buffer text = {.max = INPUT_MAX};
	const struct analyse *a = options;

	if (a->batch && a->line) {
		cli_complain("analyse: --batch reads the lines from standard input; omit -c");
		return EXIT_NACRE_FAILED;
	}
	if (!arena)
		return EXIT_NACRE_FAILED;
	if (a->batch)
		return batch(arena);
	if (a->line)
		return one(arena, a->line, strlen(a->line), a->json);
	if (read_all(stdin, &text) < 0) {
		cli_complain("analyse: the input cannot be read, or is longer than 1 MiB");
		return EXIT_NACRE_FAILED;
	}
	return one(arena, buffer_str(&text), text.len, a->json);
}

static const struct cli_option options[] = {
	{NULL, "LINE", "the line to analyse", .letter = 'c', CLI_TEXT(struct analyse, line)},
	{"json", NULL, "print one JSON object", CLI_FLAG(struct analyse, json)},
	{"batch", NULL, "read one JSON string per line, print one JSON answer per line",
         CLI_FLAG(struct analyse, batch)},
	{0},
};

const struct cli_command cli_analyse = {
	.name = "analyse",
	.summary = "show what a bash line would run, without running it",
	.usage = "[OPTIONS] [-c LINE]\n--batch",
	.about = "Shows every command that a bash line would run, without running it. Without -c, "
		 "standard input is the line.",
	.options = options,
	.size = sizeof(struct analyse),
	.main = analyse,
};
