#pragma once
/*
 * Change: what a command has done to a copy-on-write view of a directory, and how that comes into
 * the directory, and out of it again.
 *
 * A store holds the view: `upper`, in which overlayfs keeps what the command has made, `work`,
 * which the kernel wants, and `begin`, whose change time says when the view began. Applying moves
 * what is new out of `upper` into the directory, and what was there into the same place of
 * `upper`: one renaming for each change, no copy. So what `upper` holds afterwards is what undo
 * needs. A journal stands before the first renaming, and each step is known by its inode, so a
 * journal can be worked off again from any point.
 *
 *	begin            the view is in use, or kept: nothing was applied
 *	begin, journal   it is being applied: only forward from here
 *	begin, undo      it was applied, and can be undone
 *	begin, undoing   it is being undone
 *	begin, undone    it was undone, and can be applied again
 *
 * Nothing here knows who asks, or why. All paths are relative to the directory, and no link in
 * them is ever followed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

struct arena;
struct buffer;
struct error;

enum change_kind {
	CHANGE_ADDED = 'A',
	CHANGE_DELETED = 'D',
	CHANGE_CONTENTS = 'M',
	CHANGE_META = 'm',      /* mode or times only */
	CHANGE_ANEW = 'O',      /* a directory that was removed and made again */
	CHANGE_TYPE = 'T',      /* a file has become a link, a directory ... */
	CHANGE_DIRECTORY = 'd', /* mode or times of a directory that stays */
};

struct change_meta {
	uint64_t inode; /* 0: there is no such file */
	uint64_t size;
	uint32_t mode, links;
	int64_t accessed_ns, modified_ns, changed_ns;
};

struct change {
	enum change_kind kind;
	bool in_place;    /* meta data are set; else files are exchanged */
	bool keeps_times; /* of a directory that others have changed, too */
	bool copied;      /* overlayfs has copied it from below, under this name or another one */
	bool chosen;      /* it is among those that are worked off */
	const char *path;
	const char *from; /* its name before, if it was only renamed; or NULL */
	struct change_meta before, after;
};

struct change_conflict {
	const char *path, *why;
};

#define CHANGE_MAX           ((size_t)1 << 20)
#define CHANGE_CONFLICTS_MAX 1000 /* more are counted only */
#define CHANGE_DEPTH_MAX     250

struct change_list {
	struct arena *arena; /* of all strings */
	struct change *items;
	size_t count, capacity;
	struct change_conflict *conflicts;
	size_t conflict_count, conflict_capacity;
	size_t forbidden; /* of the conflicts; these cannot be forced */
	/* Files, those of whole directories among them. */
	uint64_t added, changed, deleted, bytes;
	/* Of a list that was read from a journal: */
	uint64_t device, inode; /* of the directory */
	bool forced;
	int64_t since_ns; /* 0: the change time of the journal itself */
};

enum change_state {
	CHANGE_NONE,     /* there is no store */
	CHANGE_KEPT,     /* nothing was applied */
	CHANGE_APPLYING, /* a crash: change_recover() */
	CHANGE_APPLIED,
	CHANGE_UNDOING, /* likewise */
	CHANGE_UNDONE,
};

/* The directory and the store, borrowed. */
struct change_place {
	int directory, store;
	int ledger;   /* the directory with the file `ledger`; -1: none is kept */
	bool durable; /* contents are on the disk before the journal is */
	/* For tests: called before each change on disk. */
	void (*step)(void *owner);
	void *owner;
};

/* Makes the store NAME in the directory SHELF, and returns its descriptor. What the caller did
 * before AFTER (a reading of the coarse wall clock) is older than it. */
int change_begin(int shelf, const char *name, int directory, int64_t after_ns, struct error *err);
int64_t change_clock(void);
enum change_state change_state(int store);
const char *change_state_name(enum change_state s);

struct change_list *change_list_free(struct change_list *l); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct change_list *, change_list_free);

/* One more conflict, which nobody can force: WHY lives as long as the list. */
void change_forbid(struct change_list *l, const char *path, const char *why);
/* What the view would change, with conflicts. Nothing is changed by it. */
int change_look(const struct change_place *at, struct change_list **ret_list, struct error *err);
/* What was applied, or undone; with CHECK, also what stands against taking it back, or applying it
 * again: somebody has changed it since. PATHS (NULL: all) chooses some of it. */
int change_read(const struct change_place *at, bool check, const char *const *paths,
                struct change_list **ret_list, struct error *err);

/* Chooses what lies below these paths. -ENOENT: of one of them nothing was changed. */
int change_choose(struct change_list *l, const char *const *paths, struct error *err);

/* Applies the list that change_look() gave, or change_read() of what was undone. -EBUSY: there are
 * conflicts, and FORCE is not set. If a step fails, all steps before it are taken back. */
int change_apply(const struct change_place *at, struct change_list *l, bool force,
                 struct error *err);
/* Takes back the chosen part of the list that change_read() gave of what was applied. */
int change_undo(const struct change_place *at, struct change_list *l, bool force,
                struct error *err);
/* Finishes what a crash has interrupted. 1: there was something. */
int change_recover(const struct change_place *at, struct error *err);
/* Removes a store with all that is in it. */
void change_discard(int shelf, const char *name);

/* The letter of one change for people: R for a renaming. 0: not worth a line. */
char change_letter(const struct change *c);

#define CHANGE_DIFF_FILE_MAX ((size_t)256 << 10)
/* The difference of one file as text. False: one of both is no short text, or they are the same. */
bool change_put_diff(const struct change_place *at, const struct change *c, bool applied,
                     struct buffer *into);

/* text.c: the unified difference of two texts, with the names of both. The caller's limit on the
 * buffer holds. */
struct change_text {
	const char *name, *bytes;
	size_t n;
};
void change_text_diff(const struct change_text *before, const struct change_text *after,
                      struct buffer *into);

/* journal.c: a list as bytes, and back. */
int change_journal_write(const struct change_list *l, struct buffer *into);
int change_journal_read(const char *bytes, size_t n, struct change_list **ret_list,
                        struct error *err);
#define CHANGE_JOURNAL_MAX ((size_t)512 << 20)
bool change_path_is_plain(const char *path); /* relative, without "." and ".." */
