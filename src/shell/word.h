#pragma once
/*
 * The value of a word: what is known of it before the command runs.
 *
 * Quote removal and $'...' are applied; what depends on the moment is unknown, and the value says
 * how many words it can become and how it begins.
 */
#include "shell/ast.h"

struct arena;

enum shell_value_kind {
	SHELL_VALUE_KNOWN, /* exactly text */
	SHELL_VALUE_ONE,   /* one word, beginning with text */
	SHELL_VALUE_MANY,  /* none or any number; the first begins with text */
	SHELL_VALUE_GLOB, /* as many, each matches pattern; or, with no match, the pattern itself */
};

struct shell_value {
	enum shell_value_kind kind;
	struct shell_text text;    /* the whole, or the known beginning */
	struct shell_text pattern; /* GLOB: quoted characters that are special have a backslash */
};

/* Returns 0 or -ENOMEM. A word of NULL has the known value "". */
int shell_word_value(struct arena *arena, const struct shell_word *word, struct shell_value *ret);

/* Whether the word is exactly this text, known and whole. */
bool shell_word_is(const struct shell_word *word, const char *text);
