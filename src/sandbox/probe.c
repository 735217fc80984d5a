/*
 * Every trial runs in a child of its own, which answers with its exit code: 0 or an errno. Nothing
 * that it makes outlives it: namespaces and mounts go with the last process in them.
 */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/landlock-abi.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

#define TRIAL_SECONDS 5
#define SOME_UID      64999 /* any that is not ours */

void sandbox_probe_read(struct sandbox_probe *ret_probe)
{
	*ret_probe = (struct sandbox_probe){
		.landlock_abi = landlock_abi(),
		.seccomp = seccomp_available(),
	};
}

static int write_file(const char *path, const char *text)
{
	scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return errno;
	return 0;
}

/* A small number in a file of /proc/sys; -1: there is no such file. */
static long read_knob(const char *path)
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* Runs TRY in a child. */
static int in_child(int (*try)(const char *), const char *directory)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		/* Its own files in /proc are root's otherwise. */
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		(void)signal(SIGALRM, SIG_DFL);
		(void)alarm(TRIAL_SECONDS);
		_exit(try(directory) & 0xff);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_user(const char *directory)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return errno;
	r = write_file("/proc/self/setgroups", "deny");
	if (r)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", map);
}

static int try_mounts(const char *directory)
{
	int r = try_user(directory), tree;

	if (r)
		return r;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr",
	                    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0 || mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0 ||
	    chdir("/tmp") < 0 || mkdir("usr", 0755) < 0)
		return errno;
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "usr", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		return errno;
	return access("/usr/bin", X_OK) < 0 ? errno : 0;
}

static int mount_proc(const char *directory)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	return access("/proc/1/stat", R_OK) < 0 ? errno : 0;
}

static int try_proc(const char *directory)
{
	int r = try_user(directory);

	if (r)
		return r;
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		return errno;
	return in_child(mount_proc, directory); /* the first child is the first of the namespace */
}

static int try_network(const char *directory)
{
	int r = try_user(directory);

	return r ? r : unshare(CLONE_NEWNET) < 0 ? errno : 0;
}

/* A user namespace that maps the directory's owner to somebody else, held by a child. */
static int idmap_tree(int tree, pid_t holder)
{
	char path[64], map[64];
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
	scoped(fd_closep) int namespace = -1;
	int r;

	snprintf(map, sizeof(map), "0 %d 1", SOME_UID);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)holder);
	r = write_file(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)holder);
	if (r == 0)
		r = write_file(path, map);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (namespace < 0)
		return errno;
	attr.userns_fd = (uint64_t) namespace;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
	            sizeof(attr)) < 0)
		return errno;
	return 0;
}

static int try_idmap(const char *directory)
{
	scoped(fd_closep) int tree = -1;
	int ready[2], r, sys = 0;
	pid_t holder;

	tree = (int)syscall(SYS_open_tree, AT_FDCWD, directory,
	                    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return errno;
	holder = fork();
	if (holder < 0)
		return errno;
	if (holder == 0) {
		sys = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
		(void)alarm(TRIAL_SECONDS);
		if (write(ready[1], &sys, sizeof(sys)) == sizeof(sys))
			pause();
		_exit(0);
	}
	r = read(ready[0], &sys, sizeof(sys)) == sizeof(sys) ? sys : EPIPE;
	if (r == 0)
		r = idmap_tree(tree, holder);
	(void)kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	return r;
}

/* A struct of size 0 is refused by name where the call exists. */
static int try_clone3(const char *directory)
{
	return syscall(SYS_clone3, NULL, 0) < 0 && errno == EINVAL ? 0 : errno;
}

static int try_openat2(const char *directory)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	scoped(fd_closep) int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int again = -1;

	if (fd >= 0)
		again = (int)syscall(SYS_openat2, fd, ".", &how, sizeof(how));
	return again < 0 ? errno : 0;
}

static bool is_filtered(void)
{
	scoped(fd_closep) int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "\nSeccomp:\t2") != NULL;
}

/* Who forbids namespaces: the most specific knob that stands against us. */
static const char *namespace_remedy(const struct sandbox_survey *s)
{
	if (read_knob("/proc/sys/user/max_user_namespaces") == 0)
		return "sysctl user.max_user_namespaces is 0: set it to 10000 or so";
	if (!s->root && read_knob("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl kernel.unprivileged_userns_clone is 0: set it to 1";
	if (!s->root && read_knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "AppArmor restricts user namespaces: give nacre an AppArmor profile with "
		       "'userns,', or set sysctl kernel.apparmor_restrict_unprivileged_userns to 0";
	if (is_filtered())
		return "a system call filter around nacre (a container's) refuses it: start the "
		       "container with a seccomp profile that lets clone, unshare, mount and "
		       "pivot_root through (docker: --security-opt seccomp=FILE)";
	return "a security module, a chroot or the container around nacre refuses it";
}

static const char *remedy(const struct sandbox_survey *s, enum sandbox_trial_kind kind)
{
	if (s->trials[kind].sys == 0)
		return NULL;
	switch (kind) {
	case SANDBOX_TRIAL_PROC:
		if (s->trials[SANDBOX_TRIAL_MOUNTS].sys == 0)
			return "parts of /proc are covered by mounts, as containers do: the "
			       "kernel then allows no fresh one (docker: --security-opt "
			       "systempaths=unconfined)";
		return namespace_remedy(s);
	case SANDBOX_TRIAL_USER:
	case SANDBOX_TRIAL_MOUNTS:
	case SANDBOX_TRIAL_NETWORK:
		return namespace_remedy(s);
	case SANDBOX_TRIAL_IDMAP:
		if (s->trials[SANDBOX_TRIAL_USER].sys)
			return namespace_remedy(s);
		return "this file system or kernel has no idmapped mounts: use ext4, xfs or btrfs "
		       "with Linux 5.12 or newer, or give the workspace to an ordinary user";
	case SANDBOX_TRIAL_OPENAT2:
		return "a system call filter around nacre refuses it (a container's, or of a unit "
		       "with RestrictSUIDSGID or DynamicUser): protected paths are looked up step "
		       "by step, and are protected all the same";
	case SANDBOX_TRIAL_CLONE3:
	case SANDBOX_TRIAL_MAX:
		break;
	}
	return NULL;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

void sandbox_survey_read(const char *directory, struct sandbox_survey *ret_survey)
{
	static int (*const tries[SANDBOX_TRIAL_MAX])(const char *) = {
		[SANDBOX_TRIAL_USER] = try_user,       [SANDBOX_TRIAL_MOUNTS] = try_mounts,
		[SANDBOX_TRIAL_PROC] = try_proc,       [SANDBOX_TRIAL_NETWORK] = try_network,
		[SANDBOX_TRIAL_IDMAP] = try_idmap,     [SANDBOX_TRIAL_CLONE3] = try_clone3,
		[SANDBOX_TRIAL_OPENAT2] = try_openat2,
	};
	struct sandbox_survey s = {.root = geteuid() == 0};

	sandbox_probe_read(&s.probe);
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION) < 0)
		s.landlock_sys = errno;
	(void)uname(&s.kernel);
	s.container = exists("/.dockerenv") || exists("/run/.containerenv") ||
	              exists("/run/systemd/container");
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++) {
		if (k == SANDBOX_TRIAL_IDMAP && !s.root)
			continue;
		s.trials[k].tried = true;
		s.trials[k].sys = in_child(tries[k], directory);
	}
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++)
		s.trials[k].remedy = remedy(&s, k);
	cgroup_find(&s.cgroup);
	*ret_survey = s;
}

const char *sandbox_trial_name(enum sandbox_trial_kind kind)
{
	static const char *const names[SANDBOX_TRIAL_MAX] = {
		[SANDBOX_TRIAL_USER] = "user_namespace",
		[SANDBOX_TRIAL_MOUNTS] = "mounts",
		[SANDBOX_TRIAL_PROC] = "proc",
		[SANDBOX_TRIAL_NETWORK] = "network_namespace",
		[SANDBOX_TRIAL_IDMAP] = "idmapped_mounts",
		[SANDBOX_TRIAL_CLONE3] = "clone3",
		[SANDBOX_TRIAL_OPENAT2] = "openat2",
	};

	return kind < SANDBOX_TRIAL_MAX ? names[kind] : NULL;
}

static bool works(const struct sandbox_survey *s, enum sandbox_trial_kind kind)
{
	return s->trials[kind].tried && s->trials[kind].sys == 0;
}

enum sandbox_tier sandbox_survey_tier(const struct sandbox_survey *s)
{
	if (works(s, SANDBOX_TRIAL_USER) && works(s, SANDBOX_TRIAL_MOUNTS) &&
	    works(s, SANDBOX_TRIAL_PROC))
		return SANDBOX_TIER_FULL;
	return s->probe.landlock_abi > 0 ? SANDBOX_TIER_LANDLOCK : SANDBOX_TIER_NONE;
}

uint32_t sandbox_spec_layers(const struct sandbox_spec *spec)
{
	uint32_t wanted = SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_LANDLOCK |
	                  SANDBOX_LAYER_SECCOMP | SANDBOX_LAYER_NO_NEW_PRIVS |
	                  SANDBOX_LAYER_UNPRIVILEGED;

	if (spec->network == SANDBOX_NETWORK_NONE)
		wanted |= SANDBOX_LAYER_NETWORK;
	if (spec->exec == SANDBOX_EXEC_LISTED || (spec->denied && spec->denied[0]))
		wanted |= SANDBOX_LAYER_PROGRAMS;
	if (spec->limits.memory_bytes)
		wanted |= SANDBOX_LAYER_MEMORY;
	if (spec->limits.processes)
		wanted |= SANDBOX_LAYER_PROCESSES;
	return wanted;
}

uint32_t sandbox_container_layers(const struct sandbox_spec *spec, uint32_t *ret_have)
{
	uint32_t engines =
		SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_LANDLOCK | SANDBOX_LAYER_SECCOMP;
	uint32_t wanted = (sandbox_spec_layers(spec) & ~engines) | SANDBOX_LAYER_CONTAINER;

	/* Programs are those of the image, and root there is the kernel's root or not. */
	*ret_have = wanted & ~(uint32_t)(SANDBOX_LAYER_PROGRAMS | SANDBOX_LAYER_UNPRIVILEGED);
	return wanted;
}

static uint32_t have_full(const struct sandbox_survey *s, bool user)
{
	uint32_t have = SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_PROGRAMS;

	/* An ABI without REFER would forbid to move files between directories. */
	if (s->probe.landlock_abi >= LL_ABI_REFER)
		have |= SANDBOX_LAYER_LANDLOCK;
	if (works(s, SANDBOX_TRIAL_NETWORK))
		have |= SANDBOX_LAYER_NETWORK;
	if (user)
		have |= SANDBOX_LAYER_PROCESSES;
	return have;
}

static uint32_t have_landlock(const struct sandbox_survey *s, const struct sandbox_spec *spec)
{
	uint32_t have = SANDBOX_LAYER_LANDLOCK;

	/* The loader maps what it can read, so a list of the only programs does not hold. */
	if (spec->exec == SANDBOX_EXEC_ANY)
		have |= SANDBOX_LAYER_PROGRAMS;
	/* Landlock knows TCP alone; the filter refuses all sockets. */
	if (s->probe.seccomp)
		have |= SANDBOX_LAYER_NETWORK;
	return have;
}

static uint32_t layers_in(const struct sandbox_survey *s, const struct sandbox_spec *spec,
                          enum sandbox_tier tier)
{
	bool full = tier == SANDBOX_TIER_FULL;
	bool user = !s->root || (full && works(s, SANDBOX_TRIAL_IDMAP));
	uint32_t have = SANDBOX_LAYER_NO_NEW_PRIVS;

	if (tier == SANDBOX_TIER_NONE)
		return have;
	have |= full ? have_full(s, user) : have_landlock(s, spec);
	if (s->probe.seccomp)
		have |= SANDBOX_LAYER_SECCOMP;
	have |= SANDBOX_LAYER_MEMORY; /* by a group; else per process, and the keeper watches */
	if (*s->cgroup.path[CGROUP_PIDS] || !s->root)
		have |= SANDBOX_LAYER_PROCESSES;
	if (user)
		have |= SANDBOX_LAYER_UNPRIVILEGED;
	return have;
}

void sandbox_survey_stand(const struct sandbox_survey *s, const struct sandbox_spec *spec,
                          struct sandbox_standing *ret_standing)
{
	enum sandbox_tier best = sandbox_survey_tier(s);
	enum sandbox_tier tier = spec->tier > best ? spec->tier : best; /* the weaker one */
	uint32_t wanted = sandbox_spec_layers(spec), have = layers_in(s, spec, tier);

	if (spec->tier == SANDBOX_TIER_CONTAINER) {
		wanted = sandbox_container_layers(spec, &have);
		tier = spec->tier;
	}
	*ret_standing = (struct sandbox_standing){
		.tier = tier,
		.layers = wanted & have,
		.missing = wanted & ~have,
	};
}
