#pragma once
/*
 * Parameters: JSON members that fill a request, described by one table per way of asking. The
 * reader, the error messages and the JSON Schema all come from the table.
 */
#include <stdbool.h>
#include <stdint.h>
#include "task/request.h"
#include "json/read.h"

struct arena;
struct error;
struct json_writer;
struct profile;

enum parameter_field {
	PARAMETER_LINE,      /* one string: a line for bash, or words, as the profile says */
	PARAMETER_FULL_LINE, /* the same, and not empty */
	PARAMETER_ARGV,      /* a list: name and arguments */
	PARAMETER_NAME,      /* the name alone, with PARAMETER_ARGS behind it */
	PARAMETER_ARGS,
	PARAMETER_CWD,
	PARAMETER_WORKSPACE,
	PARAMETER_ENV,
	PARAMETER_INPUT,
	PARAMETER_DESCRIPTION,
	PARAMETER_OUTPUT_MODE,
	PARAMETER_TIMEOUT,
	PARAMETER_TIMEOUT_OR_0, /* the same, and 0 is the profile's own */
	PARAMETER_FORCE,
	PARAMETER_SESSION,
	PARAMETER_IDLE_TIMEOUT,
	PARAMETER_APPROVAL_TIMEOUT, /* how long to wait for a person; 0: do not wait */
	PARAMETER_BACKGROUND,
	PARAMETER_PTY, /* true, or rows and columns */
	PARAMETER_OWN, /* a string for the door itself: checked, and left in the object */
	PARAMETER_FIELD_MAX,
};

struct parameter {
	const char *name;
	enum parameter_field field;
	bool required;
	int64_t unit_ms; /* of a timeout: what one of the number is */
	const char *doc;
};

/* Fills the members that OBJECT names into *request and leaves the others. SKIP is a member that is
 * not ours, or NULL. All strings live in the arena. A member that is unknown, has the wrong type or
 * is out of range is an error that names it. */
int parameters_read(const struct parameter *table, size_t count, const char *skip, json_t *object,
                    struct arena *arena, struct request *request, struct error *err);

/* The table as a JSON Schema of an object, with the times and wishes of the profile in force. NULL:
 * those of the table. */
void parameters_write_schema(const struct parameter *table, size_t count,
                             const struct profile *profile, struct json_writer *w);
