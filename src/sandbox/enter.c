/*
 * Runs in a process that was just cloned into its namespaces, with the parent's memory behind it:
 * async-signal-safe calls only, on a plan that the parent has made.
 *
 * The new root is a tmpfs laid over "/" and made the working directory. A lookup that begins at the
 * process's root does not cross what lies on top of it, so absolute paths still name the host's
 * files while relative ones name those of the box; a workspace under /tmp or the home directory is
 * no special case. pivot_root(".", ".") then lays the old root over the new one, from where it is
 * taken off: afterwards no path and no descriptor leads back.
 */
#include "sandbox/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/path.h"
#include "sandbox/box.h"
#include "sandbox/caps.h"
#include "sandbox/numbers.h"

/* As many bytes as argv and the environment can have (a quarter of an 8 MiB stack), with room. */
#define WORDS_MAX ((size_t)8 << 20)
/* Many kernels have 128 for all of a user's programs. */
#define WATCHERS_MAX "32"
#define WATCHES_MAX  "65536"

static int write_file(const char *path, int flags, mode_t mode, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	int fd = open(path, flags | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode), sys = 0;

	if (fd < 0)
		return -errno;
	if (n > 0 && write(fd, text, n) != (ssize_t)n)
		sys = errno ? errno : EIO;
	close(fd);
	return -sys;
}

/* The maps of an ordinary user, who may map nothing but itself. */
static int map_self(const struct sandbox_plan *p)
{
	int r;

	r = write_file("/proc/self/setgroups", 0, 0, "deny");
	if (r == 0)
		r = write_file("/proc/self/gid_map", 0, 0, p->gid_map);
	if (r == 0)
		r = write_file("/proc/self/uid_map", 0, 0, p->uid_map);
	return r;
}

/* libc's functions would look for threads; the kernel keeps our capabilities, since the uid that is
 * left has no name in this namespace. */
static int become_user(const struct sandbox_plan *p)
{
	const struct box_identity *id = &p->identity;

	/* The files in /proc/self belong to root while the process is not dumpable, as its parent
	 * was not. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	if (!id->by_parent || p->joins)
		return map_self(p);
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, id->gid, id->gid, id->gid) < 0 ||
	    syscall(SYS_setresuid, id->uid, id->uid, id->uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) /* undone by the change */
		return -errno;
	return 0;
}

static int loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* What the box watches counts for whoever made it, too, and that is root or the operator: without a
 * limit of its own it could leave none for the machine's services. A kernel or a container that
 * does not let us set one has none. */
static void watches_bound(void)
{
	(void)write_file("/proc/sys/user/max_inotify_instances", 0, 0, WATCHERS_MAX);
	(void)write_file("/proc/sys/user/max_inotify_watches", 0, 0, WATCHES_MAX);
}

static int root_make(void)
{
	int context = fsopen("tmpfs", FSOPEN_CLOEXEC), root = -1, r = 0;

	if (context < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
	    fsconfig(context, FSCONFIG_SET_STRING, "size", "1m", 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		r = -errno;
	if (r == 0) {
		root = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
		if (root < 0 || move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
		    fchdir(root) < 0)
			r = -errno;
	}
	close(context);
	if (root >= 0)
		close(root);
	return r;
}

static int tree_attach(const struct box_step *s)
{
	int fd = box_step_source(s), r = 0;

	if (fd < 0)
		return fd;
	if (move_mount(fd, "", AT_FDCWD, s->path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* A directory above it may have become a link since the plan was made, and absolute links lead to
 * the host's files here. So it is looked up once, beneath the new root, compared with what was
 * planned, and laid on what was found, whatever its name leads to by then. In a view what was
 * planned is the source, below it; what nobody may write there is bound from there, so that it is
 * the workspace's own, and else the view's. */
static int hold(const struct box_step *s)
{
	int fd = path_open_beneath(AT_FDCWD, s->path, O_PATH | O_NOFOLLOW), tree = -1, r = 0;
	int real = fd < 0 || !s->source
	                   ? -1
	                   : path_open_beneath(AT_FDCWD, s->source, O_PATH | O_NOFOLLOW);
	bool readonly = (s->attr & MOUNT_ATTR_RDONLY) != 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (s->source && real < 0)
		r = real;
	else if (fstat(s->source ? real : fd, &st) < 0)
		r = -errno;
	else if (st.st_dev != s->device || st.st_ino != s->inode)
		r = -ESTALE;
	if (r == 0) {
		tree = open_tree(s->source && readonly ? real : fd, "",
		                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
		                         AT_EMPTY_PATH);
		r = tree < 0 ? -errno : box_attr_set(tree, "", s->attr);
	}
	if (r == 0 &&
	    move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		r = -errno;
	if (tree >= 0)
		close(tree);
	if (real >= 0)
		close(real);
	close(fd);
	return r;
}

/* mount() would follow a link; kernels that put nothing on top of one get the file behind it
 * masked.
 */
static int cover(const struct box_step *s)
{
	int fd = open_tree(AT_FDCWD, s->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = move_mount(fd, "", AT_FDCWD, s->path, MOVE_MOUNT_F_EMPTY_PATH);
	if (r < 0)
		r = mount(s->source, s->path, NULL, MS_BIND, NULL);
	r = r < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int step_do(const struct box_step *s)
{
	int r = 0;

	if (s->idle)
		return 0;
	if (s->careful)
		return box_step_carefully(s);
	switch (s->kind) {
	case BOX_DIRECTORY:
		r = mkdir(s->path, s->mode);
		if (r < 0 && errno == EEXIST)
			r = 0;
		break;
	case BOX_FILE:
		return write_file(s->path, O_CREAT, s->mode, s->data);
	case BOX_SYMLINK:
		r = symlink(s->source, s->path);
		break;
	case BOX_BIND:
		r = mount(s->source, s->path, NULL, MS_BIND | MS_REC, NULL);
		break;
	case BOX_TREE:
		return tree_attach(s);
	case BOX_ATTACH:
		r = move_mount(s->fd, "", AT_FDCWD, s->path, MOVE_MOUNT_F_EMPTY_PATH);
		break;
	case BOX_HOLD:
		return hold(s);
	case BOX_COVER:
		return cover(s);
	case BOX_ATTR:
		return box_attr_set(AT_FDCWD, s->path, s->attr);
	case BOX_MOUNT:
		r = mount(s->source, s->path, s->source, s->flags, s->data);
		break;
	case BOX_VIEW:
		return tree_attach(s);
	case BOX_UNMOUNT:
		r = umount2(s->path, MNT_DETACH | UMOUNT_NOFOLLOW);
		break;
	case BOX_PIN: /* only careful ones */
	case BOX_KIND_MAX:
		return -EINVAL;
	}
	return r < 0 ? -errno : 0;
}

static int root_switch(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

/* The words that nacre was started with, and its environment, are read by everybody in the box
 * (/proc/1/cmdline), or by whoever may trace us. They lie together, up to the file name that the
 * kernel put behind them. */
static void forget_words(void)
{
	char *first = program_invocation_name;
	const char *behind = (const char *)getauxval(AT_EXECFN);

	if (first && behind > first && (size_t)(behind - first) < WORDS_MAX)
		memset(first, 0, (size_t)(behind - first));
}

/* An absolute path without links, part by part: one that has become a link meanwhile is not
 * followed. */
static int open_resolved(const char *path)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), above;
	char name[NAME_MAX + 1];

	if (fd < 0)
		return -errno;
	for (size_t n; fd >= 0 && *path; path += n) {
		path += *path == '/';
		for (n = 0; path[n] && path[n] != '/'; n++)
			if (n == NAME_MAX)
				break;
		if (n == 0)
			continue;
		memcpy(name, path, n);
		name[n] = '\0';
		above = fd;
		fd = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		close(above);
	}
	return fd;
}

/* -ESTALE: another directory is the workspace now; another path that has become a link is as good
 * as gone. */
static int grant_resolved(const struct sandbox_plan *p, const struct box_rule *rule)
{
	bool is_workspace = strcmp(rule->path, p->workspace) == 0;
	int fd = open_resolved(rule->path), r = fd < 0 ? fd : 0;
	struct stat st;

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == -ENOTDIR || (r == 0 && S_ISLNK(st.st_mode)))
		r = -ENOENT;
	if (is_workspace && (r == -ENOENT || (r == 0 && (st.st_ino != p->workspace_inode ||
	                                                 st.st_dev != p->workspace_device))))
		r = -ESTALE;
	if (r == 0)
		r = landlock_grant(p->rules_fd, &p->wall, fd, rule->right);
	if (fd >= 0)
		close(fd);
	return r;
}

static int rules_make(struct sandbox_plan *p)
{
	int r = 0;

	if (p->wall.abi == 0)
		return 0;
	p->rules_fd = landlock_begin(&p->wall);
	if (p->rules_fd < 0)
		return p->rules_fd;
	for (size_t i = 0; r == 0 && i < p->rules.count; i++) {
		const struct box_rule *rule = &p->rules.items[i];

		r = rule->resolved ? grant_resolved(p, rule)
		                   : landlock_grant_at(p->rules_fd, &p->wall, AT_FDCWD, rule->path,
		                                       rule->right);
		if (r == -ENOENT || r == -EACCES) /* what is not there needs no grant */
			r = 0;
	}
	return r;
}

/* The file that says whom the kernel kills first when memory runs out; without it the choice is
 * the kernel's. What it says now is the least that it can say later: a user's manager gives its
 * units 100 or 200, and an ordinary user cannot go below. */
static void choice_take(struct sandbox_plan *p, int fd)
{
	ssize_t n = fd < 0 ? -1 : read(fd, p->oom_own, sizeof(p->oom_own) - 1);

	p->oom_own[n < 0 ? 0 : n] = '\0';
	p->oom_fd = fd;
}

static void choice_open(struct sandbox_plan *p)
{
	choice_take(p, open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
}

/* The same from a /proc of our own namespace that has no place in the tree: there it can only be
 * read. */
static void choice_open_own(struct sandbox_plan *p)
{
	int context = fsopen("proc", FSOPEN_CLOEXEC), proc = -1;

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* our files in there are root's else */
	if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		proc = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (proc >= 0)
		choice_take(p, openat(proc, "self/oom_score_adj", O_RDWR | O_CLOEXEC));
	if (proc >= 0)
		close(proc);
	if (context >= 0)
		close(context);
}

/* The message queues of our own namespace, without a place in the tree: to see whether there are
 * any. */
static void queues_open(struct sandbox_plan *p)
{
	int context = fsopen("mqueue", FSOPEN_CLOEXEC);

	p->queues_fd = context < 0 ? -errno : -EIO;
	if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		p->queues_fd = fsmount(context, FSMOUNT_CLOEXEC,
		                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (context >= 0)
		close(context);
}

static int namespaces_enter(struct sandbox_plan *p, int *ret_step)
{
	int r;

	*ret_step = BOX_AT_IDENTITY;
	r = become_user(p);
	if (r < 0)
		return r;
	choice_open(p);
	box_numbers_open(p);
	watches_bound();
	*ret_step = BOX_AT_LOOPBACK;
	if (p->loopback && (r = loopback_up()) < 0)
		return r;
	*ret_step = BOX_AT_ROOT;
	r = root_make();
	for (size_t i = 0; r == 0 && i < p->steps.count; i++) {
		*ret_step = (int)i;
		r = step_do(&p->steps.items[i]);
	}
	if (r < 0)
		return r;
	*ret_step = BOX_AT_SWITCH;
	return root_switch();
}

/* The last of all steps of entering, for any init. */
static int finish(struct sandbox_plan *p, int *ret_step)
{
	int r = 0;

	*ret_step = BOX_AT_CAPABILITIES;
	if (p->clone_flags)
		r = caps_drop_all();
	if (r < 0)
		return r;
	*ret_step = BOX_AT_RULES;
	r = rules_make(p);
	if (r < 0)
		return r;
	*ret_step = BOX_AT_PRIVACY;
	/* The change of identity has undone both. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	umask(p->umask);
	return 0;
}

/* With version 1 a process moves itself; before all else, so that nothing of it is outside. */
static int group_join(const struct sandbox_plan *p, int *ret_step)
{
	*ret_step = BOX_AT_GROUP;
	return p->join_count > 0 ? cgroup_join(p->join_fds, p->join_count) : 0;
}

/* The user namespace first: it gives the rights over the other. Root is nobody in it, and keeps its
 * capabilities there when it becomes the one user that there is. The limit of processes is set
 * later, in a user namespace of the command's own: here it would count all that runs in the room.
 */
int sandbox_join(struct sandbox_plan *p)
{
	const struct box_identity *id = &p->identity;
	int r = p->join_count > 0 ? cgroup_join(p->join_fds, p->join_count) : 0;

	if (r < 0)
		return r;
	p->join_count = 0;
	if (setns(p->net.user, CLONE_NEWUSER) < 0 || setns(p->net.net, CLONE_NEWNET) < 0)
		return -errno;
	if (id->by_parent && (syscall(SYS_setgroups, 0, NULL) < 0 ||
	                      syscall(SYS_setresgid, id->gid, id->gid, id->gid) < 0 ||
	                      syscall(SYS_setresuid, id->uid, id->uid, id->uid) < 0))
		return -errno;
	return 0;
}

int sandbox_net_enter(void)
{
	return loopback_up();
}

int sandbox_enter(struct sandbox_plan *p, int *ret_step)
{
	int r = group_join(p, ret_step);

	umask(0);
	if (r == 0 && p->clone_flags)
		r = namespaces_enter(p, ret_step);
	else
		choice_open(p);
	if (r < 0)
		return r;
	forget_words();
	box_numbers_begin(p);
	for (size_t i = 0; i < p->fd_count; i++)
		close(p->fds[i]);
	return finish(p, ret_step);
}

/* All that is forked from here on inherits it. */
static int seal_self(struct sandbox_plan *p, int *ret_step)
{
	int r = sandbox_seal(p, ret_step);

	p->sealed = r >= 0;
	p->listener = r > 0 ? r : -1;
	return r < 0 ? r : 0;
}

int sandbox_listener(const struct sandbox_plan *p)
{
	return p->listener;
}

int sandbox_enter_sealed(struct sandbox_plan *p, int *ret_step)
{
	int r = sandbox_enter(p, ret_step);

	return r == 0 ? seal_self(p, ret_step) : r;
}

int sandbox_enter_session(struct sandbox_plan *p, int *ret_step)
{
	int r = group_join(p, ret_step);

	umask(0);
	if (r == 0)
		r = namespaces_enter(p, ret_step);
	if (r < 0)
		return r;
	forget_words();
	for (size_t i = 0; i < p->fd_count; i++)
		close(p->fds[i]);
	p->fd_count = 0;
	*ret_step = BOX_AT_PRIVACY;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int sandbox_enter_trial(bool network)
{
	int r = network ? loopback_up() : 0, tree = -1;

	if (r == 0)
		r = root_make();
	if (r < 0)
		return r;
	tree = open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	r = tree < 0 ? -errno : box_attr_set(tree, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
	if (r == 0 && (mkdir("usr", 0755) < 0 ||
	               move_mount(tree, "", AT_FDCWD, "usr", MOVE_MOUNT_F_EMPTY_PATH) < 0))
		r = -errno;
	if (tree >= 0)
		close(tree);
	if (r == 0)
		r = root_switch();
	if (r == 0)
		r = caps_drop_all();
	return r == 0 && access("/usr/bin", X_OK) < 0 ? -errno : r;
}

/* The workspace may lie in /tmp, which is about to be covered: its mounts are copied before, and
 * attached again after. */
int sandbox_enter_nested(struct sandbox_plan *p, int *ret_step)
{
	struct box_step *s;
	int r = 0;

	umask(0);
	choice_open_own(p);
	queues_open(p);
	for (size_t i = 0; r == 0 && i < p->steps.count; i++) {
		s = &p->steps.items[i];
		*ret_step = (int)i;
		if (!s->each || (s->kind != BOX_TREE && s->kind != BOX_ATTACH))
			continue;
		s->kind = BOX_ATTACH;
		s->fd = open_tree(AT_FDCWD, s->path,
		                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		r = s->fd < 0 ? -errno : 0;
	}
	for (size_t i = 0; r == 0 && i < p->steps.count; i++) {
		s = &p->steps.items[i];
		*ret_step = (int)i;
		if (!s->each)
			continue;
		r = step_do(s);
		if (s->kind == BOX_ATTACH)
			close(s->fd);
	}
	box_numbers_begin(p);
	if (r == 0)
		r = finish(p, ret_step);
	return r == 0 ? seal_self(p, ret_step) : r;
}

void sandbox_volunteer(const struct sandbox_plan *p, bool yes)
{
	const char *value = yes ? "500" : p->oom_own;

	if (p->oom_fd >= 0 && write(p->oom_fd, value, strlen(value)) < 0) {
		/* Then the choice is the kernel's. */
	}
}

bool sandbox_offers(const struct sandbox_plan *p, const char *name)
{
	const char *slash = strrchr(name, '/');

	return p->offers_which && strcmp(slash ? slash + 1 : name, "which") == 0;
}

int sandbox_grant_terminal(const struct sandbox_plan *p, int fd)
{
	if (p->clone_flags || p->wall.abi == 0)
		return 0;
	return landlock_grant(p->rules_fd, &p->wall, fd, LANDLOCK_DEVICE);
}

int sandbox_seal(const struct sandbox_plan *p, int *ret_step)
{
	int r;

	if (p->sealed)
		return 0;
	*ret_step = BOX_AT_CAPABILITIES;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (!p->clone_flags) {
		r = caps_drop_all();
		if (r < 0)
			return r;
	}
	*ret_step = BOX_AT_RULES;
	if (p->wall.abi > 0) {
		r = landlock_enforce(p->rules_fd);
		if (r < 0)
			return r;
	}
	*ret_step = BOX_AT_FILTER;
	if (p->asks || p->brokered)
		return seccomp_enforce_asking(&p->filter);
	return p->filtered ? seccomp_enforce(&p->filter) : 0;
}
