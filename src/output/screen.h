#pragma once
/*
 * Screen: what a terminal of a given size shows after some bytes were written to it.
 *
 * The emulator is libvterm, and the bytes are a command's and may be anything: they can make it
 * crash. Who is not to crash with it uses task/replay.h, which does this in a process without any
 * rights. For that process all memory is taken in screen_new(); afterwards nothing here makes a
 * system call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct buffer;
struct error;
struct screen; /* opaque */

#define SCREEN_SIDE_MAX 1000

struct screen_size {
	unsigned rows, cols;
};

/* LARGEST: what it may be resized to. ALTERNATE: begin as a full-screen program has it. The caller
 * owns *ret_screen. */
int screen_new(struct screen_size size, struct screen_size largest, bool alternate,
               struct screen **ret_screen, struct error *err);
struct screen *screen_free(struct screen *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct screen *, screen_free);

void screen_feed(struct screen *s, const char *bytes, size_t n);
void screen_resize(struct screen *s, struct screen_size size); /* an impossible one: nothing */

struct screen_facts {
	unsigned rows, cols;
	unsigned used_rows;              /* up to the last one that shows something */
	unsigned cursor_row, cursor_col; /* from 0; a wide character is two columns */
	bool cursor_visible;
	bool alternate; /* a full-screen program has it */
};
void screen_facts(const struct screen *s, struct screen_facts *ret_facts);

/* Appends one row without the blanks at its end. Valid UTF-8 without control characters. */
void screen_row(const struct screen *s, unsigned row, struct buffer *into);

/*
 * Rows as runs of cells that look alike, for who draws them: each run is a struct screen_run and
 * its text. Blanks at the end that look like nothing are left out.
 */
#define SCREEN_COLOUR_PALETTE 0x01000000u /* with an index in the lowest byte */
#define SCREEN_COLOUR_RGB     0x02000000u /* with three bytes; 0: the default */

enum screen_attribute {
	SCREEN_BOLD = 1,
	SCREEN_ITALIC = 2,
	SCREEN_UNDERLINE = 4,
	SCREEN_REVERSE = 8,
	SCREEN_STRIKE = 16,
	SCREEN_BLINK = 32,
	SCREEN_ATTRIBUTES = 63,
};

struct screen_run {
	uint32_t fg, bg;
	uint16_t attributes, len; /* of the text, in bytes */
};

/* Appends the runs of a row, and returns how many. */
unsigned screen_runs(const struct screen *s, unsigned row, struct buffer *into);
/* Bytes that the runs of all rows can have at most. */
size_t screen_runs_max(struct screen_size size);
/* From now on it is noted which rows change. */
void screen_note_changes(struct screen *s);
/* Whether a row has changed since it was last asked, at most SCREEN_SIDE_MAX of them. */
bool screen_take_change(struct screen *s, unsigned row);
#define SCREEN_TITLE_SIZE 256
const char *screen_title(const struct screen *s); /* any bytes; "": none */

/* Bytes that all rows of a screen can have at most, each with a newline. */
size_t screen_text_max(struct screen_size size);
