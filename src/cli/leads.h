#pragma once
/*
 * Leads: where a name leads at this moment, and whether a box of the profile would be taken there.
 */
struct buffer;
struct host_seen;
struct json_writer;
struct profile;

/* Looks the name up, if the profile allows it or asks about it: two seconds at most. A member
 * `leads_to` and a member `fit`; or a line. */
void leads_put_json(const struct profile *p, const struct host_seen *host, struct json_writer *w);
void leads_put_text(const struct profile *p, const struct host_seen *host, struct buffer *out);
