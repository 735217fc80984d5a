/*
 * The repositories that lie inside of a repository's own: git keeps those of submodules below
 * .git/modules, and what belongs to linked work trees below .git/worktrees. Each has hooks and a
 * configuration of its own, which git reads when it is asked about the outer one, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/box.h"

#define REPOSITORIES_MAX 24 /* each may add some paths to look at afterwards */
#define ENTRIES_MAX      2000
#define DEPTH_MAX        12 /* a submodule's name has slashes, and it may have submodules itself */
#define CONFIG_MAX       ((size_t)64 << 10)

struct walk {
	struct sandbox_plan *plan;
	int repositories, entries;
};

static bool has(int fd, const char *name, mode_t kind)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind;
}

static int protect_in(struct sandbox_plan *p, const char *directory, const char *const *names)
{
	int r = 0;

	for (; r == 0 && *names; names++) {
		const char *path = arena_printf(p->arena, "%s/%s", directory, *names);

		r = path ? box_protect_inside(p, path) : -ENOMEM;
	}
	return r;
}

/* The file in the submodule's own directory that leads here: it must not lead elsewhere. */
static int protect_link(struct sandbox_plan *p, const char *directory, int fd)
{
	scoped(fd_closep) int config =
		openat(fd, "config", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	const char *at, *tree;
	struct stat st;

	if (config < 0 || fstat(config, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_all(config, &text) < 0)
		return 0;
	at = strstr(buffer_str(&text), "worktree = ");
	if (!at)
		return 0;
	at += strlen("worktree = ");
	if (*at == '/' || *at == '"')
		return 0;
	tree = arena_printf(p->arena, "%s/%.*s/.git", directory, (int)strcspn(at, "\n"), at);
	if (!tree)
		return -ENOMEM;
	tree = box_fold(p, tree);
	return tree ? box_protect_inside(p, tree) : 0;
}

/* The same for a linked work tree, whose place is told by a file. */
static int protect_tree(struct sandbox_plan *p, const char *directory)
{
	const char *path = arena_printf(p->arena, "%s/gitdir", directory);
	const char *tree = path ? box_lead_of_file(p, path, "") : NULL;

	if (!path)
		return -ENOMEM;
	return tree ? box_protect_inside(p, tree) : 0;
}

static int protect_repository(struct walk *w, const char *directory, int fd)
{
	static const char *const names[] = {"hooks", "config", "config.worktree", "commondir",
	                                    NULL};
	int r;

	if (++w->repositories > REPOSITORIES_MAX)
		return -E2BIG;
	r = protect_in(w->plan, directory, names);
	if (r == 0)
		r = protect_link(w->plan, directory, fd);
	return r == 0 ? protect_tree(w->plan, directory) : r;
}

/* One of these is in every repository, and a command can remove none of them. */
static bool is_repository(int fd)
{
	return has(fd, "config", S_IFREG) || has(fd, "hooks", S_IFDIR) ||
	       has(fd, "commondir", S_IFREG) || has(fd, "HEAD", S_IFREG);
}

static int visit(struct walk *w, const char *directory, int depth);

/* What looks like a repository may have been made to, above another one: all of it is looked at but
 * for what git fills with its own. */
static int visit_entries(struct walk *w, const char *directory, DIR *dir, int depth, bool inside)
{
	static const char *const skipped[] = {"objects", "refs", "logs", "hooks", "info", "lfs"};
	struct dirent *d;
	int r = 0;

	while (r == 0 && (d = readdir(dir))) {
		const char *path;
		bool skip = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		            (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN);

		if (++w->entries > ENTRIES_MAX)
			return -E2BIG;
		for (size_t i = 0; inside && i < array_size(skipped); i++)
			skip = skip || strcmp(d->d_name, skipped[i]) == 0;
		if (skip)
			continue;
		path = arena_printf(w->plan->arena, "%s/%s", directory, d->d_name);
		r = path ? visit(w, path, depth - 1) : -ENOMEM;
	}
	return r;
}

/* A directory is a repository, or part of the name of some. */
static int visit(struct walk *w, const char *directory, int depth)
{
	int fd = box_open_inside(w->plan->workspace_fd, directory,
	                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
	    r = 0;
	bool repository;
	DIR *dir;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	dir = depth > 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		fd_close(fd);
		return depth > 0 ? -ENOMEM : -E2BIG;
	}
	repository = is_repository(fd);
	if (repository)
		r = protect_repository(w, directory, fd);
	if (r == 0)
		r = visit_entries(w, directory, dir, depth, repository);
	closedir(dir);
	return r;
}

int box_modules_plan(struct sandbox_plan *p, const char *directory)
{
	static const char *const places[] = {"modules", "worktrees"};

	for (size_t i = 0; i < array_size(places); i++) {
		const char *place = arena_printf(p->arena, "%s/%s", directory, places[i]);
		struct walk w = {.plan = p};
		int r = place ? visit(&w, place, DEPTH_MAX) : -ENOMEM;

		/* More than can be watched one by one, or not to be read: all of it stays. */
		if (r < 0 && r != -ENOMEM)
			r = box_protect_inside(p, place);
		if (r < 0)
			return r;
	}
	return 0;
}
