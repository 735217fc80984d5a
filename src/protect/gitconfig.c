/*
 * The syntax of git's configuration, as git reads it: sections with keys behind them in the same
 * line, quotes in the middle of a value, lines that go on after a backslash, escapes, comments.
 *
 * Git stops at an error. Here the rest of the line is passed over, and what comes behind it is
 * read: another version of git may not call it an error.
 */
#include "protect/git.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"

struct scan {
	const char *at, *end;
	bool ended;
	struct buffer section, name, key, value;
	struct buffer spaced; /* the value as older versions of git have it: each space is a " " */
};

static void scan_done(struct scan *s)
{
	buffer_done(&s->section);
	buffer_done(&s->name);
	buffer_done(&s->key);
	buffer_done(&s->value);
	buffer_done(&s->spaced);
}

/* The end of the file is the end of a line. */
static int get(struct scan *s)
{
	char c;

	if (s->at >= s->end) {
		s->ended = true;
		return '\n';
	}
	c = *s->at++;
	if (c == '\r' && s->at < s->end && *s->at == '\n') {
		s->at++;
		c = '\n';
	}
	return (unsigned char)c;
}

static void pass_line(struct scan *s, int c)
{
	while (c != '\n')
		c = get(s);
}

static bool is_key_char(int c)
{
	return isalnum(c) || c == '-';
}

/* Less than isspace() has. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Behind the space in [section "name"]: the last character that was read, "]" if all is well. */
static int scan_name(struct scan *s, int c)
{
	while (c != '\n' && is_space(c))
		c = get(s);
	if (c != '"')
		return c == ']' ? ' ' : c;
	for (c = get(s); c != '"'; c = get(s)) {
		if (c == '\\')
			c = get(s);
		if (c == '\n')
			return c;
		buffer_putc(&s->name, (char)c);
	}
	return get(s);
}

/* Behind the "[". An old way to write the name is [section.name]. */
static void scan_section(struct scan *s)
{
	struct buffer *into = &s->section;
	int c;

	buffer_clear(&s->section);
	buffer_clear(&s->name);
	for (c = get(s); c != ']' && c != '\n'; c = get(s)) {
		if (is_space(c)) {
			c = scan_name(s, c);
			if (c != ']')
				pass_line(s, c);
			return;
		}
		if (c == '.' && into == &s->section)
			into = &s->name;
		else
			buffer_putc(into, (char)tolower(c));
	}
}

static void put(struct scan *s, int c, int spaced)
{
	buffer_putc(&s->value, (char)c);
	buffer_putc(&s->spaced, (char)spaced);
}

static void cut(struct buffer *b, size_t n)
{
	if (b->len > n) {
		b->len = n;
		b->data[n] = '\0';
	}
}

/* Behind the "=". */
static void scan_value(struct scan *s)
{
	bool quoted = false, comment = false;
	size_t wanted = 0; /* without the spaces at the end */
	int c;

	for (c = get(s); c != '\n'; c = get(s)) {
		if (comment)
			continue;
		if (is_space(c) && !quoted) {
			if (s->value.len > 0)
				put(s, c, ' ');
			continue;
		}
		comment = !quoted && (c == ';' || c == '#');
		if (comment)
			continue;
		if (c == '"') {
			quoted = !quoted;
		} else if (c != '\\') {
			put(s, c, c);
		} else {
			c = get(s);
			c = c == 't' ? '\t' : c == 'b' ? '\b' : c == 'n' ? '\n' : c == '\n' ? 0 : c;
			if (c) /* else it goes on in the next line */
				put(s, c, c);
		}
		wanted = s->value.len;
	}
	cut(&s->value, wanted);
	cut(&s->spaced, wanted);
}

/* A key that begins with C; false: what stands there is none. */
static bool scan_key(struct scan *s, int c, struct git_key *ret_key)
{
	buffer_clear(&s->key);
	buffer_clear(&s->value);
	buffer_clear(&s->spaced);
	for (; is_key_char(c); c = get(s))
		buffer_putc(&s->key, (char)tolower(c));
	while (c == ' ' || c == '\t')
		c = get(s);
	if (c == '=')
		scan_value(s);
	else if (c != '\n')
		pass_line(s, c);
	*ret_key = (struct git_key){.section = buffer_str(&s->section),
	                            .name = buffer_str(&s->name),
	                            .key = buffer_str(&s->key),
	                            .value = c == '=' ? buffer_str(&s->value) : NULL};
	return c == '=' || c == '\n';
}

static int scan_error(const struct scan *s)
{
	const struct buffer *const all[] = {&s->section, &s->name, &s->key, &s->value, &s->spaced};

	for (size_t i = 0; i < array_size(all); i++)
		if (buffer_error(all[i]) < 0)
			return buffer_error(all[i]);
	return 0;
}

int git_config_parse(const char *bytes, size_t n,
                     int (*visit)(void *context, const struct git_key *key), void *context)
{
	static const char mark[] = "\xef\xbb\xbf";
	scoped(scan_done) struct scan s = {.at = bytes, .end = bytes + n};
	struct git_key key;
	int r = 0;

	if (n >= 3 && memcmp(bytes, mark, 3) == 0)
		s.at += 3;
	while (r == 0 && !s.ended) {
		int c = get(&s);

		if (is_space(c)) {
			continue;
		} else if (c == '[') {
			scan_section(&s);
		} else if (!is_key_char(c)) { /* a comment, or an error */
			pass_line(&s, c);
		} else if (scan_key(&s, c, &key)) {
			r = scan_error(&s);
			if (r == 0)
				r = visit(context, &key);
			if (r == 0 && key.value && strcmp(key.value, buffer_str(&s.spaced)) != 0) {
				key.value = buffer_str(&s.spaced);
				r = visit(context, &key);
			}
		}
	}
	return r;
}
