#pragma once
/*
 * What doctor says about the clients that `nacre init` has set up.
 */
struct buffer;
struct json_writer;

/* Proves each of them again; an array for JSON, or lines for people (NULL: not wanted). Returns how
 * many do not work. */
int doctor_clients(struct json_writer *w, struct buffer *out);
