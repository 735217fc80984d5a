#pragma once
/*
 * Unseen: memory that belongs to a tree of processes and is in none of them. Pages of a shared
 * mapping that nobody has touched lately, page tables, what waits in sockets and pipes, and what
 * the kernel itself keeps for somebody (messages, semaphores, locks, maps) are in no process's
 * size; without a control group only the machine as a whole shows that they are gone.
 *
 * So a growth of the machine's own numbers is the reason to look, and never a proof: it counts only
 * as far as the tree has what such memory is held by.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unseen { /* bytes of the whole machine */
	uint64_t shared, tables, kernel, available;
};

/* How it is now; all 0: it cannot be known, and nothing is unseen later. */
void unseen_read(struct unseen *ret_now);

/* What these processes, but not the first, may hold since BEFORE if that alone is more than ENOUGH,
 * else 0; HELD says how it is divided among them, by any measure, where all of it may be one's who
 * holds most. BEFORE becomes the best of both moments. */
uint64_t unseen_of(const pid_t *pids, size_t count, struct unseen *before, uint64_t enough,
                   uint64_t held[]);
