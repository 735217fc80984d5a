#pragma once
/*
 * Paths: where an open file lies, and what lies where.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* No string can promise where a file is: it is opened, and then the kernel is asked. The name of
 * one that was deleted is not its own. 0, or a negative errno. */
int path_of_fd(int fd, char into[PATH_MAX]);

/* "a/b" is in "a" and in "a/b"; both are canonical. */
bool path_is_in(const char *path, const char *directory);

/* Each directory from TOP down to BOTTOM, both included, as a descriptor that is open during the
 * visit, and its path. TOP is known by a descriptor; both paths are canonical, and BOTTOM is in
 * TOP. Links are not followed: one that has come into being meanwhile ends the walk (-ELOOP or
 * -ENOTDIR). The first visit that does not return 0 ends it, too. */
#define PATH_DESCENT_MAX 64 /* directories; -E2BIG: there are more */
typedef int path_descent_visit(void *context, int fd, const char *path);
int path_descend(int top_fd, const char *top, const char *bottom, path_descent_visit *visit,
                 void *context);

/* Opens PATH in the directory DIR (AT_FDCWD is fine). Links are followed as far as they stay in it;
 * -EXDEV: one leads out. Where a link has a ".." in it the kernel gives up (EAGAIN) as soon as
 * anybody renames anything meanwhile, which a command can do without end; so it is tried often. A
 * descriptor or a negative errno. Safe between fork and exec. */
int path_open_beneath(int dir, const char *path, uint64_t flags);
/* Whether this error of path_open_beneath() means that there is no such file in the directory. All
 * others mean that nobody knows. */
bool path_is_absent(int code);
