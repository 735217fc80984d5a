#pragma once
/*
 * Quiet: what a command that prints nothing is doing, found out from outside, through /proc.
 *
 * For each thread of its tree the kernel tells in which system call it waits, and for what: a read
 * of standard input or of a terminal, a lock, the network, time. Where it does not tell (no right
 * to ask, an old kernel) the name of the place in the kernel is taken. All names come from the
 * command: only printable characters are passed on, and not many.
 */
#include <stddef.h>
#include <sys/types.h>

#define QUIET_TEXT_MAX 240

/* Looks at all below ROOT, and if something is running once more after a moment, to see whether it
 * still is. Fills TEXT with one line for people; "" if there is nothing to say. */
void quiet_look(pid_t root, char text[QUIET_TEXT_MAX]);

/* The names of all that live below ROOT, one per line, as many as fit. */
void quiet_names(pid_t root, char *into, size_t size);
