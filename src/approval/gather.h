#pragma once
/*
 * Gather: what the files that look for the files of an object share.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "approval/inside.h"
#include "shell/facts.h"

#define GATHER_BASES_MAX 64
#define GATHER_TRIES_MAX 16384 /* a line may have many words, and many directories */

struct gathering {
	struct arena *arena;
	struct object_file *files;
	size_t count, capacity;
	int bases[GATHER_BASES_MAX]; /* of relative words; the first is borrowed */
	const char *base_names[GATHER_BASES_MAX];
	struct {
		uint64_t device, inode;
	} base_ids[GATHER_BASES_MAX];
	size_t base_count;
	const char *path; /* PATH of what is executed */
	size_t tries;     /* what was looked for, found or not */
	size_t bytes;     /* of what was read */
	int failed;
};

/* The text of a word that is known, else "". */
const char *gather_text_of(const struct shell_fact_word *w);
bool gather_is_word(const struct shell_fact_word *w, const char *text);

/* Directories that the line changes to: from where it starts, and from where it then is. */
void gather_bases(struct gathering *g, const struct shell_facts *facts);
/* TO, from each of them. */
void gather_add_bases(struct gathering *g, const char *to);
