/*
 * A unified diff. Lines that both begin and end with are stepped over; between them the longest
 * common subsequence is found by the usual table, or, in a file that is too long for it, everything
 * is shown as changed.
 */
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/setup.h"

#define TABLE_MAX ((size_t)4 << 20)
#define AROUND    3

struct lines {
	const char **at; /* and one more: the end */
	size_t count;
};

static bool split(const struct buffer *text, struct lines *ret)
{
	size_t n = 0;
	const char *p = text->len ? text->data : "", *end = p + text->len;

	for (const char *c = p; c < end; c++)
		n += *c == '\n';
	ret->at = calloc(n + 2, sizeof(*ret->at));
	if (!ret->at)
		return false;
	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		ret->at[ret->count++] = p;
		p = next ? next + 1 : end;
	}
	ret->at[ret->count] = end;
	return true;
}

static size_t length(const struct lines *l, size_t i)
{
	return (size_t)(l->at[i + 1] - l->at[i]);
}

static bool same(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	return length(a, i) == length(b, j) && memcmp(a->at[i], b->at[j], length(a, i)) == 0;
}

static void put_line(char mark, const struct lines *l, size_t i, struct buffer *into)
{
	scoped(buffer_donep) struct buffer text = {0};
	size_t n = length(l, i);

	while (n > 0 && strchr("\r\n", l->at[i][n - 1]))
		n--;
	buffer_append(&text, l->at[i], n);
	buffer_putc(into, mark);
	cli_put_clean(buffer_str(&text), into);
	buffer_putc(into, '\n');
}

struct ops {
	char *mark; /* ' ', '-' or '+' for each line of the diff */
	size_t count;
};

/* Marks for the lines between FIRST and the last that are the same. */
static bool compare(const struct lines *a, const struct lines *b, struct ops *ret)
{
	size_t head = 0, tail = 0, n, m;
	unsigned *table = NULL;

	while (head < a->count && head < b->count && same(a, head, b, head))
		head++;
	while (tail < a->count - head && tail < b->count - head &&
	       same(a, a->count - 1 - tail, b, b->count - 1 - tail))
		tail++;
	n = a->count - head - tail;
	m = b->count - head - tail;
	ret->mark = malloc(a->count + b->count + 1);
	if (n > 0 && m > 0 && (n + 1) <= TABLE_MAX / (m + 1))
		table = calloc((n + 1) * (m + 1), sizeof(*table));
	if (!ret->mark)
		return false;
	for (size_t i = n; table && i-- > 0;)
		for (size_t j = m; j-- > 0;) {
			unsigned down = table[(i + 1) * (m + 1) + j],
				 right = table[i * (m + 1) + j + 1];

			table[i * (m + 1) + j] = same(a, head + i, b, head + j)
			                                 ? table[(i + 1) * (m + 1) + j + 1] + 1
			                         : down > right ? down
			                                        : right;
		}
	memset(ret->mark, ' ', head);
	ret->count = head;
	for (size_t i = 0, j = 0; i < n || j < m;) {
		if (i < n && j < m && table && same(a, head + i, b, head + j)) {
			ret->mark[ret->count++] = ' ';
			i++;
			j++;
		} else if (i < n && (j >= m || !table ||
		                     table[(i + 1) * (m + 1) + j] >= table[i * (m + 1) + j + 1])) {
			ret->mark[ret->count++] = '-';
			i++;
		} else {
			ret->mark[ret->count++] = '+';
			j++;
		}
	}
	memset(ret->mark + ret->count, ' ', tail);
	ret->count += tail;
	free(table);
	return true;
}

static bool is_near(const struct ops *o, size_t at)
{
	size_t from = at > AROUND ? at - AROUND : 0, to = at + AROUND;

	for (size_t i = from; i <= to && i < o->count; i++)
		if (o->mark[i] != ' ')
			return true;
	return false;
}

static void print(const struct lines *a, const struct lines *b, const struct ops *o,
                  struct buffer *into)
{
	bool open = false;

	for (size_t at = 0, i = 0, j = 0; at < o->count; at++) {
		if (is_near(o, at)) {
			if (!open)
				buffer_printf(into, "@@ line %zu @@\n", j + 1);
			put_line(o->mark[at], o->mark[at] == '+' ? b : a,
			         o->mark[at] == '+' ? j : i, into);
		}
		open = is_near(o, at);
		i += o->mark[at] != '+';
		j += o->mark[at] != '-';
	}
}

void setup_diff(const char *path, const struct buffer *before, const struct buffer *after,
                struct buffer *into)
{
	struct lines a = {0}, b = {0};
	struct ops o = {0};

	buffer_printf(into, "--- %s%s\n+++ %s%s\n", path, before->len ? "" : " (new)", path,
	              after->len ? "" : " (removed)");
	if (split(before, &a) && split(after, &b) && compare(&a, &b, &o))
		print(&a, &b, &o, into);
	free(a.at);
	free(b.at);
	free(o.mark);
}
