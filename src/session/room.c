/*
 * One lock on <state>/rooms while a room is found, made or taken away; nothing is removed under it:
 * what shall go gets a name that no room has, and is removed after.
 *
 * The directories below a generation are the commands': nothing in them is believed, followed or
 * walked by its name.
 */
#include "session/room.h"

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
#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/id.h"
#include "base/remove.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"
#include "policy/grants.h"
#include "session/room-git.h"

#define RECORD_MAX ((size_t)64 << 10)
#define NAME_SIZE  (ROOM_ID_SIZE + 8)
#define GONE       ".gone-"
#define TASKS      "tasks"
#define UNUSED     "unused" /* until a command has it */
#define SWEPT      ".swept"
#define SWEEP_MS   60000

struct record {
	const char *principal, *session, *profile, *agent, *policy_file, *workspace, *digest;
	int64_t generation, made_ms, idle_ms, age_ms;
};

#define OF struct record
static const struct json_field record_fields[] = {
	JSON_TEXT("principal", OF, principal, JSON_OPTIONAL),
	JSON_TEXT("session", OF, session, JSON_REQUIRED),
	JSON_TEXT("profile", OF, profile, JSON_OPTIONAL),
	JSON_TEXT("agent", OF, agent, JSON_OPTIONAL),
	JSON_BYTES("policy_file", OF, policy_file, JSON_OPTIONAL),
	JSON_BYTES("workspace", OF, workspace, JSON_REQUIRED),
	JSON_TEXT("digest", OF, digest, JSON_REQUIRED),
	JSON_NUMBER("generation", OF, generation, JSON_REQUIRED, 1, INT64_MAX - 1),
	JSON_NUMBER("made_ms", OF, made_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("idle_ms", OF, idle_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("age_ms", OF, age_ms, JSON_REQUIRED, 0, INT64_MAX),
	{0},
};
#undef OF

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
	fd_close(r->tmp);
	fd_close(r->home);
	fd_close(r->shm);
	fd_close(r->dir);
	*r = ROOM_NONE;
}

static void record_name(const char *id, char into[NAME_SIZE])
{
	snprintf(into, NAME_SIZE, "%.32s.json", id);
}

/* The directory of all rooms. -ENOENT: there is none, and MAKE is false. */
static int open_rooms(const char *state, bool make)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/rooms", state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(AT_FDCWD, path);
}

/* -ENOENT: there is none. One that cannot be read is of no use to anybody. */
static int read_record(int rooms, const char *id, struct arena *arena, struct record *ret,
                       int64_t *ret_used_ms)
{
	scoped(buffer_donep) struct buffer text = {.max = RECORD_MAX};
	scoped(json_decrefp) json_t *root = NULL;
	scoped(fd_closep) int fd = -1;
	struct record found = {0};
	char name[NAME_SIZE];
	struct stat st;

	record_name(id, name);
	fd = fd_open_regular(rooms, name);
	if (fd < 0 || fstat(fd, &st) < 0 || fd_read_all(fd, &text) < 0 ||
	    json_read(buffer_str(&text), text.len, RECORD_MAX, "room", &root, NULL) < 0 ||
	    json_fields_read(root, "room", record_fields, arena, &found, NULL) < 0)
		return -ENOENT;
	*ret = found;
	*ret_used_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return 0;
}

static int write_record(int rooms, const char *id, const struct record *record)
{
	scoped(buffer_donep) struct buffer text = {.max = RECORD_MAX};
	struct json_writer w = {.out = &text};
	char name[NAME_SIZE];

	json_fields_write(&w, record_fields, record);
	buffer_putc(&text, '\n');
	if (buffer_error(&text) < 0)
		return buffer_error(&text);
	record_name(id, name);
	return fd_replace_file(rooms, name, text.data, text.len);
}

static int open_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Whether somebody has the generation; its lock goes with the last descriptor of the last user. */
static bool is_in_use(int room, const char *generation)
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
		    !is_in_use(room, d->d_name))
			dropped |= put_aside(rooms, room, d->d_name);
	closedir(dir);
	return dropped;
}

static int make_part(int dir, const char *name, mode_t mode, const struct room_wish *wish)
{
	scoped(fd_closep) int fd = -1;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open_directory(dir, name);
	if (fd < 0)
		return fd;
	if (geteuid() == 0 && fchown(fd, wish->uid, wish->gid) < 0)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int make_generation(int rooms, const char *id, const char *name, const struct room_wish *w)
{
	static const char *const own[] = {"held", TASKS};
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
	r = dir < 0 ? dir : make_part(dir, "tmp", 01777, w);
	if (r == 0)
		r = make_part(dir, "shm", 01777, w);
	if (r == 0 && w->share_home)
		r = make_part(dir, "home", 0700, w);
	for (size_t i = 0; r == 0 && i < array_size(own); i++)
		if (mkdirat(dir, own[i], 0700) < 0 && errno != EEXIST)
			r = -errno;
	if (r == 0 && w->share_home)
		r = room_git_seed(dir, w->home, w->uid, w->gid);
	return r < 0 ? r : fd_replace_file(dir, UNUSED, "", 0);
}

static int open_part(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Takes the lock that says that it is in use. */
static int open_generation(int rooms, const char *state, bool share_home, struct room *r)
{
	char name[NAME_SIZE + 24];

	snprintf(name, sizeof(name), "%s/%llu", r->id, (unsigned long long)r->generation);
	if (snprintf(r->path, sizeof(r->path), "%s/rooms/%s", state, name) >= (int)sizeof(r->path))
		return -ENAMETOOLONG;
	r->dir = open_directory(rooms, name);
	if (r->dir < 0)
		return r->dir;
	if (flock(r->dir, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	r->tmp = open_part(r->dir, "tmp");
	r->shm = open_part(r->dir, "shm");
	if (share_home)
		r->home = open_part(r->dir, "home");
	if (r->tmp < 0 || r->shm < 0 || (share_home && r->home < 0))
		return -ENOENT;
	return 0;
}

/* Whether its time is over; while it is in use it is not. */
static bool is_over(int rooms, const char *id, const struct record *record, int64_t used_ms)
{
	int64_t now = clock_wall_ms();
	char name[NAME_SIZE + 24];

	if (now - used_ms <= record->idle_ms && now - record->made_ms <= record->age_ms)
		return false;
	snprintf(name, sizeof(name), "%s/%lld", id, (long long)record->generation);
	return !is_in_use(rooms, name);
}

/* Under the lock: the generation that holds, made if there is none. */
static int settle(int rooms, const struct room_wish *wish, struct arena *arena, struct room *room,
                  bool *ret_dropped)
{
	const struct room_key *k = &wish->key;
	struct record record = {0};
	int64_t used_ms = 0;
	char name[24];
	bool found = read_record(rooms, room->id, arena, &record, &used_ms) == 0;
	bool same = found && strcmp(record.digest, wish->digest) == 0 &&
	            !is_over(rooms, room->id, &record, used_ms);
	int r;

	if (same) {
		char path[NAME_SIZE + 24];

		snprintf(path, sizeof(path), "%s/%lld/tmp", room->id, (long long)record.generation);
		same = faccessat(rooms, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	room->made = !same;
	if (!same)
		record.generation = found ? record.generation + 1 : 1;
	room->generation = (uint64_t)record.generation;
	room->made_ms = record.made_ms;
	if (same)
		return 0;
	record = (struct record){.principal = k->principal,
	                         .session = k->session,
	                         .profile = k->profile,
	                         .agent = k->agent,
	                         .policy_file = k->policy_file,
	                         .workspace = k->workspace,
	                         .digest = wish->digest,
	                         .generation = record.generation,
	                         .made_ms = clock_wall_ms(),
	                         .idle_ms = wish->idle_ms,
	                         .age_ms = wish->age_ms};
	room->made_ms = record.made_ms;
	*ret_dropped = drop_generations(rooms, room->id, 0);
	snprintf(name, sizeof(name), "%lld", (long long)record.generation);
	r = make_generation(rooms, room->id, name, wish);
	return r < 0 ? r : write_record(rooms, room->id, &record);
}

int room_open(const char *state, const struct room_wish *wish, struct room *ret_room,
              struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * RECORD_MAX);
	scoped(fd_closep) int rooms = -1;
	struct room room = ROOM_NONE;
	bool dropped = false;
	int r;

	if (!arena)
		return error_nomem(err);
	room_id(&wish->key, room.id);
	rooms = open_rooms(state, true);
	r = rooms < 0 ? rooms : fd_lock(rooms);
	if (r == 0)
		r = settle(rooms, wish, arena, &room, &dropped);
	if (r == 0)
		r = open_generation(rooms, state, wish->share_home, &room);
	if (rooms >= 0)
		(void)flock(rooms, LOCK_UN);
	if (r < 0) {
		room_close(&room);
		return error_sys(err, -r, "room of the session");
	}
	if (dropped)
		remove_gone(rooms);
	if (room.made)
		room_sweep_now_and_then(state);
	room_touch(state, &room);
	*ret_room = room;
	return 0;
}

bool room_claim(const struct room *r)
{
	return unlinkat(r->dir, UNUSED, 0) == 0;
}

void room_touch(const char *state, const struct room *r)
{
	char path[PATH_MAX];

	if (r->dir >= 0 &&
	    snprintf(path, sizeof(path), "%s/rooms/%s.json", state, r->id) < (int)sizeof(path))
		(void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

bool room_is_current(const char *state, const struct room *r)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * RECORD_MAX);
	scoped(fd_closep) int rooms = open_rooms(state, false);
	struct record record = {0};
	struct stat held, named;
	int64_t used_ms;

	return arena && rooms >= 0 && read_record(rooms, r->id, arena, &record, &used_ms) == 0 &&
	       (uint64_t)record.generation == r->generation && fstat(r->dir, &held) == 0 &&
	       lstat(r->path, &named) == 0 && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
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
	scoped(fd_closep) int rooms = open_rooms(state, false);
	scoped(fd_closep) int room =
		rooms < 0 || !room_id_is_valid(id) ? -1 : open_directory(rooms, id);
	struct task_search s = {room, visit, context};

	return room < 0 ? 0 : each_entry(rooms, id, search_generation, &s);
}

/* Looking at all */

static int describe(int rooms, const char *id, struct room_info *ret)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * RECORD_MAX);
	struct room_info info = {0};
	struct record record = {0};
	char name[NAME_SIZE + 24];
	int r = arena ? read_record(rooms, id, arena, &record, &info.used_ms) : -ENOMEM;

	if (r < 0)
		return r;
	snprintf(info.id, sizeof(info.id), "%s", id);
	snprintf(info.session, sizeof(info.session), "%s", record.session);
	snprintf(info.principal, sizeof(info.principal), "%s",
	         record.principal ? record.principal : "");
	snprintf(info.profile, sizeof(info.profile), "%s%s%s", record.profile ? record.profile : "",
	         record.agent ? "/" : "", record.agent ? record.agent : "");
	snprintf(info.workspace, sizeof(info.workspace), "%s", record.workspace);
	info.generation = (uint64_t)record.generation;
	info.made_ms = record.made_ms;
	snprintf(name, sizeof(name), "%s/%llu", id, (unsigned long long)info.generation);
	info.in_use = is_in_use(rooms, name);
	*ret = info;
	return 0;
}

static bool id_of_record(const char *name, char into[ROOM_ID_SIZE])
{
	if (strlen(name) != ROOM_ID_SIZE - 1 + strlen(".json") ||
	    strcmp(name + ROOM_ID_SIZE - 1, ".json") != 0)
		return false;
	memcpy(into, name, ROOM_ID_SIZE - 1);
	into[ROOM_ID_SIZE - 1] = '\0';
	return room_id_is_valid(into);
}

int room_list(const char *state, room_visit *visit, void *context)
{
	scoped(fd_closep) int rooms = open_rooms(state, false);
	int fd = rooms < 0 ? -1 : openat(rooms, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char id[ROOM_ID_SIZE];
	struct room_info info;
	struct dirent *d;

	if (!dir) {
		fd_close(fd);
		return rooms == -ENOENT ? 0 : rooms < 0 ? rooms : -ENOMEM;
	}
	while (r == 0 && (d = readdir(dir)))
		if (id_of_record(d->d_name, id) && describe(rooms, id, &info) == 0)
			r = visit(context, &info);
	closedir(dir);
	return r;
}

void room_measure(const char *state, const char *id, uint64_t *ret_bytes, uint64_t *ret_files)
{
	scoped(fd_closep) int rooms = open_rooms(state, false);

	*ret_bytes = *ret_files = 0;
	if (rooms >= 0 && room_id_is_valid(id))
		room_walk(rooms, id, UINT64_MAX, UINT64_MAX, ret_bytes, ret_files);
}

static int take_away(int rooms, const char *id)
{
	char name[NAME_SIZE];
	bool there;

	record_name(id, name);
	there = unlinkat(rooms, name, 0) == 0;
	there |= put_aside(rooms, rooms, id);
	return there ? 0 : -ENOENT;
}

int room_end(const char *state, const char *id)
{
	scoped(fd_closep) int rooms = -1;
	int r;

	if (!room_id_is_valid(id))
		return -EINVAL;
	rooms = open_rooms(state, false);
	r = rooms < 0 ? rooms : fd_lock(rooms);
	if (r < 0)
		return r;
	r = take_away(rooms, id);
	(void)flock(rooms, LOCK_UN);
	remove_gone(rooms);
	return r;
}

/* Records that cannot be read have no time: their room goes as soon as nobody uses it. */
static bool sweep_one(int rooms, const char *id)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * RECORD_MAX);
	struct record record = {0};
	int64_t used_ms = 0;

	if (!arena)
		return false;
	if (read_record(rooms, id, arena, &record, &used_ms) < 0) {
		(void)drop_generations(rooms, id, 0);
		(void)unlinkat(rooms, id, AT_REMOVEDIR);
		return false;
	}
	if (is_over(rooms, id, &record, used_ms)) {
		(void)drop_generations(rooms, id, 0);
		if (unlinkat(rooms, id, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return take_away(rooms, id) == 0;
		return false;
	}
	(void)drop_generations(rooms, id, (uint64_t)record.generation);
	return false;
}

int room_sweep(const char *state)
{
	scoped(fd_closep) int rooms = open_rooms(state, false);
	int fd = rooms < 0 ? -1 : openat(rooms, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), swept = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char id[ROOM_ID_SIZE];
	struct dirent *d;

	if (!dir || fd_lock(rooms) < 0) {
		if (dir)
			closedir(dir);
		else
			fd_close(fd);
		return 0;
	}
	while ((d = readdir(dir))) {
		snprintf(id, sizeof(id), "%.32s", d->d_name);
		if (id_of_record(d->d_name, id) || room_id_is_valid(d->d_name))
			swept += sweep_one(rooms, id);
	}
	closedir(dir);
	(void)flock(rooms, LOCK_UN);
	remove_gone(rooms);
	return swept;
}

void room_sweep_now_and_then(const char *state)
{
	scoped(fd_closep) int rooms = open_rooms(state, false);
	struct stat st;

	if (rooms < 0)
		return;
	if (fstatat(rooms, SWEPT, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 < SWEEP_MS)
		return;
	if (fd_replace_file(rooms, SWEPT, "", 0) == 0)
		(void)room_sweep(state);
}

struct idle {
	const char *state, *session;
};

static int is_there(void *context, const char *task)
{
	return 1;
}

static int end_if_idle(void *context, const struct room_info *info)
{
	const struct idle *i = context;

	if (strcmp(info->session, i->session) == 0 &&
	    room_tasks(i->state, info->id, is_there, NULL) == 0)
		(void)room_end(i->state, info->id);
	return 0;
}

void room_end_idle(const char *state, const char *session)
{
	struct idle i = {state, session};

	(void)room_list(state, end_if_idle, &i);
}
