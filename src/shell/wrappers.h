#pragma once
/*
 * Wrappers: commands that run another command given in their own words (data/wrappers.tsv).
 */
#include "shell/options.h"

enum shell_wrapper_form {
	SHELL_FORM_ARGV,    /* the remaining words are the command */
	SHELL_FORM_SHELL,   /* they are joined and given to a shell */
	SHELL_FORM_WORDS,   /* each of them is shell code */
	SHELL_FORM_CODE,    /* only options hold code */
	SHELL_FORM_NONE,    /* never runs its words */
	SHELL_FORM_UNKNOWN, /* cannot be told */
	SHELL_FORM_ENV,
	SHELL_FORM_FLOCK,
	SHELL_FORM_XARGS,
	SHELL_FORM_FIND,
	SHELL_FORM_STRACE,
	SHELL_FORM_GDB,
	SHELL_FORM_ENTR,
	SHELL_FORM_SG,
	SHELL_FORM_JOBS,
};

enum shell_wrapper_default {
	SHELL_DEFAULT_NOTHING,
	SHELL_DEFAULT_SHELL, /* an interactive shell, that reads commands from standard input */
	SHELL_DEFAULT_ECHO,
};

/* Operands before the command: a small number, or one of these. */
enum {
	SHELL_WRAPPER_ASSIGNS = 100, /* NAME=VALUE words */
	SHELL_WRAPPER_USER,          /* none or one, mixed with options */
	SHELL_WRAPPER_ARCH,          /* one, before the options, if it is no option */
	SHELL_WRAPPER_CONTEXT,       /* one, unless an option gives it */
};

struct shell_wrapper {
	const char *name;
	struct shell_option_grammar grammar;
	uint8_t before;
	uint8_t form;
	uint8_t without; /* enum shell_wrapper_default */
};

extern const struct shell_wrapper shell_wrappers[]; /* sorted by name */
extern const size_t shell_wrapper_count;
extern const struct shell_name_slots shell_wrapper_slots;

/* By command name or path; NULL: no wrapper. */
const struct shell_wrapper *shell_wrapper_find(const char *name);
