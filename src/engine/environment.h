#pragma once
/*
 * Environment: the variables of a command, built from an allow list. Whatever else nacre's own
 * environment holds (tokens, keys, agent sockets, loader and shell settings) does not pass.
 */
struct arena;
struct error;

/* BASE is nacre's own environment, EXTRA the request's (may be NULL), CWD becomes PWD. The array
 * and its strings live in the arena, or are those of the arguments. */
int environment_build(struct arena *arena, const char *const *base, const char *const *extra,
                      const char *cwd, const char *const **ret_env, struct error *err);
