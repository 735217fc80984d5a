#pragma once
/*
 * Memory: what the processes of one tree use together, for where no control group counts it.
 *
 * Whoever asks often enough and kills in time has a bound, though a soft one: a process can take
 * some hundred MiB between two questions (RLIMIT_DATA stops each one alone), and memory that is in
 * no process is seen only as unseen.h says; an unmapped memfd is not.
 */
#include <stdint.h>
#include <sys/types.h>

struct memory_use {
	uint64_t bytes; /* without the page cache; what several processes share is counted once */
	uint64_t tasks; /* processes and their threads, the root's among them */
};

/* What ROOT and its descendants use. As soon as a cheap upper bound of the bytes is at most ENOUGH,
 * that is the answer. -EOPNOTSUPP: the kernel does not list children. */
int memory_of_tree(pid_t root, uint64_t enough, struct memory_use *ret_use);

struct unseen;

/* Kills the descendants of ROOT that use most, as many as it takes, if all of them, with ROOT, use
 * more than LIMIT. BEFORE is how the machine was when they began; NULL: not known. Returns how many
 * it were. */
int memory_relieve(pid_t root, uint64_t limit, struct unseen *before, struct memory_use *ret_use);
