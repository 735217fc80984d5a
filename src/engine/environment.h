#pragma once
/*
 * Environment: the variables of a command, built from an allow list. Whatever else nacre's own
 * environment holds (tokens, keys, agent sockets, loader and shell settings) does not pass.
 */
struct arena;
struct error;

struct environment_wish {
	const char *const *base;  /* nacre's own */
	const char *const *pass;  /* names and globs that pass beside the usual ones; may be NULL */
	const char *const *set;   /* NAME=VALUE, by the profile; may be NULL */
	const char *const *extra; /* NAME=VALUE, by the request; may be NULL */
	const char *cwd;          /* becomes PWD */
};

/* The array and its strings live in the arena, or are those of the wish. */
int environment_build(struct arena *arena, const struct environment_wish *wish,
                      const char *const **ret_env, struct error *err);
