/*
 * All paths are those of the plan, or below one that is a directory. They are opened part by part
 * without following links, in the real workspace. A command in the box cannot change what is held;
 * who can is outside, and then the content that is there now decides.
 */
#include "protect/checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "protect/broker.h"
#include "protect/history.h"
#include "protect/inside.h"
#include "protect/refs.h"

#define WISHES_MAX  64
#define CONTENT_MAX ((size_t)1 << 20)

struct wish { /* of git, about one file */
	char *path;
	bool removed;
	int fd;    /* what it shall be; -1: nothing */
	bool runs; /* it shall be executable */
};

struct checkout {
	struct wish wishes[WISHES_MAX];
	size_t count;
	unsigned made;
	bool emptied; /* a directory may be empty now */
};

struct checkout *checkout_new(void)
{
	return calloc(1, sizeof(struct checkout));
}

static void wish_drop(struct checkout *c, size_t index)
{
	fd_close(c->wishes[index].fd);
	free(c->wishes[index].path);
	c->wishes[index] = c->wishes[--c->count];
}

struct checkout *checkout_free(struct checkout *c)
{
	while (c && c->count > 0)
		wish_drop(c, c->count - 1);
	free(c);
	return NULL;
}

bool checkout_is_empty(const struct checkout *c)
{
	return !c || c->count == 0;
}

static const struct protect_served *served_of(const struct protect *p, const char *path)
{
	size_t n = strcspn(path, "/");

	for (size_t i = 0; i < p->served_count; i++)
		if (strlen(p->served[i].path) == n && memcmp(p->served[i].path, path, n) == 0 &&
		    p->served[i].is_directory == (path[n] == '/'))
			return &p->served[i];
	return NULL;
}

/* Without dots, and without anything that names the same thing in two ways. */
static bool is_plain(const char *path)
{
	for (;; path++) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n <= 2 && strncmp(path, "..", n) == 0))
			return false;
		path += n;
		if (!*path)
			return true;
	}
}

bool checkout_concerns(const struct protect *p, const char *path)
{
	return served_of(p, path) && is_plain(path);
}

/* Files of root's keeper belong to whom the directory does. */
static int give_away(int at, int fd)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	return fstatat(at, "", &st, AT_EMPTY_PATH) < 0 ||
	                       fchownat(fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) < 0
	               ? -errno
	               : 0;
}

static int make_directory(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0777) < 0)
		return -1;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && give_away(at, fd) < 0)
		fd_close(take_fd(&fd));
	return fd;
}

/* The directory of the file, and its name there. MAKE: directories that are missing, too. */
static int open_parent(const struct protect *p, const char *path, bool make, const char **ret_name)
{
	int fd = workspace_open_anew(p);
	char part[NAME_MAX + 1];

	for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		int above = fd;

		if (slash - path > NAME_MAX) {
			fd_close(above);
			return -ENAMETOOLONG;
		}
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		fd = openat(above, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && make)
			fd = make_directory(above, part);
		if (fd < 0)
			fd = -errno;
		fd_close(above);
	}
	*ret_name = path;
	return fd;
}

static bool is_there(const struct protect *p, const char *path, struct stat *ret_stat)
{
	const char *name;
	scoped(fd_closep) int at = open_parent(p, path, false, &name);

	return at >= 0 && fstatat(at, name, ret_stat, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct wish *wish_of(struct checkout *c, const char *path, bool make)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->wishes[i].path, path) == 0)
			return &c->wishes[i];
	if (!make || c->count == WISHES_MAX)
		return NULL;
	c->wishes[c->count] = (struct wish){.path = strdup(path), .fd = -1};
	return c->wishes[c->count].path ? &c->wishes[c->count++] : NULL;
}

int checkout_remove(struct checkout *c, const struct protect *p, const char *path)
{
	struct wish *w;
	struct stat st;
	bool there = is_there(p, path, &st);

	w = wish_of(c, path, there && S_ISREG(st.st_mode));
	if (!w || (w->removed && w->fd < 0) || (there && !S_ISREG(st.st_mode)))
		return w && w->removed ? -ENOENT : CHECKOUT_GO_ON;
	fd_close(take_fd(&w->fd));
	w->removed = there;
	if (!there)
		wish_drop(c, (size_t)(w - c->wishes));
	return 0;
}

int checkout_mkdir(const struct protect *p, const char *path)
{
	struct stat st;

	return is_there(p, path, &st) ? -EEXIST : 0;
}

/* A file that has no name any more: the command writes it by its descriptor alone. */
static int private_file(const struct protect *p, unsigned number)
{
	scoped(fd_closep) int workspace_fd = workspace_open_anew(p);
	char name[64];
	int fd;

	if (workspace_fd < 0)
		return workspace_fd;
	snprintf(name, sizeof(name), ".git/nacre-%d-%u", (int)getpid(), number);
	fd = openat(workspace_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlinkat(workspace_fd, name, 0);
	return fd;
}

int checkout_make(struct checkout *c, const struct protect *p, const char *path, uint64_t mode,
                  int *ret_fd)
{
	struct wish *w = wish_of(c, path, false);
	struct stat st;

	if (!(w && w->removed && w->fd < 0) && is_there(p, path, &st))
		return CHECKOUT_GO_ON; /* the kernel says that it exists */
	if (w && w->fd >= 0)
		return -EEXIST;
	w = w ? w : wish_of(c, path, true);
	if (!w)
		return CHECKOUT_GO_ON;
	w->fd = private_file(p, c->made++);
	w->runs = (mode & 0100) != 0;
	if (w->fd >= 0) {
		*ret_fd = w->fd;
		return 0;
	}
	if (!w->removed)
		wish_drop(c, (size_t)(w - c->wishes));
	return CHECKOUT_GO_ON;
}

static unsigned mode_of(bool runs)
{
	return runs ? GIT_MODE_PROGRAM : GIT_MODE_FILE;
}

static bool is_in_history(struct history *h, const char *path, bool runs, const struct buffer *text)
{
	struct git_id id;

	git_id_of(GIT_BLOB, buffer_str(text), text->len, history_id_bytes(h), &id);
	return history_has(h, path, mode_of(runs), &id);
}

/* What is in the real place; -ENOENT: nothing. */
static int read_real(int at, const char *name, int flags, struct buffer *text, bool *ret_runs)
{
	scoped(fd_closep) int fd =
		openat(at, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return -EPERM;
	*ret_runs = (st.st_mode & 0100) != 0;
	r = fd_read_all(fd, text);
	return r < 0 ? r : take_fd(&fd);
}

/* Into the same file: the mount on it stays. */
static int write_over(int fd, const struct buffer *now, bool runs)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fd_write_all(fd, buffer_str(now), now->len) < 0)
		return -EIO;
	return fchmod(fd, runs ? (st.st_mode & 07777) | (st.st_mode & 0444) >> 2
	                       : st.st_mode & 07666) < 0
	               ? -errno
	               : 0;
}

static int write_new(int at, const char *name, const struct buffer *now, bool runs)
{
	scoped(fd_closep) int fd = openat(
		at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, runs ? 0777 : 0666);
	int r;

	if (fd < 0)
		return -errno;
	r = give_away(at, fd);
	if (r == 0)
		r = fd_write_all(fd, buffer_str(now), now->len);
	if (r < 0) /* a part of it is nobody's */
		(void)unlinkat(at, name, 0);
	return r;
}

static void tell(const struct broker_told *told, const struct wish *w, const struct buffer *now,
                 const struct buffer *was, bool there)
{
	told->held(told->owner, &(struct broker_file){.path = w->path,
	                                              .now = buffer_str(now),
	                                              .now_bytes = now->len,
	                                              .was = buffer_str(was),
	                                              .was_bytes = was->len,
	                                              .made = !there,
	                                              .runs = w->runs});
}

/* A person's content replaces a person's content. What a person has changed and not committed is
 * nobody's to overwrite. */
static void settle_one(const struct wish *w, const struct protect *p, struct history *h,
                       const struct broker_told *told)
{
	scoped(buffer_donep) struct buffer now = {.max = CONTENT_MAX};
	scoped(buffer_donep) struct buffer was = {.max = CONTENT_MAX};
	scoped(fd_closep) int fd = -1;
	scoped(fd_closep) int at = -1;
	const char *name;
	bool ran = false, trusted;
	int r = lseek(w->fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(w->fd, &now);

	if (r < 0) {
		told->refused(told->owner, w->path);
		return;
	}
	trusted = h && is_in_history(h, w->path, w->runs, &now);
	at = open_parent(p, w->path, trusted, &name);
	fd = at < 0 ? at : read_real(at, name, O_RDWR, &was, &ran);
	if (fd == -ENOENT && trusted && write_new(at, name, &now, w->runs) == 0)
		return;
	if (fd >= 0 && ran == w->runs && now.len == was.len &&
	    memcmp(buffer_str(&now), buffer_str(&was), now.len) == 0)
		return;
	if (fd >= 0 && trusted && is_in_history(h, w->path, ran, &was) &&
	    write_over(fd, &now, w->runs) == 0)
		return;
	tell(told, w, &now, &was, fd != -ENOENT);
}

void checkout_settle(struct checkout *c, const struct protect *p, const struct broker_told *told)
{
	struct history *h = NULL;
	bool looked = false;

	for (size_t i = c ? c->count : 0; i-- > 0;) {
		if (c->wishes[i].fd < 0)
			continue;
		if (!looked)
			h = told->history ? told->history(told->owner) : NULL;
		looked = true;
		settle_one(&c->wishes[i], p, h, told);
		wish_drop(c, i);
	}
}

/* What was held is free from now on: it is looked for at the end, as if it had been absent. */
static void forget_hold(struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->absent_count; i++)
		if (strcmp(p->absent[i].path, path) == 0) {
			p->absent[i].same = p->absent[i].stays = false;
			p->absent[i].missing = strlen(path);
		}
}

static bool remove_real(const struct wish *w, struct protect *p, struct history *h)
{
	scoped(buffer_donep) struct buffer was = {.max = CONTENT_MAX};
	scoped(fd_closep) int fd = -1;
	const char *name;
	scoped(fd_closep) int at = open_parent(p, w->path, false, &name);
	bool ran = false;

	fd = at < 0 ? at : read_real(at, name, O_RDONLY, &was, &ran);
	if (fd < 0)
		return fd == -ENOENT;
	if (!is_in_history(h, w->path, ran, &was) || unlinkat(at, name, 0) < 0)
		return false;
	forget_hold(p, w->path);
	return true;
}

/* Directories below a held one that are empty now, as git removes them. */
static void remove_parents(const struct protect *p, const char *path)
{
	char above[PATH_MAX];
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/'))) {
		const char *name;
		scoped(fd_closep) int at = -1;

		*slash = '\0';
		if (!strchr(above, '/'))
			return;
		at = open_parent(p, above, false, &name);
		if (at < 0 || unlinkat(at, name, AT_REMOVEDIR) < 0)
			return;
	}
}

void checkout_settle_removals(struct checkout *c, struct protect *p, const struct git_id *commit,
                              const struct broker_told *told)
{
	struct history *h = NULL;
	bool looked = false;

	for (size_t i = c ? c->count : 0; i-- > 0;) {
		const struct wish *w = &c->wishes[i];

		if (!w->removed || w->fd >= 0)
			continue;
		if (!looked)
			h = told->history ? told->history(told->owner) : NULL;
		looked = true;
		if (!h || !history_lacks(h, commit, w->path) || !remove_real(w, p, h))
			continue;
		remove_parents(p, w->path);
		c->emptied = true;
		wish_drop(c, i);
	}
}

/* Held ones, now that nobody can make anything in their place. */
static void remove_empty(struct protect *p)
{
	scoped(fd_closep) int fd = workspace_open_anew(p);

	for (size_t i = 0; fd >= 0 && i < p->served_count; i++)
		if (p->served[i].is_directory && unlinkat(fd, p->served[i].path, AT_REMOVEDIR) == 0)
			forget_hold(p, p->served[i].path);
}

void checkout_finish(struct checkout *c, struct protect *p, const struct broker_told *told)
{
	scoped(fd_closep) int workspace_fd = workspace_open_anew(p);
	scoped(fd_closep) int git = -1;
	scoped(fd_closep) int head = -1;
	scoped(buffer_donep) struct buffer text = {.max = PATH_MAX};
	struct git_id commit;

	if (!c || workspace_fd < 0)
		return;
	checkout_settle(c, p, told);
	git = openat(workspace_fd, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	head = git < 0 ? -1 : fd_open_regular(git, "HEAD");
	if (head >= 0 && fd_read_all(head, &text) == 0 &&
	    git_ref_follow(git, buffer_str(&text), text.len, &commit))
		checkout_settle_removals(c, p, &commit, told);
	for (; c->count > 0; wish_drop(c, c->count - 1))
		told->refused(told->owner, c->wishes[c->count - 1].path);
	if (c->emptied)
		remove_empty(p);
	c->emptied = false;
}
