#pragma once
/*
 * Protect: paths of the workspace that a command must not change, also where they do not exist yet.
 *
 * What exists is bound read-only on itself, and cannot be renamed away. What does not exist leaves
 * no trace: after the command it is looked for, and moved out of the way if it appeared. Without
 * namespaces what exists is only compared afterwards, and named if it changed.
 */
#include <stddef.h>

struct buffer;
struct sandbox_plan;

/* A directory outside of the workspace, opened when something has to be put there. */
struct protect_aside {
	int (*open)(void *owner); /* a descriptor that stays the owner's; -1: there is none */
	void *owner;
	const char *id; /* a name for what is renamed on the spot */
};

/* What is said behind a path and a tab; nothing: it was moved aside. */
#define PROTECT_RENAMED '=' /* on the spot, to the path that follows */
#define PROTECT_STAYS   '!' /* it could not be moved */
#define PROTECT_CHANGED '~' /* it was there before, and nothing kept the command from it */

/* Moves what appeared aside, or, where that is another file system, renames it on the spot. Appends
 * the names, one per line, to *planted. Returns how many. What was bound and is another file now
 * was replaced from outside, by the operator perhaps, so it stays; but the command could write it
 * from then on: it is named in *replaced, unless there is nothing in it that would be run. */
int sandbox_protect_check(struct sandbox_plan *p, const struct protect_aside *aside,
                          struct buffer *planted, struct buffer *replaced);
