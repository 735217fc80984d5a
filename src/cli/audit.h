#pragma once
/*
 * What `nacre audit show` and `tail` share with the command above them.
 */
#include <limits.h>

/* Where the log lies: DIRECTORY if it is given, else in the state directory. -1: there is none. */
int cli_audit_directory(const char *directory, char into[PATH_MAX]);

int cli_audit_show(int argc, char **argv);
int cli_audit_tail(int argc, char **argv);
