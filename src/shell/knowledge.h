#pragma once
/*
 * Knowledge: what the options, operands and scripts of ordinary commands can do
 * (data/command-knowledge.tsv and data/command-safe-options.tsv, as constant tables).
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
};

struct knowledge_item {
	uint8_t kind;
	uint8_t value; /* enum shell_option_value */
	const char *sub;
	const char *name;
	const char *filter; /* how the value must begin; NULL: any */
};

struct knowledge_row {
	const struct knowledge_item *items;
	uint16_t count;
	uint8_t effect; /* enum knowledge_class */
	const char *note;
};

struct knowledge_command {
	const char *name;
	const struct knowledge_row *rows;
	uint16_t count;
	bool single_dash; /* has options like -exec: words are not clusters */
};

extern const struct knowledge_command knowledge_commands[]; /* sorted by name */
extern const size_t knowledge_command_count;

/* By command name or path; NULL: nothing is known about it. */
const struct knowledge_command *knowledge_find(const char *name);
const char *knowledge_class_name(enum knowledge_class effect);

/* Fills does and open of the command from its words and assignments. Returns 0 or -ENOMEM. */
int knowledge_apply(struct arena *arena, struct shell_fact_command *command);
