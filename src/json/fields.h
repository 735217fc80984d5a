#pragma once
/*
 * Fields: a struct as a JSON object, by one table that the writer and the reader share.
 *
 * A row says the name of a member, where its value lies in the struct, and what it may be, so a
 * new member is one row. Members are written in the order of the rows. The macros below check the
 * type of the struct's member when they are compiled.
 *
 *	static const struct json_field fields[] = {
 *		JSON_TEXT("name", struct thing, name, JSON_REQUIRED),
 *		JSON_NUMBER("size", struct thing, size, JSON_OPTIONAL, 0, INT64_MAX),
 *		{0},
 *	};
 *
 * Reading is strict: an unknown member, a wrong type, a number out of range and a required member
 * that is missing are errors.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include "base/cleanup.h"

struct arena;
struct error;
struct json_writer;

enum json_field_type {
	JSON_FIELD_TEXT,   /* const char *; what is not UTF-8 is repaired */
	JSON_FIELD_BYTES,  /* const char *; what is not UTF-8 travels as {"hex": "..."} */
	JSON_FIELD_WORDS,  /* const char *const *, ends with NULL: an array of BYTES */
	JSON_FIELD_CHARS,  /* char[]: cut to what fits, as words for people are */
	JSON_FIELD_BOOL,   /* bool */
	JSON_FIELD_NUMBER, /* an integer of any width, from min to max */
	JSON_FIELD_NAME,   /* an enum, written as one of NAMES */
	JSON_FIELD_OBJECT, /* a struct with a table of its own */
};

/* A NULL pointer is never written. A member that may be missing, and is, leaves the struct's value
 * as it was. */
enum json_presence {
	JSON_REQUIRED,
	JSON_OPTIONAL, /* always written; may be missing */
	JSON_SPARSE,   /* written unless false, 0 or ""; may be missing */
};

struct json_field {
	const char *name; /* NULL ends a table */
	enum json_field_type type;
	enum json_presence presence;
	size_t offset, width;
	bool is_signed;
	bool unless;      /* not written if it is the same as the member at ... */
	size_t unless_at; /* ... this offset: the same text, or the same list in memory */
	int64_t min, max; /* of a NUMBER; NAME: max is their count; WORDS: min is the least */
	const char *const *names;
	const struct json_field *sub;
};

/* Writes one object. */
void json_fields_write(struct json_writer *w, const struct json_field *table, const void *from);

/* WHAT names the object in error messages. Strings and arrays live in the arena; a table without
 * TEXT, BYTES and WORDS needs none. After a failure *INTO is half filled. */
int json_fields_read(json_t *object, const char *what, const struct json_field *table,
                     struct arena *arena, void *into, struct error *err);

/* The same for an object that has other members, too; the caller has begun it, and reads those. */
void json_fields_write_part(struct json_writer *w, const struct json_field *table,
                            const void *from);
int json_fields_read_part(json_t *object, const char *what, const struct json_field *table,
                          struct arena *arena, void *into, struct error *err);

#define JSON_MEMBER_(of, member) (((of *)NULL)->member)
/* The offset of a member that has the C type WANTED; the text does not compile for another. */
#define JSON_OFFSET_(of, member, wanted)                                                           \
	(offsetof(of, member) +                                                                    \
	 0 * sizeof(char[_Generic(JSON_MEMBER_(of, member), wanted : 1, default                    \
	                          : -1)]))
#define JSON_ROW_(key, kind, when, of, member, wanted)                                             \
	.name = (key), .type = (kind), .presence = (when),                                         \
	.offset = JSON_OFFSET_(of, member, wanted), .width = sizeof(JSON_MEMBER_(of, member))

#define JSON_TEXT(key, of, member, when)                                                           \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_TEXT, when, of, member, const char *)                    \
	}
#define JSON_BYTES(key, of, member, when, ...)                                                     \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_BYTES, when, of, member, const char *), __VA_ARGS__      \
	}
#define JSON_WORDS(key, of, member, when, least, ...)                                              \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_WORDS, when, of, member, const char *const *),           \
			.min = (least), __VA_ARGS__                                                \
	}
#define JSON_CHARS(key, of, member, when)                                                          \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_CHARS, when, of, member, char *)                         \
	}
#define JSON_BOOL(key, of, member, when)                                                           \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_BOOL, when, of, member, bool)                            \
	}
#define JSON_NUMBER(key, of, member, when, least, most)                                            \
	{                                                                                          \
		.name = (key), .type = JSON_FIELD_NUMBER, .presence = (when),                      \
		.offset = offsetof(of, member), .width = sizeof(JSON_MEMBER_(of, member)),         \
		.is_signed = _Generic(JSON_MEMBER_(of, member), int : 1, int64_t : 1,              \
		                      uint16_t : 0, uint32_t : 0, uint64_t : 0),                   \
		.min = (least), .max = (most)                                                      \
	}
#define JSON_NAME(key, of, member, when, words)                                                    \
	{                                                                                          \
		JSON_ROW_(key, JSON_FIELD_NAME, when, of, member, unsigned),                       \
			.names = (words), .max = array_size(words)                                 \
	}
#define JSON_OBJECT(key, of, member, table)                                                        \
	{                                                                                          \
		.name = (key), .type = JSON_FIELD_OBJECT, .offset = offsetof(of, member),          \
		.sub = (table)                                                                     \
	}
/* At the end of a row. */
#define JSON_UNLESS(of, member) .unless = true, .unless_at = offsetof(of, member)
