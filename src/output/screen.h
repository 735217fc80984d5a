#pragma once
/*
 * Screen: what a terminal of a given size shows after some bytes were written to it.
 *
 * The bytes are a command's and may be anything. Time is linear in them and memory in the size of
 * the screen, up to SCREEN_SIDE_MAX in either direction.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct buffer;
struct error;
struct json_writer;
struct screen; /* opaque */

#define SCREEN_SIDE_MAX 1000

/* ALTERNATE: as a full-screen program has it. The caller owns *ret_screen. */
int screen_new(unsigned rows, unsigned cols, bool alternate, struct screen **ret_screen,
               struct error *err);
struct screen *screen_free(struct screen *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct screen *, screen_free);

void screen_feed(struct screen *s, const char *bytes, size_t n);
void screen_resize(struct screen *s, unsigned rows, unsigned cols);

struct screen_facts {
	unsigned rows, cols;
	unsigned cursor_row, cursor_col; /* from 0; a wide character is two columns */
	bool cursor_visible;
	bool alternate; /* a full-screen program has it */
};
void screen_facts(const struct screen *s, struct screen_facts *ret_facts);

/* Appends one row without the blanks at its end. */
void screen_row(const struct screen *s, unsigned row, struct buffer *into);

/* How many rows are there up to the last one that shows something. */
unsigned screen_used_rows(const struct screen *s);
