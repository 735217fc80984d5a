#pragma once
/*
 * Base64 (RFC 4648, section 4).
 */
#include <stddef.h>

struct buffer;

void base64_encode(const void *bytes, size_t n, struct buffer *into);

/* Appends what the N characters stand for. -EINVAL: another alphabet, wrong padding, or bits that
 * no encoder would have set. */
int base64_decode(const char *text, size_t n, struct buffer *into);
