#pragma once
/*
 * History: what the commits have that a person brought into the repository. It is walked as far as
 * a question needs it, from commits whose ids are known from elsewhere. Bounded in commits and
 * time: what is not found by then is not in it.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "protect/objects.h"

#define GIT_MODE_FILE    0100644u
#define GIT_MODE_PROGRAM 0100755u
#define GIT_MODE_LINK    0120000u

struct history;

/* GIT_FD: the repository's directory, which is not kept. Tags may be among the tips. */
int history_new(int git_fd, const struct git_id *tips, size_t count, struct history **ret_history);
struct history *history_free(struct history *h); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct history *, history_free);

/* How many bytes ids have here. */
size_t history_id_bytes(const struct history *h);
/* Whether a commit of the history has exactly this at the path. */
bool history_has(struct history *h, const char *path, unsigned mode, const struct git_id *blob);
/* Whether the commit, or the last of its ancestors that are in the history, has nothing there. */
bool history_lacks(struct history *h, const struct git_id *commit, const char *path);
