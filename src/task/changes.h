#pragma once
/*
 * Changes: the stores of copy-on-write views (change/change.h), where they lie and what they are
 * about.
 *
 *	ROOT/undo/KEY/ledger        what undo has changed in the workspace with this key
 *	ROOT/undo/KEY/lock          held while something is applied or undone there
 *	ROOT/undo/KEY/TASK/         the store of one task
 *	ROOT/undo/KEY/TASK/about    whose it is
 *
 * ROOT is nacre's state directory, or the one of the profile (undo.store). Renamings need the file
 * system and the mount of the workspace, so the first of both that has it is taken.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "change/change.h"
#include "task/store.h"

struct arena;
struct error;

#define CHANGES_KEY_SIZE 33

void changes_key(const char *workspace, char into[CHANGES_KEY_SIZE]);

/* undo.store of a profile as a path: "~/" is nacre's own home. NULL: there is none. */
const char *changes_root(const char *store, char buffer[PATH_MAX]);

struct changes_about {
	const char *task, *workspace, *command;
	const char *root, *profile, *agent, *policy_file; /* NULL: none */
	const char *principal, *session;                  /* NULL: none */
	int64_t began_ms, keep_ms;
	bool dry_run;
};
int changes_about_write(int store, const struct changes_about *a);
int changes_about_read(int store, struct arena *arena, struct changes_about *ret,
                       struct error *err);

/* The shelf of a workspace below one of ROOTS (two; NULL: none), made if it is not there. RET_FITS:
 * it is on the workspace's mount. -EXDEV: all of them lie in the workspace. */
int changes_shelf(const char *const roots[2], const char *workspace, int workspace_fd,
                  char ret_path[PATH_MAX], bool *ret_fits);

/* Locks a shelf, or waits for it: a descriptor; -EBUSY: it takes too long. */
int changes_lock(int shelf);
/* Finishes what a crash has left on the shelf; it is locked. Returns how many. */
int changes_recover(int shelf, int workspace_fd);
/* Removes what is older than KEEP_MS, and the oldest until at most SIZE bytes are used (0: any).
 * What is being applied or undone stays, and what is in use. */
void changes_sweep(int shelf, int64_t now_ms, uint64_t size);

/* Changes of protected paths are conflicts that nobody can force. P is a plan of the workspace as
 * it is now. */
struct protect;
void changes_guard(struct change_list *l, const struct change_place *at, const struct protect *p);

struct audit_changes;
void changes_for_audit(const struct change_list *l, struct audit_changes *ret);

/* One store, open. */
struct changes {
	char task[STORE_ID_MAX];
	char path[PATH_MAX]; /* of the shelf */
	int shelf, store;
	enum change_state state;
	bool running;    /* its command has not ended */
	int64_t used_ms; /* when its state was reached */
};
void changes_close(struct changes *c);
static inline void changes_closep(struct changes *c)
{
	changes_close(c);
}
#define CHANGES_NONE                                                                               \
	(struct changes)                                                                           \
	{                                                                                          \
		.shelf = -1, .store = -1                                                           \
	}

/* The store of the one task whose id, with or without "bash-", begins with PREFIX. */
int changes_find(const char *const roots[2], const char *prefix, struct changes *ret,
                 struct error *err);
/* Each store below the roots, until one visit does not return 0. The visitor may keep what is open
 * in it by setting it to CHANGES_NONE. */
typedef int changes_visit(void *context, struct changes *c);
int changes_each(const char *const roots[2], changes_visit *visit, void *context);

/* Whether its keeper holds it: from the begin of the view on, until it is kept or applied. */
int changes_hold(int store);
