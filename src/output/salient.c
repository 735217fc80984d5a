/*
 *	bytes -> window -> lines -> verdict -> pool of the best -> blob
 *
 * The window holds the end of what has come: the line that has no end yet, and a few lines before
 * it, which a later line may want to be shown with. A line that is longer than the window may keep
 * is judged by its beginning, and the rest of it is passed over.
 *
 * The pool has room for twice what may stay. When it is full, a histogram of the weights tells
 * which weight is the last that fits, and everything below goes; at that weight the earlier lines
 *stay. From then on a line of that weight or less is not taken at all, so a flood of one kind of
 * error costs nothing. Each time half of the pool goes, so the work for a line is bounded.
 *
 * Many lines of one rule are worth less and less, and so are lines around others: a single error
 * among a thousand warnings stays, and so do the first warnings.
 */
#include "output/salient.h"

#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "output/salient-match.h"

#define WINDOW    (64 << 10)
#define LINE_KEPT (8 << 10) /* of a line that has no end in the window */
#define BEFORE    4         /* lines */
#define SHAPES    4096      /* a power of two */
#define PROBES    8
#define SIMILAR   3 /* lines of one shape that stay */
#define AROUND    6 /* a line beside another weighs so much less, and one for each step */
#define RARER_MAX 24

struct line {
	uint64_t number;
	uint32_t text, len, cut, shape;
	uint8_t weight;
};

struct shape {
	uint32_t hash, count; /* 0: free */
};

struct span {
	size_t from, len;
};

struct salient {
	char *window;
	size_t have, begun; /* where the line begins that has no end yet */
	bool passing;       /* the rest of a long line */
	uint64_t number;    /* of the last line that has ended */
	struct span before[BEFORE];
	size_t before_count;
	unsigned after, distance; /* lines that still belong to the last one that matters */
	uint8_t after_weight;
	uint64_t last_kept; /* its number */
	struct line *lines;
	struct line *passed; /* the line whose rest is passed over, if it stayed */
	size_t count, count_max;
	char *text;
	size_t text_len, kept;
	int floor; /* no line of this weight or less is taken any more; -1: all are */
	struct shape shapes[SHAPES];
	uint32_t of_rule[SALIENT_RULES_MAX];
};

struct salient *salient_new(size_t kept)
{
	struct salient *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->kept = kept < SALIENT_KEPT_MAX ? kept : SALIENT_KEPT_MAX;
	if (s->kept < 2 * SALIENT_TEXT_MAX)
		s->kept = 2 * SALIENT_TEXT_MAX;
	s->count_max = s->kept / 16;
	s->floor = -1;
	s->window = malloc(WINDOW);
	s->text = malloc(2 * s->kept);
	s->lines = calloc(s->count_max, sizeof(*s->lines));
	return s->window && s->text && s->lines ? s : salient_free(s);
}

struct salient *salient_free(struct salient *s)
{
	if (s) {
		free(s->window);
		free(s->text);
		free(s->lines);
	}
	free(s);
	return NULL;
}

/* The slot of a shape; NULL: the table is full there, and it is not counted. */
static struct shape *find_shape(const struct salient *s, uint32_t hash)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		const struct shape *at = &s->shapes[(hash + i) % SHAPES];

		if (at->count == 0 || at->hash == hash)
			return (struct shape *)(uintptr_t)at;
	}
	return NULL;
}

/* Half of what the pool holds stays: all above a weight, and at that weight the first. */
static void thin_out(struct salient *s)
{
	size_t bytes[SALIENT_WEIGHT_MAX + 1] = {0}, lines[SALIENT_WEIGHT_MAX + 1] = {0};
	size_t bytes_left = s->kept, lines_left = s->count_max / 2, kept = 0, at = 0;
	int last = SALIENT_WEIGHT_MAX;

	for (size_t i = 0; i < s->count; i++) {
		bytes[s->lines[i].weight] += s->lines[i].len;
		lines[s->lines[i].weight]++;
	}
	for (; last > 0 && bytes[last] <= bytes_left && lines[last] <= lines_left; last--) {
		bytes_left -= bytes[last];
		lines_left -= lines[last];
	}
	for (size_t i = 0; i < s->count; i++) {
		struct line l = s->lines[i];

		if (l.weight < last)
			continue;
		if (l.weight == last) {
			if (l.len > bytes_left || lines_left == 0) {
				bytes_left = 0; /* none after it is taken either */
				continue;
			}
			bytes_left -= l.len;
			lines_left--;
		}
		memmove(s->text + at, s->text + l.text, l.len);
		l.text = (uint32_t)at;
		at += l.len;
		s->lines[kept++] = l;
	}
	s->count = kept;
	s->text_len = at;
	if (s->floor < last)
		s->floor = last;
}

static void keep(struct salient *s, uint64_t number, int weight, const char *text, size_t n,
                 size_t whole)
{
	size_t len = n < SALIENT_TEXT_MAX ? n : SALIENT_TEXT_MAX;
	struct shape *shape;
	struct line *l;
	uint32_t hash;

	if (number <= s->last_kept)
		return;
	s->last_kept = number;
	if (len < n) /* not inside of a character */
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	hash = salient_shape(text, n);
	shape = find_shape(s, hash);
	if (shape) {
		shape->hash = hash;
		if (++shape->count > SIMILAR)
			return;
	}
	if (weight <= s->floor || weight <= 0)
		return;
	if (s->count == s->count_max || s->text_len + len > 2 * s->kept)
		thin_out(s);
	if (weight <= s->floor)
		return;
	s->passed = l = &s->lines[s->count++];
	*l = (struct line){.number = number,
	                   .text = (uint32_t)s->text_len,
	                   .len = (uint32_t)len,
	                   .cut = (uint32_t)(whole - len),
	                   .shape = hash,
	                   .weight = (uint8_t)weight};
	memcpy(s->text + s->text_len, text, len);
	s->text_len += len;
}

/* Each doubling of the lines of one rule makes the next one less worth. */
static int rarer(struct salient *s, const struct salient_verdict *v)
{
	uint32_t n = s->of_rule[v->rule % SALIENT_RULES_MAX]++;
	int less = 0;

	for (; n > 2 && less < RARER_MAX; n /= 2)
		less += 2;
	return v->weight > less ? v->weight - less : 1;
}

static void keep_before(struct salient *s, int weight, size_t wanted)
{
	size_t n = wanted < s->before_count ? wanted : s->before_count;

	for (size_t i = n; i > 0; i--) {
		struct span b = s->before[i - 1];

		keep(s, s->number - i, weight - AROUND - (int)i, s->window + b.from, b.len, b.len);
	}
}

static void remember(struct salient *s, size_t from, size_t len)
{
	memmove(s->before + 1, s->before, (BEFORE - 1) * sizeof(s->before[0]));
	s->before[0] = (struct span){from, len};
	if (s->before_count < BEFORE)
		s->before_count++;
}

static void take_line(struct salient *s, size_t from, size_t n, size_t whole)
{
	char scratch[SALIENT_LOOK_MAX];
	const char *text;
	size_t len;
	struct salient_verdict v = salient_match(s->window + from, n, scratch, &text, &len);
	size_t gone = n - len; /* sequences, or nothing */
	int weight;

	s->number++;
	if (v.weight > 0) {
		weight = rarer(s, &v);
		keep_before(s, weight, v.before);
		keep(s, s->number, weight, text, len, whole - gone);
		if (v.after > 0) {
			s->after = v.after;
			s->distance = 0;
			s->after_weight = (uint8_t)weight;
		} else if (s->after > 0) {
			s->after--;
		}
	} else if (s->after > 0 && v.kind == SALIENT_NONE) {
		s->after--;
		s->distance++;
		if (len > 0)
			keep(s, s->number, s->after_weight - AROUND - (int)s->distance, text, len,
			     whole - gone);
	} else {
		s->after = 0;
	}
	remember(s, from, n);
}

/* What is not needed any more leaves the window. */
static void make_room(struct salient *s)
{
	size_t from = s->begun;

	for (size_t i = 0; i < s->before_count; i++) {
		if (s->begun - s->before[i].from > WINDOW / 4) {
			s->before_count = i;
			break;
		}
		from = s->before[i].from;
	}
	memmove(s->window, s->window + from, s->have - from);
	for (size_t i = 0; i < s->before_count; i++)
		s->before[i].from -= from;
	s->begun -= from;
	s->have -= from;
}

/* A line that is longer than the window may keep ends here; the rest of it is passed over. */
static void cut_line(struct salient *s)
{
	s->passed = NULL;
	take_line(s, s->begun, LINE_KEPT, s->have - s->begun);
	if (s->passed && s->passed->number != s->number)
		s->passed = NULL; /* a line before it */
	s->passing = true;
	s->begun = s->have;
}

static const char *pass_over(struct salient *s, const char *bytes, size_t n)
{
	const char *end = memchr(bytes, '\n', n);

	s->passing = !end;
	if (s->passed)
		s->passed->cut += (uint32_t)(end ? (size_t)(end - bytes) : n);
	return end ? end + 1 : bytes + n;
}

static void take_lines(struct salient *s, size_t scanned)
{
	const char *end;

	while ((end = memchr(s->window + scanned, '\n', s->have - scanned))) {
		size_t at = (size_t)(end - s->window);

		take_line(s, s->begun, at - s->begun < LINE_KEPT ? at - s->begun : LINE_KEPT,
		          at - s->begun);
		s->begun = scanned = at + 1;
	}
}

void salient_feed(struct salient *s, const char *bytes, size_t n)
{
	const char *end = bytes + n;

	while (bytes < end) {
		size_t part, scanned;

		if (s->passing) {
			bytes = pass_over(s, bytes, (size_t)(end - bytes));
			continue;
		}
		if (s->have == WINDOW)
			make_room(s);
		part = WINDOW - s->have < (size_t)(end - bytes) ? WINDOW - s->have
		                                                : (size_t)(end - bytes);
		memcpy(s->window + s->have, bytes, part);
		scanned = s->have;
		s->have += part;
		bytes += part;
		take_lines(s, scanned);
		if (s->have - s->begun > LINE_KEPT)
			cut_line(s);
	}
}

struct wire {
	uint64_t number, similar;
	uint32_t len, cut, weight, zero;
};

/* How many lines of each shape stay, by its slot. */
static void count_kept(const struct salient *s, uint16_t of_slot[SHAPES])
{
	for (size_t i = 0; i < s->count; i++) {
		const struct shape *shape = find_shape(s, s->lines[i].shape);

		if (shape)
			of_slot[shape - s->shapes]++;
	}
}

/* The last of those that stay tells how many others there were. LEFT: of each slot, after it. */
static uint64_t similar_of(const struct salient *s, size_t i, const uint16_t kept[SHAPES],
                           uint16_t left[SHAPES])
{
	const struct shape *shape = find_shape(s, s->lines[i].shape);
	size_t slot;

	if (!shape)
		return 0;
	slot = (size_t)(shape - s->shapes);
	return --left[slot] == 0 && shape->count > SIMILAR ? shape->count - kept[slot] : 0;
}

static void put_line(struct buffer *into, const struct wire *w, const char *text)
{
	buffer_append(into, w, sizeof(*w));
	buffer_append(into, text, w->len);
}

/* The line without an end, for what it is by itself. */
static void put_last(const struct salient *s, struct buffer *into)
{
	char scratch[SALIENT_LOOK_MAX];
	const char *text;
	size_t len;
	struct salient_verdict v;

	if (s->passing || s->begun == s->have)
		return;
	v = salient_match(s->window + s->begun, s->have - s->begun, scratch, &text, &len);
	if (v.weight == 0)
		return;
	put_line(into,
	         &(struct wire){.number = s->number + 1,
	                        .len = len < SALIENT_TEXT_MAX ? (uint32_t)len : SALIENT_TEXT_MAX,
	                        .weight = v.weight},
	         text);
}

void salient_put(const struct salient *s, struct buffer *into)
{
	uint16_t kept[SHAPES] = {0}, left[SHAPES];

	count_kept(s, kept);
	memcpy(left, kept, sizeof(left));
	for (size_t i = 0; i < s->count; i++) {
		const struct line *l = &s->lines[i];

		put_line(into,
		         &(struct wire){.number = l->number,
		                        .similar = similar_of(s, i, kept, left),
		                        .len = l->len,
		                        .cut = l->cut,
		                        .weight = l->weight},
		         s->text + l->text);
	}
	put_last(s, into);
}

bool salient_next(const char **at, const char *end, struct salient_line *ret_line)
{
	struct wire w;

	if ((size_t)(end - *at) < sizeof(w))
		return false;
	memcpy(&w, *at, sizeof(w));
	if (w.len > SALIENT_TEXT_MAX || w.len > (size_t)(end - *at) - sizeof(w) ||
	    w.weight > SALIENT_WEIGHT_MAX)
		return false;
	*ret_line = (struct salient_line){.number = w.number,
	                                  .similar = w.similar,
	                                  .len = w.len,
	                                  .cut = w.cut,
	                                  .weight = w.weight,
	                                  .text = *at + sizeof(w)};
	*at += sizeof(w) + w.len;
	return true;
}
