/*
 * How much there is in a tree that commands write. No recursion: the tree may be as deep as its
 * maker likes. What is deeper than any honest one counts as too much.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"
#include "session/room-git.h"

#define DEPTH_MAX 128

struct walk {
	DIR *levels[DEPTH_MAX];
	int depth;
	uint64_t bytes, files, max_bytes, max_files;
};

static bool is_over(const struct walk *w)
{
	return w->bytes > w->max_bytes || w->files > w->max_files;
}

static void enter(struct walk *w, int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fd_close(fd);
		return;
	}
	if (w->depth == DEPTH_MAX) {
		w->bytes = UINT64_MAX;
		closedir(dir);
		return;
	}
	w->levels[w->depth++] = dir;
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
		enter(w, dirfd(dir), d->d_name);
}

void room_walk(int at, const char *name, uint64_t max_bytes, uint64_t max_files, uint64_t *bytes,
               uint64_t *files)
{
	struct walk *w = calloc(1, sizeof(*w));

	*bytes = *files = 0;
	if (!w)
		return;
	w->max_bytes = max_bytes;
	w->max_files = max_files;
	enter(w, at, name);
	while (w->depth > 0) {
		DIR *dir = w->levels[w->depth - 1];
		const struct dirent *d = is_over(w) ? NULL : readdir(dir);

		if (d)
			visit(w, dir, d);
		else
			closedir(w->levels[--w->depth]);
	}
	*bytes = w->bytes;
	*files = w->files;
	free(w);
}
