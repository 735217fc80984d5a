#pragma once
/*
 * Which: the program of that name, for boxes where it is listed but is a script whose shell is not
 * there. Runs in the child in place of execve, so it makes system calls on its own stack and
 * nothing else.
 */

/* Prints where PATH finds each name; -a: everywhere. Returns the exit code: 0, 1 if one is nowhere,
 * 2 for an unknown option. */
int which_run(const char *const *argv, const char *const *envp);
