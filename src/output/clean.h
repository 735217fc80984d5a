#pragma once
/*
 * Clean: raw bytes of a command -> the text that a reader would have seen.
 *
 * The result is valid UTF-8. Invalid bytes become U+FFFD, escape sequences and control characters
 * go, and a line that was rewritten (carriage return, backspace, erase and column movements) reads
 * as a terminal would leave it: later text lies over earlier text. One character is one column;
 * tabs and wide characters count as one. Blanks at the end of a rewritten line go.
 *
 * The bytes may be a piece of a longer stream, which begins or ends inside of a character or of an
 * escape sequence. Time and memory are linear in the piece, whatever is in it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct clean_options {
	bool keep_escapes;  /* whole sequences, CR, BS and BEL stay, lines are not folded: the text
	                     * is  for a terminal, which does that itself */
	bool show_controls; /* as ^A; else they go */
	bool starts_mid;    /* bytes came before the piece that are not known */
	bool ends_mid;      /* bytes follow the piece that are not known */
};

struct clean_facts {
	uint64_t chars;     /* characters of the result */
	uint64_t cut_chars; /* characters of the piece that are not in it since an end cut them */
	uint64_t cut_bytes; /* the bytes of these */
	uint64_t replaced;  /* U+FFFD put in for invalid bytes */
};

/* Appends to OUT and returns its state: 0, -ENOMEM or -E2BIG. The facts are about this piece. */
int clean_text(const char *bytes, size_t n, const struct clean_options *options, struct buffer *out,
               struct clean_facts *ret_facts);

/* Length of the character or whole escape sequence at the start of N > 0 bytes of cleaned text: the
 * pieces between which such a text may be cut. */
size_t clean_unit(const char *text, size_t n);
