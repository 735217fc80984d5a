#pragma once
/*
 * Unwrap: the command in a text that a client of an agent has put its own words around.
 *
 * Claude Code sources a file of aliases before the command, and asks for the directory after it.
 * Gemini CLI has a subshell around it that writes down background jobs. These words are not the
 * agent's: rules and people would read them with each command, and the files that they name are
 * not in a sandbox.
 *
 * Only shapes that are known to the last byte are unwrapped. Any other text is a command as a
 * whole. What comes out is judged and boxed like any text, so a shape that somebody imitates gains
 * nothing but that: fewer words are run.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;

enum unwrap_shape {
	UNWRAP_NONE,
	UNWRAP_CLAUDE,   /* ... && eval 'COMMAND' && pwd -P >| FILE */
	UNWRAP_SNAPSHOT, /* SNAPSHOT_FILE=FILE and a script: a start-up call of Claude Code */
	UNWRAP_GEMINI,   /* a subshell with a trap around the command */
};

struct unwrap {
	enum unwrap_shape shape;
	const char *command; /* the text that is left; of a start-up call NULL */
	const char
		*cwd_file; /* to which the directory at the end goes, if all went well; or NULL */
	const char *snapshot; /* the file that is read first, or to be made; or NULL */
	bool empty_input;     /* standard input is /dev/null, whatever it is outside */
};

/* Strings live in the arena. -ENOMEM. */
int unwrap_text(const char *text, struct arena *arena, struct unwrap *ret);
