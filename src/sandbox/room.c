/*
 * The room of a session in the tree of a box. Its directories lie on the host, and commands of
 * before have filled them: where a mount point has to be there may be a link, a file or a FIFO. The
 * plan takes such things away; entering follows no link on the way (enter.c), since commands of the
 * same session may be at work in the room meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove.h"
#include "sandbox/box.h"

static uint64_t room_attr(const struct sandbox_plan *p)
{
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (p->runs_own ? 0 : MOUNT_ATTR_NOEXEC);
}

/* Where the owners of its files cannot be mapped to the box's user there is no room, and the box is
 * as it would be without. */
bool box_room_begin(struct sandbox_plan *p)
{
	int tree;

	if (!p->room.path)
		return false;
	if (!p->identity.by_parent)
		return true;
	tree = box_tree_copy(&p->identity, p->room.tmp, room_attr(p));
	if (tree < 0)
		p->room.path = NULL;
	else
		fd_close(tree);
	return p->room.path != NULL;
}

/* The directory FD, which is SOURCE on the host, at PATH. */
static struct box_step *attach(struct sandbox_plan *p, enum box_phase phase, const char *path,
                               const char *source, int fd)
{
	scoped(fd_closep) int tree = -1;
	struct box_step *s;
	struct stat st;

	if (!source || fstat(fd, &st) < 0)
		return NULL;
	if (p->identity.by_parent)
		tree = box_tree_copy(&p->identity, fd, room_attr(p));
	if (p->identity.by_parent && tree < 0)
		return NULL;
	s = box_step_add(p, phase, tree >= 0 ? BOX_ATTACH : BOX_TREE, path + 1);
	if (!s)
		return NULL;
	s->source = source;
	s->attr = room_attr(p);
	s->device = st.st_dev;
	s->inode = st.st_ino;
	s->fd = tree;
	if (tree >= 0 && box_fd_keep(p, take_fd(&tree)) < 0)
		return NULL;
	return s;
}

static int add_part(struct sandbox_plan *p, const char *path, const char *source, int fd)
{
	bool within = box_is_careful(p, path);
	struct box_step *s;
	int r = box_point(p, path, true);

	if (r < 0)
		return r;
	/* In a part that was attached before, the point for it comes first. */
	s = attach(p, within ? BOX_GRANTS : BOX_PRIVATE, path, source, fd);
	if (!s)
		return -ENOMEM;
	r = box_ground_add(p, path, BOX_GROUND_ROOM);
	if (r < 0)
		return r;
	p->grounds[p->ground_count - 1].fd = fd;
	return box_rule_add(p, path, p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE);
}

int box_room_part(struct sandbox_plan *p, const char *path, const char *name, int fd)
{
	return add_part(p, path, arena_printf(p->arena, "%s/%s", p->room.path, name), fd);
}

int box_room_caches(struct sandbox_plan *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->room.cache_count; i++) {
		const struct sandbox_cache *c = &p->room.caches[i];
		const char *path = arena_printf(p->arena, "%s/%s", p->home, c->name);

		r = path ? add_part(p, path,
		                    arena_printf(p->arena, "%s/%s", p->room.caches_path, c->name),
		                    c->fd)
		         : -ENOMEM;
	}
	return r;
}

int box_room_shm(struct sandbox_plan *p)
{
	struct box_step *s = attach(p, BOX_LAST, "/dev/shm",
	                            arena_printf(p->arena, "%s/shm", p->room.path), p->room.shm);

	if (!s)
		return -ENOMEM;
	s->each = p->has_scratch; /* a new scratch file system hides it */
	return box_rule_add(p, "/dev/shm", p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE);
}

/* The ground that PATH lies on, which is a room. */
static const struct box_ground *ground_of(const struct sandbox_plan *p, const char *path)
{
	const struct box_ground *found = NULL;

	for (size_t i = 0; i < p->ground_count; i++)
		if (path_is_in(path, p->grounds[i].path) &&
		    (!found || strlen(p->grounds[i].path) >= strlen(found->path)))
			found = &p->grounds[i];
	return found && found->kind == BOX_GROUND_ROOM ? found : NULL;
}

static bool suits(const struct stat *st, bool is_directory)
{
	return is_directory ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode);
}

void box_room_clear(const struct sandbox_plan *p, const char *path, bool is_directory)
{
	const struct box_ground *g = ground_of(p, path);
	const char *rest = g ? path + strlen(g->path) : "", *end;
	int at = g ? openat(g->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, next;
	char part[NAME_MAX + 1];
	struct stat st;

	for (rest += *rest == '/'; at >= 0 && *rest; rest = end + (*end == '/')) {
		bool last;

		end = strchrnul(rest, '/');
		last = *end == '\0';
		if ((size_t)(end - rest) > NAME_MAX)
			break;
		snprintf(part, sizeof(part), "%.*s", (int)(end - rest), rest);
		if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		if (!suits(&st, !last || is_directory)) {
			if (S_ISDIR(st.st_mode))
				remove_tree(at, part);
			else
				(void)unlinkat(at, part, 0);
			break;
		}
		next = last ? -1 : fd_open_locked(at, part, 0700, NULL);
		fd_close(at);
		at = next;
	}
	fd_close(at);
}

/* A command may lock itself out of a directory. Whoever plans a box opens it again. */
static bool is_open(const struct stat *st)
{
	return !S_ISDIR(st->st_mode) || (st->st_mode & 0700) == 0700;
}

static bool way_is_open(int from, const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	bool open = true;

	for (const char *end = path; open && *end; end++) {
		int fd;

		end = strchrnul(end + 1, '/');
		if (end - path >= PATH_MAX)
			return false;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		fd = path_open_beneath(from, part, O_PATH);
		open = fd < 0 || fstat(fd, &st) < 0 || is_open(&st);
		fd_close(fd);
		if (!*end)
			break;
	}
	return open;
}

/* A command may rename the directories above a mount, and it goes along: in a box that is kept the
 * workspace would then be elsewhere for the next command. The point itself cannot be replaced while
 * something is mounted on it. It is made when the box is entered, or was there before. */
static bool stays(const struct sandbox_plan *p, struct box_step *s)
{
	const struct box_ground *g = NULL;
	scoped(fd_closep) int fd = -1;
	struct stat st;

	/* Paths of grounds have a slash in front. */
	for (size_t i = 0; i < p->ground_count; i++)
		if (p->grounds[i].kind == BOX_GROUND_ROOM &&
		    path_is_in(s->path, p->grounds[i].path + 1) &&
		    strlen(s->path) >= strlen(p->grounds[i].path) &&
		    (!g || strlen(p->grounds[i].path) > strlen(g->path)))
			g = &p->grounds[i];
	if (!g)
		return true;
	fd = path_open_beneath(g->fd, s->path + strlen(g->path), O_PATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return s->point == 0;
	if (s->point == 0)
		s->point = st.st_ino;
	return s->point == st.st_ino && way_is_open(g->fd, s->path + strlen(g->path));
}

static bool part_is_open(int fd)
{
	struct stat st;

	return fd < 0 || (fstat(fd, &st) == 0 && is_open(&st));
}

bool box_room_holds(struct sandbox_plan *p)
{
	if (p->room.path && (!part_is_open(p->room.tmp) || !part_is_open(p->room.home) ||
	                     !part_is_open(p->room.shm)))
		return false;
	for (size_t i = 0; i < p->steps.count; i++) {
		struct box_step *s = &p->steps.items[i];

		if (s->careful &&
		    (s->kind == BOX_BIND || s->kind == BOX_TREE || s->kind == BOX_ATTACH ||
		     s->kind == BOX_MOUNT || s->kind == BOX_COVER) &&
		    !stays(p, s))
			return false;
	}
	return true;
}

bool sandbox_plan_has_room(const struct sandbox_plan *p)
{
	return p->room.path && p->clone_flags;
}

/* A held path is compared with what was planned, wherever the way to it leads. */
void box_room_care(struct sandbox_plan *p)
{
	for (size_t i = 0; i < p->steps.count; i++) {
		struct box_step *s = &p->steps.items[i];

		for (size_t j = 0; j < p->ground_count; j++)
			if (s->phase >= BOX_GRANTS && s->kind != BOX_HOLD &&
			    p->grounds[j].kind == BOX_GROUND_ROOM &&
			    path_is_in(s->path, p->grounds[j].path + 1))
				s->careful = true;
	}
	(void)box_room_holds(p); /* where points are now, which the box will be entered by */
}
