#include "task/changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "audit/event.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/path.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

#define ABOUT       "about"
#define ABOUT_MAX   ((size_t)256 << 10)
#define GONE        ".gone-"
#define LOCK_MS     60000
#define LOCK_NAP_MS 5
#define STORES_MAX  4096

void changes_key(const char *workspace, char into[CHANGES_KEY_SIZE])
{
	struct digest d;

	digest_make(workspace, strlen(workspace), &d);
	hex_write(d.bytes, (CHANGES_KEY_SIZE - 1) / 2, into);
}

const char *changes_root(const char *store, char buffer[PATH_MAX])
{
	const char *home = getenv("HOME");

	if (!store || strncmp(store, "~/", 2) != 0)
		return store;
	if (!home || *home != '/' ||
	    snprintf(buffer, PATH_MAX, "%s%s", home, store + 1) >= PATH_MAX)
		return NULL;
	return buffer;
}

#define OF struct changes_about
static const struct json_field about_fields[] = {
	JSON_TEXT("task_id", OF, task, JSON_REQUIRED),
	JSON_BYTES("workspace", OF, workspace, JSON_REQUIRED),
	JSON_BYTES("command", OF, command, JSON_REQUIRED),
	JSON_BYTES("root", OF, root, JSON_OPTIONAL),
	JSON_BYTES("profile", OF, profile, JSON_OPTIONAL),
	JSON_BYTES("agent", OF, agent, JSON_OPTIONAL),
	JSON_BYTES("policy_file", OF, policy_file, JSON_OPTIONAL),
	JSON_TEXT("principal", OF, principal, JSON_OPTIONAL),
	JSON_TEXT("session", OF, session, JSON_OPTIONAL),
	JSON_NUMBER("began_ms", OF, began_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("keep_ms", OF, keep_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_BOOL("dry_run", OF, dry_run, JSON_REQUIRED),
	{0},
};
#undef OF

int changes_about_write(int store, const struct changes_about *a)
{
	scoped(buffer_donep) struct buffer text = {.max = ABOUT_MAX};
	struct json_writer w = {.out = &text};

	json_fields_write(&w, about_fields, a);
	if (buffer_error(&text) < 0)
		return buffer_error(&text);
	return fd_replace_file(store, ABOUT, text.data, text.len);
}

int changes_about_read(int store, struct arena *arena, struct changes_about *ret, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = ABOUT_MAX};
	scoped(json_decrefp) json_t *root = NULL;
	scoped(fd_closep) int fd = fd_open_regular(store, ABOUT);
	int r = fd < 0 ? fd : fd_read_all(fd, &text);

	*ret = (struct changes_about){0};
	if (r < 0)
		return error_sys(err, -r, "store of changes");
	r = json_read(buffer_str(&text), text.len, ABOUT_MAX, "store of changes", &root, err);
	return r < 0 ? r
	             : json_fields_read(root, "store of changes", about_fields, arena, ret, err);
}

/* Renamings between both are possible. */
static bool is_same_mount(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) == 0 &&
	       x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor &&
	       x.stx_mnt_id == y.stx_mnt_id;
}

static int open_private(int at, const char *name)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(at, name);
}

static int open_shelf(const char *root, const char *workspace, char path[PATH_MAX])
{
	scoped(fd_closep) int top = -1;
	scoped(fd_closep) int undo = -1;
	char key[CHANGES_KEY_SIZE], real[PATH_MAX];
	int fd;

	changes_key(workspace, key);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	if (path_of_fd(top, real) < 0 || path_is_in(real, workspace))
		return -EXDEV;
	undo = open_private(top, "undo");
	fd = undo < 0 ? undo : open_private(undo, key);
	if (fd >= 0 && snprintf(path, PATH_MAX, "%s/undo/%s", real, key) >= PATH_MAX) {
		close(fd);
		return -ENAMETOOLONG;
	}
	return fd;
}

int changes_shelf(const char *const roots[2], const char *workspace, int workspace_fd,
                  char ret_path[PATH_MAX], bool *ret_fits)
{
	int first = -ENOENT;

	for (int i = 0; i < 2; i++) {
		char path[PATH_MAX];
		int fd = roots[i] && *roots[i] ? open_shelf(roots[i], workspace, path) : -ENOENT;

		if (fd < 0) {
			if (first == -ENOENT)
				first = fd;
			continue;
		}
		*ret_fits = is_same_mount(fd, workspace_fd);
		if (*ret_fits || first < 0) {
			if (first >= 0)
				close(first);
			first = fd;
			memcpy(ret_path, path, sizeof(path));
		} else {
			close(fd);
		}
		if (*ret_fits)
			return first;
	}
	*ret_fits = false;
	return first;
}

int changes_lock(int shelf)
{
	scoped(fd_closep) int fd =
		openat(shelf, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int64_t end = clock_now_ms() + LOCK_MS;

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_now_ms() > end)
			return -EBUSY;
		(void)poll(NULL, 0, LOCK_NAP_MS);
	}
	return take_fd(&fd);
}

int changes_hold(int store)
{
	scoped(fd_closep) int fd = openat(store, "begin", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	/* Who looks has it for the blink of an eye. */
	while (fd >= 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return fd < 0 ? -errno : take_fd(&fd);
}

/* Several may look at a time. */
static bool is_held(int store)
{
	scoped(fd_closep) int fd = openat(store, "begin", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

void changes_close(struct changes *c)
{
	fd_close(c->shelf);
	fd_close(c->store);
	*c = CHANGES_NONE;
}

/* When the newest of its signs was made. */
static int64_t used_at(int store)
{
	static const char *const signs[] = {"begin", "undo", "undone", ABOUT};
	struct stat st;
	int64_t last = 0;

	for (size_t i = 0; i < array_size(signs); i++)
		if (fstatat(store, signs[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_ctim.tv_sec * 1000 > last)
			last = st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
	return last;
}

static bool open_store(int shelf, const char *shelf_path, const char *name, struct changes *ret)
{
	*ret = CHANGES_NONE;
	if (name[0] == '.' || strlen(name) >= sizeof(ret->task))
		return false;
	ret->store = openat(shelf, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->store < 0)
		return false;
	ret->state = change_state(ret->store);
	if (ret->state == CHANGE_NONE) {
		changes_close(ret);
		return false;
	}
	ret->shelf = fcntl(shelf, F_DUPFD_CLOEXEC, 3);
	snprintf(ret->task, sizeof(ret->task), "%s", name);
	snprintf(ret->path, sizeof(ret->path), "%s", shelf_path);
	ret->running = is_held(ret->store);
	ret->used_ms = used_at(ret->store);
	return true;
}

static int each_of_shelf(int shelf, const char *path, changes_visit *visit, void *context)
{
	int copy = openat(shelf, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;

	if (!dir) {
		fd_close(copy);
		return 0;
	}
	while (r == 0 && (d = readdir(dir))) {
		scoped(changes_closep) struct changes c;

		if (open_store(shelf, path, d->d_name, &c))
			r = visit(context, &c);
	}
	closedir(dir);
	return r;
}

int changes_each(const char *const roots[2], changes_visit *visit, void *context)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		char path[PATH_MAX], shelf_path[PATH_MAX];
		struct dirent *d;
		DIR *dir;

		if (!roots[i] || (i == 1 && roots[0] && strcmp(roots[0], roots[1]) == 0) ||
		    snprintf(path, sizeof(path), "%s/undo", roots[i]) >= (int)sizeof(path))
			continue;
		dir = opendir(path);
		while (r == 0 && dir && (d = readdir(dir))) {
			scoped(fd_closep) int shelf = -1;

			if (d->d_name[0] == '.' ||
			    snprintf(shelf_path, sizeof(shelf_path), "%s/%s", path, d->d_name) >=
			            (int)sizeof(shelf_path))
				continue;
			shelf = fd_open_private(dirfd(dir), d->d_name);
			if (shelf >= 0)
				r = each_of_shelf(shelf, shelf_path, visit, context);
		}
		if (dir)
			closedir(dir);
	}
	return r;
}

struct search {
	const char *prefix;
	struct changes *found;
	int count;
};

static int compare_id(void *context, struct changes *c)
{
	struct search *s = context;
	size_t n = strlen(s->prefix);
	const char *id = c->task;

	if (strncmp(id, s->prefix, n) != 0 &&
	    !(strncmp(id, "bash-", 5) == 0 && strncmp(id + 5, s->prefix, n) == 0))
		return 0;
	if (++s->count == 1) {
		*s->found = *c;
		*c = CHANGES_NONE;
	}
	return 0;
}

int changes_find(const char *const roots[2], const char *prefix, struct changes *ret,
                 struct error *err)
{
	struct search s = {.prefix = prefix, .found = ret};

	*ret = CHANGES_NONE;
	if (*prefix)
		(void)changes_each(roots, compare_id, &s);
	if (s.count == 1)
		return 0;
	changes_close(ret);
	return s.count == 0 ? error_set(err, ERROR_INPUT, ENOENT,
	                                "no changes of task '%.40s' are kept; `nacre undo --list` "
	                                "shows those that are",
	                                prefix)
	                    : error_set(err, ERROR_INPUT, EINVAL,
	                                "'%.40s' is the beginning of several ids", prefix);
}

struct recovery {
	int workspace, count;
};

static int recover(void *context, struct changes *c)
{
	struct recovery *r = context;
	const struct change_place at = {
		.directory = r->workspace, .store = c->store, .ledger = c->shelf};

	if (change_recover(&at, NULL) > 0)
		r->count++;
	return 0;
}

int changes_recover(int shelf, int workspace_fd)
{
	struct recovery r = {.workspace = workspace_fd};

	(void)each_of_shelf(shelf, "", recover, &r);
	return r.count;
}

struct kept {
	char task[STORE_ID_MAX];
	int64_t used_ms, keep_ms;
	uint64_t bytes;
};

struct sweep {
	struct kept *list;
	size_t count;
};

static uint64_t bytes_below(int at, const char *name, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t n = 0;
	struct dirent *d;
	struct stat st;

	if (!dir)
		fd_close(fd);
	while (dir && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		n += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < CHANGE_DEPTH_MAX)
			n += bytes_below(dirfd(dir), d->d_name, depth + 1);
	}
	if (dir)
		closedir(dir);
	return n;
}

static int note(void *context, struct changes *c)
{
	struct sweep *s = context;
	scoped(arena_freep) struct arena *arena = arena_new(ABOUT_MAX * 2);
	struct changes_about about = {.keep_ms = INT64_MAX};

	if (c->running || c->state == CHANGE_APPLYING || c->state == CHANGE_UNDOING ||
	    s->count == STORES_MAX)
		return 0;
	if (arena)
		(void)changes_about_read(c->store, arena, &about, NULL);
	s->list[s->count] = (struct kept){.used_ms = c->used_ms,
	                                  .keep_ms = about.keep_ms,
	                                  .bytes = bytes_below(c->store, ".", 0)};
	memcpy(s->list[s->count++].task, c->task, sizeof(c->task));
	return 0;
}

static int oldest_first(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used_ms < y->used_ms ? -1 : x->used_ms > y->used_ms;
}

/* Under a name that nobody looks for, so that a half of it is never believed. */
static void remove_store(int shelf, const char *task)
{
	char gone[STORE_ID_MAX + sizeof(GONE)];

	snprintf(gone, sizeof(gone), GONE "%s", task);
	if (renameat(shelf, task, shelf, gone) == 0)
		change_discard(shelf, gone);
}

void changes_sweep(int shelf, int64_t now_ms, uint64_t size)
{
	struct sweep s = {.list = calloc(STORES_MAX, sizeof(*s.list))};
	uint64_t all = 0;

	if (!s.list)
		return;
	(void)each_of_shelf(shelf, "", note, &s);
	qsort(s.list, s.count, sizeof(*s.list), oldest_first);
	for (size_t i = 0; i < s.count; i++)
		all += s.list[i].bytes;
	for (size_t i = 0; i < s.count; i++) {
		const struct kept *k = &s.list[i];
		bool old = k->keep_ms > 0 && now_ms - k->used_ms > k->keep_ms;

		if (!old && !(size > 0 && all > size))
			continue;
		all -= k->bytes;
		remove_store(shelf, k->task);
	}
	free(s.list);
}

void changes_for_audit(const struct change_list *l, struct audit_changes *ret)
{
	scoped(buffer_donep) struct buffer list = {0};
	struct digest d;

	*ret = (struct audit_changes){.added = l->added,
	                              .changed = l->changed,
	                              .deleted = l->deleted,
	                              .conflicts = l->conflict_count};
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].chosen)
			buffer_printf(&list, "%c %s\n", (char)l->items[i].kind, l->items[i].path);
	digest_make(buffer_str(&list), list.len, &d);
	hex_write(d.bytes, sizeof(d.bytes), ret->digest);
}
