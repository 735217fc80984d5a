#pragma once
/*
 * Count: characters and lines of raw bytes, at memory speed.
 *
 * Every byte of every command passes here, so it is one pass over vectors of the compiler's own
 * extension, which all targets have.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct count {
	uint64_t chars;    /* bytes that do not continue a UTF-8 character */
	uint64_t newlines; /* '\n' */
	bool has_nul;
};

/* Adds to *COUNT. */
void count_bytes(const void *bytes, size_t n, struct count *count);
