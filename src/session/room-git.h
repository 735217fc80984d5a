#pragma once
/*
 * Room, git and size: what is looked for in files that commands have written. Links are not
 * followed, and what is no regular file is not read.
 */
#include <stdint.h>
#include <sys/types.h>

/* Copies the operator's git configuration below HOME (NULL: none) into the home of the generation
 * DIR. Keys that name programs by a path or more files stay behind: in a room the path is the
 * agent's. A copy stays beside, to know later what was the operator's. */
int room_git_seed(int dir, const char *home, uid_t uid, gid_t gid);

/* Adds up the tree NAME, until there is more than the one or the other. A tree that is deeper than
 * any honest one has UINT64_MAX bytes. */
void room_walk(int at, const char *name, uint64_t max_bytes, uint64_t max_files, uint64_t *bytes,
               uint64_t *files);
