/*
 * How much there is in a tree that commands write. No recursion: the tree may be as deep as its
 * maker likes. A directory that lies too deep is put off, and walked from there afterwards. A tree
 * with more of these than any honest one counts as too much.
 *
 * A directory whose mode keeps its owner out could hide what is in it. It has another mode while it
 * is looked at.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"
#include "session/room-git.h"

#define DEPTH_MAX   128
#define PUT_OFF_MAX 256

struct level {
	int fd;
	DIR *dir; /* has the descriptor; NULL: was put off */
	mode_t mode;
};

struct walk {
	struct level levels[DEPTH_MAX], put_off[PUT_OFF_MAX];
	int depth, put_off_count;
	uint64_t bytes, files, max_bytes, max_files;
};

static bool is_over(const struct walk *w)
{
	return w->bytes == UINT64_MAX || w->bytes > w->max_bytes || w->files > w->max_files;
}

static void leave(struct level *l)
{
	struct stat st;

	if (fstat(l->fd, &st) == 0 && (st.st_mode & 07777) != l->mode)
		(void)fchmod(l->fd, l->mode);
	if (l->dir)
		closedir(l->dir);
	else
		fd_close(l->fd);
}

/* MODE is the one that it shall have afterwards. */
static void enter(struct walk *w, int at, const char *name, mode_t mode)
{
	struct level l = {.fd = fd_open_locked(at, name, geteuid() == 0 ? 0 : 0500, NULL),
	                  .mode = mode & 07777};

	if (l.fd < 0)
		return;
	if (w->depth < DEPTH_MAX && (l.dir = fdopendir(l.fd))) {
		w->levels[w->depth++] = l;
	} else if (w->depth == DEPTH_MAX && w->put_off_count < PUT_OFF_MAX) {
		w->put_off[w->put_off_count++] = l;
	} else {
		w->bytes = UINT64_MAX; /* not seen, so it may be anything */
		leave(&l);
	}
}

static void visit(struct walk *w, DIR *dir, const struct dirent *d)
{
	struct stat st;

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
	    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	w->files++;
	w->bytes += (uint64_t)st.st_blocks * 512;
	if (S_ISDIR(st.st_mode))
		enter(w, dirfd(dir), d->d_name, st.st_mode);
}

/* All below the levels there are, from the deepest up. */
static void walk_levels(struct walk *w)
{
	while (w->depth > 0) {
		struct level *l = &w->levels[w->depth - 1];
		const struct dirent *d = is_over(w) ? NULL : readdir(l->dir);

		if (d)
			visit(w, l->dir, d);
		else
			leave(&w->levels[--w->depth]);
	}
}

void room_walk(int at, const char *name, uint64_t max_bytes, uint64_t max_files, uint64_t *bytes,
               uint64_t *files)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct stat st;

	*bytes = *files = 0;
	if (!w)
		return;
	w->max_bytes = max_bytes;
	w->max_files = max_files;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		enter(w, at, name, st.st_mode);
	walk_levels(w);
	while (w->put_off_count > 0) {
		struct level l = w->put_off[--w->put_off_count];

		if (!is_over(w) && (l.dir = fdopendir(l.fd)))
			w->levels[w->depth++] = l;
		else
			leave(&l);
		walk_levels(w);
	}
	*bytes = w->bytes;
	*files = w->files;
	free(w);
}
