#pragma once
/*
 * The text of a long output: its beginning, its end, and from the middle the lines that matter.
 * Only for view.c, which cleans the bytes and knows the limits.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct salient_source {
	const char *head, *tail; /* cleaned text; of a whole stream the same one */
	size_t head_len, tail_len;
	bool whole;          /* nothing is between */
	uint64_t lines;      /* of the stream; one without an end counts */
	uint64_t tail_first; /* the number of the first line of the tail */
	bool tail_mid;       /* that line has a beginning which is not there */
	const char
		*middle; /* for salient_next(); of a whole stream the lines are looked for here */
	size_t middle_len;
};

struct salient_limits {
	size_t bytes;   /* of the text with its notices */
	uint64_t lines; /* likewise; 0: any number */
	/* How a gap is read: the words before its lines and behind them; NULL: it cannot be. */
	const char *call_before, *call_behind;
	uint64_t call_upto; /* lines behind this cannot be read by their number; 0: all can */
};

struct salient_shown {
	uint64_t lines, bytes, chars; /* of the output, without notices */
};

/* Appends the text. 0; -ENOSPC: the lines are too long, or the limit is too small, to show lines
 * at all; or another negative errno. */
int salient_compose(const struct salient_source *source, const struct salient_limits *limits,
                    struct buffer *into, struct salient_shown *ret_shown);
