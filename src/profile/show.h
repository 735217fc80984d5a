#pragma once
/*
 * Showing: a profile as it holds, with the place that each value comes from.
 */
struct buffer;
struct json_writer;
struct profile;

/* Text for people, in the order of the table of keys. */
void profile_print(const struct profile *p, struct buffer *out);
void profile_write_json(const struct profile *p, struct json_writer *w);
