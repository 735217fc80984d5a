#pragma once
/*
 * Relay: what a stream of the command writes, on its way to the starter as it comes, byte for byte.
 *
 * The starter has made a pipe and reads it. While it does not, the stream is not read either, so a
 * slow reader slows the command down, as without nacre. A reader who is gone is the command's own
 * affair: its stream is closed, and it gets SIGPIPE at its next write.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/buffer.h"

struct relay {
	int fd;             /* of the pipe, non-blocking; -1: there is none, or no more */
	bool broken;        /* nobody reads it any more */
	struct buffer rest; /* not taken yet */
	size_t taken;       /* of the rest */
};

#define RELAY_NONE                                                                                 \
	(struct relay)                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Writes what is taken, and keeps the rest. Without a pipe: does nothing. */
void relay_put(struct relay *r, const char *bytes, size_t n);
/* The pipe takes more. */
void relay_push(struct relay *r);
bool relay_waits(const struct relay *r); /* there is a rest */
void relay_close(struct relay *r);       /* what is left is lost */

/* The pipes that the starter sends before its order, for one stream or for both: -EPROTO: there
 * are none. */
int relay_receive(int control, bool merged, struct relay *ret_first, struct relay *ret_second);
