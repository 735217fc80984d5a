#pragma once
/*
 * Helper: nacre itself as a child process, for what takes long: the server goes on serving, and
 * what is answered is what the command prints.
 */
#include <stdbool.h>
#include "base/cleanup.h"

struct error;
struct helper;
struct loop;

struct helper_ops {
	/* A line without its newline, as it comes. */
	void (*line)(void *owner, const char *line, size_t n);
	/* It has ended; the helper may be freed. GOOD: it printed something and was not killed. */
	void (*ended)(void *owner, bool good);
};

/* ARGV begins with the command, and ends with NULL. OPS are called from the loop. */
int helper_new(struct loop *l, const char *const *argv, const struct helper_ops *ops, void *owner,
               struct helper **ret_helper, struct error *err);
struct helper *helper_free(struct helper *h); /* ends it */
DEFINE_CLEANUP(struct helper *, helper_free);
