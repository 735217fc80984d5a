#pragma once
/*
 * JSON writer: appends one value to a buffer, straight from the caller's data.
 *
 * Commas come by themselves. Strings may hold any bytes: what is not UTF-8 becomes U+FFFD, so the
 * text is always valid JSON. Errors stay in the buffer (buffer_error).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct json_writer {
	struct buffer *out;
	bool need_comma;
};

void json_object_begin(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w);
void json_array_end(struct json_writer *w);
void json_put_key(struct json_writer *w, const char *key); /* the next value belongs to it */

void json_put_string(struct json_writer *w, const char *text); /* NULL is written as null */
/* An array; the list ends with NULL, and none at all is written as null. */
void json_put_strings(struct json_writer *w, const char *const *list);
void json_put_bytes(struct json_writer *w, const char *bytes, size_t n);
void json_put_int(struct json_writer *w, int64_t value);
void json_put_uint(struct json_writer *w, uint64_t value);
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
void json_put_raw(struct json_writer *w, const char *json); /* a value that is JSON already */
