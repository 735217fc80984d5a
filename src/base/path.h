#pragma once
/*
 * Paths: where an open file lies, and what lies where.
 */
#include <limits.h>
#include <stdbool.h>

/* No string can promise where a file is: it is opened, and then the kernel is asked. The name of
 * one that was deleted is not its own. 0, or a negative errno. */
int path_of_fd(int fd, char into[PATH_MAX]);

/* "a/b" is in "a" and in "a/b"; both are canonical. */
bool path_is_in(const char *path, const char *directory);
