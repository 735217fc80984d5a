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

/* Moves what appeared into the directory INTO_FD (-1: none) as ID and a number, or, where that is
 * another file system, renames it on the spot. Appends the names, one per line, to *planted.
 * Returns how many. */
int sandbox_protect_check(const struct sandbox_plan *p, int into_fd, const char *id,
                          struct buffer *planted);
