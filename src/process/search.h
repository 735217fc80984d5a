#pragma once
/*
 * Search: the files that a command name may stand for, in the order in which they are tried.
 */
struct arena;

/* A name with a slash stands for itself; another one is looked for in the PATH of ENVP. Entries of
 * PATH that are not absolute are left out: they would name files of the working directory. */
int process_search_paths(struct arena *arena, const char *name, const char *const *envp,
                         const char *const **ret_paths);
