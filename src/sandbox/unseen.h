#pragma once
/*
 * Unseen: memory that a tree of processes uses and that no process's size shows. Examples are pages
 * of a shared mapping that were not touched lately, page tables, data in sockets and pipes, and
 * kernel objects (messages, semaphores, locks, maps). Without a control group only the numbers of
 * the whole machine show it.
 *
 * So growth of the machine's numbers is a reason to look, not a proof. It counts only if the tree
 * holds objects that can hold such memory.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unseen { /* bytes of the whole machine */
	uint64_t shared, tables, kernel, available;
};

/* Read the machine's numbers. All 0: not known; then nothing is reported later. */
void unseen_read(struct unseen *ret_now);

/* Bytes that these processes, without the first, may hold since BEFORE; 0 if that is at most
 * ENOUGH. HELD weighs their shares: the one with the largest share may hold all of it. BEFORE
 * becomes the one of both readings with less in use. */
uint64_t unseen_of(const pid_t *pids, size_t count, struct unseen *before, uint64_t enough,
                   uint64_t held[]);
