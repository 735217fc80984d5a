/*
 * Whether something is as it was left: nobody can set a change time, so what has a later one was
 * changed by somebody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/path.h"
#include "change/inside.h"

bool change_is_later(const struct change_check *c, const struct stat *st)
{
	int64_t changed = change_ns(st->st_ctim);

	return (c->inclusive ? changed >= c->since_ns : changed > c->since_ns) &&
	       !change_ledger_has(c->ledger, st->st_ino, changed);
}

static void check_entry(struct change_check *c, DIR *dir, const char *name, const char *path,
                        int depth)
{
	char sub[PATH_MAX];
	struct stat st;

	if (snprintf(sub, sizeof(sub), "%s/%s", path, name) >= (int)sizeof(sub)) {
		change_forbid(c->list, path, "its paths are too long");
		return;
	}
	if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	c->files++;
	if (S_ISREG(st.st_mode))
		c->bytes += (uint64_t)st.st_size;
	/* The time of a directory changes with each of its names, which are looked at anyway; if
	 * it goes away, one that was taken out of it meanwhile matters, too. */
	if (c->why && (c->inclusive || !S_ISDIR(st.st_mode)) && change_is_later(c, &st))
		change_conflict(c->list, sub, c->why);
	if (S_ISDIR(st.st_mode))
		change_check_below(c, dirfd(dir), name, sub, depth + 1);
}

void change_check_below(struct change_check *c, int at, const char *name, const char *path,
                        int depth)
{
	DIR *dir = depth < CHANGE_DEPTH_MAX ? change_open_dir(at, name) : NULL;
	struct dirent *d;

	if (!dir) {
		change_forbid(c->list, path,
		              depth < CHANGE_DEPTH_MAX ? "it cannot be read" : "it is too deep");
		return;
	}
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			check_entry(c, dir, d->d_name, path, depth);
	closedir(dir);
}

/* In which direction: what has to be there now, and what will be there. */
static const struct change_meta *now_of(const struct change *c, bool applied)
{
	return applied ? &c->after : &c->before;
}

static bool is_as_left(const struct change_meta *left, const struct stat *st)
{
	if (st->st_mode != left->mode || st->st_ino != left->inode)
		return false;
	if (S_ISDIR(st->st_mode))
		return true;
	return (uint64_t)st->st_size == left->size && change_ns(st->st_mtim) == left->modified_ns;
}

/* Git writes it whenever it is asked for anything. */
bool change_is_soft(const char *path)
{
	size_t n = strlen(path);

	return n >= 10 && strcmp(path + n - 10, ".git/index") == 0 &&
	       (n == 10 || path[n - 11] == '/');
}

static void check_one(struct change_check *check, struct change_walk *w, struct change *c,
                      bool applied)
{
	const struct change_meta *left = now_of(c, applied);
	const char *name;
	int dir = change_walk_above(w, c->path, &name);
	struct stat st;
	bool there = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	struct change_list *l = check->list;

	if (dir < 0 && !path_is_absent(dir)) {
		change_forbid(l, c->path, "it cannot be read");
	} else if (!left->inode) {
		if (there)
			change_conflict(l, c->path, "made again since");
		else if (dir < 0)
			change_conflict(l, c->path, "its directory was removed since");
	} else if (!there) {
		/* What was added, and is gone, needs not be taken away. */
		if (now_of(c, !applied)->inode)
			change_conflict(l, c->path, "removed since");
	} else if (c->kind == CHANGE_DIRECTORY) {
		c->keeps_times = c->keeps_times || change_ns(st.st_mtim) != left->modified_ns ||
		                 st.st_mode != left->mode;
	} else if (change_is_soft(c->path)) {
		return;
	} else if (st.st_ino != left->inode) {
		change_conflict(l, c->path, "replaced since");
	} else if (!is_as_left(left, &st) ||
	           (!S_ISDIR(st.st_mode) && change_is_later(check, &st))) {
		change_conflict(l, c->path, "changed since");
	} else if (S_ISDIR(st.st_mode)) {
		change_check_below(check, dir, name, c->path, 0);
	}
}

static bool is_below(const char *path, const char *above)
{
	size_t n = strlen(above);

	return strncmp(path, above, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* A path chooses what lies below it, and a directory that was made or removed with it as a whole.
 */
int change_choose(struct change_list *l, const char *const *paths, struct error *err)
{
	for (size_t i = 0; i < l->count; i++)
		l->items[i].chosen = !paths;
	for (; paths && *paths; paths++) {
		bool any = false;

		for (size_t i = 0; i < l->count; i++) {
			struct change *c = &l->items[i];

			if (strcmp(*paths, ".") != 0 && !is_below(c->path, *paths))
				continue;
			c->chosen = any = true;
		}
		if (!any)
			return error_set(err, ERROR_INPUT, ENOENT, "'%.150s' was not changed",
			                 *paths);
	}
	return 0;
}

static void count(struct change_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct change *c = &l->items[i];

		l->added += c->kind == CHANGE_ADDED;
		l->deleted += c->kind == CHANGE_DELETED;
		l->changed += c->kind != CHANGE_ADDED && c->kind != CHANGE_DELETED &&
		              change_letter(c) != 0;
		l->bytes += c->after.size;
	}
}

int change_read(const struct change_place *at, bool check, const char *const *paths,
                struct change_list **ret_list, struct error *err)
{
	enum change_state state = change_state(at->store);
	scoped(change_ledger_freep) struct change_ledger *ledger = NULL;
	scoped(change_list_freep) struct change_list *l = NULL;
	struct change_check c = {.why = "changed since"};
	struct change_walk w;
	int r;

	if (state != CHANGE_APPLIED && state != CHANGE_UNDONE)
		return error_set(err, ERROR_INPUT, ENOENT, "nothing was applied");
	r = change_journal_load(at, state == CHANGE_APPLIED ? "undo" : "undone", &l, err);
	if (r == 0)
		r = change_choose(l, paths, err);
	if (r < 0)
		return r;
	count(l);
	if (!check) {
		*ret_list = take_ptr(&l);
		return 0;
	}
	c.list = l;
	c.since_ns = l->since_ns;
	c.ledger = ledger = change_ledger_read(at->ledger);
	change_walk_init(&w, at->directory);
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].chosen)
			check_one(&c, &w, &l->items[i], state == CHANGE_APPLIED);
	change_walk_done(&w);
	*ret_list = take_ptr(&l);
	return 0;
}
