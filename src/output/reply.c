#include "output/reply.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/escape.h"

#define ESC         "\033"
#define NUMBERS_MAX 4
#define NUMBER_TOP  9999
#define TAB         8
#define CELL_HIGH   16 /* pixels, as many terminals have it */
#define CELL_WIDE   8

struct sequence {
	char mark;   /* one of < = > ? before the numbers; 0: none */
	char middle; /* the last byte before the final one, of those that are no numbers; 0: none */
	char final;
	unsigned numbers[NUMBERS_MAX]; /* 0: not given */
	int count;
};

struct terminal {
	struct reply *r;
	unsigned rows, cols;
	struct buffer *into;
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static void move_to(struct terminal *t, unsigned row, unsigned col)
{
	t->r->at.row = least(row, t->rows - 1);
	t->r->at.col = least(col, t->cols - 1);
}

static void move_by(struct terminal *t, int rows, int cols)
{
	int row = (int)t->r->at.row + rows, col = (int)least(t->r->at.col, t->cols - 1) + cols;

	move_to(t, row < 0 ? 0 : (unsigned)row, col < 0 ? 0 : (unsigned)col);
}

static unsigned width_of(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
	            {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
	            {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if ((code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f) ||
	    (code >= 0xfe00 && code <= 0xfe0f))
		return 0;
	for (size_t i = 0; i < array_size(wide); i++)
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	return 1;
}

static void show(struct terminal *t, uint32_t code)
{
	unsigned width = width_of(code);

	if (width > 0 && t->r->at.col + width > t->cols)
		move_to(t, t->r->at.row + 1, 0);
	t->r->at.col = least(t->r->at.col + width, t->cols);
}

static void obey_control(struct terminal *t, char c)
{
	switch (c) {
	case '\r':
		move_to(t, t->r->at.row, 0);
		break;
	case '\n':
	case '\v':
	case '\f':
		t->r->at.row = least(t->r->at.row + 1, t->rows - 1);
		break;
	case '\b':
		move_by(t, 0, -1);
		break;
	case '\t':
		move_to(t, t->r->at.row, (t->r->at.col / TAB + 1) * TAB);
		break;
	default:
		break;
	}
}

/* A number that is missing or 0 means 1 for movements. */
static unsigned number_of(const struct sequence *s, int index)
{
	return s->numbers[index] > 0 ? s->numbers[index] : 1;
}

static void obey_plain(struct terminal *t, const struct sequence *s)
{
	int n = (int)number_of(s, 0);
	struct reply *r = t->r;

	switch (s->final) {
	case 'A':
		return move_by(t, -n, 0);
	case 'B':
	case 'e':
		return move_by(t, n, 0);
	case 'C':
	case 'a':
		return move_by(t, 0, n);
	case 'D':
		return move_by(t, 0, -n);
	case 'E':
		move_by(t, n, 0);
		return move_to(t, r->at.row, 0);
	case 'F':
		move_by(t, -n, 0);
		return move_to(t, r->at.row, 0);
	case 'G':
	case '`':
		return move_to(t, r->at.row, number_of(s, 0) - 1);
	case 'd':
		return move_to(t, number_of(s, 0) - 1, r->at.col);
	case 'H':
	case 'f':
		return move_to(t, number_of(s, 0) - 1, number_of(s, 1) - 1);
	case 'r': /* a new region */
		return move_to(t, 0, 0);
	case 's':
		r->saved = r->at;
		return;
	case 'u':
		return move_to(t, r->saved.row, r->saved.col);
	default:
		return;
	}
}

__attribute__((format(printf, 2, 3))) static void say(struct terminal *t, const char *format, ...)
{
	char text[96];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0 && (size_t)n < sizeof(text))
		buffer_append(t->into, text, (size_t)n);
}

static void tell_place(struct terminal *t, const char *mark)
{
	say(t, ESC "[%s%u;%uR", mark, t->r->at.row + 1, least(t->r->at.col, t->cols - 1) + 1);
}

static void tell_size(struct terminal *t, unsigned what)
{
	if (what == 14)
		say(t, ESC "[4;%u;%ut", t->rows * CELL_HIGH, t->cols * CELL_WIDE);
	else if (what == 18 || what == 19)
		say(t, ESC "[%u;%u;%ut", what - 10, t->rows, t->cols);
}

/* Whether it was a question; then it has its answer. */
static bool answer(struct terminal *t, const struct sequence *s)
{
	unsigned first = s->numbers[0];

	if (s->final == 'c' && first == 0 && !s->middle && s->mark != '=') {
		say(t, s->mark == '>' ? ESC "[>0;100;0c" : ESC "[?1;2c");
	} else if (s->final == 'n' && !s->middle && (s->mark == 0 || s->mark == '?')) {
		if (first == 5)
			say(t, ESC "[0n");
		else if (first == 6)
			tell_place(t, s->mark ? "?" : "");
	} else if (s->final == 't' && !s->mark && !s->middle) {
		tell_size(t, first);
	} else if (s->final == 'p' && s->middle == '$') {
		say(t, ESC "[%s%u;0$y", s->mark == '?' ? "?" : "", first); /* not known */
	} else {
		return false;
	}
	return true;
}

/* The other screen, and back. */
static void obey_private(struct terminal *t, const struct sequence *s)
{
	if (s->mark != '?' || s->numbers[0] != 1049)
		return;
	if (s->final == 'h')
		t->r->behind = t->r->at;
	else if (s->final == 'l')
		move_to(t, t->r->behind.row, t->r->behind.col);
}

static struct sequence read_sequence(const char *bytes, size_t n)
{
	struct sequence s = {.final = bytes[n - 1]};

	for (size_t i = 2; i + 1 < n; i++) {
		if (bytes[i] >= '0' && bytes[i] <= '9') {
			unsigned *number = &s.numbers[least((unsigned)s.count, NUMBERS_MAX - 1)];

			*number = least(*number * 10 + (unsigned)(bytes[i] - '0'), NUMBER_TOP);
		} else if (bytes[i] == ';') {
			s.count++;
		} else if (bytes[i] >= '<' && bytes[i] <= '?') {
			s.mark = bytes[i];
		} else {
			s.middle = bytes[i];
		}
	}
	return s;
}

/* Questions about colours, and for words that no answer is known to. */
static void answer_string(struct terminal *t, const char *bytes, size_t n)
{
	static const struct {
		const char *question, *answer;
	} known[] = {
		{ESC "]10;?", ESC "]10;rgb:ffff/ffff/ffff" ESC "\\"},
		{ESC "]11;?", ESC "]11;rgb:0000/0000/0000" ESC "\\"},
		{ESC "]12;?", ESC "]12;rgb:ffff/ffff/ffff" ESC "\\"},
		{ESC "P$q", ESC "P0$r" ESC "\\"},
		{ESC "P+q", ESC "P0+r" ESC "\\"},
	};

	for (size_t i = 0; i < array_size(known); i++) {
		size_t len = strlen(known[i].question);

		if (n > len && memcmp(bytes, known[i].question, len) == 0)
			buffer_puts(t->into, known[i].answer);
	}
}

static void obey_short(struct terminal *t, char c)
{
	struct reply *r = t->r;

	if (c == '7')
		r->saved = r->at;
	else if (c == '8')
		move_to(t, r->saved.row, r->saved.col);
	else if (c == 'D' || c == 'E')
		move_to(t, r->at.row + 1, c == 'E' ? 0 : r->at.col);
	else if (c == 'M')
		move_by(t, -1, 0);
	else if (c == 'c')
		move_to(t, 0, 0);
	else if (c == 'Z') /* the oldest way to ask what it is */
		say(t, ESC "[?1;2c");
}

static void obey_sequence(struct terminal *t, const char *bytes, size_t n)
{
	struct sequence s;

	if (bytes[0] != '\033' || n < 2)
		return; /* nobody writes the introducers of 8 bits */
	if (bytes[1] != '[') {
		if (n == 2)
			obey_short(t, bytes[1]);
		else
			answer_string(t, bytes, n);
		return;
	}
	s = read_sequence(bytes, n);
	if (answer(t, &s))
		return;
	if (s.mark)
		obey_private(t, &s);
	else if (!s.middle)
		obey_plain(t, &s);
}

/* How many bytes were dealt with; less than N > 0: the rest is a beginning. */
static size_t take_one(struct terminal *t, const char *bytes, size_t n)
{
	uint32_t code;
	size_t len;

	if ((unsigned char)bytes[0] >= 0x20 && (unsigned char)bytes[0] < 0x7f) {
		show(t, (unsigned char)bytes[0]);
		return 1;
	}
	if (escape_begins(bytes, n)) {
		struct escape e = escape_scan(bytes, n);

		if (e.state == ESCAPE_CUT)
			return 0;
		if (e.state == ESCAPE_WHOLE)
			obey_sequence(t, bytes, e.len);
		return e.len;
	}
	if ((unsigned char)bytes[0] < 0x80) {
		obey_control(t, bytes[0]);
		return 1;
	}
	if (utf8_is_cut(bytes, n))
		return 0;
	len = utf8_char(bytes, n, &code);
	show(t, len > 0 ? code : '?');
	return len > 0 ? len : 1;
}

/* All but a beginning; of one that is too long nothing is kept. */
static void take_all(struct terminal *t, const char *bytes, size_t n)
{
	struct reply *r = t->r;
	size_t done = 0, one = 1;

	while (done < n && one > 0) {
		one = take_one(t, bytes + done, n - done);
		done += one;
	}
	r->part_len = n - done <= sizeof(r->part) ? n - done : 0;
	memmove(r->part, bytes + done, r->part_len);
}

void reply_feed(struct reply *r, unsigned rows, unsigned cols, const char *bytes, size_t n,
                struct buffer *into)
{
	struct terminal t = {.r = r, .rows = rows, .cols = cols, .into = into};
	char joined[2 * REPLY_PART_MAX];

	if (rows == 0 || cols == 0)
		return;
	r->at.row = least(r->at.row, rows - 1); /* it may have been larger */
	r->at.col = least(r->at.col, cols);
	/* A beginning is tried again with each part of what follows. */
	while (r->part_len > 0 && n > 0) {
		size_t more = n < REPLY_PART_MAX ? n : REPLY_PART_MAX, len = r->part_len;

		memcpy(joined, r->part, len);
		memcpy(joined + len, bytes, more);
		take_all(&t, joined, len + more);
		bytes += more;
		n -= more;
	}
	if (n > 0)
		take_all(&t, bytes, n);
}
