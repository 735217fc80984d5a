#pragma once
/*
 * What the commands have in common beside their entries; see cli/command.h for these.
 */
#include <stdbool.h>

struct arena;
struct buffer;

/* Words of a command or of its author, made harmless for the terminal of a person. */
void cli_put_clean(const char *text, struct buffer *into);

/* "nacre: FORMAT" on standard error, clean. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Canonical forms of these paths (NULL: none), in the arena; NULL ends them. Complains, for
 * COMMAND, and returns a negative errno. */
int cli_resolve(const char *const *paths, struct arena *arena, const char *command,
                const char *const **ret_paths);

/* Writes OUT to standard output, at once, and clears it. 0, or the exit code of a failure. */
int cli_print(struct buffer *out);
