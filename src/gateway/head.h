#pragma once
/*
 * Head: the head of the first HTTP/1 request, as lenient as servers are and as strict as they
 * should be: empty lines before it, any method, any case, bare line feeds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum request_head_state {
	REQUEST_HEAD_MORE,
	REQUEST_HEAD_DONE,
	REQUEST_HEAD_BROKEN, /* it is HTTP, and no server should read it */
	REQUEST_HEAD_OTHER,  /* it is not HTTP */
};

struct request_head {
	bool connect;       /* method CONNECT */
	bool two;           /* HTTP/2 without an upgrade: the host is not in the head */
	unsigned int hosts; /* lines of Host */
	const char *host;   /* the value of the last one, without blanks; into the bytes */
	size_t host_len;
	const char *authority; /* of an absolute URI; NULL: none */
	size_t authority_len;
};

/* BYTES are all that the client has sent so far, from the first. */
enum request_head_state request_head_read(const char *bytes, size_t n,
                                          struct request_head *ret_head);
/* Whether NAME or NAME:PORT, as a client sent it, is this canonical name or address. */
bool request_head_names(const char *text, size_t n, const char *name);
