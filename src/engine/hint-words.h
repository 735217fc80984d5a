#pragma once
/*
 * Words in a command or in its output.
 */
#include <stdbool.h>
#include <stddef.h>

struct hint_facts;

/* Whether the word is in the text, not as a part of a longer one: FileNotFoundError has an
 * ENOTFOUND in it. */
bool hint_has_word(const char *text, size_t n, const char *word);

/* curl and others, which tell by their exit code alone that they reached nobody. */
bool hint_is_silent_client(const struct hint_facts *f);

/* The profile has names, and here they cannot be served; the command is such a client. */
bool hint_has_lost_names(const struct hint_facts *f);
bool hint_has_lost_names_silently(const struct hint_facts *f);
