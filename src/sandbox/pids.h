#pragma once
/*
 * Pids: a bound on how many processes one command may have.
 *
 * For an ordinary user RLIMIT_NPROC does it. It counts all processes of the user, so it is set to
 * what the whole system has now plus the command's share: never too small for a busy user, and
 * finite. Root is exempt from that limit and gets a control group of its own, below the one nacre
 * is in, so that no outer limit is left.
 */
#include <limits.h>
#include <stdint.h>
#include <sys/resource.h>

struct pids_limit {
	rlim_t nproc;              /* RLIM_INFINITY: not by this means */
	int procs_fd;              /* write "0" here to enter the group; -1: there is none */
	char group[PATH_MAX + 64]; /* its directory; empty: none */
};

/* Never fails: where no means is to be had, the limit is empty. */
void pids_limit_make(uint64_t max, const char *name, struct pids_limit *ret_limit);

/* Whether anything bounds the command. */
int pids_limit_holds(const struct pids_limit *l);

/* Removes the group once its last process is gone; NULL or "" is fine. */
void pids_group_remove(const char *group);
