#pragma once
/*
 * Split: a string into words as a POSIX shell splits them, and words back into one string. Nothing
 * is expanded: no variable, no glob, no tilde, no comment. The words are meant to be executed
 * directly.
 */
#include <stddef.h>

struct arena;
struct buffer;
struct error;

/* *ret_words ends with NULL and may be empty. Unbalanced quotes are an error. */
int shell_split(struct arena *arena, const char *text, size_t n, const char *const **ret_words,
                struct error *err);

/* Appends the words, each quoted, so that any shell reads exactly these words. */
void shell_quote_words(const char *const *words, struct buffer *out);
