#pragma once
/*
 * Scan: what can be said about a JSON text without reading it: how deep it nests, how much there is
 * in it, and which bytes are the id of the message. It works on any bytes, so that even a message
 * that is refused unread can be answered under its id.
 */
#include <stdbool.h>
#include <stddef.h>

struct rpc_scan {
	size_t depth;   /* the deepest nesting */
	size_t values;  /* at most so many are in its arrays and objects, and these with them */
	const char *id; /* into the bytes; NULL: none was found, or it is no string or integer */
	size_t id_len;
	bool id_is_safe;  /* to be written back although nothing around it was read */
	bool id_is_twice; /* then it is neither */
};

void rpc_scan(const char *bytes, size_t n, struct rpc_scan *ret_scan);
