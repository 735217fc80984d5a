#pragma once
/*
 * Punycode (RFC 3492): what a name with other letters than ASCII's is on the wire. Only for
 * messages: nacre compares no such names.
 */
#include <stdbool.h>
#include <stddef.h>

/* The labels of NAME (UTF-8), each that needs it as "xn--...", in lower case. False: no such form,
 * or it does not fit. */
bool punycode_name(const char *name, size_t n, char *into, size_t size);
