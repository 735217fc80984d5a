#pragma once
/*
 * Options: reading the words of a command as getopt_long() reads them.
 *
 * Clusters (-uo FILE), glued values (-n5, --name=x), optional values, unique beginnings of long
 * options, "--", and options behind operands where the command permutes. A word that is not known
 * can be anything: from there on the reading is uncertain, and the scan says so instead of going
 * on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "shell/facts.h"

/* A constant table of names: the slot of a hash holds 1 + the index of the first candidate. */
struct shell_name_slots {
	const uint16_t *slots; /* 0: none; a taken slot is followed by the next */
	uint32_t mask;
};

enum shell_option_value {
	SHELL_OPTION_FLAG,     /* takes no value */
	SHELL_OPTION_VALUE,    /* glued, behind =, or the next word */
	SHELL_OPTION_OPTIONAL, /* glued or behind = only */
};

enum shell_option_mark {
	SHELL_OPTION_MARK_NONE,
	SHELL_OPTION_MARK_QUERY, /* with it no command runs */
	SHELL_OPTION_MARK_CODE,  /* its value is shell code */
	SHELL_OPTION_MARK_FORM,  /* changes what the operands are */
};

struct shell_option {
	const char *name; /* "-x" or "--long" */
	uint8_t value;
	uint8_t mark;
};

struct shell_option_grammar {
	const struct shell_option *options;
	size_t count;
	bool numbers;  /* -5 is an option */
	bool any_long; /* each --long is an option; values only with = */
	bool permute;  /* options may follow operands */
};

enum shell_option_event {
	SHELL_OPTION_END,
	SHELL_OPTION_FOUND,
	SHELL_OPTION_OPERAND,   /* word is its index; it may become any number of words */
	SHELL_OPTION_UNKNOWN,   /* not in the grammar, ambiguous, or without its value */
	SHELL_OPTION_UNCERTAIN, /* the word is unknown and could be an option */
};

struct shell_option_scan {
	const struct shell_option_grammar *grammar;
	const struct shell_fact_word *words;
	size_t count;
	size_t at;      /* next word */
	size_t cluster; /* next byte in the cluster at - 1; 0: none open */
	bool ended;     /* only operands follow */
	/* Set by shell_option_next(): */
	const struct shell_option *option;
	size_t word; /* where the option or operand stands */
	bool has_value;
	struct shell_fact_word value;
};

/* Starts behind the command name. */
void shell_option_start(struct shell_option_scan *s, const struct shell_option_grammar *grammar,
                        const struct shell_fact_word *words, size_t count);
enum shell_option_event shell_option_next(struct shell_option_scan *s);
