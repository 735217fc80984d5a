#pragma once
/*
 * Memory: what the processes of one tree use together, if no control group counts it.
 *
 * Regular checks and timely kills give a soft limit. Between two checks a process can take some
 * hundred MiB; RLIMIT_DATA stops each process alone. Memory outside of processes is found as
 * unseen.h says. An unmapped memfd is not found.
 */
#include <stdint.h>
#include <sys/types.h>

struct memory_use {
	uint64_t bytes; /* without the page cache; what several processes share is counted once */
	uint64_t tasks; /* processes and their threads, the root's among them */
};

/* What ROOT and its descendants use. If a cheap upper bound is at most ENOUGH, that is the answer.
 * -EOPNOTSUPP: the kernel does not list children. */
int memory_of_tree(pid_t root, uint64_t enough, struct memory_use *ret_use);

struct unseen;

/* If ROOT and its descendants use more than LIMIT, kill the largest descendants until they do not.
 * BEFORE is the machine's state when they began; NULL: not known. Returns how many were killed. */
int memory_relieve(pid_t root, uint64_t limit, struct unseen *before, struct memory_use *ret_use);
