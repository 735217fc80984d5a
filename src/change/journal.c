/*
 * A list as bytes: a line that says what follows, the directory that it is about, then one line of
 * numbers for each change, its path behind it, and an end. Numbers are decimal, and a path ends
 * with a NUL: a reader that is killed or lied to finds out.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "change/inside.h"

#define MAGIC "nacre-changes 1 "
#define END   "end\n"

bool change_path_is_plain(const char *path)
{
	size_t n = strlen(path);

	if (n == 0 || n >= PATH_MAX || *path == '/' || path[n - 1] == '/')
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		size_t len;

		part += *part == '/';
		len = strcspn(part, "/");
		if (len == 0 || len > NAME_MAX || (len == 1 && part[0] == '.') ||
		    (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
	return true;
}

static void put_meta(struct buffer *b, const struct change_meta *m)
{
	buffer_printf(b, "%" PRIu64 " %" PRIu64 " %u %u %" PRId64 " %" PRId64 " %" PRId64 " ",
	              m->inode, m->size, m->mode, m->links, m->accessed_ns, m->modified_ns,
	              m->changed_ns);
}

int change_journal_write(const struct change_list *l, struct buffer *b)
{
	buffer_printf(b, MAGIC "%" PRIu64 " %" PRIu64 " %d %" PRId64 " %zu\n", l->device, l->inode,
	              l->forced, l->since_ns, l->count);
	for (size_t i = 0; i < l->count; i++) {
		const struct change *c = &l->items[i];

		buffer_printf(b, "%c %d %d %d %d ", (char)c->kind, c->in_place, c->keeps_times,
		              c->copied, c->chosen);
		put_meta(b, &c->before);
		put_meta(b, &c->after);
		buffer_append(b, c->path, strlen(c->path) + 1);
		buffer_append(b, c->from ? c->from : "", c->from ? strlen(c->from) + 1 : 1);
	}
	buffer_puts(b, END);
	return buffer_error(b);
}

struct reader {
	const char *at, *end;
	bool bad;
};

/* Up to one blank, or the newline. */
static int64_t number(struct reader *r, int64_t least, int64_t most)
{
	bool minus = r->at < r->end && *r->at == '-';
	int64_t value = 0;
	size_t digits = 0;

	r->at += minus;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, digits++) {
		if (value > (INT64_MAX - 9) / 10) {
			r->bad = true;
			return 0;
		}
		value = value * 10 + (*r->at - '0');
	}
	if (digits == 0 || r->at == r->end || (*r->at != ' ' && *r->at != '\n'))
		r->bad = true;
	else
		r->at++;
	value = minus ? -value : value;
	if (value < least || value > most)
		r->bad = true;
	return r->bad ? 0 : value;
}

static uint64_t number_u64(struct reader *r)
{
	uint64_t value = 0;
	size_t digits = 0;

	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, digits++) {
		if (value > (UINT64_MAX - 9) / 10) {
			r->bad = true;
			return 0;
		}
		value = value * 10 + (uint64_t)(*r->at - '0');
	}
	if (digits == 0 || r->at == r->end || *r->at != ' ')
		r->bad = true;
	else
		r->at++;
	return r->bad ? 0 : value;
}

static void read_meta(struct reader *r, struct change_meta *m)
{
	m->inode = number_u64(r);
	m->size = number_u64(r);
	m->mode = (uint32_t)number(r, 0, UINT32_MAX);
	m->links = (uint32_t)number(r, 0, UINT32_MAX);
	m->accessed_ns = number(r, INT64_MIN + 1, INT64_MAX);
	m->modified_ns = number(r, INT64_MIN + 1, INT64_MAX);
	m->changed_ns = number(r, INT64_MIN + 1, INT64_MAX);
}

static const char *word(struct reader *r)
{
	const char *text = r->at;
	const char *end = r->bad ? NULL : memchr(r->at, '\0', (size_t)(r->end - r->at));

	if (!end) {
		r->bad = true;
		return "";
	}
	r->at = end + 1;
	return text;
}

static bool is_kind(char c)
{
	return c && strchr("ADMmOTd", c);
}

static bool is_path(enum change_kind kind, const char *path)
{
	return change_path_is_plain(path) || (kind == CHANGE_DIRECTORY && strcmp(path, ".") == 0);
}

static int read_change(struct reader *r, struct change_list *l)
{
	struct change got = {0}, *c;
	const char *path, *from;

	if (r->end - r->at < 2 || !is_kind(*r->at) || r->at[1] != ' ')
		return -EINVAL;
	got.kind = (enum change_kind) * r->at;
	r->at += 2;
	got.in_place = number(r, 0, 1);
	got.keeps_times = number(r, 0, 1);
	got.copied = number(r, 0, 1);
	got.chosen = number(r, 0, 1);
	read_meta(r, &got.before);
	read_meta(r, &got.after);
	path = word(r);
	from = word(r);
	if (r->bad || !is_path(got.kind, path) || (*from && !change_path_is_plain(from)))
		return -EINVAL;
	c = change_add(l, got.kind, path, NULL, NULL);
	if (!c)
		return -ENOMEM;
	got.path = c->path;
	if (*from) {
		struct change *other = change_add(l, CHANGE_META, from, NULL, NULL);

		if (!other)
			return -ENOMEM;
		got.from = other->path; /* its text, in the arena */
		l->count--;
		c = &l->items[l->count - 1];
	}
	*c = got;
	return 0;
}

int change_journal_read(const char *bytes, size_t n, struct change_list **ret_list,
                        struct error *err)
{
	scoped(change_list_freep) struct change_list *l = change_list_new();
	struct reader in = {.at = bytes, .end = bytes + n};
	int64_t count;
	int r = 0;

	if (!l)
		return error_nomem(err);
	if (n < sizeof(MAGIC) || memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) != 0)
		return error_set(err, ERROR_INPUT, EINVAL, "this is no journal of changes");
	in.at += sizeof(MAGIC) - 1;
	l->device = number_u64(&in);
	l->inode = number_u64(&in);
	l->forced = number(&in, 0, 1);
	l->since_ns = number(&in, 0, INT64_MAX);
	count = number(&in, 0, CHANGE_MAX);
	for (int64_t i = 0; r == 0 && !in.bad && i < count; i++)
		r = read_change(&in, l);
	if (r == -ENOMEM)
		return error_nomem(err);
	if (r < 0 || in.bad || (size_t)(in.end - in.at) != sizeof(END) - 1 ||
	    memcmp(in.at, END, sizeof(END) - 1) != 0)
		return error_set(err, ERROR_INPUT, EINVAL, "the journal of changes is damaged");
	*ret_list = take_ptr(&l);
	return 0;
}
