/*
 * What a box may know of the machine: which processors it has, what the packages have put below
 * /var, and the part of /etc that programs cannot do without. Nothing here tells one machine from
 * another of its kind: no serial numbers, no interfaces, no disks. Whoever reads these finds them
 * at the paths where programs look for them.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "sandbox/box.h"

#define TARGET_MAX 256

const char *const box_machine_paths[] = {
	"/sys/devices/system/cpu",
	"/sys/devices/system/node",
	/* Which packages there are, and could be. No archives: a denied program may be in one. */
	"/var/lib/dpkg",
	"/var/lib/apt",
	"/var/lib/rpm",
	"/var/lib/pacman/local",
	"/var/lib/alternatives",
	"/var/cache/apt/pkgcache.bin",
	"/var/cache/apt/srcpkgcache.bin",
	/* What packages make when they are installed, and programs cannot do without. */
	"/var/lib/texmf",
	"/var/lib/gems",
	"/var/lib/ghc",
	"/var/lib/aspell",
	"/var/lib/ispell",
	"/var/lib/dictionaries-common",
	"/var/cache/fontconfig",
	"/var/cache/man",
	NULL,
};

/* Without these programs find no libraries, no time zone, no language and no certificates. They say
 * nothing about the machine's users, services or networks. */
const char *const box_etc_paths[] = {
	"/etc/alternatives",    "/etc/ld.so.cache",    "/etc/ld.so.conf",
	"/etc/ld.so.conf.d",    "/etc/localtime",      "/etc/timezone",
	"/etc/locale.alias",    "/etc/locale.conf",    "/etc/default/locale",
	"/etc/nsswitch.conf",   "/etc/magic",          "/etc/magic.mime",
	"/etc/mime.types",      "/etc/terminfo",       "/etc/inputrc",
	"/etc/os-release",      "/etc/debian_version", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",  NULL,
};

static int plan_link(struct sandbox_plan *p, const char *path)
{
	char target[TARGET_MAX];
	ssize_t n = readlink(path, target, sizeof(target));
	const char *to =
		n > 0 && n < TARGET_MAX ? arena_strndup(p->arena, target, (size_t)n) : NULL;
	struct box_step *s = to ? box_step_add(p, BOX_SKELETON, BOX_SYMLINK, path + 1) : NULL;

	if (!s)
		return -ENOMEM;
	s->source = to;
	return 0;
}

static int plan_one(struct sandbox_plan *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *above = arena_strndup(p->arena, path, (size_t)(slash - path));
	struct stat st;
	int r;

	if (!above)
		return -ENOMEM;
	/* A grant or the workspace may be there already; and what leads elsewhere is shown, not
	 * followed. */
	if (box_ground_of(p, path) != BOX_GROUND_SKELETON || lstat(path, &st) < 0)
		return 0;
	r = box_point(p, above, true);
	if (r == 0 && S_ISLNK(st.st_mode))
		return plan_link(p, path);
	if (r < 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return r;
	r = box_point(p, path, S_ISDIR(st.st_mode));
	if (r == 0)
		r = box_ground_add(p, path, BOX_GROUND_HOST);
	return r == 0 ? box_bind(p, BOX_SYSTEM, path, path + 1) : r;
}

int box_machine_plan(struct sandbox_plan *p)
{
	int r = box_point(p, "/sys/dev/block", true); /* empty: lsblk finds no disks */

	if (r == 0 && (p->loopback || p->joins)) /* the one interface that there is */
		r = box_point(p, "/sys/class/net/lo", true);
	for (const char *const *path = box_machine_paths; r == 0 && *path; path++)
		r = plan_one(p, *path);
	if (r == 0 && p->spec->etc_minimal)
		r = box_point(p, "/etc", true);
	for (const char *const *path = box_etc_paths; r == 0 && *path && p->spec->etc_minimal;
	     path++)
		r = plan_one(p, *path);
	return r;
}
