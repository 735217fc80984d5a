#pragma once
/* Remove: a directory that a command could fill as it liked. */

/* NAME in the directory PARENT (or AT_FDCWD), which nobody changes meanwhile. What cannot be
 * removed stays. */
void remove_tree(int parent, const char *name);
