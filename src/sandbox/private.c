/*
 * What not everybody may read below /etc. A box whose kernel user is root, without any capability,
 * is still the owner of most of that: keys, passwords of services, connections. There it is hidden
 * by what it is, since no list knows all of the names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define ENTRIES_MAX 20000
#define DEPTH_MAX   8

struct walk {
	struct sandbox_plan *plan;
	int (*visit)(void *context, const char *path);
	void *context;
	int entries;
};

static int walk(struct walk *w, int parent, const char *name, const char *path, int depth);

static bool is_private(const struct stat *st)
{
	mode_t wanted = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

	return (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode)) && (st->st_mode & wanted) != wanted;
}

static int look_at(struct walk *w, int fd, const char *directory, const char *name, int depth)
{
	const char *path;
	struct stat st;

	bool known = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (known ? !is_private(&st) && !S_ISDIR(st.st_mode) : errno == ENOENT)
		return 0;
	path = arena_printf(w->plan->arena, "%s/%s", directory, name);
	if (!path)
		return -ENOMEM;
	return !known || is_private(&st) ? w->visit(w->context, path)
	                                 : walk(w, fd, name, path, depth + 1);
}

/* What has too much in it to be looked at, or cannot be, is private as a whole. */
static int walk(struct walk *w, int parent, const char *name, const char *path, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		bool absent = path_is_absent(-errno);

		fd_close(fd);
		return absent ? 0 : w->visit(w->context, path);
	}
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    d->d_type == DT_LNK)
			continue;
		if (depth > DEPTH_MAX || ++w->entries > ENTRIES_MAX) {
			r = w->visit(w->context, path);
			break;
		}
		r = look_at(w, fd, path, d->d_name, depth);
	}
	closedir(dir);
	return r;
}

int box_private_visit(struct sandbox_plan *p, int (*visit)(void *context, const char *path),
                      void *context)
{
	struct walk w = {.plan = p, .visit = visit, .context = context};

	return walk(&w, AT_FDCWD, "/etc", "/etc", 0);
}
