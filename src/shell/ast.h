#pragma once
/*
 * The syntax tree of a bash text.
 *
 *	list -> statement (; & newline) -> pipeline (&& ||) -> command (| |&)
 *
 * Everything lives in one arena and in linked lists in source order; a tree is never changed after
 * shell_parse() has returned it. Every node knows the bytes of the text it was read from. Nodes
 * that stand in text which bash rewrites before it reads it (`...` with escapes) all have the range
 * of the place they come from.
 *
 * The tree is what bash means, not what was typed: reserved words are resolved, \<newline> is gone,
 * brace expansion is done (echo {a,b} has the words a and b), a tilde that bash expands is a part
 * of its own and one that it does not expand is text, and so with patterns.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shell_command;
struct shell_list;
struct shell_part;
struct shell_word;

struct shell_range {
	uint32_t start, end; /* byte offsets, end is the first byte behind */
};

/* Bytes, also followed by a NUL that does not count. There is never a NUL inside. */
struct shell_text {
	const char *bytes;
	size_t len;
};

/* Parameter expansion */

enum shell_param_op {
	SHELL_PARAM_PLAIN,         /* $x ${x} */
	SHELL_PARAM_LENGTH,        /* ${#x} */
	SHELL_PARAM_DEFAULT,       /* ${x-w} ${x:-w} */
	SHELL_PARAM_ASSIGN,        /* ${x=w} ${x:=w} */
	SHELL_PARAM_ERROR,         /* ${x?w} ${x:?w} */
	SHELL_PARAM_ALTERNATE,     /* ${x+w} ${x:+w} */
	SHELL_PARAM_REMOVE_PREFIX, /* ${x#w} ${x##w} */
	SHELL_PARAM_REMOVE_SUFFIX, /* ${x%w} ${x%%w} */
	SHELL_PARAM_REPLACE,       /* ${x/w/w2} // /# /% */
	SHELL_PARAM_SUBSTRING,     /* ${x:w:w2}: both are arithmetic */
	SHELL_PARAM_UPPER,         /* ${x^w} ${x^^w} */
	SHELL_PARAM_LOWER,         /* ${x,w} ${x,,w} */
	SHELL_PARAM_TOGGLE,        /* ${x~w} ${x~~w} */
	SHELL_PARAM_TRANSFORM,     /* ${x@P}: letter */
	SHELL_PARAM_NAMES,         /* ${!x*} ${!x@}: letter is * or @ */
};

enum shell_subscript {
	SHELL_SUBSCRIPT_NONE,
	SHELL_SUBSCRIPT_WORD, /* ${x[i]}: arithmetic, or a key */
	SHELL_SUBSCRIPT_AT,   /* ${x[@]} */
	SHELL_SUBSCRIPT_STAR, /* ${x[*]} */
};

struct shell_param {
	struct shell_text name; /* x, 12, or one of @ * # ? - $ ! */
	enum shell_param_op op;
	enum shell_subscript subscript;
	bool indirect;            /* ${!x}, ${!x[@]} */
	bool colon;               /* of - = ? + */
	bool twice;               /* ## %% // ^^ ,, ~~ */
	bool bare;                /* written without braces */
	char letter;              /* TRANSFORM, NAMES; REPLACE: # or % when anchored, else 0 */
	struct shell_word *index; /* SHELL_SUBSCRIPT_WORD */
	struct shell_word *word;  /* operand; NULL if there is none */
	struct shell_word *word2; /* replacement, or length */
};

/* Words */

enum shell_part_kind {
	SHELL_PART_LITERAL,     /* text that stands for itself */
	SHELL_PART_GLOB,        /* text: one of * ? [ that makes the word a pattern */
	SHELL_PART_EXTGLOB,     /* letter ( alternatives ), in [[ ]] or switched on */
	SHELL_PART_TILDE,       /* text: ~ ~name ~+ ~- up to the slash */
	SHELL_PART_DOUBLE,      /* parts in double quotes, at least one of them no literal */
	SHELL_PART_PARAM,       /* param */
	SHELL_PART_COMMAND,     /* list: $( ) or ` ` */
	SHELL_PART_ARITH,       /* word: $(( )) or $[ ], text with expansions */
	SHELL_PART_PROCESS_IN,  /* list: <( ) */
	SHELL_PART_PROCESS_OUT, /* list: >( ) */
	SHELL_PART_ARRAY,       /* items: ( ... ) behind name= */
};

enum shell_quote {
	SHELL_QUOTE_NONE,
	SHELL_QUOTE_BACKSLASH, /* matters in a regular expression only */
	SHELL_QUOTE_FULL,      /* '...' "..." $'...' $"..." */
};

/* One element of a=( ... ): [index]=value, or value alone (which can become many). */
struct shell_array_item {
	struct shell_array_item *next;
	struct shell_range range;
	struct shell_word *index; /* NULL: none */
	struct shell_word *value;
	bool append; /* [i]+=v */
};

struct shell_extglob {
	char letter;                     /* ? * + @ ! */
	struct shell_word *alternatives; /* by next; at least one */
};

struct shell_part {
	struct shell_part *next;
	enum shell_part_kind kind;
	enum shell_quote quote; /* of LITERAL */
	bool backtick;          /* of COMMAND: written `...` */
	bool bracket;           /* of ARITH: written $[ ] */
	struct shell_range range;
	union {
		struct shell_text text;         /* LITERAL, GLOB, TILDE */
		struct shell_part *parts;       /* DOUBLE */
		struct shell_param *param;      /* PARAM */
		struct shell_list *list;        /* COMMAND, PROCESS_IN, PROCESS_OUT */
		struct shell_word *word;        /* ARITH */
		struct shell_extglob *extglob;  /* EXTGLOB */
		struct shell_array_item *items; /* ARRAY; NULL: empty */
	};
};

/* name=value, name+=value, name[index]=value, name=( ... ). */
struct shell_assign {
	struct shell_assign *next;
	struct shell_range range;
	struct shell_text name;   /* without the index */
	struct shell_word *index; /* NULL: none */
	struct shell_word *value; /* never NULL; an array is one part of kind ARRAY */
	bool append;
};

struct shell_word {
	struct shell_word *next; /* in its list of words */
	struct shell_range range;
	struct shell_part *parts; /* NULL: empty, as the value in x= or an operand in ${x:-} */
	/*
	 * Not NULL: an argument that has the form of an assignment and follows the unquoted name of
	 * a declaration command (export, declare, typeset, readonly, local, alias), so that it is
	 * not split, not matched with files, and its braces are not expanded. parts has it too,
	 * whole. Its ARRAY part, if any, is the only way an argument can have one.
	 */
	struct shell_assign *assign;
	bool plain; /* wholly unquoted literal, as reserved words and declaration commands are */
	bool from_braces; /* one of the results of a brace expansion */
	bool split; /* unquoted expansions are split and matched: arguments, for lists, targets */
	uint32_t copied; /* as of a list */
};

/* Redirections */

enum shell_redirect_op {
	SHELL_REDIRECT_IN,      /* <   */
	SHELL_REDIRECT_OUT,     /* >   */
	SHELL_REDIRECT_APPEND,  /* >>  */
	SHELL_REDIRECT_CLOBBER, /* >|  */
	SHELL_REDIRECT_IN_OUT,  /* <>  */
	SHELL_REDIRECT_DUP_IN,  /* <&  target is a number, number-, - or a word to be expanded */
	SHELL_REDIRECT_DUP_OUT, /* >&  the same; without a number in front and with a word that
	                         *     comes out as something else it is &> (see the header) */
	SHELL_REDIRECT_BOTH,    /* &>  */
	SHELL_REDIRECT_BOTH_APPEND, /* &>> */
	SHELL_REDIRECT_STRING,      /* <<< */
	SHELL_REDIRECT_HEREDOC,     /* << <<- */
};

/*
 * ">&word" without a number and with a known word that is not a number, "number-" or "-" is
 * SHELL_REDIRECT_BOTH here already; with an unknown word it stays DUP_OUT.
 */
struct shell_redirect {
	struct shell_redirect *next;
	struct shell_range range;
	enum shell_redirect_op op;
	int fd;                        /* as written; -1: none, see shell_redirect_fd() */
	struct shell_text fd_variable; /* {name}>: name; bytes is NULL if there is none */
	struct shell_word *target;     /* NULL for HEREDOC */
	/* HEREDOC: */
	struct shell_text delimiter; /* after quote removal */
	struct shell_word *body;     /* parts; a literal only if !expand. Tabs of <<- are gone. */
	bool expand;                 /* the delimiter was not quoted */
	bool strip_tabs;             /* <<- */
	bool unterminated;           /* ended by the end of the text, or a ): bash only warns */
	bool written_dup;            /* of BOTH: written >&word */
};

/* Commands */

struct shell_simple {
	struct shell_assign *assigns; /* in front of the command */
	struct shell_word *words;     /* brace expansion is done; NULL: only assigns, redirects */
	uint32_t word_count;
};

/* if: one clause per condition, else in the end; while and until: one clause. */
struct shell_clause {
	struct shell_clause *next;
	struct shell_range range;
	struct shell_list *condition; /* NULL: else */
	struct shell_list *body;
};

/* for and select. */
struct shell_for {
	struct shell_text name;
	struct shell_word *words; /* brace expansion is done */
	bool has_in;              /* without: "$@" */
	struct shell_list *body;
};

/* for (( init; condition; step )): texts with expansions, NULL where nothing is written. */
struct shell_for_arith {
	struct shell_word *init, *condition, *step;
	struct shell_list *body;
};

enum shell_case_end {
	SHELL_CASE_BREAK,    /* ;; or none */
	SHELL_CASE_FALL,     /* ;&  */
	SHELL_CASE_CONTINUE, /* ;;& */
};

struct shell_case_item {
	struct shell_case_item *next;
	struct shell_range range;
	struct shell_word *patterns; /* by next */
	struct shell_list *body;     /* may be empty, never NULL */
	enum shell_case_end end;
};

struct shell_case {
	struct shell_word *word;
	struct shell_case_item *items;
};

enum shell_test_kind {
	SHELL_TEST_WORD,   /* [[ a ]] */
	SHELL_TEST_UNARY,  /* op left */
	SHELL_TEST_BINARY, /* left op right */
	SHELL_TEST_NOT,    /* a */
	SHELL_TEST_AND,    /* a b */
	SHELL_TEST_OR,     /* a b */
	SHELL_TEST_GROUP,  /* ( a ) */
};

struct shell_test {
	enum shell_test_kind kind;
	struct shell_range range;
	struct shell_text op; /* -f, ==, =, !=, =~, <, -eq ... */
	struct shell_word *left;
	struct shell_word *right; /* of == = !=: a pattern; of =~: quoting matters part by part */
	struct shell_test *a, *b;
};

enum shell_command_kind {
	SHELL_SIMPLE,
	SHELL_GROUP,     /* { list; } */
	SHELL_SUBSHELL,  /* ( list ) */
	SHELL_IF,        /* clauses */
	SHELL_WHILE,     /* clauses */
	SHELL_UNTIL,     /* clauses */
	SHELL_FOR,       /* loop */
	SHELL_SELECT,    /* loop */
	SHELL_FOR_ARITH, /* arith_loop */
	SHELL_CASE,
	SHELL_ARITH,    /* (( word )) */
	SHELL_TEST,     /* [[ test ]] */
	SHELL_FUNCTION, /* function_name, body: a compound command with its own redirections */
	SHELL_COPROC,   /* coproc_name (bytes NULL: COPROC), body: any command */
};

struct shell_command {
	struct shell_command *next; /* in its pipeline */
	enum shell_command_kind kind;
	bool pipe_stderr; /* joined to the next with |& */
	struct shell_range range;
	struct shell_redirect *redirects;
	union {
		struct shell_simple simple;
		struct shell_list *list;      /* GROUP, SUBSHELL */
		struct shell_clause *clauses; /* IF, WHILE, UNTIL */
		struct shell_for loop;        /* FOR, SELECT */
		struct shell_for_arith arith_loop;
		struct shell_case cases;
		struct shell_word *arith;
		struct shell_test *test;
		struct {
			struct shell_text name; /* of the function or coprocess */
			struct shell_command *body;
		};
	};
};

enum shell_join {
	SHELL_JOIN_FIRST,
	SHELL_JOIN_AND, /* && */
	SHELL_JOIN_OR,  /* || */
};

struct shell_pipeline {
	struct shell_pipeline *next; /* in its statement */
	enum shell_join join;        /* to the one before */
	bool negated;                /* an odd number of ! */
	bool timed;                  /* time */
	bool time_posix;             /* time -p */
	bool negated_first;          /* ! stands in front of time */
	struct shell_range range;
	struct shell_command *commands; /* NULL: time or ! alone */
	uint32_t command_count;
};

struct shell_statement {
	struct shell_statement *next;
	bool background; /* & */
	bool newline;    /* a newline follows: bash reads and runs line by line */
	struct shell_range range;
	struct shell_pipeline *pipelines;
};

struct shell_list {
	struct shell_range range;
	uint32_t copied; /* bytes that braces inside have made; those in its source come on top */
	struct shell_statement *statements; /* NULL: empty, as in an empty text or $( ) */
};

/* The descriptor that a redirection changes; -1 for both 1 and 2, and for {name}. */
int shell_redirect_fd(const struct shell_redirect *r);
/* "<", ">", "&>", "<<-" ... */
const char *shell_redirect_name(const struct shell_redirect *r);
