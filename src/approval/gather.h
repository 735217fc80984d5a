#pragma once
/*
 * Gather: what the files that look for the files of an object share.
 *
 *	gather.c    the order of it all; programs, and what runs a script
 *	words.c     words, and pieces of them, that could be names
 *	bases.c     directories that relative names start from, and those of a PATH of the line
 *	doubt.c     what of the line runs files, and whether all of their names are known
 *	tree.c      all files of the workspace, where the names are not
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "approval/inside.h"
#include "shell/facts.h"

#define GATHER_PLACES_MAX 64
#define GATHER_TRIES_MAX  16384 /* a line may have many words, and many directories */

/* Directories, each once. */
struct gather_places {
	int fds[GATHER_PLACES_MAX];
	const char *names[GATHER_PLACES_MAX];
	struct {
		uint64_t device, inode;
	} ids[GATHER_PLACES_MAX];
	size_t count;
};

struct gathering {
	const struct object_subject *subject;
	struct arena *arena;
	struct object_file *files;
	size_t count, capacity;
	struct gather_places bases; /* of relative words; the first is borrowed */
	struct gather_places dirs;  /* of a PATH that the line sets */
	const char *path;           /* PATH of what is executed */
	const bool *runs;           /* of each command: see gather_runs() */
	size_t tries;               /* what was looked for, found or not */
	size_t guesses;             /* the same of pieces, which may be no names at all */
	bool guessing;
	size_t bytes; /* of what was read */
	bool streams; /* a word names a pipe or a socket */
	bool full;    /* a limit was reached that ends the search, not the approval */
	int failed;
};

/* The text of a word that is known, else "". */
const char *gather_text_of(const struct shell_fact_word *w);
bool gather_is_word(const struct shell_fact_word *w, const char *text);

/* A name that could be that of a file, from each base. */
void gather_try(struct gathering *g, const char *name);
/* One more look; false: there were too many. */
bool gather_counts(struct gathering *g);

/* words.c */
void gather_operands(struct gathering *g);
void gather_environment(struct gathering *g);
/* Calls back for each piece of a text that could be a name; SPLIT: also what ':', '=', ',' and '@'
 * separate. */
typedef void gather_piece(struct gathering *g, const char *piece);
void gather_pieces(struct gathering *g, const char *text, bool split, gather_piece *each);
/* The same for all that is executed. */
void gather_line(struct gathering *g, gather_piece *each);

/* bases.c */
void gather_places_done(struct gather_places *p);
/* Directories that the line changes to or names, and those of its PATH. */
void gather_bases(struct gathering *g);

/* doubt.c */
/* Whether the command runs what lies in files: an interpreter, an option with code, hooks, a name
 * that is not known. */
bool gather_runs(const struct gathering *g, size_t command);
/* Finds that out for all of them, once. */
int gather_find_runs(struct gathering *g);
/* Whether all words are known; BASES: of those commands that may change the directory. */
bool gather_is_known(const struct shell_facts *facts, bool bases);
/* Whether the line sets PATH. */
bool gather_sets_path(const struct shell_facts *facts);
/* Whether a file that runs may have a name that nobody can know before. */
bool gather_is_in_doubt(const struct gathering *g);

/* tree.c: every file below the workspace as one digest; how many there are. -E2BIG: too many. */
int gather_tree(struct gathering *g, struct digest *ret, size_t *ret_count);
