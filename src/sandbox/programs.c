/*
 * The program lists of a spec, compiled into the tree: what is not to be run is not there.
 *
 * With a list of programs every mount is noexec, the directories of programs are empty ones of the
 * box's own, and each listed program, its loader and its libraries are bound in one by one, the
 * only files that can be mapped as code. So the loader, called with another program, maps nothing.
 *
 * With a list of the denied each of their files is hidden, in the usual directories and in those of
 * nacre's own PATH. A symbolic link leads to the hidden file by itself; hard links are looked for
 * in the directories of programs, and everywhere (links.c) if that does not find all of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"
#include "sandbox/elf.h"

#define DIRECTORIES_MAX 64
#define PATTERNS_MAX    64
#define SMALL_BYTES     4096 /* of a directory: a block of most file systems */

struct programs {
	struct sandbox_plan *plan;
	struct rules *rules; /* NULL: files are masked; else they are left out of the rules */
	const char *directories[DIRECTORIES_MAX]; /* real ones, each once */
	bool small[DIRECTORIES_MAX];
	const char *names[DIRECTORIES_MAX]; /* all that is in it, "a\0b\0"; NULL: not known */
	size_t count;
	const char *patterns[PATTERNS_MAX];
	size_t pattern_count;
	struct box_links strays; /* files with names that are elsewhere */
};

/* In the order of a usual PATH. */
static const char *const candidates[] = {
	"/usr/local/sbin", "/usr/local/bin",   "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/usr/games",      "/usr/local/games", "/opt/bin"};

/* Where systems have programs of their own beside those of PATH: small ones for the start of the
 * machine, and coreutils by another maker. */
static const char *const others[] = {"/usr/lib/klibc/bin", "/usr/lib/initramfs-tools/bin",
                                     "/usr/lib/cargo/bin", "/usr/lib/cargo/bin/coreutils"};

/* Some packages have their program a second time, where only its own parts look for it. */
static const struct {
	const char *name, *path;
} doubles[] = {{"git", "/usr/lib/git-core/git"}, {"git", "/usr/libexec/git-core/git"}};

static void add_directory(struct programs *g, const char *path)
{
	struct stat st;
	const char *real = box_real(g->plan, path, &st);

	if (!real || !S_ISDIR(st.st_mode))
		return;
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->directories[i], real) == 0)
			return;
	if (g->count == DIRECTORIES_MAX) {
		g->plan->programs_leak = true; /* more than can be looked into */
		return;
	}
	g->small[g->count] = st.st_size <= SMALL_BYTES;
	g->directories[g->count++] = real;
}

static void find_directories(struct programs *g)
{
	for (size_t i = 0; i < array_size(candidates); i++)
		add_directory(g, candidates[i]);
}

/* Where the operator's own programs are: those of the same name are meant, too. What lies in the
 * workspace is the command's, which could as well call it otherwise. */
static void find_own_directories(struct programs *g)
{
	const char *path = getenv("PATH");
	char directory[PATH_MAX];

	for (size_t i = 0; i < array_size(others); i++)
		add_directory(g, others[i]);
	while (path && *path) {
		size_t n = strcspn(path, ":");

		snprintf(directory, sizeof(directory), "%.*s", (int)n, path);
		if (*path == '/' && n < sizeof(directory) &&
		    !path_is_in(directory, g->plan->workspace))
			add_directory(g, directory);
		path += n + (path[n] == ':');
	}
}

/* The names among the N bytes of entries, one after the other; false: one of them is not plain
 * ASCII, so that another spelling may be the same name. */
static bool copy_names(const char *entries, size_t n, char *names)
{
	const struct dirent64 *d;

	for (size_t at = 0; at < n; at += d->d_reclen) {
		d = (const struct dirent64 *)(const void *)(entries + at);
		for (const char *c = d->d_name; *c; c++) {
			if (*c & 0x80)
				return false;
			*names++ = *c;
		}
		*names++ = '\0';
	}
	*names = '\0';
	return true;
}

/* A list of the denied is longer than most of these directories: a small one is read once instead
 * of being asked for each of them. */
static void list_names(struct programs *g, size_t i)
{
	_Alignas(struct dirent64) char entries[SMALL_BYTES], end[SMALL_BYTES];
	scoped(fd_closep) int fd = -1;
	char *names;
	ssize_t n;

	if (!g->small[i])
		return;
	fd = open(g->directories[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = fd < 0 ? -1 : getdents64(fd, entries, sizeof(entries));
	if (n < 0 || getdents64(fd, end, sizeof(end)) != 0)
		return;
	names = arena_alloc(g->plan->arena, (size_t)n + 1); /* an entry is longer than its name */
	if (names && copy_names(entries, (size_t)n, names))
		g->names[i] = names;
}

/* Some file systems do not tell upper case from lower case. */
static bool may_have(const struct programs *g, size_t i, const char *name)
{
	if (!g->names[i])
		return true;
	for (const char *n = g->names[i]; *n; n += strlen(n) + 1)
		if (strcasecmp(n, name) == 0)
			return true;
	return false;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the file behind a link is another program that takes the name for an order, such as
 * pkill -> pgrep. The system's alternatives, and names with a version, are the program itself. */
static bool is_other_program(const char *link, const char *real)
{
	const char *name = base_of(link), *final = base_of(real);
	char target[PATH_MAX];
	ssize_t n;

	if (strncmp(final, name, strlen(name)) == 0 || strcmp(final, "toybox") == 0)
		return false;
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return !strstr(target, "/alternatives/");
}

static int hide(struct programs *g, const char *path)
{
	const char *copy = arena_strdup(g->plan->arena, path);

	if (!copy)
		return -ENOMEM;
	if (g->rules)
		return box_except(g->rules, copy);
	if (box_ground_of(g->plan, copy) != BOX_GROUND_HOST) /* it is not in the box at all */
		return 0;
	return box_mask(g->plan, copy, false);
}

static int hide_link(struct programs *g, const char *path)
{
	const char *copy = arena_strdup(g->plan->arena, path);
	struct box_step *s;
	int r;

	if (!copy)
		return -ENOMEM;
	if (g->rules) /* the file behind it may be run, whatever it is called */
		return 0;
	r = box_mask(g->plan, copy, false);
	s = &g->plan->steps.items[g->plan->steps.count - 1];
	if (r == 0 && s->phase == BOX_MASKS && strcmp(s->path, copy + 1) == 0)
		s->kind = BOX_COVER;
	return r;
}

/* The other names of a file that has more than one. */
static int hide_hard_links(struct programs *g, const struct stat *wanted)
{
	char path[PATH_MAX];
	nlink_t found = 0;
	struct dirent *d;
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < g->count; i++) {
		DIR *dir = opendir(g->directories[i]);

		if (!dir) {
			/* What is in there can be run, and is not known. */
			if (errno != ENOENT)
				g->plan->programs_leak = true;
			continue;
		}
		while (r == 0 && (d = readdir(dir))) {
			if (d->d_ino != wanted->st_ino)
				continue;
			snprintf(path, sizeof(path), "%s/%s", g->directories[i], d->d_name);
			if (lstat(path, &st) < 0 || st.st_dev != wanted->st_dev ||
			    st.st_ino != wanted->st_ino)
				continue;
			found++;
			r = hide(g, path);
		}
		closedir(dir);
	}
	if (r == 0 && found < wanted->st_nlink && box_links_want(&g->strays, wanted) < 0)
		g->plan->programs_leak = true; /* more files than can be looked for */
	return r;
}

static int hide_stray(void *context, const char *path)
{
	struct programs *g = context;

	witness_add(g->plan->witnesses, path, false);
	return hide(g, path);
}

/* What the box cannot do without, whatever else it is: the shell, or all of coreutils. */
static bool is_needed(struct programs *g, const char *real)
{
	static const char *const shells[] = {"/bin/sh", "/bin/bash"};
	struct stat st;

	for (size_t i = 0; i < array_size(shells); i++) {
		const char *shell = box_real(g->plan, shells[i], &st);

		if (shell && strcmp(shell, real) == 0)
			return true;
	}
	return strcmp(base_of(real), "coreutils") == 0;
}

static int deny_path(struct programs *g, const char *path)
{
	struct stat st;
	const char *real = box_real(g->plan, path, &st);
	int r;

	if (!real || !S_ISREG(st.st_mode))
		return 0;
	/* Whoever makes a link of that name has the program again: it is hidden as a whole. */
	if (strcmp(base_of(real), base_of(path)) != 0 && is_other_program(path, real) &&
	    is_needed(g, real)) {
		g->plan->programs_leak = true;
		return hide_link(g, path);
	}
	r = hide(g, real);
	if (r == 0 && st.st_nlink > 1)
		r = hide_hard_links(g, &st);
	return r;
}

/* Interpreters are installed under names with a version as well, and not always as the same file.
 */
static bool is_versioned(const char *name)
{
	static const char *const names[] = {"perl", "python", "python2", "python3", "ruby",
	                                    "lua",  "php",    "node",    "nodejs",  "tclsh",
	                                    "wish", "guile",  "pypy",    "pypy3"};

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int note_pattern(struct programs *g, const char *pattern)
{
	if (!pattern)
		return -ENOMEM;
	if (g->pattern_count == PATTERNS_MAX)
		return -E2BIG;
	g->patterns[g->pattern_count++] = pattern;
	return 0;
}

static bool matches(const struct programs *g, const char *name)
{
	for (size_t i = 0; i < g->pattern_count; i++) {
		size_t plain = strcspn(g->patterns[i], "*?[\\");

		if (strncmp(name, g->patterns[i], plain) == 0 &&
		    fnmatch(g->patterns[i], name, 0) == 0)
			return true;
	}
	return false;
}

/* One look at each directory, for all patterns. */
static int deny_matching(struct programs *g)
{
	char path[PATH_MAX];
	struct dirent *d;
	int r = 0;

	for (size_t i = 0; g->pattern_count > 0 && i < g->count; i++) {
		DIR *dir = opendir(g->directories[i]);

		if (!dir) {
			/* What is in there can be run, and is not known. */
			if (errno != ENOENT)
				g->plan->programs_leak = true;
			continue;
		}
		while (r == 0 && (d = readdir(dir))) {
			if (!matches(g, d->d_name))
				continue;
			snprintf(path, sizeof(path), "%s/%s", g->directories[i], d->d_name);
			r = deny_path(g, path);
		}
		closedir(dir);
	}
	return r;
}

static int deny(struct programs *g, const char *name)
{
	char path[PATH_MAX];
	int r = 0;

	if (*name == '/')
		return deny_path(g, name);
	if (!*name || strchr(name, '/'))
		return 0;
	if (strpbrk(name, "*?["))
		return note_pattern(g, name);
	for (size_t i = 0; r == 0 && i < g->count; i++) {
		if (may_have(g, i, name) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", g->directories[i], name) <
		            sizeof(path))
			r = deny_path(g, path);
	}
	for (size_t i = 0; r == 0 && i < array_size(doubles); i++)
		if (strcmp(name, doubles[i].name) == 0)
			r = deny_path(g, doubles[i].path);
	if (r == 0 && is_versioned(name)) /* perl -> perl5.36-x86_64-linux-gnu */
		r = note_pattern(g, arena_printf(g->plan->arena, "%s[-0-9.]*", name));
	return r;
}

/* What busybox can be, the newest version with all that can be built in. */
static const char applets[] =
	" [ [[ acpid add-shell addgroup adduser adjtimex ar arch arp arping ascii ash awk base32 "
	"base64 "
	"basename bc beep blkdiscard blkid blockdev bootchartd brctl bunzip2 busybox bzcat bzip2 "
	"cal cat "
	"chat chattr chgrp chmod chown chpasswd chpst chroot chrt chvt cksum clear cmp comm conspy "
	"cp cpio "
	"crc32 crond crontab cryptpw cttyhack cut date dc dd deallocvt delgroup deluser depmod "
	"devmem df "
	"dhcprelay diff dirname dmesg dnsd dnsdomainname dos2unix dpkg dpkg-deb du dumpkmap "
	"dumpleases echo "
	"ed egrep eject env envdir envuidgid ether-wake expand expr factor fakeidentd fallocate "
	"false "
	"fatattr fbset fbsplash fdflush fdformat fdisk fgconsole fgrep find findfs flock fold free "
	"freeramdisk fsck fsck.minix fsfreeze fstrim fsync ftpd ftpget ftpput fuser getopt getty "
	"grep "
	"groups gunzip gzip halt hd hdparm head hexdump hexedit hostid hostname httpd hush hwclock "
	"i2cdetect "
	"i2cdump i2cget i2cset i2ctransfer id ifconfig ifdown ifenslave ifplugd ifup inetd init "
	"insmod "
	"install ionice iostat ip ipaddr ipcalc ipcrm ipcs iplink ipneigh iproute iprule iptunnel "
	"kbd_mode "
	"kill killall killall5 klogd last less link linux32 linux64 linuxrc ln loadfont loadkmap "
	"logger login "
	"logname logread losetup lpd lpq lpr ls lsattr lsmod lsof lspci lsscsi lsusb lzcat lzma "
	"lzop "
	"makedevs makemime man md5sum mdev mesg microcom mim mkdir mkdosfs mke2fs mkfifo mkfs.ext2 "
	"mkfs.minix mkfs.vfat mknod mkpasswd mkswap mktemp modinfo modprobe more mount mountpoint "
	"mpstat "
	"mt mv nameif nanddump nandwrite nbd-client nc netstat nice nl nmeter nohup nologin nproc "
	"nsenter "
	"nslookup ntpd nuke od openvt partprobe passwd paste patch pgrep pidof ping ping6 "
	"pipe_progress "
	"pivot_root pkill pmap popmaildir poweroff powertop printenv printf ps pscan pstree pwd "
	"pwdx "
	"raidautorun rdate rdev readahead readlink readprofile realpath reboot reformime "
	"remove-shell "
	"renice reset resize resume rev rm rmdir rmmod route rpm rpm2cpio rtcwake run-init "
	"run-parts "
	"runlevel runsv runsvdir rx script scriptreplay sed seedrng sendmail seq setarch "
	"setconsole "
	"setfattr setfont setkeycodes setlogcons setpriv setserial setsid setuidgid sh sha1sum "
	"sha256sum "
	"sha3sum sha512sum showkey shred shuf shutdown slattach sleep smemcap softlimit sort split "
	"ssl_client ssl_server start-stop-daemon stat strings stty su sulogin sum sv svc svlogd "
	"svok "
	"swapoff swapon switch_root sync sysctl syslogd tac tail tar taskset tcpsvd tee telnet "
	"telnetd "
	"test tftp tftpd time timeout top touch tr traceroute traceroute6 tree true truncate ts "
	"tsort tty "
	"ttysize tunctl ubiattach ubidetach ubimkvol ubirename ubirmvol ubirsvol ubiupdatevol "
	"udhcpc udhcpc6 "
	"udhcpd udpsvd uevent umount uname unexpand uniq unix2dos unlink unlzma unshare unxz unzip "
	"uptime "
	"users usleep uudecode uuencode vconfig vi vlock volname w wall watch watchdog wc wget "
	"which who "
	"whoami whois xargs xxd xz xzcat yes zcat zcip ";

static bool offers_denied(const char *const *denied)
{
	char name[64];

	for (; *denied; denied++) {
		int n = snprintf(name, sizeof(name), " %s ", base_of(*denied));

		if (n > 0 && (size_t)n < sizeof(name) && strstr(applets, name))
			return true;
	}
	return false;
}

/* A program that is many is hidden as a whole, if it could be one of the denied. Where it is the
 * shell, or all of coreutils, and so the whole system, that would leave nothing: then the lists do
 * not hold. */
static int deny_multi_call(struct programs *g, const char *const *denied)
{
	static const char *const names[] = {"busybox", "toybox", "busybox.static", "coreutils"};
	struct stat st;
	const char *shell = box_real(g->plan, "/bin/sh", &st), *real;
	char path[PATH_MAX];
	int r = 0;

	if (!offers_denied(denied))
		return 0;
	for (size_t i = 0; r == 0 && i < g->count * array_size(names); i++) {
		if (!may_have(g, i / array_size(names), names[i % array_size(names)]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", g->directories[i / array_size(names)],
		         names[i % array_size(names)]);
		real = box_real(g->plan, path, &st);
		if (!real)
			continue;
		if ((shell && strcmp(real, shell) == 0) || strcmp(base_of(path), "coreutils") == 0)
			g->plan->programs_leak = true;
		else
			r = deny_path(g, path);
	}
	return r;
}

static int plan_denied(struct programs *g, const char *const *denied)
{
	int r = 0;

	if (!denied || !*denied)
		return 0;
	find_own_directories(g);
	for (size_t i = 0; i < g->count; i++) {
		witness_add(g->plan->witnesses, g->directories[i], true);
		list_names(g, i);
	}
	for (const char *const *d = denied; r == 0 && *d; d++)
		r = deny(g, *d);
	if (r == 0)
		r = deny_matching(g);
	if (r == 0)
		r = deny_multi_call(g, denied);
	if (r == 0)
		r = box_links_find(g->plan, &g->strays, hide_stray, g);
	if (r == -E2BIG) { /* more than can be looked at: nobody knows where else one is */
		g->plan->programs_leak = true;
		r = 0;
	}
	return r;
}

/* One file of the host that can be run or mapped as code, over what is at PATH in the box. */
static int plan_code(struct programs *g, const char *source, const char *path)
{
	struct box_step *s;
	int r;

	if (g->rules)
		return box_rule_add(g->plan, source, LANDLOCK_EXEC_FILE);
	r = box_bind(g->plan, BOX_MASKS, source, path + 1);

	s = r == 0 ? box_step_add(g->plan, BOX_MASKS, BOX_ATTR, path + 1) : NULL;
	if (!s)
		return -ENOMEM;
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	return box_rule_add(g->plan, path, LANDLOCK_EXEC_FILE);
}

static bool is_listed(const char *const *programs, const char *name)
{
	for (; programs && *programs; programs++)
		if (strcmp(*programs, name) == 0 || strcmp(base_of(*programs), base_of(name)) == 0)
			return true;
	return false;
}

/* Whether the file can be offered as it is; what it needs is added. A script needs its interpreter
 * to be listed, too. */
static bool is_runnable(struct programs *g, struct elf_needs *needs, const char *real)
{
	const char *interpreter = NULL;

	switch (elf_collect(needs, real, &interpreter)) {
	case ELF_PROGRAM:
		return true;
	case ELF_SCRIPT:
		if (interpreter && is_listed(g->plan->spec->programs, interpreter))
			return true;
		if (strncmp(base_of(real), "which", 5) == 0)
			g->plan->offers_which = true;
		return false;
	default:
		return false;
	}
}

/* The first file of that name, as PATH would find it, under the same name in the box. */
static int list_program(struct programs *g, struct elf_needs *needs, const char *name)
{
	const char *point, *real = NULL;
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < g->count; i++) {
		if (*name == '/') {
			if (strlen(name) >= sizeof(path) || i > 0)
				return 0;
			strcpy(path, name);
		} else if ((size_t)snprintf(path, sizeof(path), "%s/%s", g->directories[i], name) >=
		           sizeof(path)) {
			return 0;
		}
		real = box_real(g->plan, path, &st);
		if (real && S_ISREG(st.st_mode) && st.st_mode & 0111 && is_runnable(g, needs, real))
			break;
		if (i + 1 == g->count)
			return 0;
	}
	point = arena_strdup(g->plan->arena, path);
	if (!point)
		return -ENOMEM;
	for (size_t i = 0; i < g->count; i++)
		if (strncmp(point, g->directories[i], strlen(g->directories[i])) == 0 &&
		    point + strlen(g->directories[i]) + 1 == base_of(point)) {
			char file[PATH_MAX];

			if (g->rules)
				break;
			/* A place for it in the empty directory. */
			snprintf(file, sizeof(file), "bin-%zu/%s", i, base_of(point));
			if (!box_own_file(g->plan, file, 0444, NULL))
				return -ENOMEM;
		}
	return plan_code(g, real, point);
}

static int plan_listed(struct programs *g)
{
	struct elf_needs needs = {.arena = g->plan->arena};
	const char *own;
	char name[32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->count; i++) {
		if (g->rules) {
			r = box_except(g->rules, g->directories[i]);
			continue;
		}
		snprintf(name, sizeof(name), "bin-%zu", i);
		own = box_own_file(g->plan, name, S_IFDIR | 0755, NULL);
		r = own ? box_bind(g->plan, BOX_MASKS, own, g->directories[i] + 1) : -ENOMEM;
	}
	for (size_t i = 0; i < g->count; i++)
		witness_add(g->plan->witnesses, g->directories[i], true);
	for (const char *const *n = g->plan->spec->programs; r == 0 && n && *n; n++)
		r = list_program(g, &needs, *n);
	for (size_t i = 0; r == 0 && i < needs.count; i++)
		r = plan_code(g, needs.paths[i], needs.paths[i]);
	elf_needs_done(&needs);
	return r;
}

int box_programs_plan(struct sandbox_plan *p, struct error *err)
{
	struct programs g = {.plan = p};
	int r;

	find_directories(&g);
	r = p->spec->exec == SANDBOX_EXEC_LISTED ? plan_listed(&g)
	                                         : plan_denied(&g, p->spec->denied);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "programs of the box: %s",
	                         strerrordesc_np(-r))
	             : 0;
}

int box_programs_except(struct sandbox_plan *p, struct rules *rules)
{
	struct programs g = {.plan = p, .rules = rules};
	int r;

	find_directories(&g);
	r = p->spec->exec == SANDBOX_EXEC_LISTED ? plan_listed(&g)
	                                         : plan_denied(&g, p->spec->denied);
	return r;
}
