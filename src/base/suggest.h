#pragma once
/*
 * Suggest: "did you mean", for any list of words.
 *
 * The distance counts a swap of neighbours as one slip, as fingers do. Words over SUGGEST_MAX bytes
 * are near to nothing, so the work for one word is bounded.
 */
#include <stdbool.h>
#include <stddef.h>

#define SUGGEST_MAX 40

/* Slips between two words; limit + 1: there are more. */
unsigned suggest_distance(const char *a, const char *b, unsigned limit);

/* Whether KNOWN is near enough for "did you mean", and nearer than *best, which it then sets. Begin
 * with *best = SUGGEST_NONE. */
#define SUGGEST_NONE (~0U)
bool suggest_is_near(const char *written, const char *known, unsigned *best);

/* The name of a table that was meant: one that is known by WRITTEN too (suggest.c has the list),
 * else the nearest. The table has COUNT structs of SIZE bytes whose first member is the name. A
 * NULL name ends the table early. NULL: none is near. */
const char *suggest_from(const char *written, const void *table, size_t count, size_t size);

/* ", did you mean 'NAME'?", or nothing if NAME is NULL: how a message ends. Returns INTO. */
#define SUGGEST_WORDS_MAX 64
const char *suggest_words(const char *name, char into[SUGGEST_WORDS_MAX]);
