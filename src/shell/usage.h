#pragma once
/*
 * Usage: which options of ordinary commands take a value, and which of these values surely name no
 * file (data/options.tsv, as constant tables).
 *
 * What is not listed may be a path. So a table that lacks an option makes a check stricter, never
 * weaker.
 */
#include "shell/options.h"

struct usage_option {
	const char *name; /* "-x", "--long", and "-name" of a command with single dashes */
	uint8_t value;    /* enum shell_option_value */
	bool path;        /* the value may name a file */
	bool pattern;     /* gives the pattern, so that the first operand is none */
};

struct usage_command {
	const char *name;                   /* "grep", or "git commit" */
	const struct usage_option *options; /* sorted by name */
	uint16_t count;
	bool pattern;     /* the first operand is a pattern or a program */
	bool single_dash; /* -name is one option and no cluster */
	bool subs;        /* there are rows for its sub-commands */
};

extern const struct usage_command usage_commands[]; /* sorted by name */
extern const size_t usage_command_count;
extern const struct shell_name_slots usage_slots;

/* By command name; SUB may be NULL. NULL: nothing is known about it. */
const struct usage_command *usage_find(const char *name, const char *sub);
/* By its whole name of N bytes; NULL: not listed. U may be NULL. */
const struct usage_option *usage_option_find(const struct usage_command *u, const char *name,
                                             size_t n);
