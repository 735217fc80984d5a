/*
 * Steps in the room of a session. Commands have made what lies on the way to a mount point, and may
 * be changing it now; an absolute link there would lead to the host's files. So each part of a path
 * is opened beneath the one before it, and no link is followed.
 *
 * Runs where enter.c does: async-signal-safe calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sandbox/box.h"

int box_attr_set(int fd, const char *path, uint64_t attr)
{
	/* Private: nothing that is mounted on the host later may appear inside. */
	struct mount_attr a = {.attr_set = attr, .propagation = MS_PRIVATE};

	return mount_setattr(fd, path, AT_RECURSIVE | (*path ? 0 : AT_EMPTY_PATH), &a, sizeof(a)) <
	                       0
	               ? -errno
	               : 0;
}

/* The directory that the path is in, part by part below the new root, and its last name. */
static int open_above(const char *path, const char **ret_name)
{
	int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), above;
	char name[NAME_MAX + 1];
	const char *end;

	for (; fd >= 0 && (end = strchr(path, '/')); path = end + 1) {
		if ((size_t)(end - path) > NAME_MAX) {
			close(fd);
			return -ENAMETOOLONG;
		}
		memcpy(name, path, (size_t)(end - path));
		name[end - path] = '\0';
		above = fd;
		fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(above);
	}
	*ret_name = path;
	return fd < 0 ? -errno : fd;
}

static int make_carefully(const struct box_step *s, int above, const char *name)
{
	struct stat st;
	int fd, r = 0;

	if (s->kind == BOX_SYMLINK) {
		(void)unlinkat(above, name, 0);
		return symlinkat(s->source, above, name) < 0 ? -errno : 0;
	}
	if (s->kind == BOX_DIRECTORY) {
		if (mkdirat(above, name, s->mode) == 0)
			return 0;
		if (errno != EEXIST || fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	}
	fd = openat(above, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, s->mode);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* one that is there is a point as well */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = -EINVAL;
	close(fd);
	return r;
}

/* Without a sync for each file that is copied: what is lost with the machine was never applied. */
static int view_mount(uint64_t attr)
{
	static const char *const texts[][2] = {{"lowerdir", BOX_VIEW_LOWER},
	                                       {"upperdir", BOX_VIEW_STORE "/upper"},
	                                       {"workdir", BOX_VIEW_STORE "/work"},
	                                       {"index", "off"}};
	static const char *const flags[] = {"userxattr", "volatile"};
	int context = fsopen("overlay", FSOPEN_CLOEXEC), fd = -1, r = 0;

	if (context < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (fsconfig(context, FSCONFIG_SET_STRING, texts[i][0], texts[i][1], 0) < 0)
			r = -errno;
	for (size_t i = 0; r == 0 && i < sizeof(flags) / sizeof(flags[0]); i++)
		if (fsconfig(context, FSCONFIG_SET_FLAG, flags[i], NULL, 0) < 0)
			r = -errno;
	if (r == 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		r = -errno;
	if (r == 0) {
		fd = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attr);
		r = fd < 0 ? -errno : fd;
	}
	close(context);
	return r;
}

int box_step_source(const struct box_step *s)
{
	bool nofollow = s->kind == BOX_TREE;
	struct stat st;
	int fd, r;

	if (s->kind == BOX_ATTACH)
		return s->fd;
	if (s->kind == BOX_VIEW)
		return view_mount(s->attr);
	fd = open_tree(AT_FDCWD, s->source,
	               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	                       (s->kind == BOX_COVER ? 0U : (unsigned)AT_RECURSIVE) |
	                       (nofollow ? (unsigned)AT_SYMLINK_NOFOLLOW : 0U));
	if (fd < 0)
		return -errno;
	r = 0;
	if (s->kind == BOX_TREE) {
		if (fstat(fd, &st) < 0)
			r = -errno;
		else if (st.st_dev != s->device || st.st_ino != s->inode)
			r = -ESTALE;
		if (r == 0)
			r = box_attr_set(fd, "", s->attr);
	}
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int box_step_carefully(const struct box_step *s)
{
	const char *name;
	int above = open_above(s->path, &name), target = -1, source = -1, r;

	if (above < 0)
		return above;
	if (s->kind == BOX_DIRECTORY || s->kind == BOX_FILE || s->kind == BOX_SYMLINK) {
		r = make_carefully(s, above, name);
		close(above);
		return r;
	}
	target = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	r = target < 0 ? -errno : 0;
	close(above);
	if (r == 0 && s->kind == BOX_ATTR) {
		r = box_attr_set(target, "", s->attr);
		close(target);
		return r;
	}
	if (r == 0) {
		source = s->kind == BOX_PIN
		                 ? open_tree(target, "",
		                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)
		                 : box_step_source(s);
		r = source >= 0 ? 0 : s->kind == BOX_PIN ? -errno : source;
	}
	if (r == 0 && move_mount(source, "", target, "",
	                         MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		r = -errno;
	if (source >= 0 && s->kind != BOX_ATTACH)
		close(source);
	if (target >= 0)
		close(target);
	return r;
}
