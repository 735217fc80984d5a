/*
 * What a view has changed: `upper` is walked, and each name of it compared with the same one of
 * the directory. Only what the command has touched is looked at.
 *
 * A conflict is what somebody else has done since the view began. It is known by change times,
 * which nobody can set, from that of `begin` on. Directories merge: names that others made or
 * removed in them are no conflict, as long as the view has not touched the same ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "change/inside.h"

/* Equal sizes with other times: a short file is worth a look, a long one counts as changed. */
#define COMPARED_MAX 65536

#define MEANWHILE "changed by somebody else meanwhile"
#define REMOVED   "removed by somebody else meanwhile"

struct look {
	struct change_list *list;
	struct change_check check; /* of what is there */
	int root_upper, root_lower;
	int failed;
};

/* One name, in both. */
struct entry {
	int upper, lower; /* directories */
	const char *name, *path;
	struct stat now, was;
	bool there;           /* in the directory */
	bool moved_meanwhile; /* names of its directory were changed by others */
	int depth;
};

static struct change *add(struct look *k, enum change_kind kind, const struct entry *e, bool before,
                          bool after)
{
	struct change *c =
		change_add(k->list, kind, e->path, before ? &e->was : NULL, after ? &e->now : NULL);

	if (!c)
		k->failed = k->list->count == CHANGE_MAX ? -E2BIG : -ENOMEM;
	return c;
}

static void conflict(struct look *k, const struct entry *e, const char *why)
{
	change_conflict(k->list, e->path, why);
}

/* Files below a directory that comes or goes: how many, and whether all can be read. */
static void weigh(struct look *k, int at, const struct entry *e, const struct stat *st, bool goes,
                  uint64_t *files)
{
	struct change_check c = {.list = k->list, .since_ns = k->check.since_ns, .inclusive = true};

	if (!S_ISDIR(st->st_mode)) {
		(*files)++;
		k->list->bytes += goes || !S_ISREG(st->st_mode) ? 0 : (uint64_t)st->st_size;
		return;
	}
	c.why = goes ? "changed by somebody else meanwhile, in a directory that goes" : NULL;
	change_check_below(&c, at, e->name, e->path, e->depth + 1);
	*files += c.files + 1;
	k->list->bytes += goes ? 0 : c.bytes;
}

/* What is there goes away, or is replaced. */
static void check_old(struct look *k, const struct entry *e, bool goes)
{
	uint64_t ignored = 0;

	if (change_is_later(&k->check, &e->was))
		conflict(k, e, MEANWHILE);
	if (S_ISDIR(e->was.st_mode))
		weigh(k, e->lower, e, &e->was, true, goes ? &k->list->deleted : &ignored);
	else if (goes)
		k->list->deleted++;
}

static void look_deleted(struct look *k, const struct entry *e)
{
	check_old(k, e, true);
	(void)add(k, CHANGE_DELETED, e, true, false);
}

static void look_added(struct look *k, const struct entry *e)
{
	struct change *c;
	bool copied = change_was_copied(e->upper, e->name);

	/* It was there when it was copied: somebody has removed or moved it since. A file may have
	 * its name from a renaming in the view; settled by find_renames(). */
	if (S_ISDIR(e->now.st_mode) && copied)
		conflict(k, e, REMOVED);
	c = add(k, CHANGE_ADDED, e, false, true);
	if (c)
		c->copied = copied && !S_ISDIR(e->now.st_mode) && e->moved_meanwhile;
	weigh(k, e->upper, e, &e->now, false, &k->list->added);
}

static bool has_same_content(const struct entry *e)
{
	const struct stat *n = &e->now, *o = &e->was;

	if ((n->st_mode & S_IFMT) != (o->st_mode & S_IFMT))
		return false;
	if (S_ISLNK(n->st_mode))
		return change_same_link(e->upper, e->name, e->lower, e->name);
	if (!S_ISREG(n->st_mode))
		return n->st_rdev == o->st_rdev &&
		       change_same_attributes(e->upper, e->name, e->lower, e->name);
	if (n->st_size != o->st_size ||
	    (n->st_size > COMPARED_MAX && change_ns(n->st_mtim) != change_ns(o->st_mtim)))
		return false;
	return change_same_bytes(e->upper, e->name, e->lower, e->name) &&
	       change_same_attributes(e->upper, e->name, e->lower, e->name);
}

static void set_in_place(struct change *c)
{
	c->in_place = true;
	c->after.inode = c->before.inode;
}

static void look_file(struct look *k, const struct entry *e)
{
	bool copied = change_was_copied(e->upper, e->name);
	/* Another name of it was made in the view: files are exchanged, so that both stay one. */
	bool linked = S_ISREG(e->now.st_mode) && e->now.st_nlink > 1 && e->was.st_nlink == 1;
	struct change *c;

	if (!has_same_content(e)) {
		check_old(k, e, false);
		k->list->changed++;
		if (S_ISREG(e->now.st_mode))
			k->list->bytes += (uint64_t)e->now.st_size;
		(void)add(k,
		          (e->now.st_mode & S_IFMT) == (e->was.st_mode & S_IFMT) ? CHANGE_CONTENTS
		                                                                 : CHANGE_TYPE,
		          e, true, true);
		return;
	}
	if (copied && !linked && e->now.st_mode == e->was.st_mode &&
	    change_ns(e->now.st_mtim) == change_ns(e->was.st_mtim))
		return; /* opened for writing, and left as it was */
	check_old(k, e, false);
	k->list->changed++;
	c = add(k, CHANGE_META, e, true, true);
	if (c && copied && !linked && !S_ISLNK(e->now.st_mode))
		set_in_place(c);
}

static void look_below(struct look *k, const struct entry *e);

/* A directory that is in both. */
static void look_both(struct look *k, const struct entry *e)
{
	bool later = change_is_later(&k->check, &e->was);
	bool mode = e->now.st_mode != e->was.st_mode;
	size_t had = k->list->count;
	struct change *c;

	look_below(k, e);
	/* Renamings will change its times, too. */
	if (k->list->count == had && !mode &&
	    change_ns(e->now.st_mtim) == change_ns(e->was.st_mtim))
		return;
	if (mode && later)
		conflict(k, e, MEANWHILE);
	k->list->changed += mode;
	c = add(k, CHANGE_DIRECTORY, e, true, true);
	if (c) {
		set_in_place(c);
		c->keeps_times = later;
	}
}

static void look_entry(struct look *k, struct entry *e)
{
	bool n = S_ISDIR(e->now.st_mode), o;

	e->there = fstatat(e->lower, e->name, &e->was, AT_SYMLINK_NOFOLLOW) == 0;
	if (!e->there && errno != ENOENT) {
		change_forbid(k->list, e->path, "it cannot be read");
		return;
	}
	o = e->there && S_ISDIR(e->was.st_mode);
	if (change_is_whiteout(&e->now)) {
		if (e->there)
			look_deleted(k, e);
	} else if (!e->there) {
		look_added(k, e);
	} else if (n && o &&
	           (!change_is_opaque(e->upper, e->name) ||
	            change_born(e->lower, e->name) >= k->check.since_ns)) {
		/* Of two that were made at the same time the names are put together. */
		look_both(k, e);
	} else if (n || o) {
		uint64_t files = 0;

		check_old(k, e, false);
		weigh(k, e->upper, e, &e->now, false, &files);
		k->list->changed++;
		(void)add(k, n && o ? CHANGE_ANEW : CHANGE_TYPE, e, true, true);
	} else {
		look_file(k, e);
	}
}

/* The names of one directory; the caller's entry tells which. */
static void look_names(struct look *k, const struct entry *above, DIR *upper, int lower)
{
	struct dirent *d;
	char path[PATH_MAX];

	while (k->failed == 0 && (d = readdir(upper))) {
		struct entry e = {.upper = dirfd(upper),
		                  .lower = lower,
		                  .name = d->d_name,
		                  .path = path,
		                  .moved_meanwhile = change_is_later(&k->check, &above->was),
		                  .depth = above->depth + 1};

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s%s%s", above->path, *above->path ? "/" : "",
		             d->d_name) >= (int)sizeof(path)) {
			change_forbid(k->list, above->path, "its paths are too long");
			continue;
		}
		if (fstatat(e.upper, e.name, &e.now, AT_SYMLINK_NOFOLLOW) < 0)
			k->failed = -errno;
		else
			look_entry(k, &e);
	}
}

static void look_below(struct look *k, const struct entry *e)
{
	scoped(fd_closep) int lower = -1;
	DIR *upper = NULL;

	if (e->depth < CHANGE_DEPTH_MAX) {
		lower = openat(e->lower, e->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		upper = lower < 0 ? NULL : change_open_dir(e->upper, e->name);
	}
	if (!upper) {
		change_forbid(k->list, e->path,
		              e->depth < CHANGE_DEPTH_MAX ? "it cannot be read" : "it is too deep");
		return;
	}
	look_names(k, e, upper, lower);
	closedir(upper);
}

struct renames {
	struct change **deleted;
	size_t count;
};

static int by_size_and_time(const void *a, const void *b)
{
	const struct change_meta *x = &(*(struct change *const *)a)->before;
	const struct change_meta *y = &(*(struct change *const *)b)->before;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->modified_ns < y->modified_ns ? -1 : x->modified_ns > y->modified_ns;
}

static int by_meta(const void *key, const void *item)
{
	const struct change_meta *x = key;
	const struct change_meta *y = &(*(struct change *const *)item)->before;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->modified_ns < y->modified_ns ? -1 : x->modified_ns > y->modified_ns;
}

static bool is_same_file(const struct look *k, const struct change *was, const struct change *now)
{
	struct change_walk upper, lower;
	const char *name, *other;
	bool same = false;
	int a, b;

	change_walk_init(&upper, k->root_upper);
	change_walk_init(&lower, k->root_lower);
	a = change_walk_above(&upper, now->path, &name);
	b = change_walk_above(&lower, was->path, &other);
	if (a >= 0 && b >= 0)
		same = S_ISLNK(now->after.mode) ? change_same_link(a, name, b, other)
		                                : change_same_bytes(a, name, b, other);
	change_walk_done(&upper);
	change_walk_done(&lower);
	return same;
}

/* Overlayfs does not say what a copied file was, so it is known by size, time and bytes. */
static void find_renames(struct look *k)
{
	struct change_list *l = k->list;
	struct renames r = {.deleted = calloc(l->count + 1, sizeof(*r.deleted))};

	for (size_t i = 0; r.deleted && i < l->count; i++)
		if (l->items[i].kind == CHANGE_DELETED && !S_ISDIR(l->items[i].before.mode))
			r.deleted[r.count++] = &l->items[i];
	if (r.count > 0)
		qsort(r.deleted, r.count, sizeof(*r.deleted), by_size_and_time);
	for (size_t i = 0; r.count > 0 && i < l->count; i++) {
		struct change *c = &l->items[i], **found;

		if (c->kind != CHANGE_ADDED || S_ISDIR(c->after.mode))
			continue;
		found = bsearch(&c->after, r.deleted, r.count, sizeof(*r.deleted), by_meta);
		if (found && is_same_file(k, *found, c))
			c->from = (*found)->path;
	}
	free(r.deleted);
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].copied && !l->items[i].from)
			change_conflict(l, l->items[i].path, REMOVED);
}

int change_look(const struct change_place *at, struct change_list **ret_list, struct error *err)
{
	scoped(change_list_freep) struct change_list *l = change_list_new();
	scoped(fd_closep) int upper =
		openat(at->store, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct look k = {.list = l, .root_upper = upper, .root_lower = at->directory};
	struct entry root = {.name = ".", .path = ""};
	DIR *dir;

	if (!l)
		return error_nomem(err);
	k.check = (struct change_check){
		.list = l, .since_ns = change_file_time(at->store, "begin"), .inclusive = true};
	if (upper < 0 || k.check.since_ns < 0 || fstat(upper, &root.now) < 0 ||
	    fstat(at->directory, &root.was) < 0)
		return error_sys(err, errno, "store of changes");
	l->device = root.was.st_dev;
	l->inode = root.was.st_ino;
	dir = change_open_dir(upper, ".");
	if (!dir)
		return error_sys(err, errno, "store of changes");
	look_names(&k, &root, dir, at->directory);
	closedir(dir);
	if (l->count > 0 || root.now.st_mode != root.was.st_mode ||
	    change_ns(root.now.st_mtim) != change_ns(root.was.st_mtim)) {
		struct change *c = change_add(l, CHANGE_DIRECTORY, ".", &root.was, &root.now);

		if (c) {
			set_in_place(c);
			c->keeps_times = change_is_later(&k.check, &root.was);
		}
	}
	if (k.failed < 0)
		return error_sys(err, -k.failed, "changes");
	find_renames(&k);
	*ret_list = take_ptr(&l);
	return 0;
}

char change_letter(const struct change *c)
{
	if (c->from)
		return 'R';
	if (c->kind != CHANGE_DIRECTORY)
		return (char)c->kind;
	return c->before.mode != c->after.mode ? 'm' : 0;
}
