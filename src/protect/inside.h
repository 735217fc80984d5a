#pragma once
/*
 * What the files of this room share.
 *
 *   protect.c        the list before the command       check.c        the look after it
 *   above.c          directories above the workspace   leads.c        links, paths without dots
 *   repositories.c   which repositories there are      harmless.c     what git may make by itself
 *   git*.c, modules.c, submodules.c                    what git reads and runs; see git.h
 *   broker.c         what git may replace              gitsafe.c      which configuration runs
 * nothing checkout.c       what git may do in its work tree  refs.c         which commits are a
 * person's git{object,store,history,refs}.c, sha1.c           what a repository has, verified by
 * hashes trusted.c        files that are a person's         workspace.c    files, without links out
 */
#include "protect/protect.h"

#define PROTECT_MODULES ".gitmodules"

/* A path relative to the workspace. */
int protect_inside(struct protect *p, const char *inside);
/* The file, which is protected, is one that broker.h is about. */
void protect_offer(struct protect *p, const char *inside);
/* The submodule at TREE has, or may get, this path. */
int protect_submodule(struct protect *p, const char *path, const char *tree);
/* Takes a hold that was found by another list, or adds to one for the same path. */
int protect_hold_add(struct protect *p, const struct protect_hold *hold);
/* A number for what a path is now, with what a directory has in it; never 0. */
uint64_t protect_content_of(int fd);
/* Store the reason why there can be no box, for the caller; returns CODE. */
int protect_refuse(struct protect *p, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* workspace.c. Follows links as far as they stay in the workspace; a descriptor or a negative
 * errno. */
int workspace_open(int workspace_fd, const char *path, uint64_t flags);
/* A regular file of the workspace as text, no link. */
int workspace_read(int workspace_fd, const char *path, struct buffer *text);

/* check.c. The workspace itself: the list may come from a process that closed its descriptors
 * since. */
int workspace_open_anew(const struct protect *p);

/* harmless.c. Whether git would run nothing of what appeared at the path. */
bool protect_is_harmless(int workspace_fd, const struct protect_absent *a);
/* Whether the repository in this directory ("": the workspace) runs nothing. WORKTREE: the one that
 * its configuration may name; NULL: none. */
bool protect_repository_is_harmless(int workspace_fd, const char *directory, const char *worktree);
/* submodules.c. Whether PATH, which was not there, is what git makes for the submodule at TREE and
 * runs nothing. */
bool protect_submodule_is_harmless(int workspace_fd, const char *path, const char *tree);

struct git_text;
/* Whether the submodules that a .gitmodules names, and did not name before (WAS; NULL: nothing),
 * are not there, or run nothing. */
bool protect_modules_are_harmless(int workspace_fd, const struct git_text *now,
                                  const struct git_text *was);

struct history;
/* trusted.c. Whether the open file is a person's at this path. */
bool trusted_file(struct history *h, int fd, const char *path);

/* leads.c: where the link FD at PATH, relative to the workspace as the answer is, leads. NULL: out
 * of the workspace, or there is no memory. */
const char *protect_lead_of_link(struct protect *p, const char *path, int fd);
#define PROTECT_GITFILE "gitdir: " /* before the path, if .git is a file */
/* "a/../b" without the dots; NULL: it leads out of where it begins, is empty, or there is no
 * memory. */
const char *protect_fold(struct protect *p, const char *path);
/* The same for an absolute path, which has no way out of the root. */
const char *protect_fold_absolute(struct protect *p, const char *path);
