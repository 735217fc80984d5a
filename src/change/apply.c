/*
 * A list worked off. Forward each change makes its path what it was in the view, backward what it
 * was in the directory; both are the same steps with `before` and `after` exchanged:
 *
 *	nothing is wanted     what is there moves to its place in `upper`
 *	nothing was there     what is in `upper` moves to its place
 *	else                  both are exchanged, in one call that others see whole
 *	in place              mode and times are set: the inode stays, with all its names
 *
 * A step looks at inodes first, and one that was done already is passed over. So the journal can be
 * worked off again after a crash, and a list of which one step fails can be worked off backward.
 *
 * Times of directories are set at the end, since each renaming changes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "change/inside.h"

#define NAMES_MAX 4096

struct work {
	const struct change_place *at;
	const struct change_list *list;
	struct change_walk upper, lower;
	int root_upper;
	bool forward;
	bool lenient; /* what was not reached is not taken back */
};

static int work_begin(struct work *w, const struct change_place *at, const struct change_list *list,
                      bool forward)
{
	*w = (struct work){.at = at, .list = list, .forward = forward};
	w->root_upper = openat(at->store, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	change_walk_init(&w->upper, w->root_upper);
	change_walk_init(&w->lower, at->directory);
	return w->root_upper < 0 ? -errno : 0;
}

static void work_done(struct work *w)
{
	change_walk_done(&w->upper);
	change_walk_done(&w->lower);
	fd_close(take_fd(&w->root_upper));
}

static void link_of(int fd, char into[32])
{
	snprintf(into, 32, "/proc/self/fd/%d", fd);
}

static int set_mode(int fd, mode_t mode)
{
	char path[32];

	link_of(fd, path);
	return chmod(path, mode & 07777) < 0 ? -errno : 0;
}

static void times_of(const struct change_meta *m, struct timespec into[2])
{
	const int64_t ns[2] = {m->accessed_ns, m->modified_ns};

	for (int i = 0; i < 2; i++) {
		into[i].tv_sec = ns[i] / 1000000000;
		into[i].tv_nsec = ns[i] % 1000000000;
		if (into[i].tv_nsec < 0) {
			into[i].tv_sec--;
			into[i].tv_nsec += 1000000000;
		}
	}
}

static int set_times(int fd, const struct change_meta *m)
{
	struct timespec times[2];
	char path[32];

	link_of(fd, path);
	times_of(m, times);
	return utimensat(AT_FDCWD, path, times, 0) < 0 ? -errno : 0;
}

static int open_path(int dir, const char *name, struct stat *ret)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, ret) == 0)
		return fd;
	fd_close(fd);
	return -errno;
}

/* A directory that its owner may not change, for the time of one renaming. */
struct unlocked {
	int fd;
	mode_t mode;
};

static void unlock(struct unlocked *u, int dir, const char *name)
{
	struct stat st;

	u->fd = open_path(dir, name, &st);
	u->mode = u->fd < 0 ? 0 : st.st_mode;
	if (u->fd >= 0 && (!S_ISDIR(st.st_mode) || (st.st_mode & 0300) == 0300 ||
	                   set_mode(u->fd, st.st_mode | 0700) < 0))
		fd_close(take_fd(&u->fd));
}

static void lock_again(struct unlocked *u)
{
	if (u->fd >= 0)
		(void)set_mode(u->fd, u->mode);
	fd_close(take_fd(&u->fd));
}

static int move(const struct work *w, int from, const char *name, int to, unsigned flags)
{
	struct unlocked held[4];
	int r;

	change_step(w->at);
	if (renameat2(from, name, to, name, flags) == 0)
		return 0;
	if (errno != EACCES)
		return -errno;
	unlock(&held[0], from, ".");
	unlock(&held[1], to, ".");
	unlock(&held[2], from, name);
	unlock(&held[3], to, name);
	r = renameat2(from, name, to, name, flags) < 0 ? -errno : 0;
	for (size_t i = 0; i < array_size(held); i++)
		lock_again(&held[i]);
	return r;
}

static bool is_mark(const char *attribute)
{
	return strncmp(attribute, "user.overlay.", 13) == 0 ||
	       strncmp(attribute, "trusted.overlay.", 16) == 0;
}

static int remove_mark(const struct work *w, int fd, const struct stat *st, const char *path,
                       const char *attribute)
{
	int r;

	change_step(w->at);
	if (removexattr(path, attribute) == 0 || errno == ENODATA)
		return 0;
	if (errno != EACCES)
		return -errno;
	r = set_mode(fd, st->st_mode | 0200);
	if (r == 0 && removexattr(path, attribute) < 0 && errno != ENODATA)
		r = -errno;
	(void)set_mode(fd, st->st_mode);
	return r;
}

/* The kernel's marks, and bits that would lend rights: nothing of both comes into the directory. */
static int scrub_one(const struct work *w, int fd, const struct stat *st)
{
	bool lends = S_ISREG(st->st_mode) && (st->st_mode & (S_ISUID | S_ISGID));
	char path[32], names[NAMES_MAX];
	ssize_t n;
	int r = 0;

	if (S_ISLNK(st->st_mode))
		return 0;
	link_of(fd, path);
	n = listxattr(path, names, sizeof(names));
	if (n < 0 && errno != ENOTSUP && errno != ENOSYS)
		return -errno;
	for (const char *a = names; r == 0 && n > 0 && a < names + n; a += strlen(a) + 1)
		if (is_mark(a))
			r = remove_mark(w, fd, st, path, a);
	if (r == 0 && lends) {
		change_step(w->at);
		r = set_mode(fd, st->st_mode & ~(mode_t)(S_ISUID | S_ISGID));
	}
	return r;
}

/* With all below it. What was deleted in a directory that others have removed is only a mark. */
static int scrub(const struct work *w, int at, const char *name, int depth)
{
	scoped(fd_closep) int fd = -1;
	struct stat st;
	struct dirent *d;
	DIR *dir;
	int r;

	fd = open_path(at, name, &st);
	if (fd < 0)
		return fd;
	if (change_is_whiteout(&st)) {
		change_step(w->at);
		return unlinkat(at, name, 0) < 0 ? -errno : 0;
	}
	r = scrub_one(w, fd, &st);
	if (r < 0 || !S_ISDIR(st.st_mode))
		return r;
	if (depth == CHANGE_DEPTH_MAX)
		return -ELOOP;
	dir = change_open_dir(at, name);
	if (!dir)
		return -errno;
	while (r == 0 && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			r = scrub(w, dirfd(dir), d->d_name, depth + 1);
	closedir(dir);
	return r;
}

static uint64_t inode_at(int dir, const char *name, struct stat *ret)
{
	if (dir < 0 || fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
		*ret = (struct stat){0};
	return ret->st_ino;
}

static int set_meta(const struct work *w, const struct change *c, int dir, const char *name)
{
	const struct change_meta *want = w->forward ? &c->after : &c->before;
	scoped(fd_closep) int fd = -1;
	struct stat st;
	int r = 0;

	fd = open_path(dir, name, &st);
	if (fd < 0)
		return w->list->forced ? 0 : fd;
	if ((st.st_mode & S_IFMT) != (want->mode & S_IFMT) || st.st_ino != want->inode)
		return 0;
	if (st.st_mode != want->mode && !(c->keeps_times && c->before.mode == c->after.mode)) {
		change_step(w->at);
		r = set_mode(fd, want->mode);
	}
	if (r == 0 && !c->keeps_times) {
		change_step(w->at);
		r = set_times(fd, want);
	}
	return r;
}

/* Some file systems (xfs) change the times of a directory that is moved. */
static void keep_times(int dir, const char *name, const struct change_meta *m)
{
	scoped(fd_closep) int fd = -1;
	struct stat st;

	if (!S_ISDIR(m->mode))
		return;
	fd = open_path(dir, name, &st);
	if (fd >= 0 && change_ns(st.st_mtim) != m->modified_ns)
		(void)set_times(fd, m);
}

/* Nothing is wanted: what is there moves to upper. */
static int take_out(const struct work *w, int lower, int upper, const char *name, uint64_t there)
{
	struct stat st;
	uint64_t aside = inode_at(upper, name, &st);
	int r;

	if (aside == there && aside != 0)
		return 0;
	if (aside != 0 && change_is_whiteout(&st)) {
		change_step(w->at);
		if (unlinkat(upper, name, 0) < 0)
			return -errno;
	}
	r = move(w, lower, name, upper, RENAME_NOREPLACE);
	return r;
}

static int place(const struct work *w, const struct change *c, int lower, int upper,
                 const char *name)
{
	const struct change_meta *want = w->forward ? &c->after : &c->before;
	const struct change_meta *have = w->forward ? &c->before : &c->after;
	bool forced = w->list->forced || change_is_soft(c->path);
	struct stat st;
	uint64_t there = inode_at(lower, name, &st);
	int r;

	if (!want->inode)
		return there == 0 || (there != have->inode && !forced)
		               ? 0
		               : take_out(w, lower, upper, name, there);
	if (there == want->inode || inode_at(upper, name, &st) != want->inode)
		return 0;
	r = w->forward ? scrub(w, upper, name, 0) : 0;
	if (r == 0)
		r = move(w, upper, name, lower, there ? RENAME_EXCHANGE : RENAME_NOREPLACE);
	if (r == 0)
		keep_times(lower, name, want);
	return r;
}

static int work_on(struct work *w, const struct change *c)
{
	const char *name;
	int lower = change_walk_above(&w->lower, c->path, &name), upper, r;

	if (lower < 0)
		return w->lenient || (w->list->forced && !w->forward) ? 0 : lower;
	if (c->in_place)
		return set_meta(w, c, lower, name);
	upper = change_walk_above(&w->upper, c->path, &name);
	if (upper < 0)
		return w->lenient ? 0 : upper;
	r = place(w, c, lower, upper, name);
	if (S_ISDIR(c->before.mode) || S_ISDIR(c->after.mode)) {
		change_walk_forget(&w->upper);
		change_walk_forget(&w->lower);
	}
	return r;
}

static int work_through(const struct change_place *at, const struct change_list *l, bool forward,
                        bool lenient, struct error *err)
{
	const char *failed = "";
	struct work w;
	int r = work_begin(&w, at, l, forward);

	w.lenient = lenient;
	for (size_t i = 0; r == 0 && i < l->count; i++) {
		const struct change *c = &l->items[forward ? i : l->count - 1 - i];

		failed = c->path;
		if (c->chosen)
			r = work_on(&w, c);
	}
	for (size_t i = 0; r == 0 && i < l->count; i++) {
		failed = l->items[i].path;
		if (l->items[i].chosen && l->items[i].kind == CHANGE_DIRECTORY)
			r = work_on(&w, &l->items[i]);
	}
	work_done(&w);
	if (r == -EXDEV)
		return error_set(err, ERROR_UNSUPPORTED, EXDEV,
		                 "the changes lie on another file system than '%.100s', or on "
		                 "another mount of it",
		                 failed);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "'%.150s': %s", failed, strerrordesc_np(-r))
	             : 0;
}

static int work_off(const struct change_place *at, const struct change_list *l, bool forward,
                    struct error *err)
{
	return work_through(at, l, forward, false, err);
}

static int drop(const struct change_place *at, const char *name)
{
	change_step(at);
	return unlinkat(at->store, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int turn(const struct change_place *at, const char *from, const char *to, struct error *err)
{
	scoped(fd_closep) int dir = -1;

	change_step(at);
	if (renameat(at->store, from, at->store, to) < 0)
		return error_sys(err, errno, "journal of changes");
	if (at->durable) {
		dir = openat(at->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)fsync(dir);
	}
	return 0;
}

static int finish_apply(const struct change_place *at, struct error *err)
{
	int r = drop(at, "undone");

	return r < 0 ? error_sys(err, -r, "journal of changes") : turn(at, "journal", "undo", err);
}

/* What was not chosen stays undoable; the time from which others' changes count stays, too. */
static int finish_undo(const struct change_place *at, const struct change_list *l,
                       struct error *err)
{
	struct change_list rest = *l;
	size_t left = 0;
	int r = 0;

	change_ledger_note(at, l);
	for (size_t i = 0; i < l->count; i++)
		left += !l->items[i].chosen;
	if (left == 0) {
		r = drop(at, "undo");
		return r < 0 ? error_sys(err, -r, "journal of changes")
		             : turn(at, "undoing", "undone", err);
	}
	rest.items = reallocarray(NULL, left, sizeof(*rest.items));
	if (!rest.items)
		return error_nomem(err);
	rest.count = 0;
	for (size_t i = 0; i < l->count; i++)
		if (!l->items[i].chosen) {
			rest.items[rest.count] = l->items[i];
			rest.items[rest.count++].chosen = true;
		}
	rest.forced = false;
	r = change_journal_save(at, &rest, "undo", err);
	free(rest.items);
	if (r == 0 && drop(at, "undoing") < 0)
		r = error_sys(err, errno, "journal of changes");
	return r;
}

static int may_go(const struct change_list *l, bool force, struct error *err)
{
	if (l->forbidden > 0)
		return error_set(err, ERROR_INPUT, EACCES,
		                 "%zu path%s cannot be read or are protected, so nothing is done",
		                 l->forbidden, l->forbidden == 1 ? "" : "s");
	if (l->conflict_count > 0 && !force)
		return error_set(err, ERROR_INPUT, EBUSY, "%zu conflict%s, so nothing is done",
		                 l->conflict_count, l->conflict_count == 1 ? "" : "s");
	return 0;
}

/* A step has failed: all before it are taken back, and then it was never begun. */
static int give_up(const struct change_place *at, const struct change_list *l, bool forward,
                   const char *journal, struct error *err)
{
	struct error why = {0};
	int r = work_through(at, l, !forward, true, &why);

	if (r == 0)
		r = drop(at, journal);
	return r < 0 ? error_wrap(err, "some of the changes could not be taken back")
	             : error_wrap(err, "nothing is changed");
}

int change_apply(const struct change_place *at, struct change_list *l, bool force,
                 struct error *err)
{
	int r = may_go(l, force, err);

	if (r < 0)
		return r;
	if (at->durable && syncfs(at->store) < 0)
		return error_sys(err, errno, "contents of the changes");
	l->forced = force;
	l->since_ns = 0;
	r = change_journal_save(at, l, "journal", err);
	if (r < 0)
		return r;
	r = work_off(at, l, true, err);
	r = r < 0 ? give_up(at, l, true, "journal", err) : finish_apply(at, err);
	if (r == 0) /* what others do from now on has a later time */
		change_await_tick(change_clock());
	return r;
}

int change_undo(const struct change_place *at, struct change_list *l, bool force, struct error *err)
{
	int r = may_go(l, force, err);

	if (r < 0)
		return r;
	l->forced = force;
	r = change_journal_save(at, l, "undoing", err);
	if (r < 0)
		return r;
	r = work_off(at, l, false, err);
	return r < 0 ? give_up(at, l, false, "undoing", err) : finish_undo(at, l, err);
}

int change_recover(const struct change_place *at, struct error *err)
{
	enum change_state state = change_state(at->store);
	bool forward = state == CHANGE_APPLYING;
	scoped(change_list_freep) struct change_list *l = NULL;
	int r;

	if (state != CHANGE_APPLYING && state != CHANGE_UNDOING)
		return 0;
	r = change_journal_load(at, forward ? "journal" : "undoing", &l, err);
	if (r == 0)
		r = work_off(at, l, forward, err);
	if (r == 0)
		r = forward ? finish_apply(at, err) : finish_undo(at, l, err);
	return r < 0 ? r : 1;
}
