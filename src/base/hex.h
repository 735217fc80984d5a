#pragma once
/*
 * Hex: two digits for each byte, in lower case.
 */
#include <stdbool.h>
#include <stddef.h>

void hex_write(const void *bytes, size_t n, char *into); /* 2 * N digits and a NUL */
bool hex_read(const char *digits, void *into, size_t n); /* false: not 2 * N of them */
