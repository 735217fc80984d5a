/*
 * Whether paths still are what they were when somebody relied on them.
 *
 * Most of the paths are not there, and lie side by side in few directories: as long as nothing
 * was made, removed or renamed in a directory, each of its entries is what it was. The time of its
 * last change tells that, unless it is so young that another change in the same instant would not
 * show.
 */
#include "base/witness.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/arena.h"
#include "base/clock.h"

#define SETTLED_MS  1000 /* far more than the grain of a file's times */
#define WITNESS_MAX 1024
#define AROUND_MAX  48

/* When a directory was changed last; all 0: it is not there. */
struct stamp {
	dev_t device;
	ino_t inode;
	int64_t changed_ns;
	bool settled; /* a later change would show */
};

struct around {
	const char *path;
	struct stamp stamp;
};

struct witness {
	const char *path;
	const struct around *around; /* the directory that it is in; NULL: not known */
	dev_t device;
	ino_t inode; /* 0: it was not there */
	int64_t born_ns;
	int64_t changed_ns; /* of a directory of programs; 0: does not matter */
	int sys;            /* why it could not be looked at; 0: it could */
};

struct witnesses {
	struct arena *arena;
	struct witness items[WITNESS_MAX];
	size_t count; /* more than WITNESS_MAX: some are not known */
	struct around around[AROUND_MAX];
	size_t around_count;
};

struct witnesses *witnesses_new(struct arena *arena)
{
	struct witnesses *w = arena_new_object(arena, struct witnesses);

	if (w)
		w->arena = arena;
	return w;
}

void witnesses_reset(struct witnesses *w)
{
	if (w)
		w->count = w->around_count = 0;
}

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct stamp stamp_look(const char *path)
{
	struct stamp stamp = {.settled = true};
	struct stat st;

	if (stat(path, &st) < 0)
		return stamp;
	stamp.device = st.st_dev;
	stamp.inode = st.st_ino;
	stamp.changed_ns = nanoseconds(st.st_ctim);
	stamp.settled = stamp.changed_ns / 1000000 + SETTLED_MS < clock_wall_ms();
	return stamp;
}

static bool stamp_holds(const struct stamp *then, const struct stamp *now)
{
	return then->settled && then->inode == now->inode && then->device == now->device &&
	       then->changed_ns == now->changed_ns;
}

/* A removed file's number is given to the next one that is made, and times can be set: only the
 * time of birth tells them apart. Where the file system has none, any change counts. */
static int64_t born_ns(const struct statx *st)
{
	const struct statx_timestamp *t =
		st->stx_mask & STATX_BTIME ? &st->stx_btime : &st->stx_ctime;

	return t->tv_sec * 1000000000 + t->tv_nsec;
}

static void look(const char *path, bool content, struct witness *ret_witness)
{
	struct statx st;

	*ret_witness = (struct witness){.path = path};
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0) {
		ret_witness->sys = errno;
		return;
	}
	ret_witness->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret_witness->inode = st.stx_ino;
	ret_witness->born_ns = born_ns(&st);
	if (content)
		ret_witness->changed_ns = st.stx_mtime.tv_sec * 1000000000 + st.stx_mtime.tv_nsec;
}

int file_identify(int fd, struct file_identity *ret_identity)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return -errno;
	ret_identity->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret_identity->inode = st.stx_ino;
	ret_identity->born_ns = born_ns(&st);
	return 0;
}

/* The directory that PATH is an entry of, looked at before its entries are; NULL: no more fit. */
static struct around *around(struct witnesses *all, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash && slash > path ? (size_t)(slash - path) : 1;
	struct around *a;

	for (size_t i = 0; i < all->around_count; i++)
		if (strncmp(all->around[i].path, path, n) == 0 && !all->around[i].path[n])
			return &all->around[i];
	if (!slash || all->around_count == AROUND_MAX)
		return NULL;
	a = &all->around[all->around_count];
	a->path = arena_strndup(all->arena, path, n);
	if (!a->path)
		return NULL;
	all->around_count++;
	a->stamp = stamp_look(a->path);
	return a;
}

void witness_add(struct witnesses *all, const char *path, bool content)
{
	struct around *a;
	struct witness *w;

	if (!all)
		return;
	if (!path || all->count >= WITNESS_MAX) {
		all->count = WITNESS_MAX + 1;
		return;
	}
	a = around(all, path);
	w = &all->items[all->count++];
	look(path, content, w);
	w->around = a;
}

bool witnesses_hold(struct witnesses *all)
{
	struct stamp stamps[AROUND_MAX] = {0};
	struct witness now;

	assert(all);
	if (all->count > WITNESS_MAX)
		return false;
	/* Before the entries: a change that comes between is seen the next time. */
	for (size_t i = 0; i < all->around_count; i++)
		stamps[i] = stamp_look(all->around[i].path);
	for (size_t i = 0; i < all->count; i++) {
		const struct witness *w = &all->items[i];

		if (w->around && w->changed_ns == 0 &&
		    stamp_holds(&w->around->stamp, &stamps[w->around - all->around]))
			continue;
		look(w->path, w->changed_ns != 0, &now);
		if (now.sys != w->sys || now.inode != w->inode || now.device != w->device ||
		    now.born_ns != w->born_ns || now.changed_ns != w->changed_ns)
			return false;
	}
	for (size_t i = 0; i < all->around_count; i++)
		all->around[i].stamp = stamps[i];
	return true;
}
