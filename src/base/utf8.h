#pragma once
/*
 * UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Length (1-4) of the valid character at the start of N bytes; 0: invalid, or cut short. When
 * ret_code is not NULL it gets the code point of a valid character. */
size_t utf8_char(const char *bytes, size_t n, uint32_t *ret_code);

/* How many bytes of an invalid or cut sequence one replacement character stands for (1-3): the
 * maximal part that could have begun a character, as the Unicode standard recommends. */
size_t utf8_bad(const char *bytes, size_t n);

/* Whether the N bytes are the beginning of a character that more bytes could complete. */
int utf8_is_cut(const char *bytes, size_t n);

/* Length of the leading run of valid UTF-8; equal to N when all is valid. */
size_t utf8_valid_prefix(const char *bytes, size_t n);

/* Whether a person would not see the character as what it is: it is invisible, a control character,
 * moves other text about, or looks like a blank and is none. */
bool utf8_is_hidden(uint32_t code);
