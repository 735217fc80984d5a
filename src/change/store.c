#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/remove.h"
#include "change/inside.h"

#define ARENA_MAX     ((size_t)512 << 20)
#define TICK_LOOK_NS  200000
#define TICK_PATIENCE 200 /* looks: a clock that stands still is not waited for */

int64_t change_ns(struct timespec t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t change_clock(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) < 0 ? 0 : change_ns(now);
}

void change_step(const struct change_place *at)
{
	if (at->step)
		at->step(at->owner);
}

struct change_list *change_list_new(void)
{
	struct change_list *l = calloc(1, sizeof(*l));

	if (l)
		l->arena = arena_new(ARENA_MAX);
	return l && l->arena ? l : change_list_free(l);
}

struct change_list *change_list_free(struct change_list *l)
{
	if (l) {
		arena_free(l->arena);
		free(l->items);
		free(l->conflicts);
	}
	free(l);
	return NULL;
}

struct change_meta change_meta_of(const struct stat *st)
{
	return (struct change_meta){
		.inode = st->st_ino,
		.size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
		.mode = st->st_mode,
		.links = (uint32_t)st->st_nlink,
		.accessed_ns = change_ns(st->st_atim),
		.modified_ns = change_ns(st->st_mtim),
		.changed_ns = change_ns(st->st_ctim),
	};
}

struct change *change_add(struct change_list *l, enum change_kind kind, const char *path,
                          const struct stat *before, const struct stat *after)
{
	struct change *items, *c;

	if (l->count == CHANGE_MAX)
		return NULL;
	if (l->count == l->capacity) {
		size_t wanted = l->capacity ? l->capacity * 2 : 64;

		items = reallocarray(l->items, wanted, sizeof(*items));
		if (!items)
			return NULL;
		l->items = items;
		l->capacity = wanted;
	}
	c = &l->items[l->count];
	*c = (struct change){.kind = kind, .chosen = true, .path = arena_strdup(l->arena, path)};
	if (!c->path)
		return NULL;
	if (before)
		c->before = change_meta_of(before);
	if (after)
		c->after = change_meta_of(after);
	l->count++;
	return c;
}

void change_conflict(struct change_list *l, const char *path, const char *why)
{
	struct change_conflict *items;

	l->conflict_count++;
	if (l->conflict_count > CHANGE_CONFLICTS_MAX)
		return;
	if (l->conflict_count > l->conflict_capacity) {
		size_t wanted = l->conflict_capacity ? l->conflict_capacity * 2 : 16;

		items = reallocarray(l->conflicts, wanted, sizeof(*items));
		if (!items)
			return;
		memset(items + l->conflict_capacity, 0,
		       (wanted - l->conflict_capacity) * sizeof(*items));
		l->conflicts = items;
		l->conflict_capacity = wanted;
	}
	l->conflicts[l->conflict_count - 1] =
		(struct change_conflict){.path = arena_strdup(l->arena, path), .why = why};
}

void change_forbid(struct change_list *l, const char *path, const char *why)
{
	l->forbidden++;
	change_conflict(l, path, why);
}

/* The time of files is that of the last tick of the clock, but for those that somebody has looked
 * at. So what was done before AFTER_NS and what is done from now on can have the same one, until a
 * tick is past both. */
void change_await_tick(int64_t after_ns)
{
	const struct timespec pause = {.tv_nsec = TICK_LOOK_NS};
	struct timespec now;

	for (int i = 0; i < TICK_PATIENCE; i++) {
		if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0 || change_ns(now) > after_ns)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

/* The root of the view is that of upper. */
static int make_upper(int store, int directory)
{
	struct stat st;
	struct timespec times[2];
	scoped(fd_closep) int fd = -1;

	if (fstat(directory, &st) < 0 || mkdirat(store, "upper", 0700) < 0 ||
	    mkdirat(store, "work", 0700) < 0)
		return -errno;
	fd = openat(store, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	/* Who works in the directory works in the view. */
	if (geteuid() == 0 &&
	    (fchown(store, st.st_uid, st.st_gid) < 0 ||
	     fchownat(store, "upper", st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	     fchownat(store, "work", st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0))
		return -errno;
	if (fd < 0 || fchmod(fd, st.st_mode & 07777) < 0 || futimens(fd, times) < 0)
		return -errno;
	return 0;
}

int change_begin(int shelf, const char *name, int directory, int64_t after_ns, struct error *err)
{
	scoped(fd_closep) int store = -1;
	scoped(fd_closep) int begin = -1;
	int r = 0;

	if (mkdirat(shelf, name, 0700) < 0)
		return error_sys(err, errno, "store of changes");
	store = openat(shelf, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (store < 0)
		r = -errno;
	if (r == 0)
		r = make_upper(store, directory);
	change_await_tick(after_ns);
	if (r == 0) {
		begin = openat(store, "begin", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		r = begin < 0 ? -errno : 0;
	}
	if (r < 0) {
		change_discard(shelf, name);
		return error_sys(err, -r, "store of changes");
	}
	return take_fd(&store);
}

static bool is_there(int store, const char *name)
{
	return faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum change_state change_state(int store)
{
	if (store < 0 || !is_there(store, "begin"))
		return CHANGE_NONE;
	if (is_there(store, "journal"))
		return CHANGE_APPLYING;
	if (is_there(store, "undoing"))
		return CHANGE_UNDOING;
	if (is_there(store, "undo"))
		return CHANGE_APPLIED;
	return is_there(store, "undone") ? CHANGE_UNDONE : CHANGE_KEPT;
}

const char *change_state_name(enum change_state s)
{
	static const char *const names[] = {
		[CHANGE_NONE] = "none",         [CHANGE_KEPT] = "kept",
		[CHANGE_APPLYING] = "applying", [CHANGE_APPLIED] = "applied",
		[CHANGE_UNDOING] = "undoing",   [CHANGE_UNDONE] = "undone",
	};

	return names[s];
}

void change_discard(int shelf, const char *name)
{
	remove_tree(shelf, name);
}

int64_t change_file_time(int store, const char *name)
{
	struct stat st;

	return fstatat(store, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : change_ns(st.st_ctim);
}

int change_journal_load(const struct change_place *at, const char *name,
                        struct change_list **ret_list, struct error *err)
{
	scoped(buffer_donep) struct buffer bytes = {.max = CHANGE_JOURNAL_MAX};
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(fd_closep) int fd = fd_open_regular(at->store, name);
	struct stat st;
	int r = fd < 0 ? fd : fd_read_all(fd, &bytes);

	if (r < 0)
		return error_sys(err, -r, "journal of changes");
	r = change_journal_read(buffer_str(&bytes), bytes.len, &l, err);
	if (r < 0)
		return r;
	if (fstat(at->directory, &st) < 0 || st.st_ino != l->inode)
		return error_set(err, ERROR_INPUT, ESTALE,
		                 "the workspace is another directory than the one that was "
		                 "changed");
	if (l->since_ns == 0)
		l->since_ns = change_file_time(at->store, name);
	*ret_list = take_ptr(&l);
	return 0;
}

/* On the disk under its name, or not there. */
int change_journal_save(const struct change_place *at, const struct change_list *l,
                        const char *name, struct error *err)
{
	scoped(buffer_donep) struct buffer bytes = {.max = CHANGE_JOURNAL_MAX};
	int r = change_journal_write(l, &bytes);

	change_step(at);
	if (r == 0)
		r = fd_replace_file_synced(at->store, name, bytes.data, bytes.len);
	return r < 0 ? error_sys(err, -r, "journal of changes") : 0;
}
