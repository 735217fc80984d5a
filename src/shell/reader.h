#pragma once
/*
 * Reader: one text being read, shared by the files of the parser; not for other rooms.
 *
 * A reader stands on one buffer. Text that bash rewrites before it reads it (`...`, a here-document
 * with removed tabs) gets a buffer and a reader of its own, whose nodes all have the range of the
 * place in the original text. All readers of one text share its tree, which holds the status and
 * the counts; after the first failure every function returns false or NULL and nothing moves any
 * more.
 */
#include <string.h>
#include "base/arena.h"
#include "shell/parse.h"

struct heredoc; /* a here-document whose body is still to come */

/* A substitution that was already read, or measured, while its surroundings were being measured. */
struct remembered {
	uint32_t end;
	struct shell_list *list; /* NULL: only the end is known */
};

struct shell_reader {
	struct arena *arena;
	struct shell_tree *tree;
	const char *s; /* followed by a NUL */
	uint32_t pos, end;
	uint32_t size; /* of the buffer; end can be nearer for a while */
	uint32_t depth;
	bool derived; /* nodes get the origin as their range */
	struct shell_range origin;
	bool in_substitution; /* between $( and its ) */
	/*
	 * In a substitution of any form. bash prints what it has read of it anew and later reads
	 * that text, which comes out wrong for some constructs; these are unsupported there. Those
	 * in backticks are included, since the canonical text has $( ) instead.
	 */
	bool reprinted;
	bool reprinted_first; /* nothing of it was read yet: time is no reserved word */
	bool in_array;        /* between ( and ) of a compound value */
	bool case_seen;       /* bash loses count of the esacs that it waits for */
	bool in_heredoc;      /* in an expanded body: $'...' is text */
	bool after_compound;  /* a reserved word may follow without a separator */
	bool in_pipe;         /* behind |: time is no reserved word */
	bool control_ok;
	uint32_t extglob_until; /* a line before has switched extended patterns on; 0: none has */
	uint32_t in_double;     /* levels of double quotes around, also outside a $( ) */
	uint32_t in_param;      /* levels of ${ } */
	bool in_default;        /* in WORD_OPERAND */
	bool in_pattern;        /* in WORD_OPERAND_PATTERN or _REPLACE, at any depth */
	bool in_arith;          /* in QUOTED_ARITH: $'...' is text */
	bool in_inner;          /* in QUOTED_INNER */
	bool in_message;        /* of ? in double quotes: read as if there were none */
	uint32_t measuring;     /* inside shell_measure() */
	struct remembered **remembered; /* by offset; NULL until the first measuring */
	struct heredoc *heredocs, **heredocs_tail;
	struct heredoc **statement_heredocs; /* the tail where the statement began */
	uint32_t heredoc_count;              /* in the same substitution */
	uint32_t last_heredocs;              /* as it was before the last command of a pipeline */
	char *scratch;                       /* as large as the text: the literal being collected */
	uint32_t scratch_len, scratch_start;
	bool scratch_open; /* there is a literal, though perhaps an empty one */
	enum shell_quote scratch_quote;
};

struct part_list {
	struct shell_part *first, **tail;
};

/* Where a word stands decides what ends it and which of its characters mean more than themselves.
 */
enum word_mode {
	WORD_ARGUMENT, /* split, braces, globs */
	WORD_ELEMENT,  /* of an array: as an argument, no tilde behind = */
	WORD_TARGET,   /* of a redirection: split, globs */
	WORD_VALUE,    /* of an assignment: tilde behind : */
	WORD_STRING,   /* of <<<: tilde behind : */
	WORD_SUBJECT,  /* of case, and in [[ ]]: nothing of these */
	WORD_PATTERN,  /* of case: globs */
	WORD_EXTENDED, /* behind == in [[ ]]: extended globs */
	WORD_REGEX,    /* behind =~ */
	/* Operands of ${ }: blanks and operators are text. */
	WORD_OPERAND,         /* unquoted default: split and matched with its surroundings */
	WORD_OPERAND_PATTERN, /* behind # % ^ , */
	WORD_OPERAND_REPLACE, /* behind / */
	WORD_ALTERNATIVE,     /* in an extended glob */
};

/* lexer.c */

bool shell_fail(struct shell_reader *r, enum shell_status status, uint32_t start, uint32_t end,
                const char *message);
bool shell_unexpected(struct shell_reader *r); /* the token at pos is not allowed here */
/* Behind a ! that is taken for a negation: with extended patterns on, !( would be one. */
void shell_negated(struct shell_reader *r);
bool shell_enter(struct shell_reader *r); /* one level deeper; false at the limit */
void shell_leave(struct shell_reader *r);
void *shell_alloc(struct shell_reader *r, size_t n);
struct shell_text shell_copy(struct shell_reader *r, const char *bytes, size_t n);
bool shell_sub_reader(struct shell_reader *r, struct shell_reader *sub, struct shell_text text,
                      uint32_t start, uint32_t end);
void shell_skip_blanks(struct shell_reader *r); /* and a comment */
bool shell_skip_newlines(struct shell_reader *r);
bool shell_take(struct shell_reader *r, const char *op); /* an operator at pos, then behind it */

enum reserved {
	RESERVED_NONE,
	RESERVED_IF,
	RESERVED_THEN,
	RESERVED_ELIF,
	RESERVED_ELSE,
	RESERVED_FI,
	RESERVED_DO,
	RESERVED_DONE,
	RESERVED_CASE,
	RESERVED_ESAC,
	RESERVED_WHILE,
	RESERVED_UNTIL,
	RESERVED_FOR,
	RESERVED_SELECT,
	RESERVED_IN,
	RESERVED_FUNCTION,
	RESERVED_COPROC,
	RESERVED_TIME,
	RESERVED_BANG,
	RESERVED_OPEN,  /* { */
	RESERVED_CLOSE, /* } */
	RESERVED_TEST,  /* [[ */
	RESERVED_TEST_END,
};

/* The reserved word at pos, if the word there is one; *ret_end is behind it. */
enum reserved shell_reserved(struct shell_reader *r, uint32_t *ret_end);
bool shell_take_reserved(struct shell_reader *r, enum reserved word);
/* Whether exactly this unquoted word stands at pos. */
bool shell_at_word(struct shell_reader *r, const char *word, uint32_t *ret_end);

extern const unsigned char shell_class[256];
#define CLASS_META    1  /* ends a word */
#define CLASS_SPECIAL 2  /* quotes and expansions */
#define CLASS_GLOB    4  /* * ? [ */
#define CLASS_BRACE   8  /* { */
#define CLASS_TILDE   16 /* ~ */
#define CLASS_NAME    32 /* letters, digits, _ */
#define CLASS_DIGIT   64
#define CLASS_BARE    128 /* may be printed without quotes in the middle of a word */

static inline bool shell_is(char c, int class)
{
	return shell_class[(unsigned char)c] & class;
}

static inline bool shell_is_name_start(char c)
{
	return (shell_class[(unsigned char)c] & (CLASS_NAME | CLASS_DIGIT)) == CLASS_NAME;
}

/* What is printed as $'...' where it is quoted; also NUL. */
static inline bool shell_is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

/* What can follow a bare $ without quotes and without becoming part of an expansion. */
static inline bool shell_is_behind_dollar(char c)
{
	return c && strchr("%+=:,./^]", c);
}

static inline bool shell_ok(const struct shell_reader *r)
{
	return r->tree->status == SHELL_OK;
}

/* Position P with the continuations (\<newline>) there skipped. */
static inline uint32_t shell_past(const struct shell_reader *r, uint32_t p)
{
	while (p + 1 < r->end && r->s[p] == '\\' && r->s[p + 1] == '\n')
		p += 2;
	return p;
}

/* The character at pos, 0 at the end; continuations are gone. */
static inline char shell_peek(struct shell_reader *r)
{
	if (r->pos < r->end && r->s[r->pos] == '\\')
		r->pos = shell_past(r, r->pos);
	return (char)(r->pos < r->end ? r->s[r->pos] : 0);
}

/* The position of the character behind that at P, and the character; 0 at the end. */
static inline uint32_t shell_after(const struct shell_reader *r, uint32_t p)
{
	return p < r->end ? shell_past(r, p + 1) : r->end;
}

static inline char shell_at(const struct shell_reader *r, uint32_t p)
{
	return (char)(p < r->end ? r->s[p] : 0);
}

static inline char shell_peek2(struct shell_reader *r)
{
	return (char)(shell_peek(r) ? shell_at(r, shell_after(r, r->pos)) : 0);
}

static inline struct shell_range shell_span(const struct shell_reader *r, uint32_t start,
                                            uint32_t end)
{
	if (r->derived)
		return r->origin;
	return (struct shell_range){start, end};
}

/* quote.c: collecting parts */

void shell_parts_init(struct part_list *list);
struct shell_part *shell_part_add(struct shell_reader *r, struct part_list *list,
                                  enum shell_part_kind kind, uint32_t start);
void shell_literal_put(struct shell_reader *r, struct part_list *list, enum shell_quote quote,
                       uint32_t start, const char *bytes, size_t n);
void shell_literal_flush(struct shell_reader *r, struct part_list *list);
bool shell_read_single(struct shell_reader *r, struct part_list *list);
bool shell_read_ansi(struct shell_reader *r, struct part_list *list);
bool shell_read_double(struct shell_reader *r, struct part_list *list);

/* What is special between the ends of text that is expanded as in double quotes. */
enum quoted_mode {
	QUOTED_DOUBLE,  /* "..." up to the quote */
	QUOTED_HEREDOC, /* up to the end of the text; " is text */
	QUOTED_ARITH,   /* up to the end of the text; quotes and backslashes stay */
	QUOTED_OPERAND, /* ${x:-...} inside these, up to the brace */
	QUOTED_INNER,   /* "..." inside QUOTED_OPERAND */
};
bool shell_read_quoted(struct shell_reader *r, struct part_list *list, enum quoted_mode mode);

/* expand.c: at a $ or `: adds the expansion, or the character as a literal of this quoting. */
bool shell_read_expansion(struct shell_reader *r, struct part_list *list, bool in_double,
                          enum shell_quote quote);

/* substitution.c */

/* At the ( of $(. */
struct shell_list *shell_read_substitution(struct shell_reader *r);
/* $( ( ...: a substitution whose end was found by counting; bash reads it only when it runs. */
struct shell_list *shell_read_counted(struct shell_reader *r, uint32_t close);
/* At the ( of <( or >(. */
struct shell_list *shell_read_process(struct shell_reader *r);
/* At a backtick. bash takes one level of backslashes away, then reads what is left. */
bool shell_read_backtick(struct shell_reader *r, struct part_list *list, bool in_double);
/* Adds COMMANDS, which may be NULL after a failure, as a part that began at START. */
bool shell_add_command(struct shell_reader *r, struct part_list *list, uint32_t start,
                       struct shell_list *commands);
/* Whether a comment, or also a here-document, may begin in the text, or in the canonical one, where
 * a backtick is a parenthesis. */
bool shell_has_comment(const char *s, uint32_t p, uint32_t end, bool heredocs);
/* Whether bash may read a process substitution there; it prints one anew even where it will be
 * text. */
bool shell_has_process(const char *s, uint32_t p, uint32_t end);

/* arith.c */

/* The text from pos to END, with expansions, as arithmetic and subscripts have it. */
struct shell_word *shell_read_arith(struct shell_reader *r, uint32_t end);
/* Whether the text of (( )) can be printed; word may be NULL after a failure. */
bool shell_arith_check(struct shell_reader *r, const struct shell_word *word);
/* At the first ( of $((. */
bool shell_read_double_paren(struct shell_reader *r, struct part_list *list, uint32_t start);
/* At the [ of $[. */
bool shell_read_bracket_arith(struct shell_reader *r, struct part_list *list, uint32_t start);

/* measure.c */

/* From behind an opening character to the position of its partner; r->pos does not move. */
bool shell_measure(struct shell_reader *r, char open, char close, uint32_t *ret_end);
/* Moves *p over the expansion, the quoted text or the character that stands there. */
bool shell_measure_one(struct shell_reader *r, uint32_t *p);
/* LIST is NULL for $((, of which only the end is known. */
bool shell_remember(struct shell_reader *r, uint32_t start, uint32_t end, struct shell_list *list);
/* What is remembered of the ( at START; NULL: nothing, or it ends behind the end that holds now. */
const struct remembered *shell_recall(const struct shell_reader *r, uint32_t start);

/* param.c: at the { of ${. */
bool shell_read_param(struct shell_reader *r, struct part_list *list, bool in_double,
                      uint32_t start);

/* words.c */

struct shell_word *shell_read_word(struct shell_reader *r, enum word_mode mode);
/* Reads operand text up to one of the stop characters, which is not consumed; first_is_text: the
 * character at pos does not count as one. */
struct shell_word *shell_read_operand(struct shell_reader *r, enum word_mode mode,
                                      const char *stops, bool first_is_text);
/* Tildes and globs of a word whose parts are collected. */
void shell_word_finish(struct shell_reader *r, struct shell_word *word, enum word_mode mode);
bool shell_count_word(struct shell_reader *r);
/* Bytes that the expansion of braces has made, or, if not NEW, that are met again. */
bool shell_count_copies(struct shell_reader *r, uint64_t bytes, bool new);
bool shell_is_declaration(const struct shell_word *word);
/* Whether anything in the word just read is an unquoted {. */
bool shell_word_has_brace(const struct shell_word *word);

/* assign.c: at a word that may be an assignment; NULL with SHELL_OK: it is none, and nothing was
 * read. An argument, unlike a word in front of the command, has no blanks in its subscript. */
struct shell_assign *shell_read_assign(struct shell_reader *r, bool argument);
/* Whether name[ stands at pos. */
bool shell_at_subscript(struct shell_reader *r);
/* An argument that is an assignment, as a word. */
struct shell_word *shell_word_of_assign(struct shell_reader *r, struct shell_assign *assign);

/* brace.c: replaces *word by the results of its brace expansion; it can become none. */
bool shell_expand_braces(struct shell_reader *r, struct shell_word *word, enum word_mode mode,
                         struct shell_word **ret_first, struct shell_word **ret_last);

/* heredoc.c */

bool shell_heredoc_add(struct shell_reader *r, struct shell_redirect *redirect);
/* Behind a newline (or at the end of the text): the bodies that are due. */
bool shell_heredoc_read(struct shell_reader *r);
/* For what stands between << in a substitution and the end of its line: bash prints it anew in
 * front of the body without the separators it needs. */
bool shell_heredoc_misplaced(struct shell_reader *r);

/* redirect.c; *ret is NULL when no redirection stands at pos. */
bool shell_read_redirect(struct shell_reader *r, struct shell_redirect **ret);
bool shell_read_redirects(struct shell_reader *r, struct shell_redirect ***tail);

/* parse.c, compound.c, cond.c */

struct shell_list *shell_read_list(struct shell_reader *r);
bool shell_command_new(struct shell_reader *r, enum shell_command_kind kind, uint32_t start,
                       struct shell_command **ret);
/* At the first character; *ret is NULL if no compound command stands at pos. */
bool shell_read_compound(struct shell_reader *r, struct shell_command **ret);
bool shell_read_function_body(struct shell_reader *r, struct shell_command *function);
struct shell_test *shell_read_test(struct shell_reader *r);
bool shell_read_simple(struct shell_reader *r, struct shell_command **ret);

/* print.c: a command name that bash looks up as it is written, before quote removal. */
bool shell_is_looked_up(const struct shell_word *word);
bool shell_is_raw_option(const struct shell_word *word);
