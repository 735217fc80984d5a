/*
 * The repositories whose git would run what lies in the workspace: the one that the workspace is
 * the work tree of, those that it is a part of, the main one of a linked work tree, and all of
 * their work trees and submodules, wherever they are.
 *
 * A relative core.hooksPath begins at the top of the work tree that git works in, so each top is
 * collected first, and each name of the configuration is protected below each of them. What tells
 * git, and the next plan, where all this lies is protected as well.
 */
#include "protect/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"

#define REPOSITORIES_MAX 256
#define TOPS_MAX         1024
/* More repositories than this in one directory of the workspace are not watched one by one: the
 * directory stays as it is. */
#define WATCHED_MAX 24

struct top {
	struct top *next;
	const char *path;
};

struct repository {
	struct repository *next;
	const char *path; /* what its work trees have in common */
	struct git_keys keys;
	struct top *tops;
};

struct gits {
	struct protect *list;
	struct git_keys users;
	struct repository *all;
	size_t repositories, tops, files;
	bool is_whole; /* what is found now lies in a directory that stays as a whole */
};

static int find_repository(struct gits *g, const char *directory, const char *top);

static int find_submodule(void *context, const char *tree);

/* The directory T of a work tree, with what .gitmodules there names. */
static int add_top(struct gits *g, struct repository *repo, const char *path)
{
	const struct protect *p = g->list;
	struct top *t;

	if (!path)
		return -ENOMEM;
	for (t = repo->tops; t; t = t->next)
		if (strcmp(t->path, path) == 0)
			return 0;
	if (++g->tops > TOPS_MAX)
		return protect_refuse(
			g->list, -E2BIG,
			"the repository '%.100s' has too many work trees, here are at most "
			"%d. Run `git worktree prune`, or remove some",
			repo->path, TOPS_MAX);
	t = arena_alloc(p->arena, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct top){.next = repo->tops, .path = path};
	repo->tops = t;
	return path_is_in(path, p->workspace) || path_is_in(p->workspace, path)
	               ? git_submodules_plan(g->list, path, find_submodule, g)
	               : 0;
}

/* Where PATH really lies, as far as it is there. */
static const char *really(struct protect *p, const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) ? arena_strdup(p->arena, real) : protect_fold_absolute(p, path);
}

/* Files of git's own DIRECTORY, where that lies in the workspace. */
static int protect_in(struct protect *p, const char *directory, const char *const *names)
{
	const char *inside = git_inside(p, directory);
	int r = 0;

	if (!inside && strcmp(directory, p->workspace) != 0)
		return 0;
	for (; r == 0 && *names; names++) {
		const char *path =
			inside ? arena_printf(p->arena, "%s/%s", inside, *names) : *names;

		r = path ? protect_inside(p, path) : -ENOMEM;
	}
	return r;
}

/* The file NAME of DIRECTORY, where that lies in the workspace, may be replaced by git. */
static int offer_in(struct protect *p, const char *directory, const char *name)
{
	const char *path = arena_printf(p->arena, "%s/%s", directory, name), *inside;

	if (!path)
		return -ENOMEM;
	inside = git_inside(p, path);
	if (inside)
		protect_offer(p, inside);
	return 0;
}

/* The file in a work tree that leads to its repository: it must not lead elsewhere. */
static int protect_link(struct protect *p, const char *top)
{
	const char *path = arena_printf(p->arena, "%s/.git", top), *inside;
	struct stat st;

	if (!path)
		return -ENOMEM;
	inside = git_inside(p, path);
	return inside && (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) ? protect_inside(p, inside)
	                                                                : 0;
}

/* DIRECTORY is what the linked work tree has of its own. */
static int find_linked(struct gits *g, struct repository *repo, const char *directory, bool watched)
{
	static const char *const names[] = {"hooks",     "config", "config.worktree",
	                                    "commondir", "gitdir", NULL};
	struct protect *p = g->list;
	const char *link, *slash, *top;
	int r = watched && !g->is_whole ? protect_in(p, directory, names) : 0;

	if (r == 0)
		r = git_lead_of_file(p, arena_printf(p->arena, "%s/gitdir", directory), "", &link);
	if (r < 0)
		return r;
	slash = link ? strrchr(link, '/') : NULL;
	if (slash && slash > link) {
		top = arena_strndup(p->arena, link, (size_t)(slash - link));
		top = top ? really(p, top) : NULL;
		r = add_top(g, repo, top);
		if (r == 0)
			r = git_place_protect(p, top, GIT_NAMED_WAY);
		if (r == 0)
			r = protect_link(p, top);
	}
	return r == 0 ? git_keys_read(p, arena_printf(p->arena, "%s/config.worktree", directory),
	                              &g->files, &repo->keys)
	              : r;
}

static int count_module(void *context, const char *directory)
{
	size_t *count = context;

	++*count;
	return 0;
}

static int find_module(void *context, const char *directory)
{
	return find_repository(context, directory, NULL);
}

static int find_modules(struct gits *g, const char *directory)
{
	struct protect *p = g->list;
	const char *place = arena_printf(p->arena, "%s/modules", directory);
	bool had = g->is_whole;
	size_t count = 0;
	int r = git_modules_visit(p, place, count_module, &count);

	if (r == 0 && count > WATCHED_MAX && git_inside(p, place)) {
		g->is_whole = true;
		r = protect_inside(p, git_inside(p, place));
	}
	if (r == 0 && count > 0)
		r = git_modules_visit(p, place, find_module, g);
	g->is_whole = had;
	return r;
}

/* The linked work trees, each with the modules of its own. */
static int find_all_linked(struct gits *g, struct repository *repo)
{
	struct protect *p = g->list;
	const char *place = arena_printf(p->arena, "%s/worktrees", repo->path);
	int fd = place ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, r = 0, count = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!place)
		return -ENOMEM;
	if (!dir) {
		r = -errno;
		fd_close(fd);
		witness_add(p->witnesses, place, false);
		return path_is_absent(r) || r == -EACCES
		               ? 0
		               : protect_refuse(p, r, "'%.150s' cannot be looked at: %s", place,
		                                strerrordesc_np(-r));
	}
	witness_add(p->witnesses, place, true);
	while (r == 0 && (d = readdir(dir))) {
		const char *path;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		path = arena_printf(p->arena, "%s/%s", place, d->d_name);
		r = path ? find_linked(g, repo, path, ++count <= WATCHED_MAX) : -ENOMEM;
		if (r == 0)
			r = find_modules(g, path);
	}
	closedir(dir);
	if (r == 0 && count > WATCHED_MAX && git_inside(p, place))
		r = protect_inside(p, git_inside(p, place));
	return r;
}

/* Where the work trees of the repository are: told by its configuration, or beside it; and what
 * runs in none begins in the repository itself. */
static int find_tops(struct gits *g, struct repository *repo)
{
	struct protect *p = g->list;
	const char *slash = strrchr(repo->path, '/'), *tree;
	int r = add_top(g, repo, repo->path);

	if (r == 0 && slash > repo->path && strcmp(slash, "/.git") == 0)
		r = add_top(g, repo,
		            arena_strndup(p->arena, repo->path, (size_t)(slash - repo->path)));
	tree = repo->keys.tree ? git_path_of_value(p, repo->path, repo->keys.tree) : NULL;
	tree = tree ? really(p, tree) : NULL;
	if (r == 0 && tree)
		r = add_top(g, repo, tree);
	if (r == 0 && tree)
		r = protect_link(p, tree);
	return r == 0 ? find_all_linked(g, repo) : r;
}

static int add_repository(struct gits *g, const char *path, struct repository **ret_repo)
{
	static const char *const names[] = {"hooks",     "config",          "config.worktree",
	                                    "commondir", "info/attributes", NULL};
	struct protect *p = g->list;
	struct repository *repo;
	int r;

	for (repo = g->all; repo; repo = repo->next)
		if (strcmp(repo->path, path) == 0) {
			*ret_repo = repo;
			return 0;
		}
	if (++g->repositories > REPOSITORIES_MAX)
		return protect_refuse(
			p, -E2BIG,
			"there are more than %d repositories around '%.100s'. git may run "
			"what they name, so nothing runs",
			REPOSITORIES_MAX, path);
	repo = arena_alloc(p->arena, sizeof(*repo));
	if (!repo)
		return -ENOMEM;
	*repo = (struct repository){.next = g->all, .path = path};
	g->all = *ret_repo = repo;
	r = g->is_whole ? 0 : protect_in(p, path, names);
	if (r == 0 && !g->is_whole)
		r = offer_in(p, path, "config");
	if (r == 0)
		r = git_keys_read(p, arena_printf(p->arena, "%s/config", path), &g->files,
		                  &repo->keys);
	if (r == 0)
		r = git_keys_read(p, arena_printf(p->arena, "%s/config.worktree", path), &g->files,
		                  &repo->keys);
	if (r == 0)
		r = find_tops(g, repo);
	return r == 0 ? find_modules(g, path) : r;
}

/* DIRECTORY is git's own of the work tree TOP (NULL: not known). */
static int find_repository(struct gits *g, const char *directory, const char *top)
{
	struct protect *p = g->list;
	struct repository *repo = NULL;
	const char *common = NULL;
	char real[PATH_MAX];
	int r;

	r = git_place_protect(p, directory, GIT_NAMED_WAY);
	if (r < 0 || !realpath(directory, real))
		return r; /* what is not there is noted with what is protected in it */
	directory = arena_strdup(p->arena, real);
	r = directory ? git_lead_of_file(p, arena_printf(p->arena, "%s/commondir", directory), "",
	                                 &common)
	              : -ENOMEM;
	if (r < 0)
		return r;
	if (common)
		r = git_place_protect(p, common, GIT_NAMED_WAY);
	if (r < 0)
		return r;
	if (common && realpath(common, real)) {
		common = arena_strdup(p->arena, real);
		if (!common)
			return -ENOMEM;
	} else {
		common = directory;
	}
	r = add_repository(g, common, &repo);
	if (r == 0 && strcmp(common, directory) != 0)
		r = find_linked(g, repo, directory, true);
	if (r == 0 && top)
		r = add_top(g, repo, top);
	return r;
}

/* A directory with the few entries that git asks for is a repository itself. */
static bool is_bare(struct protect *p, const char *top)
{
	static const char *const names[] = {"HEAD", "objects", "refs"};
	struct stat st;

	for (size_t i = 0; i < array_size(names); i++) {
		const char *path = arena_printf(p->arena, "%s/%s", top, names[i]);

		if (!path || lstat(path, &st) < 0)
			return false;
	}
	return true;
}

/* What git finds when it looks for a repository in the directory TOP. */
static int find_at(struct gits *g, const char *top)
{
	struct protect *p = g->list;
	const char *path = arena_printf(p->arena, "%s/.git", strcmp(top, "/") == 0 ? "" : top);
	const char *lead = path;
	struct stat st;
	int r = 0;

	if (!path)
		return -ENOMEM;
	witness_add(p->witnesses, path, false);
	if (stat(path, &st) == 0) {
		if (S_ISREG(st.st_mode))
			r = git_lead_of_file(p, path, PROTECT_GITFILE, &lead);
		if (r == 0 && lead)
			r = find_repository(g, lead, top);
	}
	return r == 0 && is_bare(p, top) ? find_repository(g, top, top) : r;
}

static int find_submodule(void *context, const char *tree)
{
	return find_at(context, tree);
}

/* Every name below every top. */
static int protect_named(struct gits *g, const struct repository *repo, const struct git_keys *keys)
{
	int r = 0;

	for (const struct git_value *v = keys->values; r == 0 && v; v = v->next)
		for (const struct top *t = repo->tops; r == 0 && t; t = t->next) {
			const char *path = git_path_of_value(g->list, t->path, v->text);

			r = path ? git_place_protect(g->list, path, v->kind) : 0;
		}
	return r;
}

int git_plan(struct protect *p)
{
	struct gits g = {.list = p};
	const char *at = p->workspace;
	int r = git_keys_read_users(p, &g.files, &g.users);

	while (r == 0 && at) {
		char *slash;

		r = find_at(&g, at);
		if (strcmp(at, "/") == 0)
			break;
		slash = strrchr(at, '/');
		at = slash == at ? "/" : arena_strndup(p->arena, at, (size_t)(slash - at));
		if (!at)
			return -ENOMEM;
	}
	/* A repository may be made here any time. */
	if (r == 0)
		r = protect_named(&g,
		                  &(struct repository){.tops = &(struct top){.path = p->workspace}},
		                  &g.users);
	for (const struct repository *repo = g.all; r == 0 && repo; repo = repo->next) {
		r = protect_named(&g, repo, &repo->keys);
		if (r == 0)
			r = protect_named(&g, repo, &g.users);
	}
	return r;
}
