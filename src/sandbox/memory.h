#pragma once
/*
 * Memory: what the processes of one tree use together, for where no control group counts it.
 *
 * Whoever asks often enough and kills in time has a bound, though a soft one: a process can take
 * some hundred MiB between two questions (RLIMIT_DATA stops each one alone), and memory that is in
 * no process, such as an unmapped memfd, is not seen.
 */
#include <stdint.h>
#include <sys/types.h>

/* The bytes that ROOT and its descendants use, without the page cache; memory that several of them
 * share is counted once. As soon as a cheap upper bound is at most ENOUGH, that is the answer.
 * -EOPNOTSUPP: the kernel does not list children. */
int memory_of_tree(pid_t root, uint64_t enough, uint64_t *ret_bytes);
