/*
 * Every trial runs in a child of its own, which answers with its exit code: 0 or an errno. Nothing
 * that it makes outlives it: namespaces and mounts go with the last process in them.
 */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <linux/mount.h>
#include <linux/sched.h>
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
#include "sandbox/box.h"
#include "sandbox/enter.h"
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
	char text[32];

	return fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : -1;
}

/* As a box's init is cloned: a filter may know one of the calls only. */
static pid_t clone_into(uint64_t flags)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	/* The order of clone's arguments is that of x86-64 and arm64 for the first three. */
	if (pid < 0 && (errno == ENOSYS || errno == EPERM))
		pid = syscall(SYS_clone, (unsigned long)flags | SIGCHLD, NULL, NULL, NULL, NULL);
	return (pid_t)pid;
}

struct place { /* what a trial has to know; ids are those outside, inside nobody has one yet */
	const char *directory;
	uid_t uid;
	gid_t gid;
};

/* Runs TRY in a child that was cloned into these namespaces. */
static int in_child(int (*try)(const struct place *), uint64_t flags, const struct place *p)
{
	int status = 0;
	pid_t pid = clone_into(flags);

	if (pid < 0)
		return errno;
	if (pid == 0) {
		/* Its own files in /proc are root's otherwise. */
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		(void)signal(SIGALRM, SIG_DFL);
		(void)alarm(TRIAL_SECONDS);
		_exit(try(p) & 0xff);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_user(const struct place *p)
{
	char map[64];
	int r = write_file("/proc/self/setgroups", "deny");

	if (r)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", p->uid, p->uid);
	r = write_file("/proc/self/uid_map", map);
	if (r)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", p->gid, p->gid);
	return write_file("/proc/self/gid_map", map);
}

static int try_mounts(const struct place *p)
{
	int r = try_user(p);

	return r ? r : -sandbox_enter_trial(false);
}

static int try_network(const struct place *p)
{
	int r = try_user(p);

	return r ? r : -sandbox_enter_trial(true);
}

static int try_proc(const struct place *p)
{
	int r = try_user(p);

	if (r)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	return access("/proc/1/stat", R_OK) < 0 ? errno : 0;
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

static int try_idmap(const struct place *p)
{
	scoped(fd_closep) int tree = -1;
	int ready[2], r, sys = 0;
	pid_t holder;

	tree = (int)syscall(SYS_open_tree, AT_FDCWD, p->directory,
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
static int try_clone3(const struct place *p)
{
	return syscall(SYS_clone3, NULL, 0) < 0 && errno == EINVAL ? 0 : errno;
}

static int try_openat2(const struct place *p)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	scoped(fd_closep) int fd = open(p->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int again = -1;

	if (fd >= 0)
		again = (int)syscall(SYS_openat2, fd, ".", &how, sizeof(how));
	return again < 0 ? errno : 0;
}

/* The flag is younger than the call: Linux 5.11. */
static int try_close(const struct place *p)
{
	return close_range(~0U, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? errno : 0;
}

static bool is_filtered(void)
{
	char text[4096];

	(void)fd_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text));
	return strstr(text, "\nSeccomp:\t2") != NULL;
}

/* Where a call does not exist. */
static const char *call_remedy(void)
{
	if (is_filtered())
		return "a system call filter around nacre refuses a call that the sandbox needs: "
		       "let open_tree, move_mount, mount_setattr, fsopen, fsconfig, fsmount and "
		       "close_range through";
	return "this kernel is too old: kernel 5.12 or newer is needed";
}

/* How to get a group that nacre may divide. In a container there is no manager to ask. */
static const char *group_remedy(const struct sandbox_survey *s)
{
	const struct cgroup_place *place = &s->cgroup;
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char manager[256];

	if (place->kind != CGROUP_NONE || s->container)
		return NULL;
	if (place->bounded)
		return "the unit around nacre has limits of its own, and nacre stays in it: add "
		       "Delegate=yes to the unit (and DelegateSubgroup=nacre from systemd 254 on)";
	if (runtime && *runtime == '/' &&
	    snprintf(manager, sizeof(manager), "%s/systemd/private", runtime) <
	            (int)sizeof(manager) &&
	    access(manager, W_OK) == 0)
		return "start nacre in a scope of its own: systemd-run --user --scope nacre ...";
	return "run nacre as a systemd unit with Delegate=yes (and DelegateSubgroup=nacre from "
	       "systemd 254 on), or from a user's manager: systemd-run --user --scope nacre ...";
}

/* Sets it at once, and at each boot. */
#define SET_SYSCTL(word)                                                                           \
	"echo " word " | sudo tee /etc/sysctl.d/60-nacre.conf && sudo sysctl --system"

/* Who forbids namespaces: the most specific knob that stands against us. */
static const char *namespace_remedy(const struct sandbox_survey *s)
{
	if (read_knob("/proc/sys/user/max_user_namespaces") == 0)
		return "sysctl user.max_user_namespaces is 0, so nobody gets a user "
		       "namespace: " SET_SYSCTL("user.max_user_namespaces=10000");
	if (!s->root && read_knob("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl kernel.unprivileged_userns_clone is 0, so only root gets user "
		       "namespaces: " SET_SYSCTL("kernel.unprivileged_userns_clone=1");
	if (!s->root && read_knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "AppArmor (sysctl kernel.apparmor_restrict_unprivileged_userns) gives user "
		       "namespaces only to programs with a profile. For nacre in /usr/bin: sudo "
		       "install -m 644 /usr/share/nacre/apparmor/nacre /etc/apparmor.d/nacre && "
		       "sudo apparmor_parser -r /etc/apparmor.d/nacre. For all "
		       "programs: " SET_SYSCTL("kernel.apparmor_restrict_unprivileged_userns=0");
	if (is_filtered())
		return "a system call filter around nacre (a container's) refuses it: start the "
		       "container with nacre's seccomp profile (docker run --security-opt "
		       "seccomp=nacre.json, from share/nacre/seccomp)";
	return "a security module, a chroot or the container around nacre refuses it";
}

static const char *remedy(const struct sandbox_survey *s, enum sandbox_trial_kind kind)
{
	if (s->trials[kind].sys == 0)
		return NULL;
	switch (kind) {
	case SANDBOX_TRIAL_CLOSE:
		return call_remedy();
	case SANDBOX_TRIAL_PROC:
		if (s->trials[SANDBOX_TRIAL_MOUNTS].sys == 0)
			return "parts of /proc are covered by mounts, as containers do: the "
			       "kernel then allows no fresh one (docker: --security-opt "
			       "systempaths=unconfined)";
		return namespace_remedy(s);
	case SANDBOX_TRIAL_NETWORK:
		if (read_knob("/proc/sys/user/max_net_namespaces") == 0)
			return "sysctl user.max_net_namespaces is 0, so nobody gets a network "
			       "namespace: " SET_SYSCTL("user.max_net_namespaces=10000");
		return namespace_remedy(s);
	case SANDBOX_TRIAL_MOUNTS:
		if (s->trials[kind].sys == ENOSYS)
			return call_remedy();
		return namespace_remedy(s);
	case SANDBOX_TRIAL_USER:
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
	static const struct {
		int (*try)(const struct place *);
		uint64_t flags;
	} tries[SANDBOX_TRIAL_MAX] = {
		[SANDBOX_TRIAL_USER] = {try_user, CLONE_NEWUSER},
		[SANDBOX_TRIAL_MOUNTS] = {try_mounts, BOX_NAMESPACES},
		[SANDBOX_TRIAL_PROC] = {try_proc, BOX_NAMESPACES},
		[SANDBOX_TRIAL_NETWORK] = {try_network, BOX_NAMESPACES | CLONE_NEWNET},
		[SANDBOX_TRIAL_IDMAP] = {try_idmap, 0},
		[SANDBOX_TRIAL_CLONE3] = {try_clone3, 0},
		[SANDBOX_TRIAL_CLOSE] = {try_close, 0},
		[SANDBOX_TRIAL_OPENAT2] = {try_openat2, 0},
	};
	const struct place place = {directory, geteuid(), getegid()};
	struct sandbox_survey s = {.root = geteuid() == 0, .has_proc = exists("/proc/self/fd")};

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
		s.trials[k].sys = in_child(tries[k].try, tries[k].flags, &place);
	}
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++)
		s.trials[k].remedy = remedy(&s, k);
	cgroup_find(&s.cgroup);
	s.cgroup_remedy = group_remedy(&s);
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
		[SANDBOX_TRIAL_CLOSE] = "close_range",
	};

	return kind < SANDBOX_TRIAL_MAX ? names[kind] : NULL;
}

static bool works(const struct sandbox_survey *s, enum sandbox_trial_kind kind)
{
	return s->trials[kind].tried && s->trials[kind].sys == 0;
}

const char *sandbox_survey_obstacle(const struct sandbox_survey *s)
{
	if (!s->has_proc)
		return "/proc is not mounted: nacre needs it (mount -t proc proc /proc)";
	if (!works(s, SANDBOX_TRIAL_CLOSE))
		return s->trials[SANDBOX_TRIAL_CLOSE].remedy;
	return NULL;
}

/* A box is cloned with all of its namespaces at once: without one of them it gets none. */
static enum sandbox_tier best_tier(const struct sandbox_survey *s, enum sandbox_network network)
{
	if (sandbox_survey_obstacle(s))
		return SANDBOX_TIER_NONE;
	if (works(s, SANDBOX_TRIAL_USER) && works(s, SANDBOX_TRIAL_MOUNTS) &&
	    works(s, SANDBOX_TRIAL_PROC) &&
	    (network == SANDBOX_NETWORK_HOST || works(s, SANDBOX_TRIAL_NETWORK)))
		return SANDBOX_TIER_STRICT;
	return s->probe.landlock_abi > 0 ? SANDBOX_TIER_LANDLOCK : SANDBOX_TIER_NONE;
}

enum sandbox_tier sandbox_survey_tier(const struct sandbox_survey *s)
{
	return best_tier(s, SANDBOX_NETWORK_NONE);
}

uint32_t sandbox_spec_layers(const struct sandbox_spec *spec)
{
	uint32_t wanted = SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_LANDLOCK |
	                  SANDBOX_LAYER_SECCOMP | SANDBOX_LAYER_NO_NEW_PRIVS |
	                  SANDBOX_LAYER_UNPRIVILEGED;

	if (spec->network != SANDBOX_NETWORK_HOST)
		wanted |= SANDBOX_LAYER_NETWORK;
	if (spec->network == SANDBOX_NETWORK_NAMES)
		wanted |= SANDBOX_LAYER_NETWORK_NAMES;
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
	*ret_have = wanted & ~(uint32_t)(SANDBOX_LAYER_PROGRAMS | SANDBOX_LAYER_UNPRIVILEGED |
	                                 SANDBOX_LAYER_NETWORK_NAMES);
	return wanted;
}

static uint32_t have_full(const struct sandbox_survey *s, bool user)
{
	uint32_t have = SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_PROGRAMS;

	/* An ABI without REFER would forbid to move files between directories. */
	if (s->probe.landlock_abi >= LL_ABI_REFER)
		have |= SANDBOX_LAYER_LANDLOCK;
	if (works(s, SANDBOX_TRIAL_NETWORK))
		have |= SANDBOX_LAYER_NETWORK | SANDBOX_LAYER_NETWORK_NAMES;
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
	bool full = tier == SANDBOX_TIER_STRICT;
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
	enum sandbox_tier best = best_tier(s, spec->network);
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
