#pragma once
/*
 * Base64 (RFC 4648, section 4).
 */
#include <stddef.h>

struct buffer;

void base64_encode(const void *bytes, size_t n, struct buffer *into);
