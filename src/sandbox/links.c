/*
 * The other names of files, wherever they are. A file tells how many names it has and not which;
 * where some are not accounted for, all that can be run in the box is walked, by the numbers of its
 * files alone. That is seldom: the system's packages keep the names of a file in one directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define ENTRIES_MAX 400000
#define DEPTH_MAX   40

struct walk {
	struct sandbox_plan *plan;
	const struct box_links *links;
	int (*visit)(void *context, const char *path);
	void *context;
	int entries;
};

int box_links_want(struct box_links *links, const struct stat *st)
{
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i].inode == st->st_ino && links->items[i].device == st->st_dev)
			return 0;
	if (links->count == BOX_LINKS_MAX)
		return -E2BIG;
	links->items[links->count++] = (struct box_link){.device = st->st_dev, .inode = st->st_ino};
	return 0;
}

static bool is_wanted(const struct walk *w, int dir_fd, const struct dirent *d)
{
	struct stat st;

	for (size_t i = 0; i < w->links->count; i++)
		if (w->links->items[i].inode == d->d_ino)
			return fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
			               ? errno != ENOENT
			               : st.st_dev == w->links->items[i].device &&
			                         S_ISREG(st.st_mode);
	return false;
}

/* Takes FD, a directory that is PATH. */
static int walk(struct walk *w, int fd, const char *path, int depth)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	int r = 0;

	if (!dir) { /* not ours to list, or no directory; else nobody knows what is in it */
		r = -errno;
		fd_close(fd);
		return path_is_absent(r) || r == -EACCES ? 0 : -E2BIG;
	}
	if (depth > DEPTH_MAX)
		r = -E2BIG;
	while (r == 0 && (d = readdir(dir))) {
		const char *inside;
		bool wanted;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    d->d_type == DT_LNK)
			continue;
		if (++w->entries > ENTRIES_MAX)
			r = -E2BIG;
		wanted = r == 0 && d->d_type != DT_DIR && is_wanted(w, dirfd(dir), d);
		if (r < 0 || (!wanted && d->d_type != DT_DIR && d->d_type != DT_UNKNOWN))
			continue;
		inside = arena_printf(w->plan->arena, "%s/%s", path, d->d_name);
		if (!inside)
			r = -E2BIG;
		else if (wanted)
			r = w->visit(w->context, inside);
		else
			r = walk(w,
			         openat(dirfd(dir), d->d_name,
			                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			         inside, depth + 1);
	}
	closedir(dir);
	return r;
}

static int walk_from(struct walk *w, const char *path)
{
	struct stat st;
	const char *real = path ? box_real(w->plan, path, &st) : NULL;

	return real ? walk(w, open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC), real, 0) : 0;
}

int box_links_find(struct sandbox_plan *p, const struct box_links *links,
                   int (*visit)(void *context, const char *path), void *context)
{
	static const char *const system[] = {"/usr", "/opt", "/etc", "/nix", "/gnu"};
	const char *const *const lists[] = {p->spec->readable, p->spec->writable};
	struct walk w = {.plan = p, .links = links, .visit = visit, .context = context};
	int r = links->count > 0 ? walk_from(&w, p->workspace) : 0;

	for (size_t i = 0; r == 0 && links->count > 0 && i < array_size(system); i++)
		r = walk_from(&w, system[i]);
	for (size_t i = 0; links->count > 0 && i < array_size(lists); i++)
		for (const char *const *l = lists[i]; r == 0 && l && *l; l++)
			r = walk_from(&w, box_expand(p, *l));
	return r;
}
