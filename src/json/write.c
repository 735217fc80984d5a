#include "json/write.h"

#include <inttypes.h>
#include <string.h>
#include "base/buffer.h"
#include "base/utf8.h"

static void before_value(struct json_writer *w)
{
	if (w->need_comma)
		buffer_putc(w->out, ',');
	w->need_comma = true;
}

static void begin(struct json_writer *w, char c)
{
	before_value(w);
	buffer_putc(w->out, c);
	w->need_comma = false;
}

static void end(struct json_writer *w, char c)
{
	buffer_putc(w->out, c);
	w->need_comma = true;
}

void json_object_begin(struct json_writer *w)
{
	begin(w, '{');
}

void json_object_end(struct json_writer *w)
{
	end(w, '}');
}

void json_array_begin(struct json_writer *w)
{
	begin(w, '[');
}

void json_array_end(struct json_writer *w)
{
	end(w, ']');
}

void json_put_key(struct json_writer *w, const char *key)
{
	json_put_string(w, key);
	buffer_putc(w->out, ':');
	w->need_comma = false;
}

/* Escapes one byte below 0x20, or one of: quote, backslash, DEL. */
static void put_escaped(struct buffer *out, unsigned char c)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	if (c == '"' || c == '\\')
		buffer_append(out, (const char[]){'\\', (char)c}, 2);
	else if (c < sizeof(letters) && letters[c])
		buffer_append(out, (const char[]){'\\', letters[c]}, 2);
	else
		buffer_printf(out, "\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* As most are: nothing in it needs a second look. */
static void put_plain(struct json_writer *w, const char *bytes, size_t n)
{
	size_t all = n + 2 + w->need_comma;
	char *to = buffer_reserve(w->out, all);

	if (!to)
		return;
	if (w->need_comma)
		*to++ = ',';
	*to++ = '"';
	if (n > 0)
		memcpy(to, bytes, n);
	to[n] = '"';
	to[n + 1] = '\0';
	w->out->len += all;
	w->need_comma = true;
}

void json_put_bytes(struct json_writer *w, const char *bytes, size_t n)
{
	size_t i = 0, start, len;

	while (i < n && is_plain((unsigned char)bytes[i]))
		i++;
	if (i == n) {
		put_plain(w, bytes, n);
		return;
	}
	i = 0;
	before_value(w);
	buffer_putc(w->out, '"');
	while (i < n) {
		start = i;
		while (i < n) {
			if (is_plain((unsigned char)bytes[i]))
				i++;
			else if ((unsigned char)bytes[i] >= 0x80 &&
			         (len = utf8_char(bytes + i, n - i, NULL)) > 0)
				i += len;
			else
				break;
		}
		buffer_append(w->out, bytes + start, i - start);
		if (i == n)
			break;
		if ((unsigned char)bytes[i] >= 0x80) {
			buffer_puts(w->out, UTF8_REPLACEMENT);
			i += utf8_bad(bytes + i, n - i);
		} else {
			put_escaped(w->out, (unsigned char)bytes[i++]);
		}
	}
	buffer_putc(w->out, '"');
}

void json_put_string(struct json_writer *w, const char *text)
{
	if (text)
		json_put_bytes(w, text, strlen(text));
	else
		json_put_null(w);
}

void json_put_strings(struct json_writer *w, const char *const *list)
{
	if (!list) {
		json_put_null(w);
		return;
	}
	json_array_begin(w);
	for (; *list; list++)
		json_put_string(w, *list);
	json_array_end(w);
}

void json_put_int(struct json_writer *w, int64_t value)
{
	before_value(w);
	if (value < 0)
		buffer_putc(w->out, '-');
	buffer_put_uint(w->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_put_uint(struct json_writer *w, uint64_t value)
{
	before_value(w);
	buffer_put_uint(w->out, value);
}

void json_put_raw(struct json_writer *w, const char *json)
{
	before_value(w);
	buffer_puts(w->out, json);
}

void json_put_bool(struct json_writer *w, bool value)
{
	json_put_raw(w, value ? "true" : "false");
}

void json_put_null(struct json_writer *w)
{
	json_put_raw(w, "null");
}

void json_member_string(struct json_writer *w, const char *key, const char *text)
{
	json_put_key(w, key);
	json_put_string(w, text);
}

void json_member_text(struct json_writer *w, const char *key, const char *text)
{
	json_put_key(w, key);
	json_put_string(w, text && *text ? text : NULL);
}

void json_member_strings(struct json_writer *w, const char *key, const char *const *list)
{
	json_put_key(w, key);
	json_put_strings(w, list);
}

void json_member_bytes(struct json_writer *w, const char *key, const char *bytes, size_t n)
{
	json_put_key(w, key);
	json_put_bytes(w, bytes, n);
}

void json_member_int(struct json_writer *w, const char *key, int64_t value)
{
	json_put_key(w, key);
	json_put_int(w, value);
}

void json_member_uint(struct json_writer *w, const char *key, uint64_t value)
{
	json_put_key(w, key);
	json_put_uint(w, value);
}

void json_member_bool(struct json_writer *w, const char *key, bool value)
{
	json_put_key(w, key);
	json_put_bool(w, value);
}

void json_member_raw(struct json_writer *w, const char *key, const char *json)
{
	json_put_key(w, key);
	json_put_raw(w, json);
}

void json_member_object(struct json_writer *w, const char *key)
{
	json_put_key(w, key);
	json_object_begin(w);
}

void json_member_array(struct json_writer *w, const char *key)
{
	json_put_key(w, key);
	json_array_begin(w);
}
