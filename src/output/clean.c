#include "output/clean.h"

#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/count.h"
#include "output/escape.h"
#include "output/line.h"

/*
 * Text goes straight to the output as long as it only moves forward. The first thing that goes back
 * in a line takes what the line has so far out of the output again and into a struct line, and the
 * newline puts the result back: each byte takes that detour at most once.
 */
struct cleaner {
	const struct clean_options *options;
	struct buffer *out;
	struct clean_facts facts;
	size_t line_at;    /* where the current line begins in the output */
	bool folding;      /* the current line is in LINE, not in the output */
	bool unknown_left; /* it began before the piece */
	struct line line;
};

static void cleaner_done(struct cleaner *c)
{
	line_done(&c->line);
}

static void note(struct cleaner *c, int r)
{
	if (r < 0 && !c->out->failed)
		c->out->failed = r;
}

static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

/* Bytes that stand for themselves. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		unsigned char c = (unsigned char)p[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f)
			break;
		i++;
	}
	return i;
}

static void end_line(struct cleaner *c)
{
	if (c->folding)
		line_store(&c->line, c->out);
	c->folding = false;
}

static void put_folded(struct cleaner *c, const char *text, size_t n)
{
	uint32_t code = 0;

	for (size_t i = 0; i < n && !c->out->failed;) {
		i += utf8_char(text + i, n - i, &code);
		note(c, line_put(&c->line, code));
	}
}

/* Valid text, control characters only \n and \t. */
static void put_text(struct cleaner *c, const char *text, size_t n)
{
	const char *newline;
	size_t part;

	if (c->folding) {
		newline = memchr(text, '\n', n);
		part = newline ? (size_t)(newline - text) : n;
		put_folded(c, text, part);
		if (!newline)
			return;
		end_line(c);
		text += part;
		n -= part;
	}
	buffer_append(c->out, text, n);
	newline = memrchr(text, '\n', n);
	if (newline) {
		c->line_at = c->out->len - (n - 1 - (size_t)(newline - text));
		c->unknown_left = false;
	}
}

static void fold(struct cleaner *c)
{
	if (c->folding || c->out->failed)
		return;
	c->folding = true;
	note(c, line_load(&c->line, buffer_str(c->out) + c->line_at, c->out->len - c->line_at));
	c->out->len = c->line_at;
}

static void put_control(struct cleaner *c, unsigned char code)
{
	char text[2] = {'^', (char)(code ^ 0x40)};

	if (c->options->show_controls)
		put_text(c, text, sizeof(text));
}

static size_t put_return(struct cleaner *c, const char *p, size_t n)
{
	size_t run = 1;

	if (c->options->keep_escapes) {
		buffer_putc(c->out, '\r');
		return 1;
	}
	while (run < n && p[run] == '\r')
		run++;
	if (run < n && p[run] == '\n')
		return run; /* a line end of DOS or of a terminal */
	fold(c);
	if (c->unknown_left) { /* what is known of the line lies in columns that are not */
		c->line.len = 0;
		c->unknown_left = false;
	}
	line_move(&c->line, 0);
	return run;
}

static void put_back(struct cleaner *c)
{
	if (c->options->keep_escapes) {
		buffer_putc(c->out, '\b');
		return;
	}
	fold(c);
	if (c->line.cursor)
		c->line.cursor--;
}

/* A whole sequence as it is; a string in it may hold bytes that text must not have. */
static void put_escape(struct cleaner *c, const char *p, size_t n)
{
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = utf8_char(p + i, n - i, NULL);
		if (!len) {
			len = utf8_bad(p + i, n - i);
			buffer_puts(c->out, UTF8_REPLACEMENT);
			c->facts.replaced++;
		} else if (len > 1 || !is_control((unsigned char)p[i]) || p[i] == 0x1b ||
		           i + 1 == n) {
			buffer_append(c->out, p + i, len);
		}
	}
}

static void obey(struct cleaner *c, const struct escape *e)
{
	size_t by = e->number ? e->number : 1;

	switch (e->final) {
	case 'K': /* erasing to the right of the end is what colouring tools do all the time */
		if (!c->folding && e->number == 0)
			return;
		fold(c);
		line_erase(&c->line, e->number);
		return;
	case 'G':
		fold(c);
		line_move(&c->line, by - 1);
		return;
	case 'C':
		fold(c);
		line_move(&c->line, c->line.cursor + by);
		return;
	case 'D':
		fold(c);
		line_move(&c->line, c->line.cursor > by ? c->line.cursor - by : 0);
		return;
	default:
		return;
	}
}

static size_t put_sequence(struct cleaner *c, const char *p, size_t n)
{
	struct escape e = escape_scan(p, n);

	if (e.state == ESCAPE_CUT)
		c->facts.cut_bytes += e.len;
	if (e.state != ESCAPE_WHOLE)
		return e.len;
	if (c->options->keep_escapes)
		put_escape(c, p, e.len);
	else
		obey(c, &e);
	return e.len;
}

static size_t put_wide(struct cleaner *c, const char *p, size_t n)
{
	size_t len = utf8_char(p, n, NULL);

	if (len) {
		put_text(c, p, len);
		return len;
	}
	if (c->options->ends_mid && utf8_is_cut(p, n)) {
		c->facts.cut_chars++;
		c->facts.cut_bytes += n;
		return n;
	}
	put_text(c, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
	c->facts.replaced++;
	return utf8_bad(p, n);
}

static size_t put_next(struct cleaner *c, const char *p, size_t n)
{
	size_t run = plain_run(p, n);
	unsigned char next;

	if (run) {
		put_text(c, p, run);
		return run;
	}
	next = (unsigned char)p[0];
	if (next == '\r')
		return put_return(c, p, n);
	if (escape_begins(p, n))
		return put_sequence(c, p, n);
	if (next >= 0x80)
		return put_wide(c, p, n);
	if (next == '\b')
		put_back(c);
	else if (next == '\a' && c->options->keep_escapes)
		buffer_putc(c->out, '\a');
	else
		put_control(c, next);
	return 1;
}

/* What a piece that begins anywhere may begin with: the rest of a character, then what looks like
 * the rest of a colour. Words at such a place are torn anyway, so a wrong guess costs little. */
static size_t skip_torn(struct cleaner *c, const char *p, size_t n)
{
	size_t i = 0, from;

	while (i < n && i < 3 && ((unsigned char)p[i] & 0xc0) == 0x80)
		i++;
	c->facts.cut_bytes += i;
	from = i;
	if (i < n && p[i] == '[')
		i++;
	while (i < n && i < from + 24 && strchr("0123456789;:", p[i]) && p[i])
		i++;
	if (i == from || i == n || (p[i] != 'm' && p[i] != 'K'))
		return from;
	c->facts.cut_chars += i + 1 - from;
	c->facts.cut_bytes += i + 1 - from;
	return i + 1;
}

int clean_text(const char *bytes, size_t n, const struct clean_options *options, struct buffer *out,
               struct clean_facts *ret_facts)
{
	scoped(cleaner_done) struct cleaner c = {
		.options = options,
		.out = out,
		.line_at = out->len,
		.unknown_left = options->starts_mid,
	};
	struct count count = {0};
	size_t begin = out->len, i = 0;

	if (options->starts_mid)
		i = skip_torn(&c, bytes, n);
	while (i < n && !out->failed)
		i += put_next(&c, bytes + i, n - i);
	end_line(&c);
	if (out->failed)
		return out->failed;
	if (out->data)
		out->data[out->len] = '\0'; /* folding a line to nothing moves the end back */
	count_bytes(buffer_str(out) + begin, out->len - begin, &count);
	c.facts.chars = count.chars;
	*ret_facts = c.facts;
	return 0;
}

size_t clean_unit(const char *text, size_t n)
{
	size_t len;

	if (!((unsigned char)text[0] & 0x80) && text[0] != 0x1b)
		return 1;
	if (escape_begins(text, n))
		return escape_scan(text, n).len;
	len = utf8_char(text, n, NULL);
	return len ? len : 1;
}
