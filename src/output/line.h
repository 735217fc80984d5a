#pragma once
/*
 * Line: one line of a terminal that is being rewritten, as columns of code points and a cursor.
 *
 * Blanks are made only up to LINE_PAD columns, the width of a plain terminal, so a sequence of a
 * few bytes cannot ask for much memory or time.
 */
#include <stddef.h>
#include <stdint.h>

struct buffer;

enum { LINE_PAD = 80 };

struct line {
	uint32_t *cells;
	size_t len;
	size_t capacity;
	size_t cursor;
};

void line_done(struct line *l);

int line_load(struct line *l, const char *text, size_t n); /* valid UTF-8; cursor behind it */
int line_put(struct line *l, uint32_t code);
void line_move(struct line *l, size_t column);  /* no further than it has text, or the pad */
void line_erase(struct line *l, unsigned mode); /* as CSI K: 0 right, 1 left, 2 all */
void line_store(const struct line *l, struct buffer *out); /* without the blanks at its end */
