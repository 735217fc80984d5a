/*
 * The tree of a box, as steps for enter.c: a small tmpfs as skeleton, the system's directories
 * bound into it and made read-only in one call, then what can be written: a second tmpfs of bounded
 * size behind /tmp, /dev/shm and the home directory, and the workspace at its own path.
 *
 * The second tmpfs ("scratch") is mounted at /dev/shm; parts of it are bound elsewhere, and last
 * one part over /dev/shm itself. Its root, where masks and other private files lie, has no name
 * then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"
#include "sandbox/doors.h"

#define PASSWD_MAX ((size_t)1 << 20)

static const char *const system_dirs[] = {"/usr",  "/etc", "/opt",   "/nix",   "/gnu",   "/bin",
                                          "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static int symlink_to(struct sandbox_plan *p, const char *target, const char *path)
{
	struct box_step *s = box_step_add(p, BOX_SKELETON, BOX_SYMLINK, path);

	if (!s)
		return -ENOMEM;
	s->source = target;
	return 0;
}

static int file_system(struct sandbox_plan *p, const char *type, const char *path,
                       unsigned long flags, const char *options)
{
	struct box_step *s = box_step_add(p, BOX_PRIVATE, BOX_MOUNT, path);

	if (!s)
		return -ENOMEM;
	s->source = type;
	s->each = true;
	s->flags = flags;
	s->data = options;
	return 0;
}

/* /usr and its kin; a symbolic link such as /bin stays one. */
static int plan_system(struct sandbox_plan *p, uint64_t attr)
{
	struct box_step *s;
	struct stat st;
	char target[256];
	ssize_t n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_size(system_dirs); i++) {
		const char *path = system_dirs[i];

		if (lstat(path, &st) < 0 || (p->spec->etc_minimal && strcmp(path, "/etc") == 0))
			continue;
		if (S_ISLNK(st.st_mode)) {
			n = readlink(path, target, sizeof(target));
			if (n > 0 && n < (ssize_t)sizeof(target))
				r = symlink_to(p, arena_strndup(p->arena, target, (size_t)n),
				               path + 1);
		} else if (S_ISDIR(st.st_mode)) {
			r = box_ground_add(p, path, BOX_GROUND_HOST);
			if (r == 0)
				r = box_directory(p, BOX_SKELETON, path + 1, 0755);
			if (r == 0)
				r = box_bind(p, BOX_SYSTEM, path, path + 1);
		}
	}
	if (r < 0)
		return r;
	s = box_step_add(p, BOX_SYSTEM_DONE, BOX_ATTR, ".");
	if (!s)
		return -ENOMEM;
	s->attr = attr;
	return 0;
}

/* A device of the host can be written to on a read-only mount, and its mode and times stay. */
static int plan_device(struct sandbox_plan *p, const char *source, const char *path)
{
	int r = source ? box_bind(p, BOX_PRIVATE, source, path) : -ENOMEM;
	struct box_step *s = r == 0 ? box_step_add(p, BOX_PRIVATE, BOX_ATTR, path) : NULL;

	if (!s)
		return -ENOMEM;
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	return 0;
}

static int plan_devices(struct sandbox_plan *p)
{
	static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"},
	                                       {"/proc/self/fd/0", "dev/stdin"},
	                                       {"/proc/self/fd/1", "dev/stdout"},
	                                       {"/proc/self/fd/2", "dev/stderr"},
	                                       {"pts/ptmx", "dev/ptmx"}};
	struct box_step *s;
	char path[32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_size(links); i++)
		r = symlink_to(p, links[i][0], links[i][1]);
	for (size_t i = 0; r == 0 && i < array_size(devices); i++) {
		snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		if (access(path, F_OK) < 0)
			continue;
		s = box_step_add(p, BOX_SKELETON, BOX_FILE,
		                 arena_printf(p->arena, "dev/%s", devices[i]));
		if (!s)
			return -ENOMEM;
		s->mode = 0600;
		r = plan_device(p, arena_printf(p->arena, "%s", path), s->path);
	}
	if (r == 0)
		r = box_directory(p, BOX_SKELETON, "dev/pts", 0755);
	if (r == 0)
		r = file_system(p, "devpts", "dev/pts", MS_NOSUID | MS_NOEXEC,
		                "newinstance,ptmxmode=0666,mode=620");
	return r;
}

static void mark_each(struct sandbox_plan *p, size_t last)
{
	for (size_t i = p->steps.count - last; i < p->steps.count; i++)
		p->steps.items[i].each = true;
}

/* Everything in /proc can only be read: sysctls, sysrq, the memory of processes and their limits
 * alike. What a process does to itself, it can do with system calls. */
static int plan_proc(struct sandbox_plan *p)
{
	/* Keys belong to a user, not to a namespace: their names are the host's. A kernel's command
	 * line has names of disks and machines, and sometimes passwords. */
	static const char *const hidden[] = {"/proc/keys", "/proc/cmdline"};
	int r = box_directory(p, BOX_SKELETON, "proc", 0755);
	struct box_step *s = NULL;

	if (r == 0)
		r = file_system(p, "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	/* The mount is made read-only, not the file system: below one of these the kernel lets no
	 * namespace have another that can be written, and an init needs that for a moment. */
	if (r == 0)
		s = box_step_add(p, BOX_PRIVATE, BOX_ATTR, "proc");
	if (!s)
		return r < 0 ? r : -ENOMEM;
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	s->each = true;
	for (size_t i = 0; r == 0 && i < array_size(hidden); i++) {
		if (access(hidden[i], F_OK) < 0)
			continue;
		r = plan_device(p, "/dev/null", hidden[i] + 1);
		mark_each(p, 2);
	}
	return r;
}

/* One part of the scratch file system, at its place in the box. */
static int plan_scratch_part(struct sandbox_plan *p, const char *path, const char *part,
                             mode_t mode)
{
	const char *source = arena_printf(p->arena, "dev/shm/%s", part);
	bool careful = box_is_careful(p, path);
	int r;

	if (!source)
		return -ENOMEM;
	r = box_point(p, path, true);
	if (r == 0)
		r = box_ground_add(p, path, BOX_GROUND_SCRATCH);
	if (r == 0)
		r = box_directory(p, BOX_PRIVATE, source, mode);
	if (r == 0)
		r = box_bind(p, careful ? BOX_GRANTS : BOX_PRIVATE, source, path + 1);
	if (r == 0)
		mark_each(p, 2);
	if (r == 0)
		r = box_rule_add(p, path, p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE);
	return r;
}

static bool is_granted_by_host(const struct sandbox_plan *p, const char *path)
{
	return path_is_in(path, p->workspace) || box_ground_of(p, path) == BOX_GROUND_HOST;
}

/* Home is the session's, or the command's alone. One that lies in /tmp is a directory there, unless
 * /tmp is shared and home is not. */
static int plan_home(struct sandbox_plan *p)
{
	enum box_ground_kind ground = box_ground_of(p, p->home);

	if (p->room.path && p->room.home >= 0) {
		int r = box_room_part(p, p->home, "home", p->room.home);

		return r < 0 ? r : box_room_caches(p);
	}
	if (ground == BOX_GROUND_SCRATCH)
		return box_point(p, p->home, true);
	return plan_scratch_part(p, p->home, "home", 0700);
}

/* Whether a command has temporary files that no other sees, beside those of a room. */
static bool needs_scratch(const struct sandbox_plan *p)
{
	return !p->room.path ||
	       (path_is_in(p->workspace, "/var/tmp") && !is_granted_by_host(p, "/var/tmp")) ||
	       (p->room.home < 0 && p->home && !is_granted_by_host(p, p->home));
}

static int plan_scratch(struct sandbox_plan *p)
{
	uint64_t bytes = p->spec->limits.tmp_bytes;
	const char *options = "mode=755";
	unsigned long flags = MS_NOSUID | MS_NODEV | (p->runs_own ? 0 : MS_NOEXEC);
	bool var_tmp = path_is_in(p->workspace, "/var/tmp");
	int r;

	if (bytes > 0) /* files without content are bounded, too */
		options = arena_printf(p->arena, "mode=755,size=%llu,nr_inodes=%llu",
		                       (unsigned long long)bytes,
		                       (unsigned long long)bytes / 1024 + 1024);
	if (!options)
		return -ENOMEM;
	(void)box_room_begin(p);
	p->has_scratch = needs_scratch(p);
	r = box_directory(p, BOX_SKELETON, "dev/shm", 0755);
	if (r == 0)
		r = file_system(p, "tmpfs", "dev/shm", flags, options);
	if (r == 0 && !p->has_scratch) /* it has files of the box's own only */
		p->steps.items[p->steps.count - 1].each = false;
	if (r == 0 && !is_granted_by_host(p, "/tmp"))
		r = p->room.path ? box_room_part(p, "/tmp", "tmp", p->room.tmp)
		                 : plan_scratch_part(p, "/tmp", "tmp", 01777);
	if (r == 0 && var_tmp && !is_granted_by_host(p, "/var/tmp"))
		r = plan_scratch_part(p, "/var/tmp", "var-tmp", 01777);
	else if (r == 0 && !is_granted_by_host(p, "/var/tmp"))
		r = symlink_to(p, "../tmp", "var/tmp");
	if (r == 0 && p->home && !is_granted_by_host(p, p->home))
		r = plan_home(p);
	return r;
}

static int plan_shm(struct sandbox_plan *p)
{
	int r;

	if (p->room.path)
		return box_room_shm(p);
	r = box_directory(p, BOX_PRIVATE, "dev/shm/shm", 01777);

	if (r == 0)
		r = box_bind(p, BOX_LAST, "dev/shm/shm", "dev/shm");
	if (r == 0)
		mark_each(p, 2);
	if (r == 0)
		r = box_rule_add(p, "/dev/shm", p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE);
	return r;
}

int box_grant(struct sandbox_plan *p, const char *path, int fd, uint64_t attr)
{
	scoped(fd_closep) int tree = -1;
	bool in_scratch = box_ground_of(p, path) == BOX_GROUND_SCRATCH;
	struct box_step *s;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = box_point(p, path, S_ISDIR(st.st_mode));
	if (r == 0)
		r = box_ground_add(p, path, BOX_GROUND_HOST);
	if (r < 0)
		return r;
	if (fd == p->workspace_fd && p->workspace_tree >= 0)
		tree = take_fd(&p->workspace_tree);
	else if (p->identity.by_parent && p->fd_count < SANDBOX_FDS_MAX / 2)
		/* Who the box runs as may not get there by itself: /root is root's alone. */
		tree = box_tree_copy(&p->identity, fd, attr);
	s = box_step_add(p, BOX_GRANTS, tree >= 0 ? BOX_ATTACH : BOX_TREE, path + 1);
	if (!s)
		return -ENOMEM;
	s->source = path;
	s->each = in_scratch; /* a new scratch file system hides it */
	s->attr = attr;
	s->fd = tree;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return tree >= 0 ? box_fd_keep(p, take_fd(&tree)) : 0;
}

int box_workspace_plan(struct sandbox_plan *p)
{
	enum landlock_right right = p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE;
	int r = p->view ? box_view_plan(p)
	                : box_grant(p, p->workspace, p->workspace_fd, box_workspace_attr(p));

	if (r == 0 && !p->spec->workspace_readonly)
		r = box_rule_add(p, p->workspace, right);
	return r;
}

/* Whether the third field of some line of the file is this id. */
static bool has_id(const char *text, unsigned id)
{
	char wanted[16];
	size_t n = (size_t)snprintf(wanted, sizeof(wanted), ":%u:", id);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *field;

		line += *line == '\n';
		field = strchr(line, ':');
		field = field ? strchr(field + 1, ':') : NULL;
		if (field && strncmp(field, wanted, n) == 0)
			return true;
	}
	return false;
}

/* Some programs refuse to run as a user without a name: the file gets one more line. In a minimal
 * /etc it has BASE before that, and nothing of the host's. */
static int plan_name(struct sandbox_plan *p, const char *path, const char *base, unsigned id,
                     const char *line)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	scoped(fd_closep) int fd = -1;
	const char *own;
	int r = 0;

	if (p->spec->etc_minimal) {
		buffer_puts(&text, base);
		r = box_point(p, path, false);
	} else {
		fd = fd_open_regular(AT_FDCWD, path);
		if (fd < 0 || fd_read_all(fd, &text) < 0 || has_id(buffer_str(&text), id))
			return 0;
	}
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		buffer_putc(&text, '\n');
	if (!has_id(buffer_str(&text), id))
		buffer_puts(&text, line);
	if (r < 0 || buffer_error(&text) < 0)
		return r < 0 ? r : -ENOMEM;
	own = box_own_file(p, strrchr(path, '/') + 1, 0444,
	                   arena_strndup(p->arena, text.data, text.len));
	return own ? box_bind(p, BOX_GRANTS, own, path + 1) : -ENOMEM;
}

static int plan_names(struct sandbox_plan *p)
{
	static const char users[] = "root:x:0:0:root:/root:/bin/bash\n"
				    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			  groups[] = "root:x:0:\nnogroup:x:65534:\n";
	const char *home = p->home && !strpbrk(p->home, ":\n") ? p->home : "/";
	char group[64];
	const char *line;
	int r;

	line = arena_printf(p->arena, "nacre:x:%u:%u::%s:/bin/bash\n", p->identity.uid,
	                    p->identity.gid, home);
	if (!line)
		return -ENOMEM;
	snprintf(group, sizeof(group), "nacre:x:%u:\n", p->identity.gid);
	r = plan_name(p, "/etc/passwd", users, p->identity.uid, line);
	if (r == 0)
		r = plan_name(p, "/etc/group", groups, p->identity.gid, group);
	return r;
}

/* Of what lies in /etc. */
static bool is_in_box(const struct sandbox_plan *p, const char *path)
{
	return box_ground_of(p, path) == BOX_GROUND_HOST;
}

/* A file of the box's own in the place of the host's, which may be a link to /run. Where the host
 * has none there is no place for it either, and programs do without. */
static int plan_instead(struct sandbox_plan *p, const char *path, const char *name,
                        const char *text)
{
	struct stat st;
	const char *real = box_real(p, path, &st), *own;
	int r;

	if (!real || !S_ISREG(st.st_mode))
		return 0;
	r = box_point(p, real, false);
	if (r < 0)
		return r;
	own = box_own_file(p, name, 0444, text);
	return own ? box_bind(p, BOX_MASKS, own, real + 1) : -ENOMEM;
}

/* The host's addresses mean nothing here, and would be taken for literal ones. */
static int plan_resolver(struct sandbox_plan *p)
{
	char name[HOST_NAME_MAX + 1] = "";
	const char *hosts;
	int r;

	if (p->spec->network != SANDBOX_NETWORK_NAMES)
		return 0;
	(void)gethostname(name, sizeof(name) - 1);
	hosts = arena_printf(p->arena, "127.0.0.1\tlocalhost\n::1\tlocalhost\n%s%s%s",
	                     name[0] ? "127.0.1.1\t" : "", name, name[0] ? "\n" : "");
	if (!hosts)
		return -ENOMEM;
	r = plan_instead(p, "/etc/hosts", "hosts", hosts);
	if (r == 0) /* a person may be asked before the answer comes */
		r = plan_instead(p, "/etc/resolv.conf", "resolv.conf",
		                 "nameserver " SANDBOX_DOORS_SERVER
		                 "\noptions timeout:30 attempts:1\n");
	return r;
}

static int mask_private(void *context, const char *path)
{
	struct sandbox_plan *p = context;
	struct stat st;

	if (!is_in_box(p, path))
		return 0;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return box_mask(p, path, S_ISDIR(st.st_mode));
}

/* Where the kernel's root could not be kept out: it owns these, without any capability. */
static int plan_root_masks(struct sandbox_plan *p)
{
	static const char *const files[] = {
		"/etc/ssh",         "/proc/kcore",       "/proc/key-users",  "/proc/sysrq-trigger",
		"/proc/timer_list", "/proc/kmsg",        "/proc/kallsyms",   "/proc/vmallocinfo",
		"/proc/slabinfo",   "/proc/kpagecount",  "/proc/kpageflags", "/proc/kpagecgroup",
		"/proc/keys",       "/proc/pagetypeinfo"};
	const char *real;
	struct stat st;
	int r = box_private_visit(p, mask_private, p);

	for (size_t i = 0; r == 0 && i < array_size(files); i++) {
		real = box_real(p, files[i], &st);
		if (!real || (path_is_in(real, "/etc") && !is_in_box(p, real)))
			continue;
		r = box_mask(p, real, S_ISDIR(st.st_mode));
		if (r == 0 && path_is_in(real, "/proc"))
			p->steps.items[p->steps.count - 1].each = true;
	}
	return r;
}

int box_tree_plan(struct sandbox_plan *p, struct error *err)
{
	static const char *const places[] = {"dev", "run", "var"};
	uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	bool listed = p->spec->exec == SANDBOX_EXEC_LISTED;
	int r = 0;

	if (listed)
		attr |= MOUNT_ATTR_NOEXEC;

	for (size_t i = 0; r == 0 && i < array_size(places); i++)
		r = box_directory(p, BOX_SKELETON, places[i], 0755);
	if (r == 0)
		r = plan_system(p, attr);
	if (r == 0)
		r = box_machine_plan(p);
	if (r == 0)
		r = plan_scratch(p);
	if (r == 0)
		r = plan_devices(p);
	if (r == 0)
		r = plan_proc(p);
	if (r == 0)
		r = plan_names(p);
	if (r == 0)
		r = box_grants_plan(p);
	if (r == 0)
		r = plan_resolver(p);
	if (r == 0)
		r = box_protect_plan(p);
	if (r == 0)
		r = box_secrets_plan(p);
	if (r == 0 && p->identity.uid == 0)
		r = plan_root_masks(p);
	if (r == 0)
		r = plan_shm(p);
	if (r == 0)
		r = symlink_to(p, "../run", "var/run");
	if (r == 0)
		r = box_rule_add(p, "/", listed ? LANDLOCK_READ : LANDLOCK_READ_EXEC);
	if (r == 0)
		r = box_rule_add(p, "/dev", LANDLOCK_DEVICE);
	if (r == 0)
		r = box_programs_plan(p, err);
	box_room_care(p);
	if (r == 0)
		r = p->unknown;
	return r < 0 ? box_plan_error(p, r, "planning the tree of the box", err) : 0;
}
