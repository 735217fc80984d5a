#pragma once
/*
 * Showing: a profile as it holds, with the place that each value comes from.
 */
#include <stdbool.h>

struct buffer;
struct json_writer;
struct profile;

/* Text for people, in the order of the table of keys. NAMES: of the files that values come from
 * only their names, for who is not on this host. */
void profile_print(const struct profile *p, bool names, struct buffer *out);
void profile_write_json(const struct profile *p, struct json_writer *w);
