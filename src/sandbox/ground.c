/*
 * The pieces that trees are planned with: steps of the usual kinds, what lies under a path, mount
 * points, and files of the box's own.
 */
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/path.h"
#include "sandbox/box.h"

int box_directory(struct sandbox_plan *p, enum box_phase phase, const char *path, mode_t mode)
{
	struct box_step *s = box_step_add(p, phase, BOX_DIRECTORY, path);

	if (!s)
		return -ENOMEM;
	s->mode = mode;
	return 0;
}

int box_bind(struct sandbox_plan *p, enum box_phase phase, const char *source, const char *path)
{
	struct box_step *s = box_step_add(p, phase, BOX_BIND, path);

	if (!s)
		return -ENOMEM;
	s->source = source;
	return 0;
}

int box_ground_add(struct sandbox_plan *p, const char *path, enum box_ground_kind kind)
{
	if (p->ground_count == BOX_GROUNDS_MAX)
		return -E2BIG;
	p->grounds[p->ground_count++] = (struct box_ground){.path = path, .kind = kind, .fd = -1};
	return 0;
}

enum box_ground_kind box_ground_of(const struct sandbox_plan *p, const char *path)
{
	enum box_ground_kind kind = BOX_GROUND_SKELETON;
	size_t longest = 0;

	for (size_t i = 0; i < p->ground_count; i++) {
		size_t n = strlen(p->grounds[i].path);

		if (n >= longest && path_is_in(path, p->grounds[i].path)) {
			longest = n;
			kind = p->grounds[i].kind;
		}
	}
	return kind;
}

bool box_is_careful(const struct sandbox_plan *p, const char *path)
{
	for (size_t i = 0; i < p->ground_count; i++)
		if (p->grounds[i].kind == BOX_GROUND_ROOM && path_is_in(path, p->grounds[i].path))
			return true;
	return false;
}

/* The first one makes their directory, bound on itself: mounts that are taken from a read-only
 * mount are read-only, so each file costs no call for that. */
static int own_begin(struct sandbox_plan *p)
{
	struct box_step *s;
	int r = box_directory(p, BOX_PRIVATE, "dev/shm/own", 0755);

	if (r == 0)
		r = box_bind(p, BOX_OWN, "dev/shm/own", "dev/shm/own");
	s = r == 0 ? box_step_add(p, BOX_OWN, BOX_ATTR, "dev/shm/own") : NULL;
	if (!s)
		return -ENOMEM;
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	p->has_own = true;
	return 0;
}

const char *box_own_file(struct sandbox_plan *p, const char *name, mode_t mode, const char *data)
{
	struct box_step *s;

	if (!p->has_own && own_begin(p) < 0)
		return NULL;
	s = box_step_add(p, BOX_PRIVATE, S_ISDIR(mode) ? BOX_DIRECTORY : BOX_FILE,
	                 arena_printf(p->arena, "dev/shm/own/%s", name));
	if (!s)
		return NULL;
	s->mode = mode & 07777;
	s->data = data;
	return s->path;
}

int box_mask(struct sandbox_plan *p, const char *path, bool is_directory)
{
	const char **source = is_directory ? &p->mask_directory : &p->mask_file;

	if (!*source)
		*source = is_directory ? box_own_file(p, "masked", S_IFDIR, NULL)
		                       : box_own_file(p, "mask", 0, NULL);
	if (!*source)
		return -ENOMEM;
	/* One that is held, since something in it is hidden, is not hidden yet. */
	for (size_t i = 0; i < p->steps.count; i++)
		if (p->steps.items[i].phase == BOX_MASKS && p->steps.items[i].kind != BOX_HOLD &&
		    strcmp(p->steps.items[i].path, path + 1) == 0)
			return 0;
	return box_bind(p, BOX_MASKS, *source, path + 1);
}

static bool is_planned(const struct sandbox_plan *p, const char *path)
{
	for (size_t i = 0; i < p->steps.count; i++)
		if ((p->steps.items[i].kind == BOX_DIRECTORY ||
		     p->steps.items[i].kind == BOX_FILE) &&
		    strcmp(p->steps.items[i].path, path) == 0)
			return true;
	return false;
}

int box_point(struct sandbox_plan *p, const char *path, bool is_directory)
{
	const char *end = path;
	int r = 0;

	while (r == 0 && *end) {
		enum box_ground_kind ground;
		enum box_phase phase;
		struct box_step *s;
		const char *part;
		bool last;

		end = strchrnul(end + 1, '/');
		last = *end == '\0';
		part = arena_strndup(p->arena, path, (size_t)(end - path));
		if (!part)
			return -ENOMEM;
		ground = box_ground_of(p, part);
		if (ground == BOX_GROUND_HOST || is_planned(p, part + 1))
			continue;
		if (ground == BOX_GROUND_ROOM)
			box_room_clear(p, part, !last || is_directory);
		phase = ground == BOX_GROUND_SKELETON ? BOX_SKELETON : BOX_GRANTS;
		s = box_step_add(p, phase, last && !is_directory ? BOX_FILE : BOX_DIRECTORY,
		                 part + 1);
		if (!s)
			return -ENOMEM;
		s->mode = last && !is_directory ? 0600 : 0755;
		s->each = ground == BOX_GROUND_SCRATCH;
		/* Else a command could move it, and what is mounted below it, in a kept box too. */
		if (ground == BOX_GROUND_ROOM && !last &&
		    !box_step_add(p, phase, BOX_PIN, part + 1))
			return -ENOMEM;
	}
	return r;
}
