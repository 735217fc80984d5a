#pragma once
/*
 * Tree: all living descendants of one process, found through /proc, and signals to all of them.
 *
 * Works only where every descendant stays one: the root must be a child subreaper, so that a daemon
 * whose parents have gone hangs under it again. A process that forks while it is being looked for
 * is caught by stopping first and killing only when a whole pass finds nothing that still moves.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends SIGNAL once to each living descendant of ROOT and then SIGCONT, so that stopped ones get it
 * too. ROOT itself is left alone. Returns how many were signalled, or a negative errno. */
int tree_signal(pid_t root, int signal);

/* Whether PID is a descendant of ROOT, the caller. False if that cannot be told. If a pidfd was
 * opened before and the answer is yes, it refers to a process of the tree, or to a dead one. */
bool tree_has(pid_t root, pid_t pid);

/* Sends SIGNAL once to each descendant of ROOT, the caller, that is in the process GROUP (0: in
 * any), but not to EXCEPT; also to those that are forked meanwhile, within reason. Returns how many
 * there were, the dead included, or a negative errno. */
int tree_signal_group(pid_t root, pid_t group, pid_t except, int signal);

/* How many living descendants ROOT has, or a negative errno. */
int tree_count(pid_t root);

/* Which processes were killed: counts each one once, however long it takes to die. */
struct tree_toll {
	int killed;
	unsigned char *seen; /* a bit for each process number */
};
/* Stops, then kills every descendant of ROOT. The dead still have to be reaped; what was forked in
 * the last instant needs another call, so callers repeat until nothing is left to reap. */
void tree_kill_on(pid_t root, struct tree_toll *toll);
void tree_toll_done(struct tree_toll *toll);
