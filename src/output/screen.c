/*
 * libvterm gets its memory from a pool of its own: a region that is asked for at once, cut into
 * blocks whose sizes are powers of two. Pages that nobody touches cost nothing. Answers to
 * questions that a program asks its terminal go nowhere.
 */
#include "output/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vterm.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

#define POOL_BYTES  ((size_t)8 << 20) /* beside what depends on the size */
#define CELL_BYTES  64 /* of a cell with all that is kept about it; it has about 40 */
#define POOL_COPIES 16 /* two screens, before and after a resize, rounded up, not in one piece */
#define CLASS_MAX   48

struct block {
	size_t class;
	struct block *next; /* free one of its class; the memory that is given out begins here */
};

struct pool {
	char *region;
	size_t size, used;
	struct block *unused[CLASS_MAX];
};

struct screen {
	struct pool pool;
	VTermAllocatorFunctions memory; /* the way there */
	VTerm *vterm;                   /* lives in the pool */
	VTermScreen *cells;             /* of vterm */
	bool cursor_visible, alternate;
	bool changed[SCREEN_SIDE_MAX]; /* rows */
	char title[SCREEN_TITLE_SIZE];
};

#define BLOCK_HEAD 16 /* keeps what is given out aligned for anything */

static void *pool_take(size_t n, void *user)
{
	struct pool *p = user;
	struct block *b;
	size_t class = 5;

	while (class < CLASS_MAX && ((size_t)1 << class) < n + BLOCK_HEAD)
		class ++;
	if (class == CLASS_MAX)
		return NULL;
	b = p->unused[class];
	if (b) {
		p->unused[class] = b->next;
	} else {
		if (((size_t)1 << class) > p->size - p->used)
			return NULL;
		b = (struct block *)(void *)(p->region + p->used);
		p->used += (size_t)1 << class;
	}
	b->class = class;
	return memset((char *)b + BLOCK_HEAD, 0, n);
}

static void pool_give(void *memory, void *user)
{
	struct pool *p = user;
	struct block *b;

	if (!memory)
		return;
	b = (struct block *)(void *)((char *)memory - BLOCK_HEAD);
	b->next = p->unused[b->class];
	p->unused[b->class] = b;
}

static int pool_init(struct pool *p, struct screen_size largest)
{
	p->size = POOL_BYTES + (size_t)largest.rows * largest.cols * CELL_BYTES * POOL_COPIES;
	p->region = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->region == MAP_FAILED)
		p->region = NULL;
	return p->region ? 0 : -ENOMEM;
}

/* A title may come in pieces; what does not fit is left out. */
static void take_title(struct screen *s, const VTermValue *value)
{
#if VTERM_VERSION_MAJOR > 0 || VTERM_VERSION_MINOR >= 2
	size_t have = value->string.initial ? 0 : strlen(s->title), n = value->string.len;

	if (n > sizeof(s->title) - 1 - have)
		n = sizeof(s->title) - 1 - have;
	memcpy(s->title + have, value->string.str, n);
	s->title[have + n] = '\0';
#else
	size_t n = value->string ? strnlen(value->string, sizeof(s->title) - 1) : 0;

	if (n > 0)
		memcpy(s->title, value->string, n);
	s->title[n] = '\0';
#endif
}

static int on_damage(VTermRect rect, void *user)
{
	struct screen *s = user;

	for (int row = rect.start_row; row < rect.end_row && row < SCREEN_SIDE_MAX; row++)
		if (row >= 0)
			s->changed[row] = true;
	return 1;
}

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
	struct screen *s = user;

	if (prop == VTERM_PROP_TITLE)
		take_title(s, value);

	if (prop == VTERM_PROP_CURSORVISIBLE)
		s->cursor_visible = value->boolean;
	else if (prop == VTERM_PROP_ALTSCREEN)
		s->alternate = value->boolean;
	return 1;
}

static void drop_answer(const char *bytes, size_t n, void *user)
{
}

static bool is_possible(struct screen_size size)
{
	return size.rows >= 1 && size.rows <= SCREEN_SIDE_MAX && size.cols >= 1 &&
	       size.cols <= SCREEN_SIDE_MAX;
}

int screen_new(struct screen_size size, struct screen_size largest, bool alternate,
               struct screen **ret_screen, struct error *err)
{
	static const VTermScreenCallbacks callbacks = {.settermprop = on_property,
	                                               .damage = on_damage};
	static const char enter[] = "\033[?1049h";
	scoped(screen_freep) struct screen *s = NULL;

	if (!is_possible(size) || !is_possible(largest))
		return error_set(err, ERROR_INPUT, EINVAL, "a screen of %u rows and %u columns",
		                 size.rows, size.cols);
	s = calloc(1, sizeof(*s));
	if (!s || pool_init(&s->pool, largest) < 0)
		return error_nomem(err);
	s->memory = (VTermAllocatorFunctions){pool_take, pool_give};
	s->vterm = vterm_new_with_allocator((int)size.rows, (int)size.cols, &s->memory, &s->pool);
	if (!s->vterm)
		return error_nomem(err);
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
	if (s && s->pool.region)
		(void)munmap(s->pool.region, s->pool.size); /* and all that libvterm has */
	free(s);
	return NULL;
}

void screen_feed(struct screen *s, const char *bytes, size_t n)
{
	(void)vterm_input_write(s->vterm, bytes, n);
}

void screen_resize(struct screen *s, struct screen_size size)
{
	if (is_possible(size))
		vterm_set_size(s->vterm, (int)size.rows, (int)size.cols);
}

size_t screen_text_max(struct screen_size size)
{
	return (size_t)size.rows * ((size_t)size.cols * VTERM_MAX_CHARS_PER_CELL * 4 + 1);
}

static unsigned used_rows(const struct screen *s)
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

void screen_facts(const struct screen *s, struct screen_facts *ret_facts)
{
	VTermPos cursor;
	int rows, cols;

	vterm_get_size(s->vterm, &rows, &cols);
	vterm_state_get_cursorpos(vterm_obtain_state(s->vterm), &cursor);
	*ret_facts = (struct screen_facts){
		.rows = (unsigned)rows,
		.cols = (unsigned)cols,
		.used_rows = used_rows(s),
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
	if (utf8_valid_prefix(text, n) == n && code >= 0x20 && (code < 0x7f || code >= 0xa0))
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
	while (pos.col < cols && vterm_screen_get_cell(s->cells, pos, &cell)) {
		pos.col += cell.width > 0 ? cell.width : 1;
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

size_t screen_runs_max(struct screen_size size)
{
	return (size_t)size.rows * size.cols *
	       (sizeof(struct screen_run) + (size_t)VTERM_MAX_CHARS_PER_CELL * 4);
}

void screen_note_changes(struct screen *s)
{
	vterm_screen_set_damage_merge(s->cells, VTERM_DAMAGE_ROW);
}

bool screen_take_change(struct screen *s, unsigned row)
{
	bool was;

	vterm_screen_flush_damage(s->cells);
	was = s->changed[row];
	s->changed[row] = false;
	return was;
}

const char *screen_title(const struct screen *s)
{
	return s->title;
}

static uint32_t colour_of(const VTermColor *c, bool is_default)
{
	if (is_default)
		return 0;
	if (VTERM_COLOR_IS_INDEXED(c))
		return SCREEN_COLOUR_PALETTE | c->indexed.idx;
	return SCREEN_COLOUR_RGB | (uint32_t)c->rgb.red << 16 | (uint32_t)c->rgb.green << 8 |
	       c->rgb.blue;
}

static struct screen_run look_of(const VTermScreenCell *cell)
{
	struct screen_run r = {.fg = colour_of(&cell->fg, VTERM_COLOR_IS_DEFAULT_FG(&cell->fg)),
	                       .bg = colour_of(&cell->bg, VTERM_COLOR_IS_DEFAULT_BG(&cell->bg))};

	r.attributes = (uint16_t)((cell->attrs.bold ? SCREEN_BOLD : 0) |
	                          (cell->attrs.italic ? SCREEN_ITALIC : 0) |
	                          (cell->attrs.underline ? SCREEN_UNDERLINE : 0) |
	                          (cell->attrs.reverse ? SCREEN_REVERSE : 0) |
	                          (cell->attrs.strike ? SCREEN_STRIKE : 0) |
	                          (cell->attrs.blink ? SCREEN_BLINK : 0));
	return r;
}

static bool is_same_look(const struct screen_run *a, const struct screen_run *b)
{
	return a->fg == b->fg && a->bg == b->bg && a->attributes == b->attributes;
}

static bool is_blank(const VTermScreenCell *cell)
{
	return cell->chars[0] == 0 || cell->chars[0] == ' ';
}

/* The last column that shows something, and one more. */
static int used_cols(const struct screen *s, unsigned row, int cols)
{
	const struct screen_run plain = {0};
	VTermScreenCell cell;
	struct screen_run look;

	while (cols > 0 && vterm_screen_get_cell(s->cells, (VTermPos){(int)row, cols - 1}, &cell)) {
		look = look_of(&cell);
		if (!is_blank(&cell) || !is_same_look(&look, &plain))
			break;
		cols--;
	}
	return cols;
}

unsigned screen_runs(const struct screen *s, unsigned row, struct buffer *into)
{
	VTermPos pos = {.row = (int)row};
	struct screen_run run = {0}, look;
	VTermScreenCell cell;
	size_t at = 0; /* where the run is in the buffer */
	unsigned count = 0;
	int rows, cols;

	vterm_get_size(s->vterm, &rows, &cols);
	cols = used_cols(s, row, cols);
	while (pos.col < cols && vterm_screen_get_cell(s->cells, pos, &cell)) {
		size_t before = into->len;

		look = look_of(&cell);
		if (count == 0 || !is_same_look(&look, &run) || run.len > UINT16_MAX - 64) {
			run = look;
			at = into->len;
			buffer_append(into, &run, sizeof(run));
			before = into->len;
			count++;
		}
		pos.col += cell.width > 0 ? cell.width : 1;
		if (is_blank(&cell))
			buffer_putc(into, ' ');
		for (int i = 0; !is_blank(&cell) && i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i];
		     i++)
			put_code(into, cell.chars[i]);
		run.len = (uint16_t)(run.len + (into->len - before));
		if (buffer_error(into) == 0)
			memcpy(into->data + at, &run, sizeof(run));
	}
	return count;
}
