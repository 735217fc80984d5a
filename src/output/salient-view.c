/*
 *	1     beginning     gap   lines that matter   gap     end     N
 *	|----------------|........|--|....|-----|.........|-----------|
 *
 * Beginning and end are read as units: a line, or many lines in a row that are much the same and
 * take one line. The beginning has a share of the limit, the end a larger one, since that is where
 * tools say what came of it. The lines that matter have the rest; what they leave goes to the ends.
 *
 * What notices take is not known before the text is written. So it is written, and if it is too
 * long once more with less for the middle.
 */
#include "output/salient-view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "output/clean.h"
#include "output/count.h"
#include "output/salient-match.h"
#include "output/salient.h"

#define ROWS_MAX   20000 /* lines of each end that are looked at */
#define LINE_LEAST 200   /* bytes of a long line that are shown */
#define LINE_MOST  2000
#define RUN_LEAST  6  /* lines in a row that are much the same, before they are folded */
#define RUN_SHOWN  2  /* of them, before the fold; one is shown behind it */
#define LETTERS    12 /* in lines that are the same but for numbers: a table is none */
#define TRIES      8
#define LIMIT_MIN  600
#define MARK_BYTES 40 /* of a notice, without the call */

struct row {
	size_t from, len;
	uint32_t shape;
	bool routine, wordy;
};

struct unit {
	size_t first, count; /* rows; more than 1: folded */
	size_t cost;
};

/* One end of the stream. */
struct side {
	const char *text;
	uint64_t number; /* of its first row */
	struct row *rows;
	size_t row_count;
	struct unit *units;
	size_t unit_count;
};

struct chosen {
	struct salient_line line;
	bool taken;
};

struct writer {
	const struct salient_source *source;
	const struct salient_limits *limits;
	size_t line_max, call_bytes;
	struct side head, tail;
	struct chosen *middle;
	size_t middle_count;
	size_t *order; /* of the middle, the best first */
	size_t head_units, tail_units;
	struct buffer *into;
	struct salient_shown shown;
	uint64_t last; /* line that is in the text or told of */
	uint64_t similar;
};

static void side_done(struct side *s)
{
	free(s->rows);
	free(s->units);
}

static void writer_done(struct writer *w)
{
	side_done(&w->head);
	side_done(&w->tail);
	free(w->middle);
	free(w->order);
}

/* How much of a line is shown: all, or whole characters up to the limit. */
static size_t shown_of(const char *text, size_t n, size_t max)
{
	size_t i = 0, len;

	if (n <= max)
		return n;
	while (i < n) {
		len = clean_unit(text + i, n - i);
		if (i + len > max)
			break;
		i += len;
	}
	return i;
}

static size_t cost_of(size_t n, size_t max)
{
	return n <= max ? n + 1 : max + MARK_BYTES;
}

static struct row look_at(const char *text, size_t from, size_t len)
{
	char scratch[SALIENT_LOOK_MAX];
	struct row r = {.from = from, .len = len};
	const char *looked;
	size_t n, letters = 0;

	r.routine = salient_match(text + from, len, scratch, &looked, &n).kind == SALIENT_ROUTINE;
	r.shape = salient_shape(text + from, len);
	for (size_t i = 0; i < len && letters < LETTERS; i++)
		letters += ((unsigned char)text[from + i] | 0x20) >= 'a' &&
		           ((unsigned char)text[from + i] | 0x20) <= 'z';
	r.wordy = letters >= LETTERS;
	return r;
}

static bool much_the_same(const struct side *s, const struct row *a, const struct row *b)
{
	if (a->routine && b->routine)
		return true;
	if (a->shape != b->shape)
		return false;
	return a->wordy ||
	       (a->len == b->len && memcmp(s->text + a->from, s->text + b->from, a->len) == 0);
}

static int add_rows(struct side *s, const char *text, size_t n, bool from_end)
{
	size_t at = 0, lines, skip = 0;
	struct count count = {0};

	s->text = text;
	count_bytes(text, n, &count);
	lines = (size_t)count.newlines + (n > 0 && text[n - 1] != '\n');
	if (from_end && lines > ROWS_MAX)
		skip = lines - ROWS_MAX;
	s->number += skip;
	s->rows = calloc(lines < ROWS_MAX ? lines + 1 : ROWS_MAX, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	while (at < n && s->row_count < ROWS_MAX) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) - at : n - at;

		if (skip > 0)
			skip--;
		else
			s->rows[s->row_count++] = look_at(text, at, len);
		at += len + 1;
	}
	return 0;
}

static void add_unit(struct side *s, size_t first, size_t count, size_t line_max)
{
	s->units[s->unit_count++] = (struct unit){
		.first = first,
		.count = count,
		.cost = count > 1 ? MARK_BYTES : cost_of(s->rows[first].len, line_max)};
}

static int add_units(struct side *s, size_t line_max)
{
	size_t i = 0, run;

	s->units = calloc(s->row_count + 1, sizeof(*s->units));
	if (!s->units)
		return -ENOMEM;
	for (; i < s->row_count; i += run) {
		size_t at = i;

		for (run = 1; i + run < s->row_count; run++)
			if (!much_the_same(s, &s->rows[i + run - 1], &s->rows[i + run]))
				break;
		if (run >= RUN_LEAST) {
			for (; at < i + RUN_SHOWN; at++)
				add_unit(s, at, 1, line_max);
			add_unit(s, at, run - RUN_SHOWN - 1, line_max);
			at = i + run - 1;
		}
		for (; at < i + run; at++)
			add_unit(s, at, 1, line_max);
	}
	return 0;
}

static uint64_t unit_first(const struct side *s, size_t i)
{
	return s->number + s->units[i].first;
}

static uint64_t unit_last(const struct side *s, size_t i)
{
	return unit_first(s, i) + s->units[i].count - 1;
}

static int read_middle(struct writer *w, const char *at, const char *end)
{
	const char *p = at;
	struct salient_line line;
	uint64_t last = 0;
	size_t n = 0;

	while (salient_next(&p, end, &line))
		n++;
	w->middle = calloc(n + 1, sizeof(*w->middle));
	w->order = calloc(n + 1, sizeof(*w->order));
	if (!w->middle || !w->order)
		return -ENOMEM;
	while (w->middle_count < n && salient_next(&at, end, &line)) {
		if (line.number <= last || line.number > w->source->lines)
			continue; /* no blob of ours */
		last = line.number;
		w->middle[w->middle_count++].line = line;
	}
	return 0;
}

/* By weight, and of one weight the earlier first: one pass for each weight. */
static void sort_middle(struct writer *w)
{
	size_t start[SALIENT_WEIGHT_MAX + 2] = {0};

	for (size_t i = 0; i < w->middle_count; i++)
		start[SALIENT_WEIGHT_MAX - w->middle[i].line.weight + 1]++;
	for (size_t i = 1; i < SALIENT_WEIGHT_MAX + 2; i++)
		start[i] += start[i - 1];
	for (size_t i = 0; i < w->middle_count; i++)
		w->order[start[SALIENT_WEIGHT_MAX - w->middle[i].line.weight]++] = i;
}

static uint64_t head_end(const struct writer *w)
{
	return w->head_units > 0 ? unit_last(&w->head, w->head_units - 1) : 0;
}

static uint64_t tail_begin(const struct writer *w)
{
	return w->tail_units > 0 ? unit_first(&w->tail, w->tail.unit_count - w->tail_units)
	                         : w->source->lines + 1;
}

/* Takes units within the budget; returns what is left of it. */
static size_t take_head(struct writer *w, size_t budget, uint64_t *lines)
{
	const struct side *s = &w->head;

	for (; w->head_units<s->unit_count && * lines> 0; w->head_units++, --*lines) {
		const struct unit *u = &s->units[w->head_units];

		if (u->cost > budget || unit_last(s, w->head_units) >= tail_begin(w))
			break;
		budget -= u->cost;
	}
	return budget;
}

static size_t take_tail(struct writer *w, size_t budget, uint64_t *lines)
{
	const struct side *s = &w->tail;

	for (; w->tail_units<s->unit_count && * lines> 0; w->tail_units++, --*lines) {
		size_t i = s->unit_count - 1 - w->tail_units;

		if (s->units[i].cost > budget || unit_first(s, i) <= head_end(w))
			break;
		budget -= s->units[i].cost;
	}
	return budget;
}

static bool is_beside(const struct writer *w, size_t i)
{
	const struct chosen *c = &w->middle[i];

	return (i > 0 && c[-1].taken && c[-1].line.number + 1 == c->line.number) ||
	       (i + 1 < w->middle_count && c[1].taken && c[1].line.number == c->line.number + 1);
}

/* The best lines between both ends. */
static size_t take_middle(struct writer *w, size_t budget, uint64_t *lines)
{
	uint64_t from = head_end(w), to = tail_begin(w);
	size_t mark = MARK_BYTES + w->call_bytes;

	for (size_t k = 0; k < w->middle_count; k++) {
		struct chosen *c = &w->middle[w->order[k]];
		bool beside = is_beside(w, w->order[k]);
		size_t cost = cost_of(c->line.len + c->line.cut, w->line_max);
		uint64_t needs = beside ? 1 : 2;

		c->taken = false;
		cost += (beside ? 0 : mark) + (c->line.similar > 0 ? MARK_BYTES : 0);
		if (c->line.number <= from || c->line.number >= to || cost > budget ||
		    needs > *lines)
			continue;
		c->taken = true;
		budget -= cost;
		*lines -= needs;
	}
	return budget;
}

/* Writing */

static void put_text(struct writer *w, const char *text, size_t n, size_t more)
{
	size_t len = shown_of(text, n, w->line_max);
	struct count count = {0};

	count_bytes(text, len, &count);
	buffer_append(w->into, text, len);
	if (n - len + more > 0)
		buffer_printf(w->into, " [… %zu bytes]", n - len + more);
	buffer_putc(w->into, '\n');
	w->shown.bytes += len + 1;
	w->shown.chars += count.chars + 1;
	w->shown.lines++;
}

/* Lines between the last one and this are not in the text. */
static void put_gap(struct writer *w, uint64_t next)
{
	const struct salient_limits *l = w->limits;
	uint64_t from = w->last + 1, to = next - 1;

	if (from >= next)
		return;
	buffer_puts(w->into, "[… ");
	if (w->similar > 0)
		buffer_printf(w->into, "%" PRIu64 " similar lines; ", w->similar);
	w->similar = 0;
	if (from == to)
		buffer_printf(w->into, "line %" PRIu64 " left out", from);
	else
		buffer_printf(w->into, "lines %" PRIu64 "-%" PRIu64 " left out", from, to);
	if (l->call_before && (l->call_upto == 0 || to <= l->call_upto))
		buffer_printf(w->into, ": %s%" PRIu64 "-%" PRIu64 "%s", l->call_before, from, to,
		              l->call_behind);
	buffer_puts(w->into, "]\n");
	w->last = to;
}

/* A gap of a few short lines takes less than a notice about it. */
static void bridge(struct writer *w, uint64_t next)
{
	const struct side *s = &w->head;
	size_t cost = 0, room = MARK_BYTES + w->call_bytes;

	if (w->source->whole && next <= s->number + s->row_count && w->similar == 0) {
		for (uint64_t i = w->last + 1; i < next && cost <= room; i++)
			cost += cost_of(s->rows[i - s->number].len, w->line_max);
		for (; cost <= room && w->last + 1 < next; w->last++) {
			const struct row *r = &s->rows[w->last + 1 - s->number];

			put_text(w, s->text + r->from, r->len, 0);
		}
	}
	put_gap(w, next);
}

static void put_units(struct writer *w, const struct side *s, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		const struct unit *u = &s->units[i];
		const struct row *r = &s->rows[u->first];

		if (i == first)
			bridge(w, unit_first(s, i));
		if (u->count > 1)
			buffer_printf(w->into, "[… %zu similar lines, %" PRIu64 "-%" PRIu64 "]\n",
			              u->count, unit_first(s, i), unit_last(s, i));
		else
			put_text(w, s->text + r->from, r->len, 0);
		w->last = unit_last(s, i);
	}
}

static int put_chosen(struct writer *w, const struct salient_line *l)
{
	const struct clean_options options = {0};
	scoped(buffer_donep) struct buffer clean = {0};
	struct clean_facts facts;
	int r = clean_text(l->text, l->len, &options, &clean, &facts);

	if (r < 0)
		return r;
	bridge(w, l->number);
	put_text(w, buffer_str(&clean), clean.len, l->cut);
	w->last = l->number;
	w->similar = l->similar;
	return 0;
}

static int put_all(struct writer *w)
{
	uint64_t from, to = tail_begin(w);
	int r = 0;

	w->shown = (struct salient_shown){0};
	w->last = w->similar = 0;
	put_units(w, &w->head, 0, w->head_units);
	from = head_end(w);
	for (size_t i = 0; i < w->middle_count && r == 0; i++) {
		const struct salient_line *l = &w->middle[i].line;

		if (w->middle[i].taken && l->number > from && l->number < to)
			r = put_chosen(w, l);
	}
	put_units(w, &w->tail, w->tail.unit_count - w->tail_units, w->tail_units);
	bridge(w, w->source->lines + 1);
	return r < 0 ? r : buffer_error(w->into);
}

static uint64_t lines_of(const struct buffer *b, size_t from)
{
	struct count count = {0};

	count_bytes(b->data + from, b->len - from, &count);
	return count.newlines;
}

/* Half of what there is goes to the middle, most of the rest to the end. */
static void share_out(struct writer *w, size_t bytes, uint64_t lines)
{
	uint64_t few = lines / 6, some = lines / 3, left = lines - few - some;
	size_t rest;

	w->head_units = w->tail_units = 0;
	rest = bytes - bytes / 6 - bytes / 4;
	rest += take_head(w, bytes / 6, &few);
	rest += take_tail(w, bytes / 4, &some);
	rest = take_middle(w, rest, &left);
	some += left / 2;
	few += left / 2;
	rest = rest / 3 + take_tail(w, rest - rest / 3, &some);
	few += some;
	(void)take_head(w, rest, &few);
}

static int write_text(struct writer *w)
{
	uint64_t lines_max = w->limits->lines ? w->limits->lines : UINT64_MAX / 2,
		 lines = lines_max;
	size_t begin = w->into->len, bytes = w->limits->bytes;
	int r;

	for (int i = 0; i < TRIES; i++) {
		size_t len;
		uint64_t has;

		w->into->len = begin;
		share_out(w, bytes, lines);
		r = put_all(w);
		if (r < 0)
			return r;
		len = w->into->len - begin;
		has = lines_of(w->into, begin);
		if (len <= w->limits->bytes && has <= lines_max)
			return w->shown.lines > 0 ? 0 : -ENOSPC;
		if (len > w->limits->bytes)
			bytes -= len - w->limits->bytes + MARK_BYTES < bytes
			                 ? len - w->limits->bytes + MARK_BYTES
			                 : bytes;
		if (has > lines_max)
			lines -= has - lines_max + 2 < lines ? has - lines_max + 2 : lines;
	}
	w->into->len = begin;
	return -ENOSPC;
}

/* Lines that are so long that few of them fit are no lines to choose from. */
static bool has_lines(const struct salient_source *s, size_t limit)
{
	struct count head = {0}, tail = {0};
	size_t bytes = s->head_len + (s->whole ? 0 : s->tail_len);

	count_bytes(s->head, s->head_len, &head);
	if (!s->whole)
		count_bytes(s->tail, s->tail_len, &tail);
	return limit >= LIMIT_MIN && (head.newlines + tail.newlines + 1) * limit / 2 >= bytes;
}

static int prepare(struct writer *w, struct buffer *blob)
{
	const struct salient_source *s = w->source;
	const char *middle = s->middle;
	size_t middle_len = s->middle_len, tail = s->tail_mid ? 1 : 0;
	const char *from = s->tail;
	int r;

	if (tail && s->tail_len > 0) { /* its first line is not whole */
		from = memchr(s->tail, '\n', s->tail_len);
		from = from ? from + 1 : s->tail + s->tail_len;
	}
	w->head.number = 1;
	w->tail.number = s->tail_first + tail;
	r = add_rows(&w->head, s->head, s->head_len, false);
	if (r == 0)
		r = add_rows(&w->tail, from, (size_t)(s->tail + s->tail_len - from), true);
	if (r == 0 && !s->whole && w->head.row_count > 0 &&
	    w->head.row_count < ROWS_MAX) /* its last line is not whole */
		w->head.row_count--;
	if (r == 0)
		r = add_units(&w->head, w->line_max);
	if (r == 0)
		r = add_units(&w->tail, w->line_max);
	if (r == 0 && s->whole) {
		scoped(salient_freep) struct salient *salient = salient_new(SALIENT_KEPT_MAX / 4);

		if (!salient)
			return -ENOMEM;
		salient_feed(salient, s->head, s->head_len);
		salient_put(salient, blob);
		middle = buffer_str(blob);
		middle_len = blob->len;
		r = buffer_error(blob);
	}
	if (r == 0)
		r = read_middle(w, middle, middle ? middle + middle_len : NULL);
	if (r == 0)
		sort_middle(w);
	return r;
}

int salient_compose(const struct salient_source *source, const struct salient_limits *limits,
                    struct buffer *into, struct salient_shown *ret_shown)
{
	scoped(buffer_donep) struct buffer blob = {0};
	scoped(writer_done) struct writer w = {.source = source, .limits = limits, .into = into};
	int r;

	if (!has_lines(source, limits->bytes))
		return -ENOSPC;
	w.line_max = limits->bytes / 10;
	w.line_max = w.line_max < LINE_LEAST ? LINE_LEAST : w.line_max;
	w.line_max = w.line_max > LINE_MOST ? LINE_MOST : w.line_max;
	if (limits->call_before)
		w.call_bytes = strlen(limits->call_before) + strlen(limits->call_behind) + 10;
	r = prepare(&w, &blob);
	if (r == 0)
		r = write_text(&w);
	if (r == 0)
		*ret_shown = w.shown;
	return r;
}
