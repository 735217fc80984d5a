#pragma once
/*
 * The table of keys for other programs (JSON Schema 2020-12) and for people (Markdown).
 */
struct buffer;
struct json_writer;

void profile_schema_write(struct json_writer *w);
void profile_reference_write(struct buffer *out);
