/*
 * Who a box runs as. The kernel's uid 0 is kept out wherever that can be: without any capability it
 * would still own /etc/shadow, the global sysctls and root's other processes.
 *
 * An ordinary user stays what it is. Root becomes the owner of the workspace; where that is root
 * itself, an unprivileged uid that nobody has, and the workspace is mounted with owners mapped:
 * what the box writes as BOX_UID is root's on disk, and what is root's on disk is BOX_UID's in the
 * box.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "sandbox/box.h"

#define HOLDER_STACK 16384

static int write_map(pid_t pid, const char *name, const char *text)
{
	scoped(fd_closep) int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Owners on disk to owners in the box; all others stay what they are. A container may not have all
 * of them: then there are no others. */
static int write_owners(pid_t pid, const char *name, unsigned disk, unsigned box)
{
	char wide[128], narrow[48];
	int r;

	if (disk == box)
		snprintf(wide, sizeof(wide), "0 0 %u\n", ~0U);
	else
		snprintf(wide, sizeof(wide), "0 %u 1\n1 1 %u\n%u %u %u\n", box, box - 1, box + 1,
		         box + 1, ~0U - box - 1);
	r = write_map(pid, name, wide);
	if (r == 0)
		return 0;
	snprintf(narrow, sizeof(narrow), "%u %u 1\n", disk, box);
	return write_map(pid, name, narrow);
}

/* Shares our memory and only waits to be killed: its user namespace is all that is wanted. */
static _Noreturn int hold(void *unused)
{
	for (;;)
		(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0); /* not every machine has pause */
}

/* The holder dies while we go on, and is reaped with the plan: it sleeps in the kernel, and never
 * comes back to its stack. */
static int map_namespace(struct box_identity *id)
{
	char path[64], *stack = id->holder_stack = malloc(HOLDER_STACK);
	pid_t pid;
	int r, fd = -1;

	if (!stack)
		return -ENOMEM;
	pid = clone(hold, stack + HOLDER_STACK, CLONE_NEWUSER | CLONE_VM | SIGCHLD, NULL);
	if (pid < 0)
		return -errno;
	id->holder = pid;
	r = write_owners(pid, "gid_map", id->fs_gid, id->gid);
	if (r == 0)
		r = write_owners(pid, "uid_map", id->fs_uid, id->uid);
	if (r == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : 0;
	}
	(void)kill(pid, SIGKILL);
	return r < 0 ? r : fd;
}

void box_identity_done(struct box_identity *id)
{
	fd_close(take_fd(&id->map_fd));
	while (id->holder > 0 && waitpid(id->holder, NULL, 0) < 0 && errno == EINTR)
		;
	free(id->holder_stack);
	id->holder = 0;
	id->holder_stack = NULL;
}

/* What is mounted below may be of a kind that has no maps, a /proc for a tree that is being built
 * perhaps: that is mapped to nobody, and its root is not ours. */
static int map_top(const struct box_identity *id, int tree, uint64_t attr)
{
	struct mount_attr map = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)id->map_fd};
	struct mount_attr all = {.attr_set = attr, .propagation = MS_PRIVATE};

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &map, sizeof(map)) < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &all, sizeof(all)) < 0)
		return -errno;
	return 0;
}

int box_tree_copy(const struct box_identity *id, int fd, uint64_t attr)
{
	struct mount_attr a = {.attr_set = attr, .propagation = MS_PRIVATE};
	scoped(fd_closep) int tree = -1;
	int r = 0;

	if (id->idmapped) {
		a.attr_set |= MOUNT_ATTR_IDMAP;
		a.userns_fd = (uint64_t)id->map_fd;
	}

	tree = open_tree(fd, "",
	                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
	if (tree < 0)
		return -errno;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof(a)) < 0)
		r = id->idmapped ? map_top(id, tree, attr) : -errno;
	return r < 0 ? r : take_fd(&tree);
}

uint64_t box_workspace_attr(const struct sandbox_plan *p)
{
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (p->runs_own ? 0 : MOUNT_ATTR_NOEXEC) |
	       (p->spec->workspace_readonly ? MOUNT_ATTR_RDONLY : 0);
}

static bool may_map_others(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	uint32_t wanted = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_SYS_ADMIN;

	return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & wanted) == wanted;
}

/* Root without the means for anything better: still without capabilities, and said to be missing.
 */
static void stay_self(struct box_identity *id)
{
	box_identity_done(id);
	*id = (struct box_identity){.uid = geteuid(), .gid = getegid(), .map_fd = -1};
}

int box_identity_choose(struct sandbox_plan *p, struct error *err)
{
	struct box_identity *id = &p->identity;
	struct stat st;

	*id = (struct box_identity){.uid = geteuid(), .gid = getegid(), .map_fd = -1};
	if (p->clone_flags && id->uid == 0 && may_map_others()) {
		if (fstat(p->workspace_fd, &st) < 0)
			return error_sys(err, errno, "workspace");
		id->fs_uid = st.st_uid;
		id->fs_gid = st.st_gid;
		id->uid = st.st_uid ? st.st_uid : BOX_UID;
		id->gid = st.st_gid ? st.st_gid : BOX_UID;
		id->idmapped = id->uid != st.st_uid || id->gid != st.st_gid;
		id->by_parent = true;
		if (id->idmapped) {
			id->map_fd = map_namespace(id);
			if (id->map_fd >= 0)
				p->workspace_tree =
					box_tree_copy(id, p->workspace_fd, box_workspace_attr(p));
			if (p->workspace_tree < 0)
				stay_self(id);
		}
	}
	snprintf(p->uid_map, sizeof(p->uid_map), "%u %u 1\n", id->uid, id->uid);
	snprintf(p->gid_map, sizeof(p->gid_map), "%u %u 1\n", id->gid, id->gid);
	return 0;
}

int box_identity_write(const struct sandbox_plan *p, pid_t pid, struct error *err)
{
	int r;

	if (!p->identity.by_parent || p->joins)
		return 0;
	r = write_map(pid, "gid_map", p->gid_map);
	if (r == 0)
		r = write_map(pid, "uid_map", p->uid_map);
	return r < 0 ? error_sys(err, -r, "identity of the box (uid %u)", p->identity.uid) : 0;
}
