#pragma once
/*
 * Effects, inside: the words of one command as they were read for the rows of the knowledge table;
 * not for other rooms.
 *
 *	effects.c         which rows match
 *	effects-words.c   options and operands
 *	effects-script.c  programs of sed and awk
 */
#include <string.h>
#include "shell/knowledge.h"

#define FOUND_MAX   96
#define OPERAND_MAX 256

enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

struct found {
	const struct knowledge_item *item;
	bool maybe;
	bool has_value;
	struct shell_fact_word value;
};

struct reading {
	struct shell_fact_command *command;
	const struct knowledge_command *known;
	struct found found[FOUND_MAX];
	size_t found_count;
	const struct shell_fact_word *operands[OPERAND_MAX];
	size_t operand_count;
	bool cut;                             /* there was no room for all: each may match */
	bool equals;                          /* a word -X=Y */
	bool many;                            /* an unknown number of words */
	uint64_t hit[KNOWLEDGE_ROW_MAX / 64]; /* rows that could match */
};

static inline bool text_is(struct shell_text t, const char *s)
{
	return t.len && t.bytes[0] == s[0] && strlen(s) == t.len && memcmp(t.bytes, s, t.len) == 0;
}

static inline bool known(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN;
}

static inline struct shell_fact_word tail(const struct shell_fact_word *w, size_t from)
{
	struct shell_fact_word t = *w;

	t.text.bytes += from;
	t.text.len -= from;
	return t;
}

/* effects-words.c */

/* Fills found and operands; rows that the options lead to are hit. */
void effects_read_words(struct reading *r);
bool effects_is_option(const struct shell_fact_word *w);
/* The rows that the key leads to in a list of the index may match. */
void effects_reach(struct reading *r, const struct knowledge_index *list, size_t count,
                   unsigned key);

/* effects-script.c */

bool effects_first_is_script(const struct reading *r);
enum match effects_script_matches(const struct reading *r, const char *name);
