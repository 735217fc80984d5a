#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "edit/jsonc.h"

struct reader {
	const char *text;
	size_t n, at;
	struct arena *arena;
	struct error *err;
	int depth;
};

static int fail(struct reader *r, const char *what)
{
	size_t line = 1;

	for (size_t i = 0; i < r->at && i < r->n; i++)
		line += r->text[i] == '\n';
	return error_set(r->err, ERROR_INPUT, EINVAL, "line %zu: %s", line, what);
}

static bool starts(const struct reader *r, const char *with)
{
	size_t n = strlen(with);

	return r->n - r->at >= n && memcmp(r->text + r->at, with, n) == 0;
}

static int peek(const struct reader *r)
{
	return r->at < r->n ? (unsigned char)r->text[r->at] : -1;
}

/* Blanks and comments. */
static int skip(struct reader *r)
{
	const char *end;

	for (;;) {
		while (r->at < r->n && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
			r->at++;
		if (starts(r, "//")) {
			end = memchr(r->text + r->at, '\n', r->n - r->at);
			r->at = end ? (size_t)(end - r->text) : r->n;
		} else if (starts(r, "/*")) {
			end = memmem(r->text + r->at + 2, r->n - r->at - 2, "*/", 2);
			if (!end)
				return fail(r, "a comment does not end");
			r->at = (size_t)(end - r->text) + 2;
		} else {
			return 0;
		}
	}
}

static int read_hex(struct reader *r, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++, r->at++) {
		int c = peek(r);

		if (c >= '0' && c <= '9')
			c -= '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			c = (c | 32) - 'a' + 10;
		else
			return fail(r, "a wrong escape in a string");
		*ret = *ret << 4 | (unsigned)c;
	}
	return 0;
}

static void put_utf8(struct buffer *b, unsigned c)
{
	if (c < 0x80) {
		buffer_putc(b, (char)c);
	} else if (c < 0x800) {
		buffer_putc(b, (char)(0xc0 | c >> 6));
		buffer_putc(b, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		buffer_putc(b, (char)(0xe0 | c >> 12));
		buffer_putc(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_putc(b, (char)(0x80 | (c & 63)));
	} else {
		buffer_putc(b, (char)(0xf0 | c >> 18));
		buffer_putc(b, (char)(0x80 | (c >> 12 & 63)));
		buffer_putc(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_putc(b, (char)(0x80 | (c & 63)));
	}
}

/* Half of a pair alone, and NUL, are U+FFFD: such a text is not compared with anything of ours. */
static int read_unicode(struct reader *r, struct buffer *b)
{
	unsigned c, low;
	int code = read_hex(r, &c);

	if (code == 0 && c >= 0xd800 && c < 0xdc00 && starts(r, "\\u")) {
		size_t back = r->at;

		r->at += 2;
		code = read_hex(r, &low);
		if (code == 0 && low >= 0xdc00 && low < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		else
			r->at = back;
	}
	put_utf8(b, c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	return code;
}

static int read_string(struct reader *r, const char **ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	scoped(buffer_donep) struct buffer b = {0};
	const char *found;
	int code = 0;

	if (peek(r) != '"')
		return fail(r, "a string is expected");
	for (r->at++; code == 0 && peek(r) != '"';) {
		int c = peek(r);

		if (c < ' ')
			return fail(r, "a string does not end on its line");
		r->at++;
		if (c != '\\') {
			buffer_putc(&b, (char)c);
			continue;
		}
		c = peek(r);
		r->at++;
		found = c > 0 ? strchr(from, c) : NULL;
		if (c == 'u')
			code = read_unicode(r, &b);
		else if (found)
			buffer_putc(&b, to[found - from]);
		else
			return fail(r, "a wrong escape in a string");
	}
	if (code < 0)
		return code;
	r->at++;
	if (buffer_error(&b) < 0)
		return error_nomem(r->err);
	*ret = arena_strndup(r->arena, buffer_str(&b), b.len);
	return *ret ? 0 : error_nomem(r->err);
}

static bool is_word(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '+' || c == '-' || c == '.';
}

static int read_value(struct reader *r, struct jsonc_node *node);

static int read_entry(struct reader *r, struct jsonc_node *of, struct jsonc_node *entry)
{
	int code = 0;

	entry->member = r->at;
	if (of->kind == JSONC_OBJECT) {
		code = read_string(r, &entry->key);
		if (code == 0)
			code = skip(r);
		if (code == 0 && peek(r) != ':')
			code = fail(r, "':' is expected");
		if (code == 0) {
			r->at++;
			code = skip(r);
		}
	}
	return code < 0 ? code : read_value(r, entry);
}

static int read_entries(struct reader *r, struct jsonc_node *node)
{
	char close = node->kind == JSONC_OBJECT ? '}' : ']';
	struct jsonc_node **tail = &node->first;
	int code;

	for (r->at++;;) {
		code = skip(r);
		if (code < 0)
			return code;
		if (peek(r) == close)
			break;
		*tail = arena_new_array(r->arena, struct jsonc_node, 1);
		if (!*tail)
			return error_nomem(r->err);
		**tail = (struct jsonc_node){0};
		code = read_entry(r, node, *tail);
		if (code == 0)
			code = skip(r);
		if (code < 0)
			return code;
		if (peek(r) == ',')
			(*tail)->comma = r->at++;
		else if (peek(r) != close)
			return fail(r, "',' or the end of the object or list is expected");
		tail = &(*tail)->next;
	}
	r->at++;
	return 0;
}

static int read_value(struct reader *r, struct jsonc_node *node)
{
	int c = peek(r), code = 0;

	node->start = r->at;
	if (node->member == 0)
		node->member = r->at;
	if (c == '{' || c == '[') {
		if (++r->depth > JSONC_DEPTH_MAX)
			return fail(r, "too deep");
		node->kind = c == '{' ? JSONC_OBJECT : JSONC_ARRAY;
		code = read_entries(r, node);
		r->depth--;
	} else if (c == '"') {
		node->kind = JSONC_STRING;
		code = read_string(r, &node->text);
	} else if (is_word(c)) {
		node->kind = JSONC_OTHER;
		while (is_word(peek(r)))
			r->at++;
	} else {
		return fail(r, "a value is expected");
	}
	node->end = r->at;
	return code;
}

int jsonc_read(const char *text, size_t n, struct arena *arena, struct jsonc_node **ret_root,
               struct error *err)
{
	struct reader r = {.text = text, .n = n, .arena = arena, .err = err};
	struct jsonc_node *root;
	int code;

	if (n > JSONC_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "more than %zu bytes", JSONC_BYTES_MAX);
	if (utf8_valid_prefix(text, n) != n || memchr(text, '\0', n))
		return error_set(err, ERROR_INPUT, EINVAL, "it is not text in UTF-8");
	if (starts(&r, "\xef\xbb\xbf"))
		r.at = 3;
	code = skip(&r);
	if (code < 0)
		return code;
	*ret_root = NULL;
	if (r.at == n)
		return 0;
	root = arena_new_array(arena, struct jsonc_node, 1);
	if (!root)
		return error_nomem(err);
	*root = (struct jsonc_node){0};
	code = read_value(&r, root);
	if (code == 0)
		code = skip(&r);
	if (code == 0 && r.at < n)
		code = fail(&r, "nothing is expected behind the value");
	if (code == 0)
		*ret_root = root;
	return code;
}
