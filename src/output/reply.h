#pragma once
/*
 * Reply: what a terminal says when the program that writes to it asks.
 *
 * Programs ask where the cursor is, how large the screen is, what kind of terminal it is and which
 * colours it has, and some wait for the answer. Where no person's terminal is there, nobody would
 * give one. This keeps track of the cursor only: it knows the usual movements, not scrolling
 * regions. Each feed is linear in its bytes, takes no memory and cannot fail.
 */
#include <stdbool.h>
#include <stddef.h>

struct buffer;

#define REPLY_PART_MAX 256

struct reply_place {
	unsigned row, col; /* from 0; col may be the number of columns: the next character wraps */
};

struct reply {
	struct reply_place at, saved, behind; /* behind: of the main screen */
	char part[REPLY_PART_MAX];            /* a sequence whose end has not come */
	size_t part_len;
};

/* Bytes that were written to a terminal of this size. Appends what the terminal types. All zero is
 * a new terminal. */
void reply_feed(struct reply *r, unsigned rows, unsigned cols, const char *bytes, size_t n,
                struct buffer *into);
