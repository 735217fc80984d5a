#pragma once
/*
 * The semantic pass, inside: one walk over the tree that collects the facts.
 *
 * The pass never guesses. What it cannot prove harmless it reports with pass_opaque(), and goes on
 * to list what it can. Some proofs need the whole text (that a variable is only ever given
 * numbers, that no function has a command's name): they are noted on the way and settled at the
 * end (pass-variables.c).
 *
 *	facts.c           entry, lists that grow, effects, the final status
 *	pass-walk.c       lists, pipelines, compound commands, redirections
 *	pass-words.c      words and their parts: substitutions, parameters
 *	pass-arith.c      arithmetic: which variables an expression reads
 *	pass-variables.c  what is surely assigned, and with what
 *	pass-names.c      finding a name among many
 *	pass-call.c       one simple command: kind, then its own meaning
 *	wrappers.c        wrappers: env, timeout, sudo ...
 *	pass-gather.c     wrappers that build words: xargs, find -exec, env -S
 *	builtins.c        builtins that evaluate their operands, or change how later code is read
 *	pass-declare.c    declare and its kin
 *	pass-code.c       nested code: sh -c, eval, trap, scripts on standard input
 */
#include "base/arena.h"
#include "shell/facts.h"
#include "shell/options.h"

#define PASS_DEPTH_MAX    1000
#define PASS_VARIABLE_MAX 512
#define PASS_FLOW_MAX     512
#define PASS_CHECK_MAX    2048

/*
 * What nesting may multiply (nice nice nice ..., eval eval eval ...) has budgets that grow with the
 * text, so that its cost does not grow faster: words of all listed commands together, and bytes of
 * nested code. Past them the text is opaque.
 */
#define PASS_WORD_BUDGET(words) (4 * (size_t)(words) + 4096)
#define PASS_CODE_BUDGET(bytes) (3 * (size_t)(bytes) + 4096)

/* Names, each with a number in the order in which they were added. */
struct pass_names {
	struct shell_text *names;
	size_t count, capacity;
	uint32_t *slots; /* 1 + number, by hash; NULL while there are few */
	size_t slot_count;
};
#define PASS_NAME_NONE SIZE_MAX

/* What is known of every value that the text gives to a variable. */
struct pass_variable {
	struct shell_text name;
	bool other;    /* some value may be no integer */
	bool unplain;  /* some value may hold characters that mean something to a shell */
	bool integer;  /* has or may have the integer attribute */
	bool array;    /* is or may be an array */
	bool indexed;  /* ... before it is made an associative one */
	bool unsetted; /* unset, so that another one of the name may come to light */
};

/* In the order in which they became sure; the pass forgets them where a branch ends. */
struct pass_sure {
	struct shell_text name;
	enum pass_sure_kind {
		PASS_SURE_VARIABLE, /* assigned in this process */
		PASS_SURE_FUNCTION, /* defined in this process */
		PASS_SURE_ASSOC,    /* declared as an associative array */
	} kind;
};

/* A proof that waits for the end of the text. */
struct pass_check {
	struct shell_text name;
	enum pass_check_kind {
		PASS_CHECK_NUMBER, /* only integers are ever assigned */
		PASS_CHECK_PLAIN,  /* only plain words are ever assigned */
		PASS_CHECK_SCALAR, /* is never an array */
		PASS_CHECK_KEPT,   /* is never unset */
	} kind;
	const char *effect;
	struct shell_range range;
};

/* A level of nesting; the path to it is written out only where a command is listed. */
struct pass_step {
	const struct pass_step *up;
	const char *path; /* NULL: not written yet */
	size_t length;    /* of the path */
	char name[];
};

enum pass_lookup { /* where bash looks for the name of a command */
	           PASS_LOOKUP_ALL,
	           PASS_LOOKUP_NO_FUNCTION, /* command */
	           PASS_LOOKUP_BUILTIN,     /* builtin */
	           PASS_LOOKUP_EXTERNAL, /* exec, and everything that an external wrapper starts */
};

struct pass_call {
	struct shell_fact_word *words;
	size_t word_count;
	struct shell_fact_assign *assigns;
	size_t assign_count;
	struct shell_fact_redirect *listed; /* redirections to be listed with it */
	size_t listed_count;
	const struct shell_redirect *redirects; /* the tree's, in force for it: standard input */
	enum pass_lookup lookup;
	struct shell_range range;
};

struct shell_pass {
	struct arena *arena;
	struct shell_facts *facts;
	const struct shell_parse_options *options;
	size_t command_capacity, effect_capacity;
	int error; /* -ENOMEM sticks */
	bool full; /* a budget is used up: the answer is opaque, the walk goes nowhere new */
	bool opaque, dynamic;

	const struct shell_tree *tree; /* the text being walked */
	bool names_ifs;                /* the text may set IFS: a number can be many words */
	bool sets_ifs;                 /* the value of a word may do so */
	bool nested;                   /* it is code inside a word of the outermost text ... */
	struct shell_range nested_at;  /* ... which stands here */
	struct pass_step *via;         /* NULL: at the top */
	unsigned depth;
	size_t words_left, code_left;       /* of the budgets */
	bool posix;                         /* code for a shell that is perhaps not bash */
	const struct shell_command *feeder; /* first command of the pipeline one stands in */
	const struct shell_command *fed;    /* the command of it that is being walked */
	const struct shell_list *script;    /* the top of a script on standard input */
	size_t script_last;                 /* first listed command of its last statement */

	struct pass_variable *variables;
	size_t variable_count, variable_capacity;
	struct pass_names variable_names, effect_names; /* numbered as variables and effects are */
	struct pass_sure *sure;
	uint64_t sure_seen[64]; /* a bit by hash for every name that was ever sure */
	size_t sure_count, sure_capacity,
		sure_base; /* those from the base on hold in this process */
	bool may_fail; /* an expansion before may fail; bash then leaves out the rest of its line */
	unsigned functions; /* how many function bodies one stands in */
	struct pass_check *checks;
	size_t check_count, check_capacity;

	/* Things that are harmless alone and not together: */
	bool alias, alias_on;      /* an alias is made; they are expanded */
	bool prompt, trace;        /* PS4 holds an expansion; set -x */
	bool startup, bash_starts; /* BASH_ENV and the like are set; a bash starts */
	bool counts,
		counts_other; /* the output of id -u ... is a number; such a name or PATH is new */
	bool posix_mode;      /* set -o posix: special builtins come before functions ... */
	bool timed;           /* ... and time in front of an option is a program */
	bool shell_named, shell_used; /* SHELL is set; a wrapper starts that shell */
	bool nocaseglob, patterns;    /* shopt -s nocaseglob; * ? or [ stands somewhere */
	bool extglob, negations;      /* shopt -s extglob; !( was read as a negation */
	bool charset, high_bytes;     /* perhaps neither UTF-8 nor ASCII; there are such bytes */
	bool function_unset;          /* unset -f */
	bool function_stands_in;      /* a function has the name of something that has rules here */
};

/* facts.c */
void pass_opaque(struct shell_pass *p, struct shell_range range, const char *why,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
void pass_effect(struct shell_pass *p, struct shell_range range, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline bool pass_ok(const struct shell_pass *p) /* go on? */
{
	return !p->error && !p->full;
}
void pass_note_code(struct shell_pass *p, const struct shell_tree *tree);
bool pass_enter(struct shell_pass *p, const char *step); /* a level deeper; false: too deep */
static inline struct shell_range pass_range(const struct shell_pass *p, struct shell_range range)
{
	return p->nested ? p->nested_at : range;
}
void *pass_alloc(struct shell_pass *p, size_t size, size_t n); /* NULL: pass_ok() is false now */
/* ITEMS, moved to where there is room for one more; NULL as above, and past MAX, where p is full.
 */
void *pass_grow(struct shell_pass *p, void *items, size_t size, size_t count, size_t *capacity,
                size_t max);
struct shell_text pass_text(struct shell_pass *p, const char *bytes, size_t n);
bool pass_spend_words(struct shell_pass *p, size_t n); /* false: the budget is used up */
struct shell_fact_command *pass_list_command(struct shell_pass *p, const struct pass_call *call,
                                             enum shell_kind kind);

struct pass_place { /* what pass_enter() changes */
	struct pass_step *via;
	unsigned depth;
};
static inline struct pass_place pass_here(const struct shell_pass *p)
{
	return (struct pass_place){p->via, p->depth};
}
static inline void pass_back(struct shell_pass *p, struct pass_place place)
{
	p->via = place.via;
	p->depth = place.depth;
}

/* pass-names.c */
uint32_t pass_hash(struct shell_text name);
size_t pass_names_find(const struct pass_names *n, struct shell_text name);
/* A name that is not there yet; false: pass_ok() is false now. */
bool pass_names_add(struct shell_pass *p, struct pass_names *n, struct shell_text name);

/* pass-walk.c */
void pass_list(struct shell_pass *p, const struct shell_list *list);

/* pass-words.c */

/* Whether IFS may be named there, with quotes and continuations between its letters. */
bool pass_names_ifs(struct shell_text text);
struct shell_fact_word pass_word(struct shell_pass *p, const struct shell_word *word);
void pass_word_read(struct shell_pass *p, const struct shell_word *word,
                    struct shell_fact_word *ret);
void pass_word_inside(struct shell_pass *p, const struct shell_word *word);
void pass_array(struct shell_pass *p, const struct shell_array_item *item, bool keys);
void pass_index(struct shell_pass *p, struct shell_text name, const struct shell_word *index);
bool pass_prints_number(struct shell_text name); /* the name of a command that is trusted so */
/* Whether what comes out surely is an integer (number) or plain words; the proof may be left to a
 * check that reports the effect; with no effect it must be plain at once. */
bool pass_word_is_plain(struct shell_pass *p, const struct shell_word *word, const char *effect);
bool pass_part_is_number(struct shell_pass *p, const struct shell_part *part, const char *effect);

/* pass-arith.c */
void pass_arith(struct shell_pass *p, const struct shell_word *word);
void pass_arith_text(struct shell_pass *p, struct shell_text text, struct shell_range range);

/* pass-variables.c */
enum pass_worth { /* what is known of a value */
	          PASS_WORTH_NUMBER,
	          PASS_WORTH_PLAIN,
	          PASS_WORTH_OTHER,
};
enum pass_worth pass_worth_of(struct shell_pass *p, const struct shell_word *word);
enum pass_worth pass_worth_of_text(struct shell_text text);
struct pass_variable *pass_variable(struct shell_pass *p, struct shell_text name);
void pass_write(struct shell_pass *p, struct shell_text name, enum pass_worth worth);
void pass_sure(struct shell_pass *p, struct shell_text name, enum pass_sure_kind kind);
bool pass_is_sure(const struct shell_pass *p, struct shell_text name, enum pass_sure_kind kind);
bool pass_need(struct shell_pass *p, struct shell_text name, enum pass_check_kind kind,
               const char *effect, struct shell_range range);
/* Surely an associative array, for good. */
bool pass_is_kept(struct shell_pass *p, struct shell_text name, struct shell_range range);
void pass_settle(struct shell_pass *p); /* the waiting proofs */
/* An assignment by any means: dangerous names, PS4, integer variables of bash. */
void pass_assigned(struct shell_pass *p, struct shell_text name,
                   const struct shell_fact_word *value, struct shell_range range);

/* pass-call.c */
void pass_call(struct shell_pass *p, const struct pass_call *call);
struct shell_text pass_basename(struct shell_text path);

/* wrappers.c, pass-gather.c */
bool pass_wrapper(struct shell_pass *p, const struct pass_call *call, const char *name);
void pass_inner(struct shell_pass *p, const struct pass_call *call, const char *name, size_t from,
                enum pass_lookup lookup);
void pass_inner_words(struct shell_pass *p, const struct pass_call *call, const char *step,
                      struct shell_fact_word *words, size_t count);
void pass_find(struct shell_pass *p, const struct pass_call *call);
void pass_xargs(struct shell_pass *p, const struct pass_call *call);
void pass_env(struct shell_pass *p, const struct pass_call *call);
bool pass_env_operands(struct shell_pass *p, const struct pass_call *call, size_t operand);

/* builtins.c, pass-declare.c */
bool pass_builtin(struct shell_pass *p, const struct pass_call *call);
bool pass_declare(struct shell_pass *p, const struct pass_call *call);
bool pass_name_is_safe(struct shell_text name); /* x, x[12], x[@] */

/* pass-code.c */
enum pass_process { PASS_SAME_PROCESS, PASS_NEW_PROCESS };
void pass_code(struct shell_pass *p, struct shell_text code, const char *step, bool posix,
               enum pass_process process, struct shell_range range);
void pass_code_word(struct shell_pass *p, const struct shell_fact_word *code, const char *step,
                    const char *effect);
void pass_download(struct shell_pass *p,
                   const struct shell_fact_word *w); /* what is run comes so */
bool pass_is_shell(struct shell_text base);
bool pass_shell(struct shell_pass *p, const struct pass_call *call); /* sh, bash ... */
void pass_interactive(struct shell_pass *p, const struct pass_call *call, const char *name);
/* The words from FROM on, joined with blanks; false: not all of them are known. */
bool pass_join(struct shell_pass *p, const struct pass_call *call, size_t from,
               struct shell_text *ret);
void pass_eval(struct shell_pass *p, const struct pass_call *call, size_t from);

static inline bool pass_text_is(struct shell_text t, const char *s)
{
	return __builtin_strlen(s) == t.len && __builtin_memcmp(t.bytes, s, t.len) == 0;
}
static inline bool pass_text_equal(struct shell_text a, struct shell_text b)
{
	return a.len == b.len && __builtin_memcmp(a.bytes, b.bytes, a.len) == 0;
}
static inline bool pass_word_known(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN;
}
