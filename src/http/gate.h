#pragma once
/*
 * Gate: whether the head of a request is one that everybody reads in the same way.
 *
 * The library below is lenient: it takes two lengths, a length beside chunks, two hosts, odd names.
 * An answer to such a request may be right, but what stands in front of us could have read another
 * one. So the head is looked at as a whole before anything else, and what is not plainly right is
 * refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_FIELDS_MAX 64

struct http_field {
	const char *name, *value;
	size_t name_len, value_len;
};

struct http_head {
	const char *method, *version;
	const char *target; /* as it came, with the query */
	const struct http_field *fields;
	size_t field_count;
};

/* What the gate has found out on its way; the pointers are into the head. */
struct http_facts {
	const char *path; /* begins with '/' */
	size_t path_len;
	const char *query; /* behind the '?'; "" without one */
	uint64_t length;   /* of the body, if has_length */
	bool has_length, chunked;
};

/* 0, or the status of a refusal; *ret_why is then a sentence. */
int http_gate(const struct http_head *h, struct http_facts *ret_facts, const char **ret_why);
