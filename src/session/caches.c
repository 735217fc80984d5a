/*
 * In a generation of caches, "home" and what leads to a cache ("home/.cargo") are nacre's. A box
 * has the last directories only ("home/.cargo/registry"), each as a mount of its own, so nothing
 * that commands do in them changes where they are.
 */
#include "session/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "session/room-inside.h"

void caches_close(struct room *r)
{
	for (size_t i = 0; i < r->caches.count; i++)
		fd_close(r->caches.fds[i]);
	fd_close(r->caches.dir);
	r->caches.count = 0;
	r->caches.dir = -1;
}

/* As it was made. A command can change the mode of the last directory, which is for the next
 * session as well. */
static int find_cache(int at, const char *path, const struct room_wish *w)
{
	int fd = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_mode & 07777) != 0700 ||
	    (geteuid() == 0 && (st.st_uid != w->uid || st.st_gid != w->gid))) {
		fd_close(fd);
		return -ENOENT;
	}
	return fd;
}

/* PATH below the directory AT, part by part; the last part is for commands. */
static int make_cache(int at, const char *path, const struct room_wish *w)
{
	int dir = fcntl(at, F_DUPFD_CLOEXEC, 3), next, r = 0;
	char part[NAME_MAX + 1];
	const char *end;

	for (; dir >= 0; path = end + 1) {
		end = strchrnul(path, '/');
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (!*end)
			r = room_part_make(dir, part, 0700, w->uid, w->gid);
		else if (mkdirat(dir, part, 0700) < 0 && errno != EEXIST)
			r = -errno;
		next = r < 0 ? r
		             : openat(dir, part,
		                      (*end ? O_RDONLY : O_PATH) | O_DIRECTORY | O_NOFOLLOW |
		                              O_CLOEXEC);
		if (next == -1)
			next = -errno;
		fd_close(dir);
		dir = next;
		if (!*end)
			break;
	}
	return dir;
}

int caches_open(const char *state, const struct room_wish *wish, const char *const *list,
                struct room *r, struct error *err)
{
	struct room_wish w = *wish;
	struct room_caches *c = &r->caches;
	struct room found = ROOM_NONE;
	scoped(fd_closep) int home = -1;
	int fd;

	if (!list || !*list)
		return 0;
	w.key.session = NULL;
	w.idle_ms = CACHES_IDLE_MS;
	w.age_ms = INT64_MAX;
	fd = room_open_of(ROOM_OF_CACHES, state, &w, &found, err);
	if (fd < 0)
		return fd;
	c->dir = take_fd(&found.dir);
	memcpy(c->id, found.id, sizeof(c->id));
	c->generation = found.generation;
	snprintf(c->path, sizeof(c->path), "%.*s/home", (int)sizeof(c->path) - 8, found.path);
	home = openat(c->dir, "home", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (; *list && c->count < ROOM_CACHES_MAX; list++) {
		fd = home < 0 ? -errno : find_cache(home, *list + strlen("~/"), &w);
		if (fd == -ENOENT && home >= 0)
			fd = make_cache(home, *list + strlen("~/"), &w);
		if (fd < 0) {
			caches_close(r);
			return error_sys(err, -fd, "caches");
		}
		c->names[c->count] = *list + strlen("~/");
		c->fds[c->count++] = fd;
	}
	return 0;
}

bool caches_are_current(const char *state, const struct room *r)
{
	struct room found = ROOM_NONE;

	if (r->caches.dir < 0)
		return true;
	memcpy(found.id, r->caches.id, sizeof(found.id));
	found.generation = r->caches.generation;
	found.dir = r->caches.dir;
	snprintf(found.path, sizeof(found.path), "%.*s", (int)(strlen(r->caches.path) - 5),
	         r->caches.path);
	return room_is_current_of(ROOM_OF_CACHES, state, &found);
}

void caches_finish(const struct room *r)
{
	if (r->caches.dir >= 0)
		(void)room_finish(r->caches.dir);
}

int caches_list(const char *state, room_visit *visit, void *context)
{
	return room_list_of(ROOM_OF_CACHES, state, visit, context);
}

void caches_measure(const char *state, const char *id, uint64_t *ret_bytes, uint64_t *ret_files)
{
	room_measure_of(ROOM_OF_CACHES, state, id, ret_bytes, ret_files);
}

int caches_remove(const char *state, const char *id)
{
	return room_retire_of(ROOM_OF_CACHES, state, id);
}
