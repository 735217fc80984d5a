/*
 * Where a line runs files whose names cannot be known, any file of the workspace may be meant. All
 * of them are bound by one digest: names, numbers, times and, as far as they are small, contents.
 * A directory is read by its names in order, so the same tree gives the same digest.
 */
#include "approval/gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"

#define TREE_ENTRIES_MAX 8192
#define TREE_DEPTH_MAX   40

struct tree {
	struct gathering *g;
	struct buffer all;
	size_t entries, files;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put(struct buffer *b, const char *text, size_t n)
{
	uint64_t len = n;

	buffer_append(b, &len, sizeof(len));
	buffer_append(b, text, n);
}

struct names {
	char **list;
	size_t count;
};

static void names_done(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
}

static int read_names(int fd, size_t most, struct names *ret)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	size_t capacity = 0;
	struct dirent *d;
	int r = 0;

	if (!dir) {
		r = -errno;
		fd_close(copy);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (ret->count == most) {
			r = -E2BIG;
		} else if (ret->count == capacity) {
			size_t more = capacity ? 2 * capacity : 32;
			char **grown = reallocarray(ret->list, more, sizeof(*grown));

			if (grown)
				ret->list = grown;
			capacity = grown ? more : capacity;
			r = grown ? 0 : -ENOMEM;
		}
		if (r == 0 && !(ret->list[ret->count] = strdup(d->d_name)))
			r = -ENOMEM;
		ret->count += r == 0;
	}
	closedir(dir);
	if (r == 0 && ret->count > 0)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_name);
	return r;
}

static int put_file(struct tree *t, int at, const char *name, const struct statx *st)
{
	struct object_file f = {0};
	int r;

	t->files++;
	t->g->bytes += st->stx_size <= OBJECT_CONTENT_MAX ? st->stx_size : 0;
	if (t->g->bytes > OBJECT_CONTENTS_MAX)
		return -E2BIG;
	object_fill(st, &f);
	r = object_fill_content(at, name, st, &f);
	if (r == -EACCES) /* who cannot read it cannot run it, either */
		r = 0;
	buffer_append(&t->all, &f, sizeof(f));
	return r;
}

static int walk(struct tree *t, int fd, int depth);

/* Of a link what it says, and the file that it leads to. */
static int put_entry(struct tree *t, int fd, const char *name, int depth)
{
	scoped(fd_closep) int sub = -1;
	char target[PATH_MAX];
	struct statx st;
	ssize_t n;

	put(&t->all, name, strlen(name));
	if (object_look(fd, name, AT_SYMLINK_NOFOLLOW, &st) < 0)
		return -errno == -ENOENT ? 0 : -errno;
	if (S_ISLNK(st.stx_mode)) {
		n = readlinkat(fd, name, target, sizeof(target));
		put(&t->all, target, n < 0 ? 0 : (size_t)n);
		if (object_look(fd, name, 0, &st) < 0 || !S_ISREG(st.stx_mode))
			return 0;
	}
	if (S_ISREG(st.stx_mode))
		return put_file(t, fd, name, &st);
	if (!S_ISDIR(st.stx_mode))
		return 0;
	sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return sub < 0 ? 0 : walk(t, sub, depth + 1);
}

static int walk(struct tree *t, int fd, int depth)
{
	scoped(names_done) struct names names = {0};
	int r = depth > TREE_DEPTH_MAX ? -E2BIG : 0;

	if (r == 0)
		r = read_names(fd, TREE_ENTRIES_MAX - t->entries, &names);
	if (r == -EACCES)
		return 0;
	t->entries += names.count;
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = put_entry(t, fd, names.list[i], depth);
	put(&t->all, "", 0);
	return r == 0 ? buffer_error(&t->all) : r;
}

int gather_tree(struct gathering *g, struct digest *ret, size_t *ret_count)
{
	struct tree t = {.g = g};
	int r = walk(&t, g->subject->workspace_fd, 0);

	if (r == 0)
		digest_make(t.all.data ? t.all.data : "", t.all.len, ret);
	*ret_count = t.files;
	buffer_done(&t.all);
	return r;
}
