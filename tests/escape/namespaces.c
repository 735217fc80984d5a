/*
 * Namespaces and mounts: making new ones in order to have rights in them, joining those of others,
 * and changing the tree that the box has.
 */
#include "attack.h"
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static const struct {
	const char *name;
	int flag;
} kinds[] = {
	{"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
	{"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
	{"cgroup", CLONE_NEWCGROUP}, {"time", 0x80},
};

static int kind_tried;

static void unshare_one(void)
{
	told(kinds[kind_tried].name, unshare(kinds[kind_tried].flag));
}

static void unshare_each(void)
{
	for (kind_tried = 0; kind_tried < (int)count_of(kinds); kind_tried++)
		in_child(unshare_one);
	kind_tried = 0;
	in_child(unshare_one);
}

static void clone_each(void)
{
	for (size_t i = 0; i < count_of(kinds); i++) {
		struct clone_args args = {.flags = (uint64_t)kinds[i].flag, .exit_signal = SIGCHLD};
		long pid;

		if (kinds[i].flag == 0x80)
			continue; /* the bits of the exit signal for the old call */
		pid = syscall(SYS_clone, (long)kinds[i].flag | SIGCHLD, NULL, NULL, NULL, NULL);
		if (pid == 0)
			_exit(0);
		told("clone", pid);
		pid = syscall(SYS_clone, (long)kinds[i].flag | CLONE_NEWUSER | SIGCHLD, NULL, NULL,
		              NULL, NULL);
		if (pid == 0)
			_exit(0);
		told("clone with user", pid);
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(0);
		told("clone3", pid);
	}
	while (wait(NULL) > 0)
		;
}

static void join(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		no(path);
		return;
	}
	if (told(path, setns(fd, 0)))
		show(world("beside"));
	close(fd);
}

static const char *join_base;

static void join_all_of(void)
{
	char path[96];

	for (size_t i = 0; i < count_of(kinds); i++) {
		snprintf(path, sizeof(path), "%s/ns/%s", join_base, kinds[i].name);
		/* Joining where one is already would succeed without any effect. */
		if (strcmp(join_base, "/proc/1") != 0 || getppid() != 1)
			join(path);
	}
}

static void join_others(void)
{
	char path[64];
	int pidfd;

	snprintf(path, sizeof(path), "/proc/%ld", world_number("victim"));
	join_base = path;
	in_child(join_all_of);
	join_base = "/proc/1";
	in_child(join_all_of);
	pidfd = (int)syscall(SYS_pidfd_open, world_number("victim"), 0);
	if (pidfd < 0)
		no("pidfd_open");
	else
		told("setns by pidfd", setns(pidfd, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET));
	pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	if (pidfd >= 0)
		told("setns to the parent", setns(pidfd, CLONE_NEWNS));
}

/* Descriptors that somebody forgot: a directory outside, a namespace, a socket of nacre's. */
static void inherited(void)
{
	char path[64], what[256];

	for (int fd = 3; fd < 4096; fd++) {
		ssize_t n;
		int out;

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, what, sizeof(what) - 1);
		what[n < 0 ? 0 : n] = 0;
		got("descriptor %d: %s", fd, what);
		out = openat(fd, "secret.txt", O_RDONLY);
		if (out >= 0)
			show_fd(out, "through it");
		if (setns(fd, 0) == 0)
			got("its namespace");
	}
	for (int fd = 0; fd < 3; fd++) { /* what came as standard input may be a directory */
		int up = openat(fd, "../outside/secret.txt", O_RDONLY);

		if (up >= 0)
			show_fd(up, "through standard input");
	}
}

static void mounts(void)
{
	mkdir("m", 0700);
	told("tmpfs", mount("none", "m", "tmpfs", 0, ""));
	told("proc", mount("none", "m", "proc", 0, ""));
	told("sysfs", mount("none", "m", "sysfs", 0, ""));
	told("cgroup", mount("none", "m", "cgroup2", 0, ""));
	told("bind", mount("/", "m", NULL, MS_BIND | MS_REC, NULL));
	told("bind of itself", mount(".", "m", NULL, MS_BIND, NULL));
	told("move", mount("/usr", "m", NULL, MS_MOVE, NULL));
	told("shared", mount("none", "/", NULL, MS_SHARED | MS_REC, NULL));
	told("private", mount("none", "/", NULL, MS_PRIVATE, NULL));
	told("overlay", mount("none", "m", "overlay", 0, "lowerdir=/usr:/etc"));
	told("device", mount("/dev/vda", "m", "ext4", MS_RDONLY, NULL));
	rmdir("m");
}

static void remount(void)
{
	static const char *const places[] = {"/",           "/usr", "/etc", "/proc",
	                                     "/proc/sys",   "/dev", ".",    ".git/hooks",
	                                     ".git/config", "/tmp", "/opt", "/bin"};

	for (size_t i = 0; i < count_of(places); i++) {
		struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
		                                      MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV};

		told(places[i], mount("none", places[i], NULL, MS_REMOUNT | MS_BIND, NULL));
		told(places[i], mount("none", places[i], NULL, MS_REMOUNT, NULL));
		told("mount_setattr",
		     syscall(SYS_mount_setattr, AT_FDCWD, places[i], 0, &attr, sizeof(attr)));
	}
}

static void unmount(void)
{
	static const char *const places[] = {".git/hooks",  ".git/config", ".git",
	                                     "/etc/shadow", "/proc/sys",   "/proc/kcore",
	                                     "/usr/bin/dd", ".ssh"};

	for (size_t i = 0; i < count_of(places); i++) {
		told(places[i], umount2(places[i], UMOUNT_NOFOLLOW));
		told(places[i], umount2(places[i], MNT_DETACH | UMOUNT_NOFOLLOW));
	}
}

static void new_mount_calls(void)
{
	int fd, mnt;

	fd = (int)syscall(SYS_fsopen, "tmpfs", 0);
	if (told("fsopen", fd)) {
		syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
		mnt = (int)syscall(SYS_fsmount, fd, 0, 0);
		if (told("fsmount", mnt))
			told("move_mount", syscall(SYS_move_mount, mnt, "", AT_FDCWD, ".",
			                           MOVE_MOUNT_F_EMPTY_PATH));
	}
	told("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | AT_RECURSIVE);
	told("open_tree of all", fd);
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, ".git", OPEN_TREE_CLONE);
	if (told("open_tree", fd)) { /* without what is mounted below: the hooks as they are */
		int hook = openat(fd, "hooks/planted", O_CREAT | O_WRONLY, 0755);

		told("a hook through it", hook);
	}
}

static void climb(void)
{
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
}

static void roots(void)
{
	const char *beside = world("beside");
	int fd;

	mkdir("r", 0700);
	mkdir("r/old", 0700);
	told("pivot_root", syscall(SYS_pivot_root, "r", "r/old"));
	told("pivot_root .", syscall(SYS_pivot_root, ".", "."));
	if (told("chroot", chroot("r"))) {
		climb(); /* the working directory is still above the new root */
		if (chroot(".") == 0)
			show(beside);
	}
	climb();
	fd = open(beside + 1, O_RDONLY);
	if (fd >= 0)
		show_fd(fd, "above");
}

/* Names that the kernel resolves itself may lead out where a path does not. */
static void magic_links(void)
{
	static const char *const ways[] = {
		"/proc/self/root",        "/proc/self/cwd", "/proc/1/root",           "/proc/1/cwd",
		"/proc/thread-self/root", "/dev/fd/0",      "/proc/self/task/../root"};
	char path[1024];

	for (size_t i = 0; i < count_of(ways); i++) {
		int dir = open(ways[i], O_PATH | O_DIRECTORY);
		struct open_how how = {.flags = O_RDONLY};

		snprintf(path, sizeof(path), "../../../../../../../../..%s", world("beside"));
		if (dir < 0) {
			no(ways[i]);
			continue;
		}
		for (int j = 0; j < 2; j++) {
			int fd = openat(dir, j ? world("beside") + 1 : path, O_RDONLY);

			if (fd >= 0)
				show_fd(fd, ways[i]);
			fd = (int)syscall(SYS_openat2, dir, j ? world("beside") + 1 : path, &how,
			                  sizeof(how));
			if (fd >= 0)
				show_fd(fd, ways[i]);
		}
	}
}

static void capabilities(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file)) {
		/* The bounding set means nothing with no_new_privs, and only root can lower it. */
		if (strncmp(line, "Cap", 3) == 0 && strncmp(line, "CapBnd", 6) != 0 &&
		    strtoull(line + 8, NULL, 16) != 0)
			got("%.*s", (int)strcspn(line, "\n"), line);
		if (strncmp(line, "NoNewPrivs:", 11) == 0 && !strchr(line, '1'))
			got("no no_new_privs");
		if (strncmp(line, "Seccomp:", 8) == 0 && !strchr(line, '2'))
			got("no filter");
		if (strncmp(line, "Groups:", 7) == 0)
			printf("%s", line);
	}
	told("setuid", getuid() != 0 ? setuid(0) : -1);
	told("setgroups", syscall(SYS_setgroups, 0, NULL));
	told("setresuid", getuid() != 0 ? setresuid(0, 0, 0) : -1);
	syscall(SYS_setfsuid, 0); /* answers with the old one, whatever it does */
	if (getuid() != 0 && syscall(SYS_setfsuid, -1) == 0)
		got("file rights of root");
	told("raise ambient", prctl(47, 2, 1, 0, 0));
	told("keep caps", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

/* The limits are not to be raised again from inside. */
static void limits(void)
{
	static const int names[] = {RLIMIT_NPROC, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE,
	                            RLIMIT_CPU,   RLIMIT_AS,    RLIMIT_MEMLOCK};

	for (size_t i = 0; i < count_of(names); i++) {
		struct rlimit r;

		if (getrlimit((__rlimit_resource_t)names[i], &r) < 0 || r.rlim_max == RLIM_INFINITY)
			continue;
		r.rlim_max++;
		if (setrlimit((__rlimit_resource_t)names[i], &r) == 0)
			got("a higher limit %d", names[i]);
	}
}

static void write_maps(void)
{
	static const char *const files[] = {"/proc/self/uid_map",       "/proc/self/gid_map",
	                                    "/proc/self/setgroups",     "/proc/1/uid_map",
	                                    "/proc/self/oom_score_adj", "/proc/1/oom_score_adj",
	                                    "/proc/self/loginuid"};

	for (size_t i = 0; i < count_of(files); i++) {
		int fd = open(files[i], O_WRONLY);
		const char *text = strstr(files[i], "oom") ? "-999" : "0 0 1\n";

		if (fd < 0 || write(fd, text, strlen(text)) < 0)
			no(files[i]);
		else
			got("%s written", files[i]);
	}
}

static const struct attempt all[] = {
	{"unshare_each", unshare_each},
	{"clone_each", clone_each},
	{"join_others", join_others},
	{"inherited", inherited},
	{"mounts", mounts},
	{"remount", remount},
	{"unmount", unmount},
	{"new_mount_calls", new_mount_calls},
	{"roots", roots},
	{"magic_links", magic_links},
	{"capabilities", capabilities},
	{"limits", limits},
	{"write_maps", write_maps},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
