#pragma once
/*
 * Search path: which directories of the operator's PATH a command gets.
 *
 * A name that is looked up in PATH is taken for a program that the agent cannot have written. That
 * is true of a directory which no command can fill. The directories below home, the temporary
 * directories and the workspace are private to the box or the agent's own, so they are left out,
 * unless the profile grants them read-only.
 */
#include <stdbool.h>

struct arena;
struct profile;

struct search_ground {
	const char *workspace; /* canonical */
	const char *home;      /* NULL: none */
	const char *const
		*readable; /* paths that are granted read-only; "~/" is home; may be NULL */
	const char *const *writable; /* paths that commands can write; may be NULL */
	bool private_home;           /* commands have a home of their own */
};

/* PATH, a list with colons, without what a command could fill. NULL: no memory. */
const char *search_path_clean(struct arena *arena, const char *path,
                              const struct search_ground *ground);

/* The ground of a command of this profile in this workspace. Without a box of ours there is none:
 * NULL, else INTO. The strings are those of the arguments and of the environment. */
const struct search_ground *search_ground_of(const struct profile *profile, const char *workspace,
                                             struct search_ground *into);
