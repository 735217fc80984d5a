#pragma once
/*
 * Index: in which order the bytes of two separate streams came.
 *
 * The task's file "index" is a list of pieces: so many bytes of this stream, then so many of that
 * one. It is begun by the first byte of the second stream; with one stream there is nothing to
 * tell. A piece is written before its bytes are, so a reader never meets bytes of which the index
 * does not know, unless it ends with INDEX_STOP: then it was given up, and the order of what
 * follows is not known.
 *
 * The order is that of the keeper's reads. Writes to different streams within the same instant may
 * change places; only a merged stream has the true order of all writes.
 */
#include <stdint.h>

#define INDEX_STOP  2U
#define INDEX_BYTES ((uint64_t)16 << 20) /* of one file; a piece may be as short as a byte */

struct index_piece {
	uint32_t stream; /* 0, 1 or INDEX_STOP */
	uint32_t length;
};

struct index {
	const int *dir_fd; /* where it is made; -1: not yet; NULL: there is to be none */
	int fd;            /* -1: not begun, or given up */
	uint64_t totals[2];
	uint64_t at;             /* file offset of the last piece */
	struct index_piece last; /* it grows until the other stream has a turn */
};

void index_init(struct index *x, const int *dir_fd); /* the descriptor stays the caller's */

/* N bytes of STREAM are about to be written to its file. */
void index_note(struct index *x, unsigned stream, uint64_t n);
