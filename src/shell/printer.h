#pragma once
/*
 * Printer: one canonical text being written, shared by the two files of the printer; not for other
 * rooms. print-word.c writes words and expansions, print.c commands.
 */
#include "base/buffer.h"
#include "shell/ast.h"

struct printer_source;

struct printer {
	struct buffer *out;
	struct buffer later; /* bodies and delimiters behind the next newline */
	size_t quote_end;    /* where the last '...' has ended: what follows at once goes inside */
	bool quote_control;  /* it was $'...' */
	bool in_heredoc;     /* in a body: $'...' is text there */
	bool in_body;        /* in a body, however deep: \<newline> goes before it is read */
	bool lines;          /* every statement ends its line, see print_substitution() */
	unsigned level;      /* of lists: lines matter only in the outermost */
	/* To keep the lines of the source: */
	const struct printer_source *source; /* NULL: each construct has one spelling */
	size_t counted, line;                /* newlines in the first COUNTED bytes of OUT */
	uint32_t word_end;                   /* in the source, of the word that is printed */
	bool bare;                           /* words that need no quotes get none */
};

/* Where the lines of the source begin. */
struct printer_source {
	const uint32_t *newlines; /* places, in order */
	size_t count;
};

/* Where literal text stands. */
enum place {
	PLACE_WORD,    /* a word of its own */
	PLACE_OPERAND, /* unquoted, in ${ } */
	PLACE_REGEX,   /* behind =~ */
	PLACE_DOUBLE,  /* in double quotes */
	PLACE_QUOTED,  /* in double quotes of an operand that is itself in double quotes */
	PLACE_HEREDOC, /* in a body that is expanded */
	PLACE_ARITH,   /* as it was written */
};

void printer_put(struct printer *p, const char *text);
void printer_text(struct printer *p, const struct shell_text *text);
void printer_flush(struct printer *p); /* a newline and the bodies that wait for it */
bool printer_has_heredoc(const struct shell_list *list); /* NULL has none */
/* Goes on to the line on which the place AT stands in the source, with newlines where they may
 * stand and continuations elsewhere. */
void printer_reach(struct printer *p, uint32_t at, bool newline);
/* The bodies that wait, if they stand in front of the place AT in the source. */
void printer_close(struct printer *p, uint32_t at);
bool printer_is_behind(struct printer *p, uint32_t at); /* no more lines up to there */
void printer_word(struct printer *p, const struct shell_word *word, enum place place);
/* Behind -v of [[ ]]: bash expands the subscript of a variable once more, unless it is one already
 * as it is written. */
void printer_reference(struct printer *p, const struct shell_word *word);
void printer_assign(struct printer *p, const struct shell_assign *a);
void printer_list(struct printer *p, const struct shell_list *list);
/* In front of a closing parenthesis or ;;, where a lone ! or time needs an end of its own. */
void printer_closed_list(struct printer *p, const struct shell_list *list);
