#pragma once
/*
 * The policy, inside: what the files of this room share.
 *
 *	compile.c   rules -> struct policy: names, regular expressions
 *	glob.c      globs, paths in their shortest form
 *	variables.c what the line gives to variables, where it changes the directory
 *	words.c     what an unknown word could be
 *	guess.c     the line with such words in place
 *	code.c      commands in the words of other commands
 *	operands.c  the words of a command as options, values and operands
 *	file.c      the file that a name stands for, and whether an agent could change it
 *	paths.c     whether an operand stays in the workspace
 *	rule.c      one rule against one command
 *	danger.c    rules about the text of a line
 *	writes.c    what a line writes
 *	pipes.c     output of one command that another runs; functions that start themselves
 *	advice.c    sentences
 *	finding.c   what one rule says
 *	names.c     the rules that have the name of a command
 *	command.c   the finding about one command
 *	line.c      the findings about the line
 *	decide.c    the order of it all
 */
#include <stdint.h>
#include <sys/types.h>
#include "policy/policy.h"

/*
 * How well something matches. Allow rules want a proof. All others take what is likely as well,
 * where the words are known and only their reading is not ("-xr" of a command whose -x might take
 * a value); and what is possible only because a word is unknown goes the way of `unknown:`.
 */
enum match {
	MATCH_NO,
	MATCH_MAYBE,  /* a word is unknown, and could make it match */
	MATCH_LIKELY, /* the words are known, but could be read in another way */
	MATCH_YES,
};

static inline enum match match_least(enum match a, enum match b)
{
	return a < b ? a : b;
}

static inline enum match match_most(enum match a, enum match b)
{
	return a > b ? a : b;
}

/* Compiled */

struct compiled_rule {
	const struct policy_rule *rule;
	struct pcre2_real_code_8 *regex; /* NULL: none */
	unsigned uses;                   /* it is made machine code when it is used often */
	bool bomb; /* its literal is a function that starts itself: all such are meant */
};

struct usage_command;

struct name_entry {
	const char *name;
	uint32_t rule;
	uint32_t next; /* 1 + index; 0: the last */
};

struct policy {
	const struct policy_rules *rules;
	struct compiled_rule *compiled; /* by list, and in the order of the rules */
	size_t count;
	size_t list_start[POLICY_LIST_MAX + 1];
	struct name_entry *names;
	size_t name_count;
	uint32_t *slots; /* 1 + index of a name_entry */
	uint32_t slot_mask;
	uint32_t *globs; /* rules with a glob among their commands */
	size_t glob_count;
	bool has_text, has_pipes, has_writes;
	char *allowed; /* the names of the allow list, sorted, for people */
	struct pcre2_real_match_context_8 *match_context;
	struct pcre2_real_match_data_8 *match_data;
};

bool policy_name_is_glob(const char *name);
/* The rules that name it, those with a glob aside, in their order. */
const struct name_entry *policy_name_first(const struct policy *p, const char *name);
const struct name_entry *policy_name_next(const struct policy *p, const struct name_entry *e);

/* One decision */

struct policy_file { /* what a name leads to */
	bool looked;
	bool found;
	bool missing;         /* there is nothing of this path */
	bool nowhere;         /* nor in any directory of PATH, all of which could be looked at */
	bool known;           /* nothing in the line changes what the name leads to */
	bool trusted;         /* neither the file nor the way to it can be changed by a command */
	bool in_place;        /* the name is that of the file, no link was followed */
	const char *real;     /* the path at the end of all links */
	const char *base;     /* its last part */
	const char *links[4]; /* names of links on the way */
	size_t link_count;
	dev_t dev;
	ino_t ino;
	nlink_t nlink;
};

enum role {
	ROLE_NAME,
	ROLE_OPTION,
	ROLE_VALUE, /* of the option before */
	ROLE_OPERAND,
	ROLE_OPEN, /* unknown: an option, an operand, several of them, or nothing */
	ROLE_END,  /* -- */
};

struct word_role {
	uint8_t role;
	bool sure;        /* OPTION: it is known whether it takes a value */
	bool maybe_value; /* OPERAND: it follows an option that is not known */
	bool text;        /* VALUE, OPERAND: it surely names no file */
	bool loose;       /* OPTION: its value may begin at any later byte, too */
	uint32_t glued;   /* OPTION: where a value begins that may name a file; 0: none */
};

struct subject { /* one simple command */
	const struct shell_fact_command *command;
	const char *name; /* last part of the first word; NULL: not known, or none */
	const char *word; /* the first word */
	bool runs;        /* it starts what its name says: no function, no bare assignment */
	struct policy_file file;
	struct word_role *roles;                       /* NULL: not looked at yet */
	const struct usage_command *usage, *sub_usage; /* as long as there are roles; NULL: none */
	size_t sub_at;                                 /* the first operand; 0: none */
	bool pattern_given; /* an option has given the pattern, or there is none */
};

struct value { /* that the line gives to a variable */
	struct shell_text name;
	struct shell_text text;
};

/* The same name leads to the same file in one decision. */
struct file_cache {
	const char *words[8];
	struct policy_file files[8];
	size_t count;
};

struct code_spent { /* command lines in words that were tried */
	size_t count, bytes;
};

#define VALUE_MAX     64
#define CANDIDATE_MAX 16

struct look {
	const struct policy *policy;
	const struct policy_question *q;
	const struct shell_facts *facts;
	struct arena *arena;
	struct subject *subjects;
	struct file_cache *files;
	const char *base;           /* absolute path that relative names start from */
	const char *workspace_real; /* NULL: not looked at yet */
	const char *bases[8];       /* other such, from cd in the line */
	size_t base_count;
	bool moves;         /* a cd, pushd ... stands in the line */
	bool moves_unknown; /* ... and it is not known where to */
	struct value values[VALUE_MAX];
	size_t value_count;
	bool sets_any;         /* the line or the request sets a variable that changes what runs */
	bool sets_path;        /* PATH is one of them */
	const char **new_dirs; /* what it is set to, as far as that is known; NULL: not read yet */
	size_t new_dir_count, new_dir_looks;
	bool too_many_dirs; /* failed for that */
	bool values_read;
	struct shell_text *texts; /* what rules about texts look at; NULL: not made yet */
	size_t text_count;
	struct code_spent *code; /* of the line and of all guesses */
	unsigned depth;          /* of guesses in guesses */
	bool guess;              /* this is a guess already */
	bool failed;             /* no memory */
};

/* Memory of the decision; NULL sets look->failed. */
void *look_alloc(struct look *l, size_t n);
char *look_string(struct look *l, const char *bytes, size_t n);

/* glob.c: * and ? do not match a slash unless CROSS; ** always does. */
bool glob_matches(const char *glob, const char *text, bool cross);
/* Whether a text exists that both match; ** is as above. */
bool globs_meet(const char *a, const char *b);
/* //, /. and /.. are folded; a leading ~ is a root. The result is absolute if BASE is. */
char *path_fold(struct look *l, const char *base, const char *path, size_t n);

/* variables.c */
void look_words_read(struct look *l); /* variables and cd of the line */
/* What echo or printf would print; bytes is NULL if it is neither, or not known. */
struct shell_text word_echoed(struct look *l, const struct shell_command *c);

/* words.c */
struct candidates {
	const char *text[CANDIDATE_MAX];
	size_t count;
	bool all; /* the word is surely one of these */
};
void word_candidates(struct look *l, const struct shell_fact_word *w, struct candidates *ret);
/* A word as a path, against globs; *ret_text is what matched. */
enum match word_meets(struct look *l, const struct shell_fact_word *w, const char *const *globs,
                      const char **ret_text);
bool word_text_is(struct shell_text t, const char *s);
bool word_in_list(const char *const *list, const char *s);

/* operands.c */
const struct word_role *subject_roles(struct look *l, struct subject *s);
/* SPEC: "-r|-R|--recursive", "--x=glob". */
enum match operand_option(struct look *l, struct subject *s, const char *spec);
enum match operand_options_only(struct look *l, struct subject *s, const struct policy_rule *rule);
enum match operand_args_match(struct look *l, struct subject *s, const char *const *args);

/* file.c */
const struct policy_file *subject_file(struct look *l, struct subject *s);
/* Whether the file is the one that the name leads to in PATH. */
bool file_is_that_of(struct look *l, const struct policy_file *f, const char *name);

/* paths.c */
enum match paths_match(struct look *l, struct subject *s, enum policy_paths paths,
                       const char **ret_operand);
bool path_is_inside(struct look *l, const char *path); /* surely */
const char *paths_workspace(struct look *l);           /* without links; NULL: not known */
/* Whether something outside of the workspace may be read or written. */
bool paths_words_leave(struct look *l, struct subject *s);
bool paths_redirects_leave(struct look *l, const struct shell_fact_command *c);

/* rule.c */
enum match rule_match(struct look *l, struct subject *s, const struct policy_rule *rule,
                      const char **ret_operand);
bool rule_is_proven(struct look *l, struct subject *s, const struct policy_rule *rule,
                    const char **ret_doubt);
bool rule_runs_unread(const struct subject *s); /* code that was not analysed */

/* danger.c, pipes.c, writes.c */
enum match danger_match(struct look *l, struct compiled_rule *c, const char **ret_operand);
enum match pipe_match(struct look *l, const struct policy_rule *rule, const char **ret_operand);
enum match write_match(struct look *l, const struct policy_rule *rule, const char **ret_operand);
bool pipe_has_bomb(const struct shell_facts *facts);
const char *danger_syntax(struct look *l); /* the sequence that stands in the text; NULL: none */

/* finding.c */
/* Of findings that are equally severe the lowest is shown. */
enum rank {
	RANK_SYNTAX,
	RANK_UNREADABLE,
	RANK_LIST,
	RANK_EFFECTS = RANK_LIST + POLICY_LIST_MAX,
	RANK_UNKNOWN,
	RANK_DEFAULT,
	RANK_DOUBT, /* a rule could be about it: less to the point than a name in no list */
	RANK_NONE,
};

struct ranked {
	struct policy_finding finding;
	int rank;
};

void finding_worsen(struct ranked *a,
                    const struct ranked *b); /* a becomes the more severe of both */
enum policy_verdict finding_verdict(enum policy_list list);
struct ranked finding_by_rule(struct look *l, const struct policy_rule *rule, const char *name,
                              const char *operand);
struct ranked finding_by_id(enum policy_verdict verdict, int rank, const char *id,
                            const char *reason);
struct ranked finding_by_unknown(struct look *l, const char *what); /* what is a sentence */

/* names.c */
struct fitting {
	uint32_t *rules; /* as many as there are rules in the policy have room; sorted */
	size_t count;
};

void fitting_init(struct look *l, struct fitting *f);
void fitting_add_name(const struct look *l, struct fitting *f, const char *name, bool allow);
void fitting_find(struct look *l, struct subject *s, struct fitting *f);

/* command.c */
bool rule_is_of_line(const struct policy_rule *rule);
bool look_is_opaque(const struct look *l);
struct ranked command_decide(struct look *l, struct subject *s);

/* line.c */
struct ranked line_decide(struct look *l);
bool variable_changes_runs(const char *name); /* of a variable */

/* guess.c */
/* The lines that commands of the line could be; calls back for each. */
#define GUESS_MAX 32
void guess_all(struct look *l, void (*try)(struct look *l, const char *line, size_t n, void *data),
               void *data);

/* file.c: the program that the command names is surely not there. */
bool subject_is_nowhere(struct look *l, struct subject *s);

/* code.c */

/* Where the value of the option begins in the word; its length: it is the next word; 0: not it. */
size_t option_value_at(const char *option, struct shell_text w);
/* The same for the command lines in words of its commands; false: there are too many of them. */
bool code_all(struct look *l, void (*try)(struct look *l, const char *line, size_t n, void *data),
              void *data);

/* advice.c */
const char *advice_quote(struct look *l, const char *text); /* harmless for a terminal, and short */
struct advice {
	const char *name, *operand, *banned, *instead;
};
const char *advice_fill(struct look *l, const char *pattern, const struct advice *a);
