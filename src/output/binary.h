#pragma once
/*
 * Binary: whether output is something to read, and what it is if it is not.
 *
 * Looks at the first bytes only: NUL bytes, known beginnings, the share of control and invalid
 * bytes. Colours and UTF-8 are text. UTF-16 is named, since a reader of UTF-8 cannot use it as it
 * is.
 */
#include <stdbool.h>
#include <stddef.h>

enum { BINARY_SAMPLE = 8192 }; /* bytes that are looked at */

/* N bytes from the start of the output; more than BINARY_SAMPLE are not looked at. *ret_type is a
 * constant such as "PNG image", or "data", and is set only when the answer is true. */
bool binary_detect(const char *bytes, size_t n, const char **ret_type);
