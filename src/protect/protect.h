#pragma once
/*
 * Protect: paths of the workspace that a command must not change, also where they do not exist yet,
 * since git, editors or shells of the operator would run what lies there.
 *
 * What exists is listed, for the sandbox to bind it read-only on itself; then it cannot be renamed
 * away either. What does not exist leaves no trace: after the command it is looked for, and moved
 * out of the way if it appeared. Without mounts what exists is only compared afterwards, and named
 * if it changed.
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

#define PROTECT_ABSENT_MAX 2048

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
	const char *tree; /* of the submodule whose repository, or the way to it, this is; NULL */
	bool same;        /* what was there is protected, and has to be the same at the end: */
	bool stays;       /* if it is not, only somebody outside can have replaced it */
	struct file_identity identity; /* what it was then */
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
	int place_depth;     /* of git_place_protect(), which may lead to itself */
	const char *refusal; /* why there can be no box; NULL: not known */
};

void protect_reset(struct protect *p); /* to what the owner said */

/* Parts of the workspace that must stay as they are: adds the paths, and what they lead to. */
int protect_plan(struct protect *p);
/* One more such path, absolute; nothing where it lies elsewhere. */
int protect_path(struct protect *p, const char *path);
/* What is there, absolute, and is hidden, has to be the same at the end. */
int protect_same(struct protect *p, const char *path);
/* What is above PATH in the workspace cannot be renamed away. */
int protect_pin_parents(struct protect *p, const char *path);

/* Whether this is a directory from the root down, or the workspace. */
bool protect_is_on_the_way(const struct protect *p, dev_t device, ino_t inode);
/* Whether the workspace is protected itself, or lies in something that is; 1: it is so. */
int protect_above_check(const struct protect *p, struct error *err);
/* What is protected by the directories above the workspace, as far as it lies in it. */
int protect_above_plan(struct protect *p);

/* A directory outside of the workspace, opened when something has to be put there. */
struct protect_aside {
	int (*open)(void *owner); /* a descriptor that stays the owner's; -1: there is none */
	void *owner;
	const char *id; /* a name for what is renamed on the spot */
};

/* What is said behind a path and a tab; nothing: it was moved aside. */
#define PROTECT_RENAMED '=' /* on the spot, to the path that follows */
#define PROTECT_STAYS   '!' /* it could not be moved */
#define PROTECT_CHANGED '~' /* it was there before, and nothing kept the command from it */

/* Moves what appeared aside, or, where that is another file system, renames it on the spot. Appends
 * the names, one per line, to *planted. Returns how many. What was bound and is another file now
 * was replaced from outside, by the operator perhaps, so it stays; but the command could write it
 * from then on: it is named in *replaced, unless there is nothing in it that would be run. */
int protect_check(const struct protect *p, const struct protect_aside *aside,
                  struct buffer *planted, struct buffer *replaced);
