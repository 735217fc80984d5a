#pragma once
/*
 * Inside: what the files of this room share.
 *
 *	store.c     a store, and which state it is in
 *	look.c      what a view has changed
 *	check.c     whether what was applied is still as it was left
 *	compare.c   two files, two links, attributes
 *	journal.c   a list as bytes
 *	apply.c     a list worked off, forward and backward
 *	walk.c      the directory above a path, never through a link
 *	ledger.c    what undo itself has changed
 *	text.c      the difference of two texts
 *	diff.c      of one file, before and after
 */
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include "change/change.h"

/* store.c */
struct change_list *change_list_new(void);
struct change *change_add(struct change_list *l, enum change_kind kind, const char *path,
                          const struct stat *before, const struct stat *after);
/* Memory that runs out is told by the next change_add(). */
void change_conflict(struct change_list *l, const char *path, const char *why);
struct change_meta change_meta_of(const struct stat *st);
int64_t change_ns(struct timespec t);
int64_t change_file_time(int store, const char *name); /* its change time; negative: an errno */
int change_journal_load(const struct change_place *at, const char *name,
                        struct change_list **ret_list, struct error *err);
int change_journal_save(const struct change_place *at, const struct change_list *l,
                        const char *name, struct error *err);
void change_await_tick(int64_t after_ns); /* until the clock of files is past it */
void change_step(const struct change_place *at);

/* walk.c. The last directory is kept, since the next path is often in the same one. */
struct change_walk {
	int root, fd; /* fd -1: none */
	char path[4096];
};
void change_walk_init(struct change_walk *w, int root);
void change_walk_done(struct change_walk *w);
void change_walk_forget(struct change_walk *w); /* something on the way was moved */
/* The directory that PATH is in, borrowed until the next call; or a negative errno. */
int change_walk_above(struct change_walk *w, const char *path, const char **ret_name);
/* A directory to be read, whatever its mode: it is put back when the directory is closed. */
DIR *change_open_dir(int at, const char *name);

/* compare.c */
bool change_is_whiteout(const struct stat *st);
bool change_is_opaque(int at, const char *name);
bool change_was_copied(int at, const char *name);
bool change_same_bytes(int a, const char *name, int b, const char *other);
bool change_same_link(int a, const char *name, int b, const char *other);
bool change_same_attributes(int a, const char *name, int b, const char *other);
int64_t change_born(int at, const char *name); /* -1: not known */

/* ledger.c */
struct change_ledger; /* NULL: an empty one */
struct change_ledger *change_ledger_read(int dir);
void change_ledger_free(struct change_ledger *l);
DEFINE_CLEANUP(struct change_ledger *, change_ledger_free);
bool change_ledger_has(const struct change_ledger *l, uint64_t inode, int64_t changed_ns);
void change_ledger_note(const struct change_place *at, const struct change_list *l);

/* check.c: below the directory NAME; whatever has a change time from SINCE on is a conflict. */
struct change_check {
	struct change_list *list;
	const struct change_ledger *ledger;
	int64_t since_ns;
	bool inclusive; /* of SINCE itself */
	const char *why;
	uint64_t files, bytes;
};
void change_check_below(struct change_check *c, int at, const char *name, const char *path,
                        int depth);
bool change_is_soft(const char *path); /* others write it all the time */
bool change_is_later(const struct change_check *c, const struct stat *st);
