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

/* A key and its value. The last two begin one, which ends as any other does. */
void json_member_string(struct json_writer *w, const char *key, const char *text);
void json_member_text(struct json_writer *w, const char *key, const char *text); /* "": null */
void json_member_strings(struct json_writer *w, const char *key, const char *const *list);
void json_member_bytes(struct json_writer *w, const char *key, const char *bytes, size_t n);
void json_member_int(struct json_writer *w, const char *key, int64_t value);
void json_member_uint(struct json_writer *w, const char *key, uint64_t value);
void json_member_bool(struct json_writer *w, const char *key, bool value);
void json_member_raw(struct json_writer *w, const char *key, const char *json);
void json_member_object(struct json_writer *w, const char *key);
void json_member_array(struct json_writer *w, const char *key);
