#pragma once
/*
 * Look: how a command is shown to a person who decides about it: its text in pieces, each with what
 * it is, what of it is a risk and why, and what its box holds it to. Made where it is asked, from
 * the analysis that has decided; whoever shows it reads no shell.
 */
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

struct approval;
struct arena;
struct json_writer;

#define LOOK_PIECES_MAX   4096
#define LOOK_FINDINGS_MAX 16
#define LOOK_LIMITS_MAX   8

enum look_level { LOOK_LOW, LOOK_MEDIUM, LOOK_HIGH, LOOK_LEVEL_MAX };

enum look_kind {
	LOOK_TEXT,
	LOOK_SPACE,
	LOOK_PROGRAM,
	LOOK_WORD,
	LOOK_OPTION,
	LOOK_STRING,
	LOOK_VARIABLE,
	LOOK_OPERATOR,
	LOOK_REDIRECT,
	LOOK_KEYWORD,
	LOOK_PATH,
	LOOK_HIDDEN, /* a character that nobody would see, as <U+202E> */
	LOOK_ADDED,
	LOOK_REMOVED,
	LOOK_KIND_MAX,
};

struct look_piece {
	enum look_kind kind;
	int finding; /* which says why it is marked; -1: none */
	const char *text;
};

struct look_finding {
	enum look_level level;
	const char *what; /* a word */
	const char *text; /* a sentence part */
};

/* All texts are harmless for a terminal. */
struct approval_look {
	const struct look_piece *pieces;
	size_t piece_count;
	struct look_finding findings[LOOK_FINDINGS_MAX];
	size_t finding_count;
	const char *limits[LOOK_LIMITS_MAX];
	size_t limit_count;
	size_t command_count;
};

/* One more, unless it is there already or there are too many; its index, or -1. */
int look_find(struct approval_look *l, enum look_level level, const char *what, const char *text);

/* The member "look" of the file of an approval. */
void look_write(struct json_writer *w, const struct approval_look *l);
/* -EINVAL: it is damaged. */
int look_read(json_t *value, struct arena *arena, struct approval_look **ret);

/* What people are shown of an approval beside what was asked: kind, title, pieces, risk, findings,
 * programs, limits, covers. Members; the caller has begun the object. */
void look_put_json(struct json_writer *w, const struct approval *a);
