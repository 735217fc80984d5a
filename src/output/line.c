#include "output/line.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/utf8.h"

void line_done(struct line *l)
{
	free(l->cells);
	*l = (struct line){0};
}

static int line_grow(struct line *l, size_t need)
{
	size_t capacity = l->capacity ? l->capacity : 256;
	uint32_t *cells;

	while (capacity < need)
		capacity *= 2;
	if (capacity == l->capacity)
		return 0;
	cells = reallocarray(l->cells, capacity, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	l->cells = cells;
	l->capacity = capacity;
	return 0;
}

int line_put(struct line *l, uint32_t code)
{
	int r = line_grow(l, l->cursor + 1);

	if (r < 0)
		return r;
	while (l->len < l->cursor)
		l->cells[l->len++] = ' ';
	l->cells[l->cursor++] = code;
	if (l->len < l->cursor)
		l->len = l->cursor;
	return 0;
}

int line_load(struct line *l, const char *text, size_t n)
{
	uint32_t code;
	int r = 0;

	l->len = 0;
	l->cursor = 0;
	for (size_t i = 0; i < n && r == 0;) {
		i += utf8_char(text + i, n - i, &code);
		r = line_put(l, code);
	}
	return r;
}

void line_move(struct line *l, size_t column)
{
	size_t most = l->len > LINE_PAD ? l->len : LINE_PAD;

	l->cursor = column < most ? column : most;
}

void line_erase(struct line *l, unsigned mode)
{
	if (mode == 0 && l->len > l->cursor)
		l->len = l->cursor;
	if (mode == 1) /* up to the cursor and its place; a longer line wraps on a real terminal */
		for (size_t i = 0; i <= l->cursor && i < l->len && i < LINE_PAD; i++)
			l->cells[i] = ' ';
	if (mode == 2) {
		l->len = 0;
		line_move(l, l->cursor);
	}
}

static void put_utf8(struct buffer *out, uint32_t code)
{
	char *to = buffer_reserve(out, 4);

	if (!to)
		return;
	if (code < 0x80) {
		to[0] = (char)code;
		out->len += 1;
	} else if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		out->len += 2;
	} else if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		out->len += 3;
	} else {
		to[0] = (char)(0xf0 | code >> 18);
		to[1] = (char)(0x80 | (code >> 12 & 0x3f));
		to[2] = (char)(0x80 | (code >> 6 & 0x3f));
		to[3] = (char)(0x80 | (code & 0x3f));
		out->len += 4;
	}
}

void line_store(const struct line *l, struct buffer *out)
{
	size_t len = l->len;

	while (len && l->cells[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < len; i++)
		put_utf8(out, l->cells[i]);
	buffer_append(out, "", 0); /* the NUL behind the content */
}
