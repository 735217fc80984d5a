#pragma once
/*
 * Protect: paths of the workspace that a command must not change or create, because the operator's
 * git, editors or shells would run them.
 *
 * Existing paths are listed as holds. The sandbox binds each of them read-only on itself, so it
 * cannot be renamed away either. Missing paths are noted. After the command they are looked for,
 * and moved away if they appeared. Without mounts an existing path is compared after the command,
 * and reported if it changed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "base/witness.h"

struct arena;
struct buffer;
struct error;
struct history;

#define PROTECT_ABSENT_MAX 2048
#define PROTECT_OFFERS_MAX 64
#define PROTECT_SERVED_MAX 64

struct protect_hold {     /* to be bound on itself, be it a link: it cannot be renamed */
	const char *path; /* absolute */
	bool readonly;
	dev_t device;
	ino_t inode;
};

struct protect_absent {   /* a protected path that no mount protects */
	const char *path; /* relative to the workspace */
	size_t missing;   /* bytes of it, up to the end of the first part that was not there */
	uint64_t content; /* what was there instead; 0: nothing */
	const char *tree; /* the submodule that the path belongs to; NULL: none */
	bool same;        /* it existed, and must be the same file at the end: */
	bool stays;       /* if not, only a process outside can have replaced it */
	struct file_identity identity; /* what it was then */
};

/* A file that is held and that git may replace by a harmless one: broker.h. */
struct protect_offer {
	const char *path; /* relative to the workspace, without links */
	dev_t device;
	ino_t inode;
};

/* A file or directory of the work tree that is held, and that git may change as a person's commits
 * have it: checkout.h. */
struct protect_served {
	const char *path; /* one name in the workspace */
	bool is_directory;
};

/* A directory that the workspace was chosen in: what is protected there stays so. */
struct protect_above {
	const char *path;
	dev_t device;
	ino_t inode;
};

/* The owner fills the first part, whose pointers live as long as the list. */
struct protect {
	struct arena *arena;
	struct witnesses *witnesses; /* of all that was looked at; NULL: nobody asks */
	const char *const *paths;    /* relative to the workspace; NULL: none */
	const char *workspace;       /* canonical */
	int workspace_fd;            /* O_PATH; for the planning only */
	dev_t workspace_device;
	ino_t workspace_inode;
	struct timespec workspace_changed;
	bool workspace_settled; /* that was some time before the plan */
	const char *home;       /* of the operator; canonical or NULL */
	const char *const *other_homes;
	size_t other_home_count;
	/* The directories above the workspace, from the root on. */
	const struct protect_above *above;
	size_t above_count;
	bool readonly;    /* the workspace is, so nothing needs protection */
	bool mounts;      /* holds will be mounted */
	bool has_company; /* other commands work in the workspace */

	struct protect_hold *holds;
	size_t hold_count, hold_capacity;
	struct protect_absent absent[PROTECT_ABSENT_MAX];
	size_t absent_count;
	struct protect_offer offers[PROTECT_OFFERS_MAX];
	size_t offer_count;
	struct protect_served served[PROTECT_SERVED_MAX];
	size_t served_count;
	int place_depth;     /* of git_place_protect(), which may lead to itself */
	const char *refusal; /* why there can be no box; NULL: not known */
};

void protect_reset(struct protect *p); /* to what the owner said */

/* Parts of the workspace that must stay as they are: adds the paths, and what they lead to. */
int protect_plan(struct protect *p);
/* One more such path, absolute; nothing where it lies elsewhere. */
int protect_path(struct protect *p, const char *path);
/* An existing path, absolute, that is hidden: it must be the same file at the end. */
int protect_same(struct protect *p, const char *path);
/* The directories above PATH in the workspace cannot be renamed away. */
int protect_pin_parents(struct protect *p, const char *path);

/* Whether this is the workspace or a directory above it, up to the root. */
bool protect_is_on_the_way(const struct protect *p, dev_t device, ino_t inode);
/* 1: the workspace is protected itself, or lies in a protected directory. */
int protect_above_check(const struct protect *p, struct error *err);
/* Add the paths in the workspace that directories above it protect. */
int protect_above_plan(struct protect *p);

/* A directory outside of the workspace, opened when something must be moved there. */
struct protect_aside {
	int (*open)(void *owner);                /* a descriptor that the owner keeps; -1: none */
	struct history *(*history)(void *owner); /* whose content may appear; NULL: nobody's */
	void *owner;
	const char *id; /* part of the name of a file that is renamed in place */
	int first;      /* how many were moved before, by other looks */
};

/* The sign after a path and a tab; no sign: the file was moved to the directory. */
#define PROTECT_RENAMED '=' /* in place, to the path that follows */
#define PROTECT_STAYS   '!' /* it could not be moved */
#define PROTECT_CHANGED '~' /* it existed before, and no mount protected it */

/* Move each path that appeared to the directory, or rename it in place if that is on another file
 * system. Append the names to *planted, one per line. Returns how many.
 *
 * A bound path that is another file now was replaced from outside, perhaps by the operator. It
 * stays, but the command could write it from then on. So it is named in *replaced, unless git would
 * run nothing in it. */
int protect_check(const struct protect *p, const struct protect_aside *aside,
                  struct buffer *planted, struct buffer *replaced);
