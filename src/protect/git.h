#pragma once
/*
 * Git: files that the operator's git would run or trust, if a command could write them. For the
 * files of this room only.
 *
 * Git's own rules are followed, and conditions in them are taken to hold. Paths are absolute,
 * because repositories and configurations outside of the workspace may name files inside. Nothing
 * outside is written. A file that cannot be read to its end is refused, because its contents are
 * not known.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct buffer;
struct protect;

/* gitconfig.c: one "key = value" of a configuration. SECTION and KEY are lower case. */
struct git_key {
	const char *section;
	const char *name; /* [section "name"]; "": none */
	const char *key;
	const char *value; /* NULL: there is no "=" */
};

/* Visits each key in order, until one visit does not return 0. What git takes for an error ends a
 * line here. The strings live for the visit only. */
int git_config_parse(const char *bytes, size_t n,
                     int (*visit)(void *context, const struct git_key *key), void *context);

/* gitsafe.c: whether git would run or read no more by NOW than by WAS (NULL: by nothing). WORKTREE:
 * the one that it may name; NULL: none. */
struct git_text {
	const char *bytes;
	size_t n;
};
bool git_config_is_harmless(const struct git_text *now, const struct git_text *was,
                            const char *worktree);
/* The same, also for whoever reads the file while WAS is written over by NOW. */
bool git_config_may_replace(const struct git_text *now, const struct git_text *was);

/* gitread.c: files of the operator's git, in the workspace or not. */
#define GIT_FILE_MAX ((size_t)1 << 20)
/* 1: it was read. 0: git could not read it either. Negative: the plan fails. */
int git_file_read(struct protect *p, const char *path, struct buffer *text);
/* The path that the file names after PREFIX, relative to the file's directory; NULL: none. */
int git_lead_of_file(struct protect *p, const char *path, const char *prefix,
                     const char **ret_path);
/* VALUE as a path: "~/" is the home of the operator. A relative one begins at BASE. NULL: it is
 * none, or there is no memory. */
const char *git_path_of_value(struct protect *p, const char *base, const char *value);
/* PATH relative to the workspace; NULL: it lies elsewhere, or is the workspace itself. */
const char *git_inside(const struct protect *p, const char *path);

/* gitkeys.c: what configurations name. */
enum git_named {
	GIT_NAMED_HOOKS,
	GIT_NAMED_FILE,    /* read by git, and trusted */
	GIT_NAMED_PROGRAM, /* run by git */
	GIT_NAMED_WAY,     /* a directory: only the way to it must stay */
};

struct git_value {
	struct git_value *next;
	enum git_named kind;
	const char *text;
};

struct git_keys {
	struct git_value *values; /* relative to the top of each work tree, unless absolute */
	struct git_file *files;   /* those that were read */
	const char *tree;         /* core.worktree; NULL: none */
};

/* Reads the configuration and all that it includes. COUNT: files that were read for the plan. */
int git_keys_read(struct protect *p, const char *path, size_t *count, struct git_keys *keys);
/* The configuration of the system and of the operator. */
int git_keys_read_users(struct protect *p, size_t *count, struct git_keys *keys);

/* gitplaces.c: protects what lies at this absolute path, and all links on the way. */
int git_place_protect(struct protect *p, const char *path, enum git_named kind);

/* repositories.c: which repositories there are, and what they and their configurations name. */
int git_plan(struct protect *p);

/* modules.c: visits the repository in each directory below PATH, where git keeps those of
 * submodules. */
int git_modules_visit(struct protect *p, const char *path,
                      int (*visit)(void *context, const char *directory), void *context);

/* submodules.c: protects the places of the submodules that .gitmodules in the directory TOP names,
 * and visits them. */
int git_submodules_plan(struct protect *p, const char *top,
                        int (*visit)(void *context, const char *tree), void *context);
