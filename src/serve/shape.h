#pragma once
/*
 * Shapes: what the bodies of answers look like, for the document of the interface.
 *
 * A shape is a line of members, written as a type would be: "name:type", or "name?:type" for one
 * that may be missing. A type is string, integer, boolean, object (any), or the name of another
 * shape; "[]" behind it makes a list of it, "|null" allows null. "&Name" takes over the members of
 * another shape, and "..." allows members that are not listed.
 */
#include <stddef.h>

struct json_writer;

/* Writes "NAME": SCHEMA for every shape there is. */
void shape_put_all(struct json_writer *w);

/* The same for each member of such a line. */
void shape_put_members(struct json_writer *w, const char *members);

/* The schema that refers to a shape by its name; to a list of it: "Name[]". */
void shape_put_type(struct json_writer *w, const char *type);
