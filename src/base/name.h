#pragma once
/*
 * Names: how tables find theirs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* tools/gen-tables makes the same. */
static inline uint32_t name_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash;
}

/* Most names differ in their first byte. */
static inline bool name_is(const char *a, const char *b)
{
	return *a == *b && strcmp(a, b) == 0;
}
