#pragma once
/*
 * Relay: bytes from one socket to another by splice, through pipes that all connections share.
 *
 * A direction holds a pipe only while there are bytes in it. When all pipes are in use, bytes are
 * copied instead, and none are held: slow readers cannot stop the others. A pipe that still has
 * bytes when its connection ends is closed, never given back: they would reach another one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_PIPES_MAX  16
#define RELAY_PIPE_BYTES (1 << 20)

struct relay_pipe {
	int in, out; /* -1: not made */
	bool used;
};

struct relay_pool {
	struct relay_pipe pipes[RELAY_PIPES_MAX];
};

void relay_pool_init(struct relay_pool *p);
void relay_pool_done(struct relay_pool *p);

struct relay {
	int from, to;            /* borrowed, nonblocking */
	struct relay_pipe *pipe; /* NULL: it holds none */
	size_t held;             /* bytes in it */
	bool ended;              /* nothing more will be read */
	bool done;               /* and the other side was told */
	bool broken;             /* it failed: both sides have to be reset */
	uint64_t bytes;          /* passed on */
};

/* Moves what can be moved, within bounds. True: there may be more at once. */
bool relay_move(struct relay *r, struct relay_pool *pool);
/* Lets go of the pipe. */
void relay_stop(struct relay *r, struct relay_pool *pool);
