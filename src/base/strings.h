#pragma once
/*
 * Strings: lists of strings that end with NULL, and environments, which are lists of NAME=VALUE.
 * A NULL list is an empty one.
 */
#include <stddef.h>

struct arena;

size_t strings_count(const char *const *list);
/* The list with one more string, in the arena; both may be the caller's still. NULL: no memory. */
const char *const *strings_with(struct arena *arena, const char *const *list, const char *text);

/* The value in this environment; NULL: it is not set. */
const char *env_value(const char *const *envp, const char *name);
/* The environment with NAME=VALUE in place of what it had by that name. NULL: no memory. */
const char *const *env_with(struct arena *arena, const char *const *envp, const char *name,
                            const char *value);
