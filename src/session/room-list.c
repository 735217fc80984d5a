/*
 * Looking at all rooms, or at all caches.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "session/room-git.h"
#include "session/room-inside.h"

bool room_id_of_record(const char *name, char into[ROOM_ID_SIZE])
{
	if (strlen(name) != ROOM_ID_SIZE - 1 + strlen(".json") ||
	    strcmp(name + ROOM_ID_SIZE - 1, ".json") != 0)
		return false;
	memcpy(into, name, ROOM_ID_SIZE - 1);
	into[ROOM_ID_SIZE - 1] = '\0';
	return room_id_is_valid(into);
}

static int describe(int rooms, const char *id, struct room_info *ret)
{
	scoped(arena_freep) struct arena *arena = arena_new(4 * ROOM_RECORD_MAX);
	struct room_info info = {0};
	struct room_record record = {0};
	char name[ROOM_NAME_SIZE + 40];
	int r = arena ? room_record_read(rooms, id, arena, &record, &info.used_ms) : -ENOMEM;

	if (r < 0)
		return r;
	snprintf(info.id, sizeof(info.id), "%s", id);
	snprintf(info.session, sizeof(info.session), "%s", record.session ? record.session : "");
	snprintf(info.principal, sizeof(info.principal), "%s",
	         record.principal ? record.principal : "");
	snprintf(info.profile, sizeof(info.profile), "%s%s%s", record.profile ? record.profile : "",
	         record.agent ? "/" : "", record.agent ? record.agent : "");
	snprintf(info.workspace, sizeof(info.workspace), "%s", record.workspace);
	info.generation = (uint64_t)record.generation;
	info.made_ms = record.made_ms;
	snprintf(name, sizeof(name), "%s/%llu/" ROOM_UNUSED, id,
	         (unsigned long long)info.generation);
	info.fresh = faccessat(rooms, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	*strrchr(name, '/') = '\0';
	info.in_use = room_is_in_use(rooms, name);
	*ret = info;
	return 0;
}

int room_list_of(enum room_kind kind, const char *state, room_visit *visit, void *context)
{
	scoped(fd_closep) int rooms = room_open_all(kind, state, false);
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
		if (room_id_of_record(d->d_name, id) && describe(rooms, id, &info) == 0)
			r = visit(context, &info);
	closedir(dir);
	return r;
}

int room_list(const char *state, room_visit *visit, void *context)
{
	return room_list_of(ROOM_OF_SESSION, state, visit, context);
}

void room_measure_of(enum room_kind kind, const char *state, const char *id, uint64_t *ret_bytes,
                     uint64_t *ret_files)
{
	scoped(fd_closep) int rooms = room_open_all(kind, state, false);

	*ret_bytes = *ret_files = 0;
	if (rooms >= 0 && room_id_is_valid(id))
		room_walk(rooms, id, UINT64_MAX, UINT64_MAX, ret_bytes, ret_files);
}

void room_measure(const char *state, const char *id, uint64_t *ret_bytes, uint64_t *ret_files)
{
	room_measure_of(ROOM_OF_SESSION, state, id, ret_bytes, ret_files);
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

	if (strcmp(info->session, i->session) != 0)
		return 0;
	if (room_tasks(i->state, info->id, is_there, NULL) == 0)
		(void)room_end(i->state, info->id, ROOM_END_CLIENT);
	else
		(void)room_retire_of(ROOM_OF_SESSION, i->state, info->id);
	return 0;
}

void room_end_last(const char *state, const struct room *r)
{
	if (room_is_finished(r->dir) && room_tasks(state, r->id, is_there, NULL) == 0)
		(void)room_end(state, r->id, ROOM_END_CLIENT);
}

void room_end_idle(const char *state, const char *session)
{
	struct idle i = {state, session};

	(void)room_list(state, end_if_idle, &i);
}
