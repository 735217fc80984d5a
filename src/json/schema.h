#pragma once
/*
 * JSON Schema of an object, in the three parts that every one of ours has:
 *
 *	json_schema_begin(w);     then a key and a schema for each member
 *	json_schema_required(w);  then the names of those that must be there
 *	json_schema_end(w, false);
 */
#include <stdbool.h>

struct json_writer;

void json_schema_begin(struct json_writer *w);
void json_schema_required(struct json_writer *w);
void json_schema_end(struct json_writer *w, bool open); /* OPEN: there may be other members */

/* "type": TYPE */
void json_schema_type(struct json_writer *w, const char *type);
