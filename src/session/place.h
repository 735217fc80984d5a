#pragma once
/*
 * Place: where a request runs, resolved by the kernel and held by descriptors.
 */
#include <limits.h>
#include <stdbool.h>

struct error;
struct profile;

struct place {
	int workspace_fd, cwd_fd; /* O_PATH; -1: none */
	char workspace[PATH_MAX]; /* canonical */
	/* The directory of the operator's that it was chosen in, the outermost of several;
	 * canonical. Secrets, protected paths and project files of all directories from here down
	 * hold. */
	char root[PATH_MAX];
	char base[PATH_MAX]; /* the directory that was opened first; canonical */
	char cwd[PATH_MAX];  /* canonical */
};

void place_done(struct place *p);

/* Opens the directory OPERATOR names (NULL: the current one). ROOT is one around it that the
 * operator gave, too; NULL: there is none. */
int place_open_workspace(const char *operator_, const char *root, struct place *ret_place,
                         struct error *err);

/* Moves to the workspace that a caller asks for (ASKED, may be NULL), which must lie below a root
 * of the profile or, where it has none, in the workspace opened before; or, for a profile that
 * gives every job a directory of its own, to that of its SESSION, or without one to a new one. What
 * is not asked for has no other root than the same directory asked for. */
int place_choose_workspace(struct place *p, const struct profile *profile, const char *asked,
                           const char *session, struct error *err);

/* Whether a root of the profile lies around the root that is known; then it is the root. */
bool place_raise_root(struct place *p, const struct profile *profile);

/* Whether a canonical path is this canonical directory, or lies below it. */
bool place_is_inside(const char *path, const char *directory);

/* CWD is relative to the workspace, or absolute and inside of it; NULL: its root. */
int place_open_cwd(struct place *p, const char *cwd, struct error *err);

/* The working directory relative to the workspace; "." for its root. */
const char *place_relative_cwd(const struct place *p);
