#pragma once
/*
 * Remotes: where a git configuration fetches from and pushes to.
 */
#include <stddef.h>

/* Visits each url and pushurl of a remote until one visit does not return 0. The text lives for the
 * visit only. */
int git_remotes_visit(const char *bytes, size_t n, int (*visit)(void *context, const char *url),
                      void *context);
