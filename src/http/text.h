#pragma once
/*
 * The small languages inside of HTTP that we read ourselves: host and origin, query, credentials,
 * what is accepted. All of it comes from outside; nothing is kept, nothing is allocated.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool http_is_token(char c); /* of a name, as RFC 9110 has it */

/* A name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
bool http_host_is_valid(const char *text, size_t n);

/* Whether HOST, as a client sent it, is the name ALLOWED. Without a port ALLOWED goes with any. */
bool http_host_matches(const char *host, const char *allowed);

/* The authority of "http://AUTHORITY" or "https://AUTHORITY" and nothing behind it, or NULL. */
const char *http_origin_authority(const char *origin);

/* The token of "Bearer TOKEN", or NULL. */
const char *http_bearer(const char *authorization);

/* The value of NAME, decoded. 0; -ENOENT: it is not there; -EINVAL: the query is malformed, or it
 * is there twice; -E2BIG: it does not fit. */
int http_query_get(const char *query, const char *name, char *into, size_t size);

/* Whether the query has no other names than these (up to NULL). */
bool http_query_is_known(const char *query, const char *const *names);

/* Whether an Accept header (may be NULL) names the type TYPE, or a range with it if WILD. */
bool http_accepts(const char *accept, const char *type, bool wild);

/* Whether a Content-Type is application/json in UTF-8. */
bool http_is_json(const char *content_type);

/* The value of the cookie NAME of a Cookie header (may be NULL). 0; -ENOENT: it is not there;
 * -EINVAL: it is there twice; -E2BIG: it does not fit. */
int http_cookie_get(const char *header, const char *name, char *into, size_t size);

/* The port of an authority: "127.0.0.1:80", "[::1]:80", "name"; 0: it names none. */
unsigned http_port(const char *authority);

/* Equal, in a time that tells only the length. */
bool http_same_bytes(const void *a, const void *b, size_t n);
