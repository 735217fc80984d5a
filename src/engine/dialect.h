#pragma once
/*
 * Dialect: how a profile looks to its callers: the name of its tool, the parameters with their
 * JSON Schema, and the shape of the result. All doors speak the same five.
 */
#include <jansson.h>
#include "task/request.h"

struct arena;
struct buffer;
struct error;
struct json_writer;
struct result;
struct dialect;
struct profile;

/* By the tool's name or its alias ("safe.shell"); NULL: there is none. */
const struct dialect *dialect_find(const char *tool);
/* The I-th dialect; NULL: there are no more. */
const struct dialect *dialect_at(size_t i);

const char *dialect_tool(const struct dialect *d);
const char *dialect_profile(const struct dialect *d); /* the built-in profile that speaks it */

/* Whether its callers are told nothing of this host but what commands print, at any door. */
bool dialect_is_discreet(const struct dialect *d);

/* Whether calls of one client share a session: its directory, and what a person has granted. */
bool dialect_keeps_session(const struct dialect *d);

/* Whether its `command` is the name of a program, with the arguments beside it. */
bool dialect_takes_name(const struct dialect *d);

/* Name, description and input schema as one JSON object, as MCP lists tools. */
void dialect_write_json(const struct dialect *d, struct json_writer *w);
/* The same as chat APIs take it: {"type":"function","function":{...,"parameters":...}}. */
void dialect_write_function(const struct dialect *d, struct json_writer *w);
/* The members of it, in an object that the caller has begun. TOOL is its name there; NULL: its own.
 * MORE goes on after the description; "": nothing. The schema is that of the profile in force;
 * NULL: of the built-in one. */
void dialect_put_members(const struct dialect *d, const char *tool, const struct profile *profile,
                         const char *more, struct json_writer *w);

/* TEXT is a JSON object of parameters. */
int dialect_read(const struct dialect *d, const char *text, size_t n, struct arena *arena,
                 struct request *request, struct error *err);

/* The same of what is parsed already; no string of it may hold U+0000. */
int dialect_read_value(const struct dialect *d, json_t *object, struct arena *arena,
                       struct request *request, struct error *err);

/* One JSON object in the shape of the dialect. */
int dialect_write_result(const struct dialect *d, const struct result *r, struct buffer *into);
