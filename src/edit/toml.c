/*
 * A text is read as a list of statements: headers of tables and keys with their values. Each knows
 * the whole path that it sets, however it is spelled: [a.b] c, [a] b.c, and "a"."b".c are the same.
 *
 * A value is only stepped over: strings of all four kinds, lists and tables on one line, and words.
 * Keys inside of such a table are not read. One that could hold what is looked for is an error.
 */
#include "edit/toml.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/strings.h"
#include "base/utf8.h"

#define ARENA_MAX ((size_t)256 << 20)

struct statement {
	struct statement *next;
	bool header, many;             /* [table], [[table]] */
	size_t start, end;             /* without blanks, comment and line end */
	size_t value;                  /* where it begins; 0: a header */
	const char *const *path;       /* from the top */
	const struct statement *table; /* the header above; NULL: none */
};

struct reader {
	const char *text;
	size_t n, at;
	struct arena *arena;
	struct error *err;
	struct statement *first;
	int depth;
};

static int fail(struct reader *r, const char *what)
{
	size_t line = 1;

	for (size_t i = 0; i < r->at && i < r->n; i++)
		line += r->text[i] == '\n';
	return error_set(r->err, ERROR_INPUT, EINVAL, "line %zu: %s", line, what);
}

static int peek(const struct reader *r)
{
	return r->at < r->n ? (unsigned char)r->text[r->at] : -1;
}

static bool starts(const struct reader *r, const char *with)
{
	size_t n = strlen(with);

	return r->n - r->at >= n && memcmp(r->text + r->at, with, n) == 0;
}

static void skip_blanks(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t')
		r->at++;
}

static void skip_comment(struct reader *r)
{
	if (peek(r) == '#')
		while (r->at < r->n && r->text[r->at] != '\n')
			r->at++;
}

/* Blanks, comments and line ends. */
static void skip_all(struct reader *r)
{
	size_t from;

	do {
		from = r->at;
		skip_blanks(r);
		skip_comment(r);
		while (peek(r) == '\r' || peek(r) == '\n')
			r->at++;
	} while (r->at > from);
}

static int skip_string(struct reader *r, bool long_too)
{
	char quote = r->text[r->at];
	char three[] = {quote, quote, quote, '\0'};
	bool is_long = long_too && starts(r, three);

	for (r->at += is_long ? 3 : 1; r->at < r->n;) {
		char c = r->text[r->at];

		if (c == '\\' && quote == '"') {
			r->at += 2;
		} else if (is_long && starts(r, three)) {
			r->at += 3;
			/* Up to two quotes may stand in front of the three that end it. */
			while (peek(r) == quote)
				r->at++;
			return 0;
		} else if (!is_long && c == quote) {
			r->at++;
			return 0;
		} else if (!is_long && c == '\n') {
			break;
		} else {
			r->at++;
		}
	}
	if (r->at > r->n)
		r->at = r->n;
	return fail(r, "a string does not end");
}

static bool is_word(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '_';
}

static int skip_value(struct reader *r);

static int skip_group(struct reader *r, char close)
{
	int code;

	if (++r->depth > TOML_DEPTH_MAX)
		return fail(r, "too deep");
	for (r->at++;;) {
		skip_all(r);
		if (peek(r) == close)
			break;
		if (r->at >= r->n)
			return fail(r, "a list or table does not end");
		if (peek(r) == ',' || peek(r) == '=' || peek(r) == '.') {
			r->at++;
			continue;
		}
		code = skip_value(r);
		if (code < 0)
			return code;
	}
	r->at++;
	r->depth--;
	return 0;
}

static int skip_value(struct reader *r)
{
	size_t from = r->at;
	int c = peek(r);

	if (c == '"' || c == '\'')
		return skip_string(r, true);
	if (c == '[')
		return skip_group(r, ']');
	if (c == '{')
		return skip_group(r, '}');
	/* A date may have one blank before its time. */
	while (is_word(peek(r)) || (peek(r) > 0 && strchr("+.:", peek(r))) ||
	       (peek(r) == ' ' && r->at == from + 10 && r->text[from + 4] == '-' &&
	        r->at + 1 < r->n && r->text[r->at + 1] >= '0' && r->text[r->at + 1] <= '9'))
		r->at++;
	return r->at > from ? 0 : fail(r, "a value is expected");
}

/* One part of a key. Escapes in it are left as they are: such a key is none of ours. */
static int read_part(struct reader *r, const char **ret)
{
	size_t from = r->at;
	int c = peek(r), code;

	if (c == '"' || c == '\'') {
		code = skip_string(r, false);
		if (code < 0)
			return code;
		*ret = arena_strndup(r->arena, r->text + from + 1, r->at - from - 2);
	} else {
		while (is_word(peek(r)))
			r->at++;
		if (r->at == from)
			return fail(r, "a key is expected");
		*ret = arena_strndup(r->arena, r->text + from, r->at - from);
	}
	return *ret ? 0 : error_nomem(r->err);
}

static int read_path(struct reader *r, const char *const *above, const char *const **ret)
{
	const char *const *path = above;
	const char *part = NULL;
	int code;

	for (int i = 0;; i++) {
		skip_blanks(r);
		code = read_part(r, &part);
		if (code < 0)
			return code;
		path = strings_with(r->arena, path, part);
		if (!path)
			return error_nomem(r->err);
		skip_blanks(r);
		if (i > TOML_DEPTH_MAX)
			return fail(r, "too deep");
		if (peek(r) != '.')
			break;
		r->at++;
	}
	*ret = path;
	return 0;
}

static int read_header(struct reader *r, struct statement *s)
{
	int code;

	s->header = true;
	s->many = starts(r, "[[");
	r->at += s->many ? 2 : 1;
	code = read_path(r, NULL, &s->path);
	if (code < 0)
		return code;
	if (!starts(r, s->many ? "]]" : "]"))
		return fail(r, "']' is expected");
	r->at += s->many ? 2 : 1;
	return 0;
}

static int read_key(struct reader *r, struct statement *s)
{
	int code = read_path(r, s->table ? s->table->path : NULL, &s->path);

	if (code < 0)
		return code;
	if (peek(r) != '=')
		return fail(r, "'=' is expected");
	r->at++;
	skip_blanks(r);
	s->value = r->at;
	return skip_value(r);
}

static int read_statements(struct reader *r)
{
	const struct statement *table = NULL;
	struct statement **tail = &r->first, *s;
	int code;

	if (r->n > TOML_BYTES_MAX)
		return error_set(r->err, ERROR_LIMIT, E2BIG, "more than %zu bytes", TOML_BYTES_MAX);
	if (utf8_valid_prefix(r->text, r->n) != r->n || memchr(r->text, '\0', r->n))
		return error_set(r->err, ERROR_INPUT, EINVAL, "it is not text in UTF-8");
	if (starts(r, "\xef\xbb\xbf"))
		r->at = 3;
	for (skip_all(r); r->at < r->n; skip_all(r)) {
		s = arena_new_array(r->arena, struct statement, 1);
		if (!s)
			return error_nomem(r->err);
		*s = (struct statement){.start = r->at, .table = table};
		code = peek(r) == '[' ? read_header(r, s) : read_key(r, s);
		if (code < 0)
			return code;
		s->end = r->at;
		skip_blanks(r);
		skip_comment(r);
		if (r->at < r->n && peek(r) != '\n' && !starts(r, "\r\n"))
			return fail(r, "the end of the line is expected");
		if (s->header)
			table = s;
		*tail = s;
		tail = &s->next;
	}
	return 0;
}

/* How many steps the two have in common. */
static size_t common(const char *const *a, const char *const *b)
{
	size_t n = 0;

	while (a && b && a[n] && b[n] && strcmp(a[n], b[n]) == 0)
		n++;
	return n;
}

static bool same(const char *const *a, const char *const *b)
{
	size_t n = common(a, b);

	return !a[n] && !b[n];
}

/* The statement that sets the key. One that sets a part of the path as a value of its own, or as a
 * list of tables, leaves no room for the key. */
static int find_key(struct reader *r, const char *const *path, const struct statement **ret)
{
	size_t n = strings_count(path);

	*ret = NULL;
	for (const struct statement *s = r->first; s; s = s->next) {
		size_t has = strings_count(s->path), shared = common(s->path, path);
		bool whole = shared == has && shared == n;

		if (whole && !s->header && !*ret) {
			*ret = s;
			continue;
		}
		if (whole || (shared == has && (!s->header || s->many)) || (shared == n && has > n))
			return error_set(r->err, ERROR_INPUT, EEXIST,
			                 "'%.60s' is written in a way that nacre does not change",
			                 path[n - 1]);
	}
	return 0;
}

static const struct statement *find_table(const struct reader *r, const char *const *path)
{
	for (const struct statement *s = r->first; s; s = s->next)
		if (s->header && !s->many && same(s->path, path))
			return s;
	return NULL;
}

static const struct statement *last_in(const struct statement *table)
{
	const struct statement *last = table;

	for (const struct statement *s = table->next; s && s->table == table && !s->header;
	     s = s->next)
		last = s;
	return last;
}

/* Behind the line of AT; or the end of the text. */
static size_t behind_line(const struct reader *r, size_t at)
{
	const char *end = memchr(r->text + at, '\n', r->n - at);

	return end ? (size_t)(end - r->text) + 1 : r->n;
}

static size_t line_of(const struct reader *r, size_t at)
{
	while (at > 0 && r->text[at - 1] != '\n')
		at--;
	return at;
}

static void put_key(const char *key, struct buffer *into)
{
	size_t n = 0;

	while (is_word((unsigned char)key[n]))
		n++;
	buffer_printf(into, !key[n] && n ? "%s" : "\"%s\"", key);
}

static void put_header(const char *const *path, size_t n, struct buffer *into)
{
	buffer_putc(into, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buffer_putc(into, '.');
		put_key(path[i], into);
	}
	buffer_putc(into, ']');
}

static void put_setting(const char *key, const char *value, const char *newline,
                        struct buffer *into)
{
	put_key(key, into);
	buffer_printf(into, " = %s%s", value, newline);
}

static void put(struct reader *r, const char *const *path, const char *value,
                const struct statement *there, struct buffer *into)
{
	const char *newline = memmem(r->text, r->n, "\r\n", 2) ? "\r\n" : "\n";
	size_t n = strings_count(path), at;
	const struct statement *table = NULL;
	const char *const *above = NULL;

	if (there) {
		buffer_append(into, r->text, there->value);
		buffer_puts(into, value);
		buffer_append(into, r->text + there->end, r->n - there->end);
		return;
	}
	for (size_t i = 0; i + 1 < n; i++)
		above = strings_with(r->arena, above, path[i]);
	table = above ? find_table(r, above) : NULL;
	if (table) {
		at = behind_line(r, last_in(table)->end);
	} else if (n > 1) {
		at = r->n;
	} else { /* keys of no table stand in front of all tables */
		const struct statement *last = NULL;

		for (const struct statement *s = r->first; s && !s->header; s = s->next)
			last = s;
		at = last       ? behind_line(r, last->end)
		     : r->first ? line_of(r, r->first->start)
		                : r->n;
	}
	buffer_append(into, r->text, at);
	if (at > 0 && r->text[at - 1] != '\n')
		buffer_puts(into, newline);
	if (!table && n > 1) {
		if (at > 0)
			buffer_puts(into, newline);
		put_header(path, n - 1, into);
		buffer_puts(into, newline);
	}
	put_setting(path[n - 1], value, newline, into);
	buffer_append(into, r->text + at, r->n - at);
}

static int begin(struct reader *r, const char *text, size_t n, struct arena *arena,
                 struct error *err)
{
	*r = (struct reader){.text = text, .n = n, .arena = arena, .err = err};
	return arena ? read_statements(r) : error_nomem(err);
}

int toml_find(const char *text, size_t n, toml_path path, struct arena *arena,
              const char **ret_value, struct error *err)
{
	const struct statement *there;
	struct reader r;
	int code = begin(&r, text, n, arena, err);

	if (code == 0)
		code = find_key(&r, path, &there);
	if (code < 0)
		return code;
	*ret_value = NULL;
	if (there) {
		*ret_value = arena_strndup(arena, text + there->value, there->end - there->value);
		if (!*ret_value)
			return error_nomem(err);
	}
	return 0;
}

int toml_set(const char *text, size_t n, toml_path path, const char *value, struct buffer *into,
             struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	const struct statement *there;
	struct reader r;
	int code = begin(&r, text, n, arena, err);

	if (code == 0)
		code = find_key(&r, path, &there);
	if (code < 0)
		return code;
	put(&r, path, value, there, into);
	return buffer_error(into) < 0 ? error_nomem(err) : 0;
}

/* The lines of these statements go; EMPTY: one empty line in front of them as well. */
static int cut(struct reader *r, size_t from, size_t to, bool empty, struct buffer *into)
{
	from = line_of(r, from);
	to = behind_line(r, to);
	if (empty && from > 0) {
		size_t before = line_of(r, from - 1);

		if (from - before == 1 || (from - before == 2 && r->text[before] == '\r'))
			from = before;
	}
	buffer_append(into, r->text, from);
	buffer_append(into, r->text + to, r->n - to);
	return buffer_error(into) < 0 ? error_nomem(r->err) : 0;
}

int toml_remove(const char *text, size_t n, toml_path path, struct buffer *into, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	const struct statement *there;
	struct reader r;
	int code = begin(&r, text, n, arena, err);

	if (code == 0)
		code = find_key(&r, path, &there);
	if (code < 0)
		return code;
	return there ? cut(&r, there->start, there->end, false, into) : -ENOENT;
}

int toml_remove_table(const char *text, size_t n, toml_path path, struct buffer *into,
                      struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	const struct statement *table;
	struct reader r;
	int code = begin(&r, text, n, arena, err);

	if (code < 0)
		return code;
	table = find_table(&r, path);
	return table ? cut(&r, table->start, last_in(table)->end, true, into) : -ENOENT;
}
