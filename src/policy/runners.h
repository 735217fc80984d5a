#pragma once
/*
 * Runners: programs that run whatever they are given. Consent to one of them says nothing about
 * what runs, and what runs lies in files.
 */
#include <stdbool.h>

struct shell_fact_command;

/* Names, some of them globs, up to NULL: the sets of the same names in a profile. */
extern const char *const policy_shells[];
extern const char *const policy_interpreters[];
extern const char *const policy_editors[];

/* By a name or a path: a shell, an interpreter, an editor, a wrapper, or something of the kind,
 * also with a version (perl5.36.0). */
bool policy_runs_anything(const char *name);

/* The same of a file, the end of all links, which may be a hard link to one. */
bool policy_file_runs_anything(const char *path);

/* Whether it interprets a language, and finds modules by itself. */
bool policy_interprets(const char *name);

/* Whether the words say so themselves: code, or a program, in an option, an operand or a variable
 * (git -c alias.x=!sh, psql -f x). What the command always runs (hooks, scripts of a package) does
 * not count. */
bool policy_words_run(const struct shell_fact_command *c);
