/*
 * One lock on <state>/rooms while a room is found, made or taken away; nothing is removed under it:
 * what shall go gets a name that no room has, and is removed after.
 *
 * The directories below a generation are the commands': nothing in them is believed, followed or
 * walked by its name.
 */
#include "session/room-inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/id.h"
#include "base/remove.h"
#include "policy/grants.h"
#include "session/caches.h"
#include "session/room-git.h"

#define GONE     ".gone-"
#define TASKS    "tasks"
#define FINISHED "finished" /* whoever comes next begins another */
#define TOLD     ".told"
#define SWEPT    ".swept"
#define SWEEP_MS 60000

/* Each part with its NUL, so that no two keys have the same text. */
void room_id(const struct room_key *key, char into[ROOM_ID_SIZE])
{
	const char *const parts[] = {key->principal, key->session,     key->profile,
	                             key->agent,     key->policy_file, key->workspace};
	struct digest all[array_size(parts)], id;

	for (size_t i = 0; i < array_size(parts); i++)
		digest_make(parts[i] ? parts[i] : "", parts[i] ? strlen(parts[i]) : 0, &all[i]);
	digest_make(all, sizeof(all), &id);
	hex_write(id.bytes, (ROOM_ID_SIZE - 1) / 2, into);
}

bool room_id_is_valid(const char *id)
{
	return strspn(id, "0123456789abcdef") == ROOM_ID_SIZE - 1 && !id[ROOM_ID_SIZE - 1];
}

void room_close(struct room *r)
{
	caches_close(r);
	fd_close(r->tmp);
	fd_close(r->home);
	fd_close(r->shm);
	fd_close(r->dir);
	*r = ROOM_NONE;
}

static const struct {
	const char *directory;
	const char *part; /* that each generation has */
} kinds[ROOM_KINDS] = {
	[ROOM_OF_SESSION] = {"rooms", "tmp"},
	[ROOM_OF_CACHES] = {"caches", "home"},
};

/* The directory of all of a kind. -ENOENT: there is none, and MAKE is false. */
int room_open_all(enum room_kind kind, const char *state, bool make)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", state, kinds[kind].directory) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(AT_FDCWD, path);
}

static int open_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Whether somebody has the generation; its lock goes with the last descriptor of the last user. */
bool room_is_in_use(int room, const char *generation)
{
	scoped(fd_closep) int fd = open_directory(room, generation);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* Gives the entry a name that nobody looks for. False: it is not there, or stays. */
static bool put_aside(int rooms, int at, const char *name)
{
	char id[ID_UUID_SIZE], gone[ID_UUID_SIZE + 16];

	if (id_uuid(id) < 0)
		return false;
	snprintf(gone, sizeof(gone), GONE "%s", id);
	return renameat(at, name, rooms, gone) == 0;
}

/* What was put aside, by us or by others that did not come to its end. */
static void remove_gone(int rooms)
{
	int fd = openat(rooms, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		fd_close(fd);
		return;
	}
	while ((d = readdir(dir)))
		if (strncmp(d->d_name, GONE, strlen(GONE)) == 0)
			remove_tree(rooms, d->d_name);
	closedir(dir);
}

/* Puts generations aside that nobody uses, but KEPT. Whether some was. */
static bool drop_generations(int rooms, const char *id, uint64_t kept)
{
	int room = open_directory(rooms, id);
	DIR *dir = room < 0 ? NULL : fdopendir(room);
	bool dropped = false;
	struct dirent *d;

	if (!dir) {
		fd_close(room < 0 ? -1 : room);
		return false;
	}
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && strtoull(d->d_name, NULL, 10) != kept &&
		    !room_is_in_use(room, d->d_name))
			dropped |= put_aside(rooms, room, d->d_name);
	closedir(dir);
	return dropped;
}

int room_part_make(int dir, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	scoped(fd_closep) int fd = -1;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = fd_open_locked(dir, name, 0700, NULL);
	if (fd < 0)
		return fd;
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int fill_generation(int dir, const struct room_wish *w)
{
	static const char *const own[] = {"held", TASKS};
	int r = room_part_make(dir, "tmp", 01777, w->uid, w->gid);

	if (r == 0)
		r = room_part_make(dir, "shm", 01777, w->uid, w->gid);
	if (r == 0 && w->share_home)
		r = room_part_make(dir, "home", 0700, w->uid, w->gid);
	for (size_t i = 0; r == 0 && i < array_size(own); i++)
		if (mkdirat(dir, own[i], 0700) < 0 && errno != EEXIST)
			r = -errno;
	if (r == 0 && w->share_home)
		r = room_git_seed(dir, w->home, w->uid, w->gid);
	return r;
}

static int make_generation(enum room_kind kind, int rooms, const char *id, const char *name,
                           const struct room_wish *w)
{
	scoped(fd_closep) int room = -1;
	scoped(fd_closep) int dir = -1;
	int r;

	if (mkdirat(rooms, id, 0700) < 0 && errno != EEXIST)
		return -errno;
	room = open_directory(rooms, id);
	if (room < 0)
		return room;
	if (mkdirat(room, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir = open_directory(room, name);
	if (dir < 0)
		return dir;
	if (kind == ROOM_OF_CACHES)
		r = mkdirat(dir, "home", 0700) < 0 && errno != EEXIST ? -errno : 0;
	else
		r = fill_generation(dir, w);
	return r < 0 ? r : fd_replace_file(dir, ROOM_UNUSED, "", 0);
}

/* A command may have taken all rights away from itself: then nothing could be mounted in it. */
static int open_part(int dir, const char *name)
{
	int fd;

	fd_close(fd_open_locked(dir, name, 0700, NULL));
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes the lock that says that it is in use. */
static int open_generation(enum room_kind kind, int rooms, const char *state, bool share_home,
                           struct room *r)
{
	char name[ROOM_NAME_SIZE + 24];

	snprintf(name, sizeof(name), "%s/%llu", r->id, (unsigned long long)r->generation);
	if (snprintf(r->path, sizeof(r->path), "%s/%s/%s", state, kinds[kind].directory, name) >=
	    (int)sizeof(r->path))
		return -ENAMETOOLONG;
	r->dir = open_directory(rooms, name);
	if (r->dir < 0)
		return r->dir;
	if (flock(r->dir, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	if (kind == ROOM_OF_CACHES)
		return 0;
	r->tmp = open_part(r->dir, "tmp");
	r->shm = open_part(r->dir, "shm");
	if (share_home)
		r->home = open_part(r->dir, "home");
	if (r->tmp < 0 || r->shm < 0 || (share_home && r->home < 0))
		return -ENOENT;
	return 0;
}

static bool is_past(const struct room_record *record, int64_t used_ms)
{
	int64_t now = clock_wall_ms();

	return now - used_ms > record->idle_ms || now - record->made_ms > record->age_ms;
}

/* Why its time is over, NULL: it is not; while it is in use it never is. */
static const char *why_over(int rooms, const char *id, const struct room_record *record,
                            int64_t used_ms)
{
	char name[ROOM_NAME_SIZE + 24];

	if (!is_past(record, used_ms))
		return NULL;
	snprintf(name, sizeof(name), "%s/%lld", id, (long long)record->generation);
	if (room_is_in_use(rooms, name))
		return NULL;
	return clock_wall_ms() - used_ms > record->idle_ms ? ROOM_IDLE : ROOM_AGE;
}

/* NULL: the generation is there, and holds. */
static const char *why_useless(enum room_kind kind, int rooms, const char *id, int64_t generation)
{
	char part[ROOM_NAME_SIZE + 40], finished[ROOM_NAME_SIZE + 40];

	snprintf(part, sizeof(part), "%s/%lld/%s", id, (long long)generation, kinds[kind].part);
	snprintf(finished, sizeof(finished), "%s/%lld/" FINISHED, id, (long long)generation);
	if (faccessat(rooms, part, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return ROOM_LOST;
	return faccessat(rooms, finished, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? ROOM_END_CLIENT : NULL;
}

/* What room_open_of() has to do when the lock is given back. */
struct change {
	const char *why; /* another generation began; NULL: none */
	bool ended;      /* there was one before */
	struct room_record old, new;
	bool dropped; /* something was put aside */
};

/* Under the lock: why the generation of the record does not hold; NULL: it does. */
static const char *why_anew(enum room_kind kind, int rooms, const struct room_wish *wish,
                            const char *id, const struct room_record *record, int64_t used_ms)
{
	const char *over = why_over(rooms, id, record, used_ms);

	if (strcmp(record->digest, wish->digest) != 0)
		return ROOM_PROFILE;
	if (over)
		return over;
	return why_useless(kind, rooms, id, record->generation);
}

/* Under the lock: the generation that holds, made if there is none. */
static int settle(enum room_kind kind, int rooms, const struct room_wish *wish, struct arena *arena,
                  struct room *room, struct change *c)
{
	const struct room_key *k = &wish->key;
	int64_t used_ms = 0;
	char name[24];
	int r;

	c->ended = room_record_read(rooms, room->id, arena, &c->old, &used_ms) == 0;
	c->why = c->ended ? why_anew(kind, rooms, wish, room->id, &c->old, used_ms) : ROOM_FIRST;
	room->generation = (uint64_t)c->old.generation;
	room->made_ms = c->old.made_ms;
	if (!c->why)
		return 0;
	if (wish->existing)
		return -ENOENT;
	c->new = (struct room_record){.principal = k->principal,
	                              .session = k->session,
	                              .profile = k->profile,
	                              .agent = k->agent,
	                              .policy_file = k->policy_file,
	                              .workspace = k->workspace,
	                              .digest = wish->digest,
	                              .generation = c->old.generation + 1,
	                              .made_ms = clock_wall_ms(),
	                              .idle_ms = wish->idle_ms,
	                              .age_ms = wish->age_ms,
	                              .audited = wish->audited};
	room->made = true;
	room->generation = (uint64_t)c->new.generation;
	room->made_ms = c->new.made_ms;
	c->dropped = drop_generations(rooms, room->id, 0);
	snprintf(name, sizeof(name), "%lld", (long long)c->new.generation);
	r = make_generation(kind, rooms, room->id, name, wish);
	return r < 0 ? r : room_record_write(rooms, room->id, &c->new);
}

static void tell(const char *state, const char *id, const struct change *c)
{
	if (!c->why)
		return;
	if (c->ended)
		room_audit(state, AUDIT_ROOM_ENDED, id, &c->old, c->why);
	room_audit(state, AUDIT_ROOM_MADE, id, &c->new, c->why);
}

static void touch(int rooms, const char *id)
{
	char name[ROOM_NAME_SIZE];

	room_record_name(id, name);
	(void)utimensat(rooms, name, NULL, AT_SYMLINK_NOFOLLOW);
}

int room_open_of(enum room_kind kind, const char *state, const struct room_wish *wish,
                 struct room *ret_room, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ROOM_RECORD_MAX);
	scoped(fd_closep) int rooms = -1;
	struct room room = ROOM_NONE;
	struct change change = {0};
	int r;

	if (!arena)
		return error_nomem(err);
	room_id(&wish->key, room.id);
	rooms = room_open_all(kind, state, !wish->existing);
	r = rooms < 0 ? rooms : fd_lock(rooms);
	if (r == 0)
		r = settle(kind, rooms, wish, arena, &room, &change);
	if (r == 0)
		r = open_generation(kind, rooms, state, wish->share_home, &room);
	if (rooms >= 0)
		(void)flock(rooms, LOCK_UN);
	if (r < 0) {
		room_close(&room);
		return error_sys(err, -r, "room of the session");
	}
	if (change.dropped)
		remove_gone(rooms);
	tell(state, room.id, &change);
	if (room.made)
		room_sweep_now_and_then(state);
	touch(rooms, room.id);
	*ret_room = room;
	return 0;
}

int room_open(const char *state, const struct room_wish *wish, struct room *ret_room,
              struct error *err)
{
	return room_open_of(ROOM_OF_SESSION, state, wish, ret_room, err);
}

bool room_claim(const struct room *r)
{
	return unlinkat(r->dir, ROOM_UNUSED, 0) == 0;
}

void room_touch(const char *state, const struct room *r)
{
	scoped(fd_closep) int rooms =
		r->dir < 0 ? -1 : room_open_all(ROOM_OF_SESSION, state, false);

	if (rooms >= 0)
		touch(rooms, r->id);
}

bool room_is_current_of(enum room_kind kind, const char *state, const struct room *r)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ROOM_RECORD_MAX);
	scoped(fd_closep) int rooms = room_open_all(kind, state, false);
	struct room_record record = {0};
	struct stat held, named;
	int64_t used_ms;

	return arena && rooms >= 0 &&
	       room_record_read(rooms, r->id, arena, &record, &used_ms) == 0 &&
	       (uint64_t)record.generation == r->generation && !is_past(&record, used_ms) &&
	       !why_useless(kind, rooms, r->id, record.generation) && fstat(r->dir, &held) == 0 &&
	       lstat(r->path, &named) == 0 && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

bool room_is_current(const char *state, const struct room *r)
{
	return room_is_current_of(ROOM_OF_SESSION, state, r) && caches_are_current(state, r);
}

/* Tasks */

void room_mark(const struct room *r, const char *task)
{
	char name[64];

	snprintf(name, sizeof(name), TASKS "/%.40s", task);
	fd_close(openat(r->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

void room_unmark(const struct room *r, const char *task)
{
	char name[64];

	snprintf(name, sizeof(name), TASKS "/%.40s", task);
	(void)unlinkat(r->dir, name, 0);
}

/* Each entry of a directory of ours but those with a dot first. */
static int each_entry(int at, const char *name, room_task_visit *visit, void *context)
{
	int fd = open_directory(at, name), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		fd_close(fd < 0 ? -1 : fd);
		return 0;
	}
	while (r == 0 && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			r = visit(context, d->d_name);
	closedir(dir);
	return r;
}

struct task_search {
	int room;
	room_task_visit *visit;
	void *context;
};

static int search_generation(void *context, const char *generation)
{
	const struct task_search *s = context;
	char name[64];

	snprintf(name, sizeof(name), "%.24s/" TASKS, generation);
	return each_entry(s->room, name, s->visit, s->context);
}

int room_tasks(const char *state, const char *id, room_task_visit *visit, void *context)
{
	scoped(fd_closep) int rooms = room_open_all(ROOM_OF_SESSION, state, false);
	scoped(fd_closep) int room =
		rooms < 0 || !room_id_is_valid(id) ? -1 : open_directory(rooms, id);
	struct task_search s = {room, visit, context};

	return room < 0 ? 0 : each_entry(rooms, id, search_generation, &s);
}

/* Ends */

static int take_away(int rooms, const char *id)
{
	char name[ROOM_NAME_SIZE];
	bool there;

	snprintf(name, sizeof(name), "%.32s" ROOM_NET, id);
	(void)unlinkat(rooms, name, 0);
	room_record_name(id, name);
	there = unlinkat(rooms, name, 0) == 0;
	there |= put_aside(rooms, rooms, id);
	return there ? 0 : -ENOENT;
}

int room_end(const char *state, const char *id, const char *reason)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ROOM_RECORD_MAX);
	scoped(fd_closep) int rooms = -1;
	struct room_record record = {0};
	int64_t used_ms;
	int r;

	if (!arena)
		return -ENOMEM;
	if (!room_id_is_valid(id))
		return -EINVAL;
	rooms = room_open_all(ROOM_OF_SESSION, state, false);
	r = rooms < 0 ? rooms : fd_lock(rooms);
	if (r < 0)
		return r;
	(void)room_record_read(rooms, id, arena, &record, &used_ms);
	r = take_away(rooms, id);
	(void)flock(rooms, LOCK_UN);
	if (r == 0)
		room_audit(state, AUDIT_ROOM_ENDED, id, &record, reason);
	remove_gone(rooms);
	return r;
}

bool room_is_finished(int dir)
{
	return faccessat(dir, FINISHED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int room_finish(int dir)
{
	return fd_replace_file(dir, FINISHED, "", 0);
}

int room_retire_of(enum room_kind kind, const char *state, const char *id)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ROOM_RECORD_MAX);
	scoped(fd_closep) int rooms = -1;
	scoped(fd_closep) int dir = -1;
	struct room_record record = {0};
	char name[ROOM_NAME_SIZE + 24];
	int64_t used_ms;
	bool gone;
	int r;

	if (!arena)
		return -ENOMEM;
	if (!room_id_is_valid(id))
		return -EINVAL;
	rooms = room_open_all(kind, state, false);
	r = rooms < 0 ? rooms : fd_lock(rooms);
	if (r == 0)
		r = room_record_read(rooms, id, arena, &record, &used_ms);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s/%lld", id, (long long)record.generation);
	dir = open_directory(rooms, name);
	if (dir >= 0)
		(void)room_finish(dir);
	fd_close(take_fd(&dir));
	/* A launcher that stays has it, and hears of names that go. */
	if (fd_replace_file(rooms, TOLD, "", 0) == 0)
		(void)unlinkat(rooms, TOLD, 0);
	(void)drop_generations(rooms, id, 0);
	gone = (unlinkat(rooms, id, AT_REMOVEDIR) == 0 || errno == ENOENT) &&
	       take_away(rooms, id) == 0;
	(void)flock(rooms, LOCK_UN);
	if (gone)
		room_audit(state, AUDIT_ROOM_ENDED, id, &record, ROOM_END_CLIENT);
	remove_gone(rooms);
	return 0;
}

/* Under the lock. Records that cannot be read have no time: their room goes as soon as nobody uses
 * it. Why the room went; NULL: it is there. */
static const char *sweep_one(enum room_kind kind, int rooms, const char *id, struct arena *arena,
                             struct room_record *record)
{
	const char *why;
	int64_t used_ms = 0;

	if (room_record_read(rooms, id, arena, record, &used_ms) < 0) {
		(void)drop_generations(rooms, id, 0);
		if (unlinkat(rooms, id, AT_REMOVEDIR) == 0)
			(void)take_away(rooms, id);
		return NULL;
	}
	why = why_over(rooms, id, record, used_ms);
	if (!why)
		why = why_useless(kind, rooms, id, record->generation);
	if (!why) {
		(void)drop_generations(rooms, id, (uint64_t)record->generation);
		return NULL;
	}
	(void)drop_generations(rooms, id, 0);
	if (unlinkat(rooms, id, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return NULL;
	return take_away(rooms, id) == 0 ? why : NULL;
}

static int sweep_kind(enum room_kind kind, const char *state)
{
	scoped(fd_closep) int rooms = room_open_all(kind, state, false);
	int fd = rooms < 0 ? -1 : openat(rooms, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), swept = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char id[ROOM_ID_SIZE];
	struct dirent *d;

	if (!dir) {
		fd_close(fd);
		return 0;
	}
	while ((d = readdir(dir))) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct room_record record = {0};
		const char *why;

		snprintf(id, sizeof(id), "%.32s", d->d_name);
		if (!room_id_of_record(d->d_name, id) && !room_id_is_valid(d->d_name))
			continue;
		arena = arena_new(4 * ROOM_RECORD_MAX);
		if (!arena || fd_lock(rooms) < 0) /* for one at a time: calls wait for it */
			break;
		why = sweep_one(kind, rooms, id, arena, &record);
		(void)flock(rooms, LOCK_UN);
		if (why && kind == ROOM_OF_SESSION)
			room_audit(state, AUDIT_ROOM_ENDED, id, &record, why);
		swept += why != NULL;
	}
	closedir(dir);
	remove_gone(rooms);
	return swept;
}

int room_sweep(const char *state)
{
	(void)sweep_kind(ROOM_OF_CACHES, state);
	return sweep_kind(ROOM_OF_SESSION, state);
}

void room_sweep_now_and_then(const char *state)
{
	scoped(fd_closep) int rooms = room_open_all(ROOM_OF_SESSION, state, false);
	struct stat st;

	if (rooms < 0)
		return;
	if (fstatat(rooms, SWEPT, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 < SWEEP_MS)
		return;
	if (fd_replace_file(rooms, SWEPT, "", 0) == 0)
		(void)room_sweep(state);
}
