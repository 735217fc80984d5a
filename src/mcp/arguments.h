#pragma once
/*
 * Arguments of the tools that run nothing, described by a table: the reader and the schema come
 * from it.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json_writer;

enum argument_type {
	ARGUMENT_STRING,
	ARGUMENT_NUMBER,
	ARGUMENT_BOOL,
	ARGUMENT_STRINGS, /* one at least */
	ARGUMENT_STRINGS_OR_NONE,
};

struct argument {
	const char *name;
	enum argument_type type;
	bool required;
	const char *doc;
	uint64_t max; /* of a number */
};

struct argument_value {
	bool given, flag;
	const char *text; /* borrowed */
	uint64_t number;
	json_t *list;
};

/* VALUES has a place for each of the table. An argument that is unknown, missing or ill-typed is
 * an error that names it. */
int arguments_read(const struct argument *table, size_t count, json_t *object,
                   struct argument_value *values, struct error *err);
void arguments_put_schema(const struct argument *table, size_t count, struct json_writer *w);
