/*
 * libvterm does the work. Two things are kept from it: numbers in escape sequences so large that it
 * would count for minutes, and answers to questions that a program asks its terminal, which nobody
 * waits for here.
 */
#include "output/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

struct screen {
	VTerm *vterm;
	VTermScreen *cells; /* of vterm */
	bool cursor_visible, alternate;
};

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
	struct screen *s = user;

	if (prop == VTERM_PROP_CURSORVISIBLE)
		s->cursor_visible = value->boolean;
	else if (prop == VTERM_PROP_ALTSCREEN)
		s->alternate = value->boolean;
	return 1;
}

static void drop_answer(const char *bytes, size_t n, void *user)
{
}

int screen_new(unsigned rows, unsigned cols, bool alternate, struct screen **ret_screen,
               struct error *err)
{
	static const VTermScreenCallbacks callbacks = {.settermprop = on_property};
	static const char enter[] = "\033[?1049h";
	scoped(screen_freep) struct screen *s = NULL;

	if (rows < 1 || rows > SCREEN_SIDE_MAX || cols < 1 || cols > SCREEN_SIDE_MAX)
		return error_set(err, ERROR_INPUT, EINVAL, "a screen of %u rows and %u columns",
		                 rows, cols);
	s = calloc(1, sizeof(*s));
	if (s)
		s->vterm = vterm_new((int)rows, (int)cols);
	if (!s || !s->vterm)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	vterm_set_utf8(s->vterm, 1);
	vterm_output_set_callback(s->vterm, drop_answer, NULL);
	s->cells = vterm_obtain_screen(s->vterm);
	vterm_screen_set_callbacks(s->cells, &callbacks, s);
	vterm_screen_enable_altscreen(s->cells, 1);
	vterm_screen_reset(s->cells, 1);
	if (alternate)
		screen_feed(s, enter, sizeof(enter) - 1);
	*ret_screen = take_ptr(&s);
	return 0;
}

struct screen *screen_free(struct screen *s)
{
	if (s && s->vterm)
		vterm_free(s->vterm);
	free(s);
	return NULL;
}

void screen_feed(struct screen *s, const char *bytes, size_t n)
{
	(void)vterm_input_write(s->vterm, bytes, n);
}

void screen_resize(struct screen *s, unsigned rows, unsigned cols)
{
	if (rows >= 1 && rows <= SCREEN_SIDE_MAX && cols >= 1 && cols <= SCREEN_SIDE_MAX)
		vterm_set_size(s->vterm, (int)rows, (int)cols);
}

void screen_facts(const struct screen *s, struct screen_facts *ret_facts)
{
	VTermPos cursor;
	int rows, cols;

	vterm_get_size(s->vterm, &rows, &cols);
	vterm_state_get_cursorpos(vterm_obtain_state(s->vterm), &cursor);
	*ret_facts = (struct screen_facts){
		.rows = (unsigned)rows,
		.cols = (unsigned)cols,
		.cursor_row = (unsigned)cursor.row,
		.cursor_col = (unsigned)cursor.col,
		.cursor_visible = s->cursor_visible,
		.alternate = s->alternate,
	};
}

static void put_code(struct buffer *into, uint32_t code)
{
	char text[4];
	size_t n = 0;

	if (code < 0x80) {
		text[n++] = (char)code;
	} else if (code < 0x800) {
		text[n++] = (char)(0xc0 | code >> 6);
		text[n++] = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		text[n++] = (char)(0xe0 | code >> 12);
		text[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (code & 0x3f));
	} else {
		text[n++] = (char)(0xf0 | code >> 18);
		text[n++] = (char)(0x80 | (code >> 12 & 0x3f));
		text[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (code & 0x3f));
	}
	/* The emulator reads what no text should hold, surrogates for example. */
	if (utf8_valid_prefix(text, n) == n && code >= 0x20 && code != 0x7f)
		buffer_append(into, text, n);
	else
		buffer_puts(into, UTF8_REPLACEMENT);
}

void screen_row(const struct screen *s, unsigned row, struct buffer *into)
{
	VTermScreenCell cell;
	VTermPos pos = {.row = (int)row};
	size_t end = into->len; /* behind the last character that is no blank */
	int rows, cols;

	vterm_get_size(s->vterm, &rows, &cols);
	for (; pos.col < cols; pos.col += cell.width > 0 ? cell.width : 1) {
		if (!vterm_screen_get_cell(s->cells, pos, &cell))
			break;
		if (cell.chars[0] == 0 || cell.chars[0] == ' ') {
			buffer_putc(into, ' ');
			continue;
		}
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
			put_code(into, cell.chars[i]);
		end = into->len;
	}
	if (buffer_error(into) == 0 && into->len > end) {
		into->len = end;
		into->data[end] = '\0';
	}
}

unsigned screen_used_rows(const struct screen *s)
{
	VTermScreenCell cell;
	int rows, cols;

	vterm_get_size(s->vterm, &rows, &cols);
	for (int row = rows - 1; row >= 0; row--)
		for (int col = 0; col < cols; col++)
			if (vterm_screen_get_cell(s->cells, (VTermPos){row, col}, &cell) &&
			    cell.chars[0] != 0 && cell.chars[0] != ' ')
				return (unsigned)row + 1;
	return 0;
}
