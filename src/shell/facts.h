#pragma once
/*
 * Facts: what a bash text would do, as far as that can be known before it runs.
 *
 * Every simple command that could run is listed, also those in branches, functions, substitutions,
 * here-documents, and those that a wrapper (env, xargs, find -exec ...), a shell (sh -c), eval or
 * trap would start. A word is known, or unknown with a known beginning. Whatever executes data that
 * is not in the text makes the facts opaque: then commands may run that are not in the list. The
 * facts are thus a proof only while the status is static or dynamic.
 *
 * All memory is in the caller's arena; nothing is changed after shell_facts_read() has returned.
 */
#include "shell/parse.h"
#include "shell/word.h"

struct arena;

enum shell_facts_status {
	SHELL_FACTS_STATIC,      /* every word is known */
	SHELL_FACTS_DYNAMIC,     /* every command name is known, some other word is not */
	SHELL_FACTS_OPAQUE,      /* some code or command name cannot be known: see the effects */
	SHELL_FACTS_UNSUPPORTED, /* not analysed */
	SHELL_FACTS_ERROR,       /* bash refuses it */
};

enum shell_kind {
	SHELL_KIND_EXTERNAL,
	SHELL_KIND_BUILTIN,
	SHELL_KIND_FUNCTION, /* surely defined in the text before */
	SHELL_KIND_DYNAMIC,  /* the name is not known */
	SHELL_KIND_NONE,     /* no words: redirections or assignments alone */
};

struct shell_fact_word {
	enum shell_value_kind kind;
	bool pipe;                 /* a process substitution: /dev/fd/N of a pipe of the shell's */
	struct shell_text text;    /* the whole, or the known beginning */
	struct shell_text pattern; /* GLOB */
	struct shell_range range;  /* in the outermost text */
	const struct shell_word *node; /* NULL: not written as a word, but made by a wrapper */
};

struct shell_fact_redirect {
	int fd;                        /* -1: both 1 and 2, or the variable's */
	struct shell_text variable;    /* {name}>; bytes is NULL if there is none */
	const char *op;                /* "<", ">", "&>", "<<" ... */
	struct shell_fact_word target; /* not of a here-document */
	bool heredoc;
	bool expand;
	struct shell_text delimiter;
	const struct shell_word *body; /* of a here-document; NULL: empty */
};

struct shell_fact_assign {
	struct shell_text name; /* with its subscript, if the subscript is known */
	struct shell_fact_word value;
	bool append;
};

/* What one use of a command can do beyond what its name says; from the knowledge table. */
struct shell_fact_does {
	const char *effect; /* "write", "exec", "network", "read-outside", "priv", "hang", "safe" */
	const char *by;     /* the option, operand, variable ... as the table has it */
	const char *note;
	bool maybe; /* the words fit, but another reading of them is possible */
};

struct shell_fact_command {
	struct shell_fact_word *words;
	size_t word_count;
	const char *via; /* where it stands, outermost first, joined with slashes; "" at the top */
	enum shell_kind kind;
	struct shell_fact_redirect *redirects;
	size_t redirect_count;
	struct shell_fact_assign *assigns;
	size_t assign_count;
	struct shell_fact_does *does;
	size_t does_count;
	bool open; /* an unknown word stands where an option can stand */
	struct shell_range range;
};

struct shell_fact_effect {
	const char *text; /* "set:PATH", "func:f", "eval-dynamic" ... */
	const char *why;  /* a sentence part for people; NULL if the text says it all */
	bool opaque;      /* it makes the facts opaque */
	struct shell_range range;
};

struct shell_facts {
	enum shell_facts_status status;
	const struct shell_tree *tree; /* its message and place tell about ERROR and UNSUPPORTED */
	struct shell_fact_command *commands;
	size_t command_count;
	struct shell_fact_effect *effects;
	size_t effect_count;
	const struct shell_text *variables; /* that the text sets, by whatever means */
	size_t variable_count;
	/* Options or aliases of the text change how bash reads the rest of it, so that no other
	 * text can be said to mean the same. */
	bool changes_reading;
};

/* Returns 0 or -ENOMEM. The options may be NULL. An arena of SHELL_FACTS_ARENA_MAX suffices for any
 * text that the parser takes; if a text needs more all the same, the answer is opaque. */
#define SHELL_FACTS_ARENA_MAX ((size_t)192 << 20)
int shell_facts_read(struct arena *arena, const char *text, size_t n,
                     const struct shell_parse_options *options, struct shell_facts **ret_facts);

/* Whether bash reads text as it is read here in this locale, a value of LC_ALL, LC_CTYPE, LANG. */
bool shell_locale_is_plain(const char *locale);

const char *shell_facts_status_name(enum shell_facts_status status);
const char *shell_kind_name(enum shell_kind kind);
