#include "json/fields.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "json/write.h"

/* What a value must be, as messages say it. */
static const char *const wanted[] = {
	[JSON_FIELD_TEXT] = "a string",           [JSON_FIELD_BYTES] = "a string, or bytes in hex",
	[JSON_FIELD_WORDS] = "a list of strings", [JSON_FIELD_CHARS] = "a string",
	[JSON_FIELD_BOOL] = "true or false",      [JSON_FIELD_NAME] = "one of the known words",
};

static const char *text_at(const void *at)
{
	return *(const char *const *)at;
}

static const char *const *words_at(const void *at)
{
	return *(const char *const *const *)at;
}

static int64_t load(const struct json_field *f, const void *at)
{
	switch (f->width) {
	case sizeof(uint16_t):
		return *(const uint16_t *)at;
	case sizeof(uint32_t):
		return f->is_signed ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
	default:
		assert(f->width == sizeof(int64_t));
		return *(const int64_t *)at;
	}
}

static void store(const struct json_field *f, void *at, int64_t value)
{
	switch (f->width) {
	case sizeof(uint16_t):
		*(uint16_t *)at = (uint16_t)value;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)at = (uint32_t)value;
		break;
	default:
		assert(f->width == sizeof(int64_t));
		*(int64_t *)at = value;
	}
}

/* A word of a command line is bytes, not text: one that JSON cannot hold as it is goes as hex. */
static void write_bytes(struct json_writer *w, const char *bytes)
{
	size_t n = strlen(bytes);
	char *hex;

	if (utf8_valid_prefix(bytes, n) == n) {
		json_put_bytes(w, bytes, n);
		return;
	}
	json_object_begin(w);
	json_member_raw(w, "hex", "\"");
	hex = buffer_reserve(w->out, 2 * n);
	if (hex) {
		hex_write(bytes, n, hex);
		w->out->len += 2 * n;
	}
	buffer_putc(w->out, '"');
	json_object_end(w);
}

static void write_words(struct json_writer *w, const char *const *words)
{
	json_array_begin(w);
	for (; *words; words++)
		write_bytes(w, *words);
	json_array_end(w);
}

static bool is_left_out(const struct json_field *f, const char *from)
{
	const void *at = from + f->offset, *other = from + f->unless_at;

	switch (f->type) {
	case JSON_FIELD_TEXT:
	case JSON_FIELD_BYTES:
		return !text_at(at) ||
		       (f->unless && text_at(other) && strcmp(text_at(at), text_at(other)) == 0);
	case JSON_FIELD_WORDS:
		return !words_at(at) || (f->unless && words_at(at) == words_at(other));
	case JSON_FIELD_BOOL:
		return f->presence == JSON_SPARSE && !*(const bool *)at;
	case JSON_FIELD_NUMBER:
		return f->presence == JSON_SPARSE && load(f, at) == 0;
	case JSON_FIELD_CHARS:
		return f->presence == JSON_SPARSE && !*(const char *)at;
	case JSON_FIELD_NAME:
	case JSON_FIELD_OBJECT:
		break;
	}
	return false;
}

static void write_value(struct json_writer *w, const struct json_field *f, const void *at)
{
	switch (f->type) {
	case JSON_FIELD_TEXT:
		json_put_string(w, text_at(at));
		break;
	case JSON_FIELD_BYTES:
		write_bytes(w, text_at(at));
		break;
	case JSON_FIELD_WORDS:
		write_words(w, words_at(at));
		break;
	case JSON_FIELD_CHARS:
		json_put_string(w, at);
		break;
	case JSON_FIELD_BOOL:
		json_put_bool(w, *(const bool *)at);
		break;
	case JSON_FIELD_NUMBER:
		json_put_int(w, load(f, at));
		break;
	case JSON_FIELD_NAME:
		assert(load(f, at) < f->max);
		json_put_string(w, f->names[load(f, at)]);
		break;
	case JSON_FIELD_OBJECT:
		json_fields_write(w, f->sub, at);
		break;
	}
}

void json_fields_write_part(struct json_writer *w, const struct json_field *table, const void *from)
{
	for (const struct json_field *f = table; f->name; f++) {
		if (is_left_out(f, from))
			continue;
		json_put_key(w, f->name);
		write_value(w, f, (const char *)from + f->offset);
	}
}

void json_fields_write(struct json_writer *w, const struct json_field *table, const void *from)
{
	json_object_begin(w);
	json_fields_write_part(w, table, from);
	json_object_end(w);
}

/* What write_bytes() wrote. A NUL would hide what follows it. */
static int read_bytes(const json_t *value, struct arena *arena, const char **ret_bytes)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n = hex ? strlen(hex) : 0;
	char *bytes;

	if (json_is_string(value)) {
		*ret_bytes =
			arena_strndup(arena, json_string_value(value), json_string_length(value));
		return *ret_bytes ? 0 : -ENOMEM;
	}
	if (!hex || n % 2 || json_object_size(value) != 1)
		return -EINVAL;
	bytes = arena_alloc(arena, n / 2 + 1);
	if (!bytes)
		return -ENOMEM;
	if (!hex_read(hex, bytes, n / 2) || strlen(bytes) != n / 2)
		return -EINVAL;
	*ret_bytes = bytes;
	return 0;
}

static int read_words(const struct json_field *f, const json_t *array, struct arena *arena,
                      const char *const **ret_words)
{
	size_t n = json_array_size(array);
	const char **words;
	int r = 0;

	if (!json_is_array(array) || n < (size_t)f->min)
		return -EINVAL;
	words = arena_new_array(arena, const char *, n + 1);
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++)
		r = read_bytes(json_array_get(array, i), arena, &words[i]);
	if (r == 0)
		*ret_words = words;
	return r;
}

static int read_chars(const struct json_field *f, const json_t *value, char *into)
{
	size_t n = json_string_length(value);

	if (!json_is_string(value))
		return -EINVAL;
	if (n >= f->width)
		n = f->width - 1;
	memcpy(into, json_string_value(value), n);
	into[n] = '\0';
	return 0;
}

static int read_number(const struct json_field *f, const json_t *value, void *into)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < f->min || number > f->max)
		return -EINVAL;
	store(f, into, number);
	assert(load(f, into) == number);
	return 0;
}

static int read_name(const struct json_field *f, const json_t *value, void *into)
{
	for (int64_t i = 0; json_is_string(value) && i < f->max; i++)
		if (strcmp(json_string_value(value), f->names[i]) == 0) {
			store(f, into, i);
			return 0;
		}
	return -EINVAL;
}

/* -EINVAL: not what the row says. */
static int read_value(const struct json_field *f, const json_t *value, struct arena *arena,
                      void *into)
{
	switch (f->type) {
	case JSON_FIELD_TEXT:
		return json_is_string(value) ? read_bytes(value, arena, into) : -EINVAL;
	case JSON_FIELD_BYTES:
		return read_bytes(value, arena, into);
	case JSON_FIELD_WORDS:
		return read_words(f, value, arena, into);
	case JSON_FIELD_CHARS:
		return read_chars(f, value, into);
	case JSON_FIELD_BOOL:
		*(bool *)into = json_is_true(value);
		return json_is_boolean(value) ? 0 : -EINVAL;
	case JSON_FIELD_NUMBER:
		return read_number(f, value, into);
	case JSON_FIELD_NAME:
		return read_name(f, value, into);
	case JSON_FIELD_OBJECT:
		break;
	}
	assert(false); /* the caller reads it */
	return -EINVAL;
}

static int read_member(const struct json_field *f, json_t *value, struct arena *arena, void *into,
                       struct error *err)
{
	int r;

	if (f->type == JSON_FIELD_OBJECT)
		return json_fields_read(value, f->name, f->sub, arena, into, err);
	r = read_value(f, value, arena, into);
	if (r == -ENOMEM)
		return error_nomem(err);
	if (r < 0 && f->type == JSON_FIELD_NUMBER)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "'%s' must be a whole number from %" PRId64 " to %" PRId64,
		                 f->name, f->min, f->max);
	if (r < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "'%s' must be %s%s", f->name,
		                 wanted[f->type],
		                 f->type == JSON_FIELD_WORDS && f->min ? ", not empty" : "");
	return 0;
}

static const char *unknown_member(json_t *object, const struct json_field *table)
{
	const struct json_field *f;
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value) {
		for (f = table; f->name && strcmp(f->name, name) != 0;)
			f++;
		if (!f->name)
			return name;
	}
	return NULL;
}

static int read_all(json_t *object, const struct json_field *table, bool part, struct arena *arena,
                    char *into, struct error *err)
{
	size_t known = 0;
	int r;

	if (!json_is_object(object))
		return error_set(err, ERROR_INPUT, EINVAL, "must be an object");
	for (const struct json_field *f = table; f->name; f++) {
		json_t *value = json_object_get(object, f->name);

		if (!value && f->presence == JSON_REQUIRED)
			return error_set(err, ERROR_INPUT, EINVAL, "'%s' is missing", f->name);
		if (!value)
			continue;
		known++;
		r = read_member(f, value, arena, into + f->offset, err);
		if (r < 0)
			return r;
	}
	if (!part && known < json_object_size(object))
		return error_set(err, ERROR_INPUT, EINVAL, "unknown member '%s'",
		                 unknown_member(object, table));
	return 0;
}

int json_fields_read(json_t *object, const char *what, const struct json_field *table,
                     struct arena *arena, void *into, struct error *err)
{
	int r = read_all(object, table, false, arena, into, err);

	if (r < 0)
		error_wrap(err, "%s", what);
	return r;
}

int json_fields_read_part(json_t *object, const char *what, const struct json_field *table,
                          struct arena *arena, void *into, struct error *err)
{
	int r = read_all(object, table, true, arena, into, err);

	if (r < 0)
		error_wrap(err, "%s", what);
	return r;
}
