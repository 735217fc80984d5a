#pragma once
/*
 * What `nacre audit show` and `tail` share with the command above them.
 */
#include <limits.h>

/* Where the log lies: DIRECTORY if it is given, else in the state directory. -1: there is none. */
int cli_audit_directory(const char *directory, char into[PATH_MAX]);

/* Complains that there is none, and returns the exit code. */
int cli_audit_none(void);
