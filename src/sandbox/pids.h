#pragma once
/*
 * Pids: a bound on how many processes one command may have.
 *
 * For an ordinary user RLIMIT_NPROC does it. It counts all processes of the user, so it is set to
 * what the whole system has now plus the command's share: never too small for a busy user, and
 * finite. Root is exempt from that limit; its commands are watched instead (a control group of
 * version 1 costs 15 ms to enter).
 */
#include <stdint.h>
#include <sys/resource.h>

/* The value for RLIMIT_NPROC, or RLIM_INFINITY where it would bound nothing. MAX 0: no limit. */
rlim_t pids_rlimit(uint64_t max);

/* How many tasks the system has; 0: not to be known. Cheap enough to be asked ten times a second.
 */
uint64_t pids_now(void);
