#pragma once
/*
 * Tree: all living descendants of one process, found through /proc, and signals to all of them.
 *
 * Works only where every descendant stays one: the root must be a child subreaper, so that a daemon
 * whose parents have gone hangs under it again. A process that forks while it is being looked for
 * is caught by stopping first and killing only when a whole pass finds nothing that still moves.
 */
#include <stddef.h>
#include <sys/types.h>

/* Sends SIGNAL once to each living descendant of ROOT and then SIGCONT, so that stopped ones get it
 * too. ROOT itself is left alone. Returns how many were signalled, or a negative errno. */
int tree_signal(pid_t root, int signal);

/* How many living descendants ROOT has, or a negative errno. */
int tree_count(pid_t root);

/* Stops, then kills every descendant of ROOT. Returns how many were killed, or a negative errno.
 * The dead still have to be reaped; what was forked in the last instant needs another call, so
 * callers repeat until nothing is left to reap. */
int tree_kill(pid_t root);

/* For such callers: counts each process once, however long it takes to die. */
struct tree_toll {
	int killed;
	unsigned char *seen; /* a bit for each process number */
};
void tree_kill_on(pid_t root, struct tree_toll *toll);
void tree_toll_done(struct tree_toll *toll);
