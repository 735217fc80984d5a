/*
 * The repositories that lie inside of a repository's own: git keeps those of submodules below
 * .git/modules. Each has hooks and a configuration of its own, which git reads when it is asked
 * about the outer one, too.
 *
 * A submodule's name has slashes, and what looks like a repository may have been made to, above
 * another one. So all of it is looked at, but for what git fills with its own.
 */
#include "protect/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"

#define ENTRIES_MAX 20000
#define DEPTH_MAX   32

struct walk {
	struct protect *list;
	const char *top;
	int (*visit)(void *context, const char *directory);
	void *context;
	int entries;
};

static bool has(int fd, const char *name, mode_t kind)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* One of these is in every repository, and a command can remove none of them. */
static bool is_repository(int fd)
{
	return has(fd, "config", S_IFREG) || has(fd, "hooks", S_IFDIR) ||
	       has(fd, "commondir", S_IFREG) || has(fd, "HEAD", S_IFREG);
}

static bool is_skipped(const struct dirent *d, bool inside)
{
	static const char *const names[] = {"objects", "refs", "logs",    "hooks",
	                                    "info",    "lfs",  "modules", "worktrees"};
	bool skip = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
	            (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN);

	/* The last two are looked at with the repository that has them. */
	for (size_t i = 0; inside && !skip && i < array_size(names); i++)
		skip = strcmp(d->d_name, names[i]) == 0;
	return skip;
}

static int walk(struct walk *w, const char *directory, int depth);

static int walk_entries(struct walk *w, const char *directory, DIR *dir, int depth, bool inside)
{
	struct dirent *d;
	int r = 0;

	while (r == 0 && (d = readdir(dir))) {
		const char *path;

		if (++w->entries > ENTRIES_MAX)
			return protect_refuse(
				w->list, -E2BIG,
				"'%.110s' has more than %d entries. git may run what is "
				"in there, so nothing runs. Remove some",
				w->top, ENTRIES_MAX);
		if (is_skipped(d, inside))
			continue;
		path = arena_printf(w->list->arena, "%s/%s", directory, d->d_name);
		r = path ? walk(w, path, depth + 1) : -ENOMEM;
	}
	return r;
}

/* A directory is a repository, or part of the name of some. */
static int walk(struct walk *w, const char *directory, int depth)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool repository;

	if (!dir) {
		r = -errno;
		fd_close(fd);
		/* Where we may not look, the operator's git may not either. */
		return path_is_absent(r) || r == -EACCES
		               ? 0
		               : protect_refuse(w->list, r, "'%.150s' cannot be looked at: %s",
		                                directory, strerrordesc_np(-r));
	}
	witness_add(w->list->witnesses, directory, true);
	if (depth > DEPTH_MAX)
		r = protect_refuse(
			w->list, -E2BIG,
			"'%.110s' has more than %d directories in one another. git may run "
			"what is in there, so nothing runs. Remove some",
			w->top, DEPTH_MAX);
	repository = r == 0 && is_repository(fd);
	if (repository)
		r = w->visit(w->context, directory);
	if (r == 0)
		r = walk_entries(w, directory, dir, depth, repository);
	closedir(dir);
	return r;
}

int git_modules_visit(struct protect *p, const char *path,
                      int (*visit)(void *context, const char *directory), void *context)
{
	struct walk w = {.list = p, .top = path, .visit = visit, .context = context};

	return path ? walk(&w, path, 0) : -ENOMEM;
}
