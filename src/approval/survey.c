/*
 * All approvals at once: lists, limits, and what is old. They are few: every one is read.
 */
#include "approval/desk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "approval/inside.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define HISTORY_MS   ((int64_t)24 * 3600 * 1000) /* what has ended can be looked at for so long */
#define STRAY_S      3600
#define ONE_FILE_MAX (8 * APPROVAL_BYTES_MAX)

struct entry {
	char id[APPROVAL_ID_MAX];
	char key[DESK_NAME_SIZE];
	int64_t created_ms, expires_ms;
	enum approval_state state;
	bool theirs;
};

struct survey {
	struct entry *entries; /* the youngest first */
	size_t count;
};

static void survey_done(struct survey *s)
{
	free(s->entries);
}

static int younger_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->created_ms < y->created_ms) - (x->created_ms > y->created_ms);
}

/* The id of "<id>.json"; false: the name is another one. */
static bool id_of_name(const char *name, char ret_id[APPROVAL_ID_MAX])
{
	char text[APPROVAL_ID_MAX];
	size_t n = sizeof(text) - 1;

	if (strlen(name) != n + 5 || strcmp(name + n, ".json") != 0)
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	return approval_id_read(text, ret_id) == 0 && strcmp(text, ret_id) == 0;
}

static void survey_add(int desk, const char *id, const char *principal, struct arena *arena,
                       struct survey *s)
{
	struct entry *e = &s->entries[s->count];
	struct approval a;

	arena_reset(arena);
	if (desk_read(desk, id, arena, &a, NULL) < 0)
		return; /* somebody removes it just now, or it is damaged */
	*e = (struct entry){.created_ms = a.created_ms,
	                    .expires_ms = a.expires_ms,
	                    .state = a.state,
	                    .theirs = !principal || desk_same_text(principal, a.principal)};
	memcpy(e->id, a.id, sizeof(e->id));
	desk_key(&a, e->key);
	s->count++;
}

/* What somebody who was killed has begun, long ago. */
static void remove_stray(int desk, const char *name)
{
	struct stat st;

	if (fstatat(desk, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_mtim.tv_sec < time(NULL) - STRAY_S)
		(void)unlinkat(desk, name, 0);
}

static int survey_make(int desk, const char *principal, struct survey *ret)
{
	scoped(arena_freep) struct arena *arena = arena_new(ONE_FILE_MAX);
	struct survey s = {.entries = calloc(2 * DESK_APPROVALS_MAX, sizeof(*s.entries))};
	int fd = openat(desk, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char id[APPROVAL_ID_MAX];
	struct dirent *d;

	if (!dir || !arena || !s.entries) {
		int r = dir ? -ENOMEM : -errno;

		survey_done(&s);
		if (dir)
			closedir(dir);
		else
			fd_close(fd);
		return r;
	}
	while (s.count < 2 * DESK_APPROVALS_MAX && (d = readdir(dir))) {
		if (id_of_name(d->d_name, id))
			survey_add(desk, id, principal, arena, &s);
		else if (d->d_name[0] == '.')
			remove_stray(desk, d->d_name);
	}
	closedir(dir);
	qsort(s.entries, s.count, sizeof(*s.entries), younger_first);
	*ret = s;
	return 0;
}

static void remove_entry(int desk, const struct entry *e)
{
	static const char *const ends[] = {"json", "answer", "used"};
	struct stat own, key;
	char name[DESK_NAME_SIZE];

	desk_name(e->id, "json", name);
	if (fstatat(desk, name, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstatat(desk, e->key, &key, AT_SYMLINK_NOFOLLOW) == 0 && own.st_ino == key.st_ino)
		(void)unlinkat(desk, e->key, 0);
	/* First the question: an answer alone means nothing. */
	for (size_t i = 0; i < array_size(ends); i++) {
		desk_name(e->id, ends[i], name);
		(void)unlinkat(desk, name, 0);
	}
}

/* What has ended goes after a day, and earlier where there are too many. How many are left. */
static size_t sweep(int desk, struct survey *s)
{
	int64_t now = clock_wall_ms();
	size_t left = s->count;

	for (size_t i = s->count; i-- > 0;) {
		struct entry *e = &s->entries[i];

		if (e->state == APPROVAL_OPEN || e->state == APPROVAL_GIVEN ||
		    (left < DESK_APPROVALS_MAX / 2 && e->expires_ms + HISTORY_MS > now))
			continue;
		remove_entry(desk, e);
		left--;
	}
	return left;
}

/* Room for one more of this principal. */
int desk_make_room(int desk, const char *principal, struct error *err)
{
	scoped(survey_done) struct survey s = {0};
	size_t open = 0;
	int r = survey_make(desk, principal, &s);

	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "approvals: %s", strerrordesc_np(-r));
	for (size_t i = 0; i < s.count; i++)
		open += s.entries[i].theirs && s.entries[i].state == APPROVAL_OPEN;
	if (open >= DESK_OPEN_MAX)
		return error_set(err, ERROR_LIMIT, ENOSPC,
		                 "%zu approvals wait for a person already: answer these first "
		                 "('nacre approvals' lists them)",
		                 open);
	if (sweep(desk, &s) >= DESK_APPROVALS_MAX)
		return error_set(err, ERROR_LIMIT, ENOSPC,
		                 "%d approvals wait already: no more can be asked for",
		                 DESK_APPROVALS_MAX);
	return 0;
}

int desk_list(int desk, const char *principal, bool all, struct arena *arena,
              struct approval **ret_list, size_t *ret_count, struct error *err)
{
	scoped(survey_done) struct survey s = {0};
	struct approval *list;
	size_t count = 0;
	int r = survey_make(desk, principal, &s);

	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "approvals: %s", strerrordesc_np(-r));
	list = arena_new_array(arena, struct approval, s.count + 1);
	if (!list)
		return error_nomem(err);
	for (size_t i = 0; i < s.count; i++) {
		if (!s.entries[i].theirs || (!all && s.entries[i].state != APPROVAL_OPEN))
			continue;
		r = desk_read(desk, s.entries[i].id, arena, &list[count], err);
		if (r == -ENOMEM)
			return r;
		count += r == 0;
	}
	*ret_list = list;
	*ret_count = count;
	return 0;
}
