#pragma once
/*
 * Knowledge: what the options, operands and scripts of ordinary commands can do
 * (data/command-knowledge.tsv and data/command-safe-options.tsv, as constant tables).
 *
 * A command like git has fifty rows, and an ordinary line touches two of them. So each command has
 * an index of its rows by what can make them match, and only those that could are looked at.
 */
#include "shell/facts.h"
#include "shell/options.h"

enum knowledge_class {
	KNOWLEDGE_CLASS_EXEC,
	KNOWLEDGE_CLASS_WRITE,
	KNOWLEDGE_CLASS_NETWORK,
	KNOWLEDGE_CLASS_READ_OUTSIDE,
	KNOWLEDGE_CLASS_PRIV,
	KNOWLEDGE_CLASS_HANG,
	KNOWLEDGE_CLASS_SAFE, /* takes an effect away */
};

enum knowledge_kind {
	KNOWLEDGE_ALWAYS,
	KNOWLEDGE_OPTION,        /* name, with sub only behind that sub-command; filter */
	KNOWLEDGE_NO_OPTION,     /* name is absent */
	KNOWLEDGE_OPTION_EQUALS, /* a word -X=Y */
	KNOWLEDGE_OPERAND,
	KNOWLEDGE_OPERAND_NUMBER, /* the name-th operand exists */
	KNOWLEDGE_OPERAND_PREFIX,
	KNOWLEDGE_OPERAND_CONTAINS,
	KNOWLEDGE_OPERAND_DIGITS,
	KNOWLEDGE_NO_OPERAND,
	KNOWLEDGE_SUB,         /* the first operand is name */
	KNOWLEDGE_SUB_OPERAND, /* the first is sub and a later one name */
	KNOWLEDGE_SUB_OPERAND_PREFIX,
	KNOWLEDGE_SCRIPT,
	KNOWLEDGE_ENV,
	KNOWLEDGE_CONFIG,
	KNOWLEDGE_TERMINAL,
	/* The words behind the sub-command or option name are a command, which stands behind as
	 * many more operands as filter says; "*": behind the name of the command. */
	KNOWLEDGE_TAIL,
};

enum knowledge_code {
	KNOWLEDGE_CODE_NONE,
	KNOWLEDGE_CODE_SHELL,   /* the value is a command line */
	KNOWLEDGE_CODE_OWN,     /* it is code of the program itself, which may start others */
	KNOWLEDGE_CODE_PROGRAM, /* it is the name of a program */
};

struct knowledge_item {
	uint8_t kind;
	uint8_t value; /* enum shell_option_value */
	uint8_t code;  /* enum knowledge_code */
	const char *sub;
	const char *name;
	const char *filter; /* how the value must begin; NULL: any */
};

/* What can make a row match, beside an option and a sub-command that is known. */
enum knowledge_need {
	KNOWLEDGE_NEED_NOTHING, /* it may match whatever the words are */
	KNOWLEDGE_NEED_OPERAND,
	KNOWLEDGE_NEED_SUB, /* a sub-command that is not known */
	KNOWLEDGE_NEED_ENV,
	KNOWLEDGE_NEED_CONFIG,
};

#define KNOWLEDGE_ROW_MAX 256 /* of one command */

struct knowledge_row {
	const struct knowledge_item *items;
	uint16_t count;
	uint8_t effect; /* enum knowledge_class */
	const char *note;
};

struct knowledge_index {
	uint16_t key;  /* knowledge_option_key(), knowledge_sub_key() or enum knowledge_need */
	uint16_t row;  /* of the command */
	uint16_t item; /* counted from the first item of the first row */
};

struct knowledge_command {
	const char *name;
	const struct knowledge_row *rows;
	const struct knowledge_index *index; /* options, sub-commands, needs; each by key */
	uint16_t count;
	uint16_t option_count, sub_count, need_count; /* of the index */
	bool single_dash; /* has options like -exec: words are not clusters */
	bool exact;       /* nor letters with a glued value: -x is -x alone, and --x is the same */
};

extern const struct knowledge_command knowledge_commands[]; /* sorted by name */
extern const size_t knowledge_command_count;
extern const struct shell_name_slots knowledge_slots;
/* Of all rows, each once: patterns of the names of variables. */
extern const char *const knowledge_variables[];
extern const size_t knowledge_variable_count;

/* Names that can mean the same option have one key: a long one may be cut behind --x. */
static inline uint16_t knowledge_option_key(const char *name, size_t n)
{
	if (name[1] != '-')
		return (unsigned char)name[1];
	return (uint16_t)(0x100 | (n > 2 ? (unsigned char)name[2] : 0));
}

static inline uint16_t knowledge_sub_key(const char *name, size_t n)
{
	return (uint16_t)((n & 0xff) << 8 | (unsigned char)name[0]);
}

/* Whether the name of a variable is of the pattern of a row. Most differ at once. */
bool knowledge_is_variable(const char *pattern, const char *name);

/* By command name or path; NULL: nothing is known about it. */
const struct knowledge_command *knowledge_find(const char *name);
/* The name that the table has of a program with several; NULL: there is no other. */
const char *knowledge_other_name(const char *name);
const char *knowledge_class_name(enum knowledge_class effect);

/* Fills does of the command from its words and assignments. Returns 0 or -ENOMEM. */
int knowledge_apply(struct arena *arena, struct shell_fact_command *command);
