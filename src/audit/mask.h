#pragma once
/*
 * Mask: finds what looks like a secret in a command or its environment and puts *** in its place.
 *
 * By pattern, so it is a help and no promise: values of variables and options whose names speak of
 * secrets, credentials in URLs and headers, keys and tokens of well-known shapes, and what the
 * profile's own patterns (PCRE2) find; of these the first group, if there is one.
 */
#include <stddef.h>
#include "base/cleanup.h"

struct buffer;
struct error;
struct mask;

#define MASK_STARS "***"

/* Patterns may be NULL. The caller owns *ret_mask. */
int mask_new(const char *const *patterns, struct mask **ret_mask, struct error *err);
struct mask *mask_free(struct mask *m); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct mask *, mask_free);

/* Whether it can be compiled; else WHY says what is wrong with it. */
int mask_check(const char *pattern, char *why, size_t size);

/* The text is followed by a NUL. M may be NULL: the built-in patterns only. Errors stay in the
 * buffer. */
void mask_text(const struct mask *m, const char *text, size_t n, struct buffer *into);

/* The same for word I of a list: the one in front of it may say what it is. */
void mask_word(const struct mask *m, const char *const *words, size_t i, struct buffer *into);
