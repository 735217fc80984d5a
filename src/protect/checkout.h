#pragma once
/*
 * Checkout: what git does with files of its work tree that are protected.
 *
 * A held file cannot be removed or made anew, so `git checkout` and `git merge` would fail halfway.
 * The filter asks the keeper about the few calls by which git does this. The keeper lets git write
 * into a private file instead. When git is done (it renames its new index into place, then a ref)
 * the keeper looks at the content. If a person's commits have exactly this at the path, with the
 * same mode, the keeper writes it to the real place. All else is held: the file stays as it is, and
 * a person is asked. A file is removed if the commit that git goes to is a person's, or comes from
 * one, and has no such file.
 *
 * So the mount stays the wall, and nothing that a command has made is ever at the path.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct broker_told;
struct git_id;
struct history;
struct protect;

#define CHECKOUT_GO_ON 1 /* an answer: the kernel makes the call */

struct checkout;                                    /* what git has done so far, in one command */
struct checkout *checkout_new(void);                /* NULL: no memory */
struct checkout *checkout_free(struct checkout *c); /* NULL is fine; returns NULL */
bool checkout_is_empty(const struct checkout *c);   /* NULL: it is */
/* Whether a path relative to the workspace is one of these. */
bool checkout_concerns(const struct protect *p, const char *path);

/* The answers to calls of git: 0, a negative errno or CHECKOUT_GO_ON. */
int checkout_remove(struct checkout *c, const struct protect *p, const char *path);
int checkout_mkdir(const struct protect *p, const char *path);
/* *RET_FD is the file to be written, and stays the checkout's. */
int checkout_make(struct checkout *c, const struct protect *p, const char *path, uint64_t mode,
                  int *ret_fd);

/* Git has written all that it wants. What is not trusted is told. */
void checkout_settle(struct checkout *c, const struct protect *p, const struct broker_told *told);
/* A ref is about to lead to this commit: what it has not may go. */
void checkout_settle_removals(struct checkout *c, struct protect *p, const struct git_id *commit,
                              const struct broker_told *told);
/* The command has ended. */
void checkout_finish(struct checkout *c, struct protect *p, const struct broker_told *told);

/* Whether all that lies at PATH is a person's; then it may stay. NONE: what is not, each path
 * relative to the workspace with a NUL behind it, unless nothing or too much is. */
struct buffer;
bool protect_is_trusted(struct history *h, int workspace_fd, const char *path, struct buffer *none);
