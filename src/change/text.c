/*
 * The difference of two texts, as `diff -u` has it.
 *
 * Myers: the shortest way from one text to the other, by lines. The beginning and the end that both
 * have are left out first. Of texts that differ in more than DISTANCE_MAX lines the rest is one
 * block: nobody reads that line by line, and the search would cost its square.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "change/inside.h"

#define DISTANCE_MAX 800
#define CONTEXT      3

struct line {
	const char *at;
	size_t n;  /* without the newline */
	bool ends; /* with one */
};

struct lines {
	struct line *items;
	size_t count;
};

/* A line that goes, or comes, in the order of the answer. */
struct edit {
	bool comes;
	size_t old_line, new_line; /* where it is, or stands before */
};

struct edits {
	struct edit *items;
	size_t count;
};

static bool split(const struct change_text *t, struct lines *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < t->n; i++)
		count += t->bytes[i] == '\n';
	ret->items = calloc(count + 1, sizeof(*ret->items));
	ret->count = 0;
	if (!ret->items)
		return false;
	for (size_t i = 0; i < t->n;) {
		const char *end = memchr(t->bytes + i, '\n', t->n - i);
		size_t n = end ? (size_t)(end - (t->bytes + i)) : t->n - i;

		ret->items[ret->count++] = (struct line){t->bytes + i, n, end != NULL};
		i += n + (end != NULL);
	}
	return true;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->n == b->n && a->ends == b->ends && memcmp(a->at, b->at, a->n) == 0;
}

static void put_edit(struct edits *e, bool comes, size_t old_line, size_t new_line)
{
	e->items[e->count++] = (struct edit){comes, old_line, new_line};
}

/* From the end back to the beginning, by the furthest points of each distance. */
static void trace(const int *rows, int distance, int n, int m, size_t first, struct edits *e)
{
	int x = n, y = m;

	for (int d = distance; d > 0; d--) {
		const int *v = rows + (size_t)d * (2 * DISTANCE_MAX + 3) + DISTANCE_MAX + 1;
		int k = x - y;
		bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
		int before_k = down ? k + 1 : k - 1;
		int before_x = v[before_k], before_y = before_x - before_k;

		while (x > before_x + !down && y > before_y + down) {
			x--;
			y--;
		}
		put_edit(e, down, first + (size_t)before_x, first + (size_t)before_y);
		x = before_x;
		y = before_y;
	}
	for (size_t i = 0; i < e->count / 2; i++) {
		struct edit swap = e->items[i];

		e->items[i] = e->items[e->count - 1 - i];
		e->items[e->count - 1 - i] = swap;
	}
}

/* Row D holds what distance D - 1 has reached. False: it is further, or memory is out. */
static bool search(const struct line *a, int n, const struct line *b, int m, size_t first,
                   struct edits *e)
{
	const size_t width = 2 * DISTANCE_MAX + 3;
	int most = n + m < DISTANCE_MAX ? n + m : DISTANCE_MAX;
	int *rows = calloc((size_t)(most + 1) * width, sizeof(*rows));
	int *v = calloc(width, sizeof(*v));
	bool found = false;

	for (int d = 0; rows && v && !found && d <= most; d++) {
		int *now = v + DISTANCE_MAX + 1;

		memcpy(rows + (size_t)d * width, v, width * sizeof(*v));
		for (int k = -d; !found && k <= d; k += 2) {
			int x = k == -d || (k != d && now[k - 1] < now[k + 1]) ? now[k + 1]
			                                                       : now[k - 1] + 1;
			int y = x - k;

			while (x < n && y < m && same(&a[x], &b[y])) {
				x++;
				y++;
			}
			now[k] = x;
			found = x >= n && y >= m;
		}
		if (found)
			trace(rows, d, n, m, first, e);
	}
	free(rows);
	free(v);
	return found;
}

static void find_edits(const struct lines *a, const struct lines *b, struct edits *e)
{
	size_t first = 0, n = a->count, m = b->count;

	while (first < n && first < m && same(&a->items[first], &b->items[first]))
		first++;
	while (n > first && m > first && same(&a->items[n - 1], &b->items[m - 1])) {
		n--;
		m--;
	}
	if (search(a->items + first, (int)(n - first), b->items + first, (int)(m - first), first,
	           e))
		return;
	for (size_t i = first; i < n; i++)
		put_edit(e, false, i, first);
	for (size_t i = first; i < m; i++)
		put_edit(e, true, n, i);
}

static void put_line(struct buffer *out, char sign, const struct line *l)
{
	buffer_putc(out, sign);
	buffer_append(out, l->at, l->n);
	buffer_puts(out, l->ends ? "\n" : "\n\\ No newline at end of file\n");
}

static void put_range(struct buffer *out, char sign, size_t from, size_t count)
{
	buffer_printf(out, count == 1 ? "%c%zu" : "%c%zu,%zu", sign, count ? from + 1 : from,
	              count);
}

/* The edits FROM to TO (not included) with the lines around them. */
static void put_hunk(struct buffer *out, const struct lines *a, const struct edits *e, size_t from,
                     size_t to, const struct lines *b)
{
	const struct edit *head = &e->items[from], *last = &e->items[to - 1];
	size_t before = head->old_line < CONTEXT ? head->old_line : CONTEXT;
	size_t start = head->old_line - before, at = start;
	size_t end = last->old_line + !last->comes + CONTEXT, comes = 0, goes = 0;

	if (end > a->count)
		end = a->count;
	for (size_t i = from; i < to; i++) {
		comes += e->items[i].comes;
		goes += !e->items[i].comes;
	}
	buffer_puts(out, "@@ ");
	put_range(out, '-', start, end - start);
	buffer_putc(out, ' ');
	put_range(out, '+', head->new_line - before, end - start - goes + comes);
	buffer_puts(out, " @@\n");
	for (size_t i = from; i < to; i++) {
		const struct edit *x = &e->items[i];

		for (; at < x->old_line; at++)
			put_line(out, ' ', &a->items[at]);
		if (x->comes)
			put_line(out, '+', &b->items[x->new_line]);
		else
			put_line(out, '-', &a->items[at++]);
	}
	for (; at < end; at++)
		put_line(out, ' ', &a->items[at]);
}

void change_text_diff(const struct change_text *before, const struct change_text *after,
                      struct buffer *out)
{
	struct lines a = {0}, b = {0};
	struct edits e = {0};

	if (split(before, &a) && split(after, &b))
		e.items = calloc(a.count + b.count + 1, sizeof(*e.items));
	if (e.items)
		find_edits(&a, &b, &e);
	if (e.count > 0)
		buffer_printf(out, "--- %s\n+++ %s\n", before->name, after->name);
	for (size_t i = 0, next; i < e.count; i = next) {
		for (next = i + 1; next < e.count; next++)
			if (e.items[next].old_line >
			    e.items[next - 1].old_line + !e.items[next - 1].comes + 2 * CONTEXT)
				break;
		put_hunk(out, &a, &e, i, next, &b);
	}
	free(a.items);
	free(b.items);
	free(e.items);
}
