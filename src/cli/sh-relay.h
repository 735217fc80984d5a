#pragma once
/*
 * Relay: from the pipes of a keeper to nsh's own standard output and error, byte for byte. Nothing
 * is read ahead of what the reader takes, so a slow reader slows the command down; one that is gone
 * closes the pipe, and the command gets SIGPIPE.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/loop.h"

struct error;

#define SH_RELAY_BYTES 65536

struct sh_relay {
	struct loop *loop;
	struct sh_lane {
		struct sh_relay *relay;
		struct loop_source in, out;
		int from, theirs, to; /* -1: none, or closed */
		size_t len, done;
		char bytes[SH_RELAY_BYTES];
	} lanes[2];
	int theirs[2]; /* the keeper's ends, for struct request; borrowed */
	bool merged;
};

/* Makes the pipes: one where standard output and error are the same file. */
int sh_relay_open(struct sh_relay *r, struct error *err);
int sh_relay_begin(struct sh_relay *r, struct loop *loop, struct error *err);
/* All that is in the pipes by now goes out; then the loop has none of them any more. */
void sh_relay_end(struct sh_relay *r);
void sh_relay_close(struct sh_relay *r);
