/*
 * A view: overlayfs over the workspace, at the workspace's own path. What the command changes is
 * in the store (change/change.h), and the workspace stays as it is.
 *
 * Both layers are mounted at places of the box that have no name later, and taken away when the
 * protected paths are bound: a command never sees the store. The store's file system may be
 * another one than the workspace's, but then nothing can be applied by renaming.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define MOUNTS_MAX      ((size_t)4 << 20)
#define OVERLAYFS_MAGIC 0x794c7630

/* A mount of a directory of the host at a place that only the box's init sees. */
static int plan_layer(struct sandbox_plan *p, const char *path, int fd, const char *at,
                      uint64_t attr)
{
	scoped(fd_closep) int tree = -1;
	struct box_step *s;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (fd == p->workspace_fd && p->workspace_tree >= 0)
		tree = take_fd(&p->workspace_tree);
	else if (p->identity.by_parent)
		tree = box_tree_copy(&p->identity, fd, attr);
	if (p->identity.by_parent && tree < 0)
		return tree;
	s = box_step_add(p, BOX_GRANTS, tree >= 0 ? BOX_ATTACH : BOX_TREE, at);
	if (!s)
		return -ENOMEM;
	s->source = path;
	s->attr = attr;
	s->fd = tree;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return tree >= 0 ? box_fd_keep(p, take_fd(&tree)) : 0;
}

int box_view_plan(struct sandbox_plan *p)
{
	static const char *const places[] = {BOX_VIEW_AT, BOX_VIEW_LOWER, BOX_VIEW_STORE};
	const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	struct box_step *s;
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_size(places); i++)
		r = box_directory(p, BOX_PRIVATE, places[i], 0700);
	if (r == 0)
		r = box_point(p, p->workspace, true);
	if (r == 0)
		r = box_ground_add(p, p->workspace, BOX_GROUND_HOST);
	if (r == 0)
		r = plan_layer(p, p->workspace, p->workspace_fd, BOX_VIEW_LOWER,
		               box_workspace_attr(p));
	if (r == 0)
		r = plan_layer(p, p->view, p->view_fd, BOX_VIEW_STORE, attr);
	if (r < 0)
		return r;
	s = box_step_add(p, BOX_GRANTS, BOX_VIEW, p->workspace + 1);
	if (!s)
		return -ENOMEM;
	s->attr = box_workspace_attr(p);
	for (size_t i = 1; i < array_size(places); i++)
		if (!box_step_add(p, BOX_LAST, BOX_UNMOUNT, places[i]))
			return -ENOMEM;
	return 0;
}

static const char *words_for(int sys)
{
	switch (sys) {
	case EPERM:
	case ENODEV:
		return "the kernel gives no overlay in a user namespace (5.11 and later do)";
	case EINVAL:
		return "overlayfs does not work on the file system of the workspace or of the "
		       "state directory";
	case EOPNOTSUPP:
		return "it needs the strict tier of the sandbox";
	default:
		return "overlayfs does not work here";
	}
}

bool box_view_give_up(struct sandbox_plan *p, int step, int sys)
{
	bool is_ours = step < 0 ||
	               ((size_t)step < p->steps.count && p->steps.items[step].kind == BOX_VIEW);

	if (!p->view || !is_ours || (step < 0 && sys != EOPNOTSUPP))
		return false;
	p->view = NULL;
	p->view_why = words_for(sys);
	return true;
}

bool sandbox_plan_has_view(const struct sandbox_plan *p, const char **ret_why)
{
	if (ret_why)
		*ret_why = p->view                       ? NULL
		           : p->view_why                 ? p->view_why
		           : p->spec->workspace_readonly ? "the workspace is read-only"
		                                         : "it was not asked for";
	return p->view != NULL;
}

/* The path of a mount, in which the kernel writes blanks and the like as three octal digits. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++) {
		if (*p == '\\' && p[1] && p[2] && p[3]) {
			*to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* Below a directory, and not the directory itself. */
static bool has_mounts_below(const char *directory)
{
	scoped(buffer_donep) struct buffer text = {.max = MOUNTS_MAX};
	scoped(fd_closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *save = NULL;

	if (fd < 0 || fd_read_all(fd, &text) < 0)
		return true;
	for (char *line = text.data ? strtok_r(text.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *at = line, *end;

		for (int i = 0; at && i < 4; i++)
			at = (at = strchr(at, ' ')) ? at + 1 : NULL;
		end = at ? strchr(at, ' ') : NULL;
		if (!end)
			continue;
		*end = '\0';
		unescape(at);
		if (strcmp(at, directory) != 0 && path_is_in(at, directory))
			return true;
	}
	return false;
}

const char *sandbox_view_obstacle(const char *workspace, int store)
{
	struct statfs fs;

	if (fstatfs(store, &fs) < 0 || fs.f_type == OVERLAYFS_MAGIC)
		return "the state directory lies on an overlay file system, as in a container: set "
		       "undo.store to a directory of another one";
	if (has_mounts_below(workspace))
		return "another file system is mounted inside of the workspace";
	return NULL;
}
