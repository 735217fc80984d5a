/*
 * Keeping the lines of the source.
 *
 * bash counts lines as it reads, so a command must begin on the line of the output that it has in
 * the source. Where the output is behind, newlines go in front of the command, or continuations
 * where a newline would end it. The output is never ahead, but for here-documents in substitutions,
 * whose statements need lines of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/parse.h"
#include "shell/print.h"
#include "shell/printer.h"

/* Newlines of the source in front of AT. */
static size_t line_of(const struct printer_source *s, uint32_t at)
{
	size_t from = 0, to = s->count;

	while (from < to) {
		size_t half = from + (to - from) / 2;

		if (s->newlines[half] < at)
			from = half + 1;
		else
			to = half;
	}
	return from;
}

static size_t line_now(struct printer *p)
{
	size_t end = p->out->len;

	if (buffer_error(p->out))
		return p->line;
	if (end && p->out->data[end - 1] == '\'') /* may be taken back */
		end--;
	for (; p->counted < end; p->counted++)
		p->line += p->out->data[p->counted] == '\n';
	return p->line;
}

bool printer_is_behind(struct printer *p, uint32_t at)
{
	return line_now(p) < line_of(p->source, at);
}

void printer_reach(struct printer *p, uint32_t at, bool newline)
{
	size_t wanted, now;

	if (!p->source || !printer_is_behind(p, at))
		return;
	wanted = line_of(p->source, at);
	if (newline && p->later.len)
		printer_flush(p);
	for (now = line_now(p); now < wanted && !buffer_error(p->out); now++)
		printer_put(p, newline ? "\n" : "\\\n");
}

void printer_close(struct printer *p, uint32_t at)
{
	if (p->source && p->later.len && printer_is_behind(p, at))
		printer_flush(p);
}

void shell_print_lines(const struct shell_tree *tree, struct buffer *out)
{
	struct printer_source source = {0};
	struct printer p = {.out = out, .source = &source, .bare = true};
	uint32_t *newlines = NULL;

	for (size_t i = 0; i < tree->text.len; i++)
		source.count += tree->text.bytes[i] == '\n';
	if (source.count) {
		newlines = calloc(source.count, sizeof(*newlines));
		if (!newlines) {
			out->failed = -ENOMEM;
			return;
		}
		source.newlines = newlines;
		for (size_t i = 0, n = 0; i < tree->text.len; i++)
			if (tree->text.bytes[i] == '\n')
				newlines[n++] = (uint32_t)i;
	}
	p.counted = out->len;
	printer_list(&p, tree->list);
	if (p.later.len)
		printer_flush(&p);
	if (buffer_error(&p.later) && !out->failed)
		out->failed = buffer_error(&p.later);
	buffer_done(&p.later);
	free(newlines);
}
