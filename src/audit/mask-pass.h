#pragma once
/*
 * The pass of the built-in shapes over a text, and what names speak of secrets.
 */
#include <stdbool.h>
#include <stddef.h>

struct buffer;

void mask_pass_text(const char *text, size_t n, struct buffer *out);
void mask_pass_word(const char *const *words, size_t i, struct buffer *out);

/* Whether a name, in small letters and without leading dashes, speaks of a secret; or is that of a
 * header whose whole line is one. */
bool mask_is_secret_name(const char *lower);
bool mask_is_header_name(const char *lower);

/* Letters of short options whose value is a secret, of the programs that a text names. */
struct mask_shorts {
	bool next[128], glued[128];
	bool any;
};
void mask_shorts_of_text(const char *text, size_t n, struct mask_shorts *ret);
void mask_shorts_of_word(const char *word, struct mask_shorts *into); /* adds to it */
