#pragma once
/*
 * Environment: the variables of a command, built from an allow list. Whatever else nacre's own
 * environment holds (tokens, keys, agent sockets, loader and shell settings) does not pass.
 */
#include <stdbool.h>

struct arena;
struct error;
struct search_ground;

struct environment_wish {
	const char *const *base; /* nacre's own */
	const char *const *pass; /* names and globs that pass beside the usual ones; may be NULL */
	const char *const *set;  /* NAME=VALUE, by the profile; may be NULL */
	const char *const *kept; /* NAME=VALUE, by the session; may be NULL */
	const char *const *dropped; /* names that the session has unset; may be NULL */
	const char *const *extra;   /* NAME=VALUE, by the request; may be NULL */
	/* Of BASE's PATH only what no command can fill; NULL: all of it. */
	const struct search_ground *ground;
	const char *cwd; /* becomes PWD */
	bool all;      /* BASE passes as it is, but for secrets and what is refused of everybody */
	bool terminal; /* there is one, of the kind that output/screen.h knows */
};

/* The array and its strings live in the arena, or are those of the wish. */
int environment_build(struct arena *arena, const struct environment_wish *wish,
                      const char *const **ret_env, struct error *err);
