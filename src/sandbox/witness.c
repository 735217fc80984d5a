/*
 * Whether a plan still holds: what it was made for is looked at again before each command.
 *
 * Most of these paths are not there, and lie side by side in few directories: as long as nothing
 * was made, removed or renamed in a directory, each of its entries is what it was. The time of its
 * last change tells that, unless it is so young that another change in the same instant would not
 * show.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/arena.h"
#include "base/clock.h"
#include "sandbox/box.h"

#define SETTLED_MS 1000 /* far more than the grain of a file's times */

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct box_stamp stamp_look(const char *path)
{
	struct box_stamp stamp = {.settled = true};
	struct stat st;

	if (stat(path, &st) < 0)
		return stamp;
	stamp.device = st.st_dev;
	stamp.inode = st.st_ino;
	stamp.changed_ns = nanoseconds(st.st_ctim);
	stamp.settled = stamp.changed_ns / 1000000 + SETTLED_MS < clock_wall_ms();
	return stamp;
}

static bool stamp_holds(const struct box_stamp *then, const struct box_stamp *now)
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

static void look(const char *path, bool content, struct box_witness *ret_witness)
{
	struct statx st;

	*ret_witness = (struct box_witness){.path = path};
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

int box_identify(int fd, struct box_absent *ret_who)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return -errno;
	ret_who->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret_who->inode = st.stx_ino;
	ret_who->born_ns = born_ns(&st);
	return 0;
}

/* The directory that PATH is an entry of, looked at before its entries are; NULL: no more fit. */
static struct box_around *around(struct sandbox_plan *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash && slash > path ? (size_t)(slash - path) : 1;
	struct box_around *a;

	for (size_t i = 0; i < p->around_count; i++)
		if (strncmp(p->around[i].path, path, n) == 0 && !p->around[i].path[n])
			return &p->around[i];
	if (!slash || p->around_count == BOX_AROUND_MAX)
		return NULL;
	a = &p->around[p->around_count];
	a->path = arena_strndup(p->arena, path, n);
	if (!a->path)
		return NULL;
	p->around_count++;
	a->stamp = stamp_look(a->path);
	return a;
}

void box_witness_add(struct sandbox_plan *p, const char *path, bool content)
{
	struct box_around *a;
	struct box_witness *w;

	if (!p->keeps)
		return;
	if (!p->witnesses)
		p->witnesses = arena_new_array(p->arena, struct box_witness, BOX_WITNESS_MAX);
	if (!path || !p->witnesses || p->witness_count >= BOX_WITNESS_MAX) {
		p->witness_count = BOX_WITNESS_MAX + 1;
		return;
	}
	a = around(p, path);
	w = &p->witnesses[p->witness_count++];
	look(path, content, w);
	w->around = a;
}

bool sandbox_plan_is_current(struct sandbox_plan *p)
{
	struct box_stamp stamps[BOX_AROUND_MAX] = {0};
	struct box_witness now;

	if (!p->keeps || p->witness_count > BOX_WITNESS_MAX)
		return false;
	/* Before the entries: a change that comes between is seen the next time. */
	for (size_t i = 0; i < p->around_count; i++)
		stamps[i] = stamp_look(p->around[i].path);
	for (size_t i = 0; i < p->witness_count; i++) {
		const struct box_witness *w = &p->witnesses[i];

		if (w->around && w->changed_ns == 0 &&
		    stamp_holds(&w->around->stamp, &stamps[w->around - p->around]))
			continue;
		look(w->path, w->changed_ns != 0, &now);
		if (now.sys != w->sys || now.inode != w->inode || now.device != w->device ||
		    now.born_ns != w->born_ns || now.changed_ns != w->changed_ns)
			return false;
	}
	for (size_t i = 0; i < p->around_count; i++)
		p->around[i].stamp = stamps[i];
	return true;
}
