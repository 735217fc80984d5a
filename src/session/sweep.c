/*
 * How sessions end: nobody says that they are over, so what was not used for long goes, and of too
 * many of one principal the one that was not used for the longest time.
 *
 * A session in use never goes. Whoever uses one (a server for its client, an engine for a request,
 * a keeper for its command) holds a lock: a read lock on one byte of the file "sessions/.use",
 * whose place follows from the id. The kernel drops it with the last of its holders, however they
 * end. Two ids with the same byte only make the sweep more careful. Who sweeps takes a write lock
 * on the byte first, so what it deletes nobody is about to use.
 *
 * What a person has approved for a session (grants/<id>.json) goes with it.
 */
#include "session/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define USE_FILE    ".use"
#define STRAY_MS    ((int64_t)3600 * 1000) /* a file that somebody who was killed had begun */
#define TOUCH_MS    ((int64_t)3600 * 1000) /* so often at most a use is noted */
#define OWNER_BYTES 256                    /* the principal stands at the beginning */
#define SUFFIX      ".json"

static int64_t age_of(const struct stat *st)
{
	return clock_wall_ms() -
	       ((int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000);
}

/* FNV-1a; any spread will do. */
static off_t place_of(const char *id)
{
	uint64_t hash = 14695981039346656037u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 1099511628211u;
	return (off_t)(hash >> 2); /* positive, and one more byte behind it */
}

static int lock_use(int fd, const char *id, short type, bool wait)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = place_of(id), .l_len = 1};
	int r;

	do
		r = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static int open_use(int dir_fd)
{
	int fd = openat(dir_fd, USE_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* When it was used last is when its files were changed last. */
static void touch(int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && age_of(&st) > TOUCH_MS)
		(void)utimensat(dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

int session_hold(const char *state, const char *id)
{
	scoped(fd_closep) int dir_fd = session_open_all(state);
	scoped(fd_closep) int fd = -1;
	char name[SESSION_ID_MAX + 32];
	int r;

	if (dir_fd < 0)
		return dir_fd;
	fd = open_use(dir_fd);
	r = fd < 0 ? fd : lock_use(fd, id, F_RDLCK, true);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%.64s" SUFFIX, id);
	touch(dir_fd, name);
	snprintf(name, sizeof(name), "../grants/%.64s" SUFFIX, id);
	touch(dir_fd, name);
	return take_fd(&fd);
}

int session_forget(const char *state, const char *id)
{
	scoped(fd_closep) int dir_fd = session_open_all(state);
	char name[SESSION_ID_MAX + 32];
	int r;

	if (!session_id_is_valid(id))
		return -EINVAL;
	r = dir_fd < 0 ? dir_fd : fd_lock(dir_fd);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "../grants/%.64s" SUFFIX, id);
	(void)unlinkat(dir_fd, name, 0);
	snprintf(name, sizeof(name), "%.64s" SUFFIX, id);
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

struct kept {
	char id[SESSION_ID_MAX + 1];
	int64_t age_ms;
};

struct kept_list {
	struct kept *list;
	size_t count, capacity;
};

static void kept_done(struct kept_list *l)
{
	free(l->list);
}

static int oldest_first(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return (x->age_ms < y->age_ms) - (x->age_ms > y->age_ms);
}

static bool id_of_name(const char *name, char ret_id[SESSION_ID_MAX + 1])
{
	size_t n = strlen(name), end = strlen(SUFFIX);

	if (n <= end || n - end > SESSION_ID_MAX || strcmp(name + n - end, SUFFIX) != 0)
		return false;
	memcpy(ret_id, name, n - end);
	ret_id[n - end] = '\0';
	return session_id_is_valid(ret_id);
}

/* All of them, the oldest first; and what was left behind while one was written goes. */
static int list_all(int dir_fd, struct kept_list *l)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct stat st;

	if (!dir) {
		fd_close(fd);
		return -ENOMEM;
	}
	while ((d = readdir(dir))) {
		struct kept k = {0}, *more;
		bool stray = d->d_name[0] == '.' && strstr(d->d_name, ".new");

		if ((!stray && !id_of_name(d->d_name, k.id)) ||
		    fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		k.age_ms = age_of(&st);
		if (stray) {
			if (k.age_ms > STRAY_MS)
				(void)unlinkat(dir_fd, d->d_name, 0);
			continue;
		}
		if (l->count == l->capacity) {
			size_t capacity = l->capacity ? 2 * l->capacity : 64;

			more = realloc(l->list, capacity * sizeof(*more));
			if (!more)
				break; /* the rest another time */
			l->list = more;
			l->capacity = capacity;
		}
		l->list[l->count++] = k;
	}
	closedir(dir);
	if (l->count > 0)
		qsort(l->list, l->count, sizeof(*l->list), oldest_first);
	return 0;
}

/* False: it is in use, and stays. DIR_FD is that of the sessions, or of the grants. */
static bool remove_one(int dir_fd, int use_fd, const char *id)
{
	char name[SESSION_ID_MAX + 8];
	bool gone;

	if (lock_use(use_fd, id, F_WRLCK, false) < 0)
		return false;
	snprintf(name, sizeof(name), "%.64s" SUFFIX, id);
	gone = unlinkat(dir_fd, name, 0) == 0;
	(void)lock_use(use_fd, id, F_UNLCK, false);
	return gone;
}

static int remove_old(int dir_fd, int use_fd, struct kept_list *l, int64_t max_age_ms)
{
	size_t left = 0;
	int removed = 0;

	for (size_t i = 0; i < l->count; i++)
		if (max_age_ms > 0 && l->list[i].age_ms > max_age_ms &&
		    remove_one(dir_fd, use_fd, l->list[i].id))
			removed++;
		else
			l->list[left++] = l->list[i];
	l->count = left;
	return removed;
}

/* Whose a session is: session_change() writes it first. */
static bool is_of(int dir_fd, const char *id, const char *principal)
{
	static const char key[] = SESSION_PRINCIPAL_TEXT;
	scoped(fd_closep) int fd = -1;
	char name[SESSION_ID_MAX + 8], text[OWNER_BYTES];
	size_t n = strlen(principal);
	ssize_t got;

	snprintf(name, sizeof(name), "%.64s" SUFFIX, id);
	fd = fd_open_regular(dir_fd, name);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got < 0)
		return false;
	text[got] = '\0';
	if (strncmp(text, key, strlen(key)) != 0)
		return n == 0;
	return strncmp(text + strlen(key), principal, n) == 0 && text[strlen(key) + n] == '"';
}

int session_make_room(int dir_fd, const char *principal)
{
	scoped(kept_done) struct kept_list l = {0};
	scoped(fd_closep) int use_fd = open_use(dir_fd);
	size_t own = 0;
	int r = use_fd < 0 ? use_fd : list_all(dir_fd, &l);

	if (r < 0)
		return r;
	(void)remove_old(dir_fd, use_fd, &l, SESSION_AGE_MS);
	if (l.count < SESSION_EACH_MAX) /* whoever they belong to */
		return 0;
	for (size_t i = 0; i < l.count; i++) {
		if (!is_of(dir_fd, l.list[i].id, principal))
			l.list[i].id[0] = '\0';
		own += l.list[i].id[0] != '\0';
	}
	for (size_t i = 0; i < l.count && own >= SESSION_EACH_MAX; i++)
		own -= l.list[i].id[0] && remove_one(dir_fd, use_fd, l.list[i].id);
	return own >= SESSION_EACH_MAX ? -ENOSPC : 0;
}

/* Grants are kept for sessions that are: there are no more of them, but for those that a person
 * gave to one that has written nothing. */
static void sweep_grants(int dir_fd, int use_fd, int64_t max_age_ms)
{
	scoped(fd_closep) int grants_fd = fd_open_private(dir_fd, "../grants");
	scoped(kept_done) struct kept_list l = {0};

	if (grants_fd >= 0 && fd_lock(grants_fd) == 0 && list_all(grants_fd, &l) == 0)
		(void)remove_old(grants_fd, use_fd, &l, max_age_ms);
}

int session_sweep(const char *state, int64_t max_age_ms)
{
	scoped(kept_done) struct kept_list l = {0};
	scoped(fd_closep) int dir_fd = -1;
	scoped(fd_closep) int use_fd = -1;
	char path[PATH_MAX];
	int removed;

	/* Where there are none, none are made. */
	if ((size_t)snprintf(path, sizeof(path), "%s/sessions", state) >= sizeof(path))
		return 0;
	dir_fd = fd_open_private(AT_FDCWD, path);
	use_fd = dir_fd < 0 ? -1 : open_use(dir_fd);
	if (use_fd < 0 || fd_lock(dir_fd) < 0 || list_all(dir_fd, &l) < 0)
		return 0;
	removed = remove_old(dir_fd, use_fd, &l, max_age_ms);
	sweep_grants(dir_fd, use_fd, max_age_ms);
	return removed;
}
