#pragma once
/*
 * Pick: of the lines of a stream those that somebody wants to see: by number, by a regular
 * expression with lines of context, the first or the last of these.
 *
 * Bytes may come in pieces of two streams that take turns; each has its own unfinished line. A
 * line longer than PICK_LINE_MAX is handed on in parts. What is kept for context and for the last
 * lines is bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct error;
struct pick;

#define PICK_LINE_MAX    ((size_t)256 << 10)
#define PICK_CONTEXT_MAX 1000
#define PICK_TAIL_MAX    1000000
#define PICK_KEPT_MAX    ((size_t)32 << 20) /* bytes of lines that wait */

/* Each holds for what the one before it lets through. */
struct pick_options {
	uint64_t from, to; /* lines by number, from 1 on; 0: all */
	const char *regex; /* PCRE2; NULL: all */
	uint64_t context;  /* lines before and after a match */
	uint64_t head;     /* the first; 0: all */
	uint64_t tail;     /* the last; 0: all */
};

struct pick_line {
	int stream;
	uint64_t number; /* from 1 on, of both streams together */
	const char *text;
	size_t len;   /* with the newline, if it has one */
	bool skipped; /* lines between this and the last one were left out */
};

/* "A-B", "A-", "-B" or "A", counted from 1: sets from and to. False: it is none of these. */
bool pick_lines_parse(const char *text, struct pick_options *into);

/* What it returns other than 0 ends the picking and is returned. */
typedef int (*pick_sink)(void *owner, const struct pick_line *line);

/* -EINVAL: the regular expression is wrong, and ERR says where. */
int pick_new(const struct pick_options *options, pick_sink sink, void *owner,
             struct pick **ret_pick, struct error *err);
struct pick *pick_free(struct pick *p);
DEFINE_CLEANUP(struct pick *, pick_free);

/* 0; 1: no later line can be wanted; or a negative errno. -ETIME: the regular expression takes too
 * long on these bytes. */
int pick_put(struct pick *p, int stream, const char *bytes, size_t n);

/* Hands on lines that are not finished yet, where nothing is chosen among lines: a prompt is to be
 * seen before its answer. */
int pick_flush(struct pick *p);

/* There is no more. */
int pick_end(struct pick *p);
