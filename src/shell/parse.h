#pragma once
/*
 * Reading a text as bash 5.2 reads it in `bash -c TEXT`: not interactive, aliases off, extended
 * patterns off until a line of the text switches them on.
 *
 * The answer is always a tree object with a status. Only SHELL_OK has a list; with any other status
 * nothing is known about what the text would do, and nothing of it may be run.
 */
#include "shell/ast.h"

struct arena;

#define SHELL_TEXT_MAX    65536 /* bytes */
#define SHELL_COMMAND_MAX 4096  /* commands of all kinds, at all depths */
#define SHELL_WORD_MAX    65536 /* words after brace expansion */
#define SHELL_DEPTH_MAX   100
#define SHELL_BRACE_MAX   1024   /* results of one brace expansion */
#define SHELL_COPIED_MAX  262144 /* bytes of all such results, with what they stand beside */

enum shell_status {
	SHELL_OK,
	SHELL_ERROR,       /* bash refuses it too (or at least its first bad line) */
	SHELL_UNSUPPORTED, /* bash may take it; it is not analysed */
	SHELL_LIMIT,       /* one of the limits above */
};

struct shell_parse_options {
	bool allow_control; /* take CR and other control characters as bash does: as word characters
	                     */
};

struct shell_tree {
	struct shell_text text; /* a copy in the arena */
	enum shell_status status;
	struct shell_list *list; /* NULL unless SHELL_OK */
	/* What is wrong, unless SHELL_OK: */
	struct shell_range at;
	struct shell_text token; /* the token that bash would name; may be empty */
	const char *message;     /* a sentence part: "unexpected end of text" */
	/* Worth a warning, also with SHELL_OK: */
	bool hidden;                  /* bidirectional, zero-width or other invisible characters */
	struct shell_range hidden_at; /* the first of them */
	bool unterminated_heredoc;    /* a here-document ended by the end of the text */
	bool braces;                  /* some were expanded, perhaps to no words at all */
	bool negated_parenthesis;     /* !( was read as a negation */
	uint32_t command_count, word_count, depth;
	uint32_t copied;        /* bytes made by brace expansion */
	uint32_t copied_inside; /* the same, counted again where a substitution is met again */
};

/*
 * Returns 0, or -ENOMEM when memory (or the arena) ends. The tree is in the arena. The options may
 * be NULL. An arena of SHELL_ARENA_MAX is never too small.
 */
#define SHELL_ARENA_MAX ((size_t)64 << 20)
int shell_parse(struct arena *arena, const char *text, size_t n,
                const struct shell_parse_options *options, struct shell_tree **ret_tree);
