/*
 * The program lists of a spec, compiled into the tree: what is not to be run is not there.
 *
 * With a list of programs every mount is noexec, the directories of programs are empty ones of the
 * box's own, and each listed program, its loader and its libraries are bound in one by one, the
 * only files that can be mapped as code. So the loader, called with another program, maps nothing.
 *
 * With a list of the denied each of their files is hidden. A symbolic link leads to the hidden file
 * by itself; hard links are looked for in the directories of programs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "sandbox/box.h"
#include "sandbox/elf.h"

#define DIRECTORIES_MAX 16

struct programs {
	struct sandbox_plan *plan;
	struct rules *rules; /* NULL: files are masked; else they are left out of the rules */
	const char *directories[DIRECTORIES_MAX]; /* real ones, each once */
	size_t count;
};

/* In the order of a usual PATH. */
static const char *const candidates[] = {
	"/usr/local/sbin", "/usr/local/bin",   "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/usr/games",      "/usr/local/games", "/opt/bin"};

static int find_directories(struct programs *g)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < array_size(candidates); i++) {
		bool known = false;

		if (!realpath(candidates[i], real))
			continue;
		for (size_t j = 0; j < g->count; j++)
			known = known || strcmp(g->directories[j], real) == 0;
		if (known)
			continue;
		g->directories[g->count] = arena_strndup(g->plan->arena, real, strlen(real));
		if (!g->directories[g->count++])
			return -ENOMEM;
	}
	return 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the file behind a link is another program that only takes the name for an order, such as
 * reboot -> systemctl: then the link is hidden, not the file. The system's alternatives, and names
 * with a version, are the program itself. */
static bool is_other_program(const char *link, const char *real)
{
	const char *name = base_of(link), *final = base_of(real);
	char target[PATH_MAX];
	ssize_t n;

	if (strncmp(final, name, strlen(name)) == 0 || strcmp(final, "busybox") == 0 ||
	    strcmp(final, "toybox") == 0)
		return false;
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return !strstr(target, "/alternatives/");
}

static int hide(struct programs *g, const char *path)
{
	const char *copy = arena_strndup(g->plan->arena, path, strlen(path));

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
	const char *copy = arena_strndup(g->plan->arena, path, strlen(path));
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
	struct dirent *d;
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < g->count; i++) {
		DIR *dir = opendir(g->directories[i]);

		while (r == 0 && dir && (d = readdir(dir))) {
			if (d->d_ino != wanted->st_ino)
				continue;
			snprintf(path, sizeof(path), "%s/%s", g->directories[i], d->d_name);
			if (lstat(path, &st) == 0 && st.st_dev == wanted->st_dev &&
			    st.st_ino == wanted->st_ino)
				r = hide(g, path);
		}
		if (dir)
			closedir(dir);
	}
	return r;
}

static int deny_path(struct programs *g, const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	int r;

	if (!realpath(path, real) || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && is_other_program(path, real))
		return hide_link(g, path);
	if (stat(real, &st) < 0)
		return 0;
	r = hide(g, real);
	if (r == 0 && st.st_nlink > 1)
		r = hide_hard_links(g, &st);
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
	for (size_t i = 0; r == 0 && i < g->count; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", g->directories[i], name) <
		    sizeof(path))
			r = deny_path(g, path);
	}
	return r;
}

/* The names of busybox's applets lie one behind the other, in the order of their bytes, from "["
 * on. One that is not built that way is taken to offer everything. */
static bool offers_denied(const char *bytes, size_t size, const char *const *denied)
{
	static const char first[] = "[\0[[";
	const char *name = memmem(bytes, size, first, sizeof(first)), *end;

	if (!name)
		return true;
	while ((end = memchr(name, 0, size - (size_t)(name - bytes))) && end > name) {
		for (const char *const *d = denied; *d; d++)
			if (strcmp(base_of(*d), name) == 0)
				return true;
		name = end + 1;
	}
	return false;
}

static int deny_multi_call(struct programs *g, const char *path, const char *const *denied)
{
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, path);
	struct stat st;
	void *bytes;
	bool offers = true;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && strcmp(base_of(path), "busybox") == 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			offers = offers_denied(bytes, (size_t)st.st_size, denied);
			munmap(bytes, (size_t)st.st_size);
		}
	}
	return offers ? deny_path(g, path) : 0;
}

static int plan_denied(struct programs *g, const char *const *denied)
{
	static const char *const multi_call[] = {"busybox", "toybox", "busybox.static"};
	char path[PATH_MAX];
	int r = 0;

	if (!denied || !*denied)
		return 0;
	for (size_t i = 0; i < g->count; i++)
		box_witness_add(g->plan, g->directories[i], true);
	for (const char *const *d = denied; r == 0 && *d; d++)
		r = deny(g, *d);
	for (size_t i = 0; r == 0 && i < g->count * array_size(multi_call); i++) {
		snprintf(path, sizeof(path), "%s/%s", g->directories[i / array_size(multi_call)],
		         multi_call[i % array_size(multi_call)]);
		if (access(path, F_OK) == 0)
			r = deny_multi_call(g, path, denied);
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
		return interpreter && is_listed(g->plan->spec->programs, interpreter);
	default:
		return false;
	}
}

/* The first file of that name, as PATH would find it, under the same name in the box. */
static int list_program(struct programs *g, struct elf_needs *needs, const char *name)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *point, *own;

	for (size_t i = 0; i < g->count; i++) {
		if (*name == '/') {
			if (strlen(name) >= sizeof(path) || i > 0)
				return 0;
			strcpy(path, name);
		} else if ((size_t)snprintf(path, sizeof(path), "%s/%s", g->directories[i], name) >=
		           sizeof(path)) {
			return 0;
		}
		if (realpath(path, real) && access(real, X_OK) == 0 && is_runnable(g, needs, real))
			break;
		if (i + 1 == g->count)
			return 0;
	}
	point = arena_strndup(g->plan->arena, path, strlen(path));
	own = arena_strndup(g->plan->arena, real, strlen(real));
	if (!point || !own)
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
	return plan_code(g, own, point);
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
		box_witness_add(g->plan, g->directories[i], true);
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
	int r = find_directories(&g);

	if (r == 0)
		r = p->spec->exec == SANDBOX_EXEC_LISTED ? plan_listed(&g)
		                                         : plan_denied(&g, p->spec->denied);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "programs of the box: %s",
	                         strerrordesc_np(-r))
	             : 0;
}

int box_programs_except(struct sandbox_plan *p, struct rules *rules)
{
	struct programs g = {.plan = p, .rules = rules};
	int r = find_directories(&g);

	if (r == 0)
		r = p->spec->exec == SANDBOX_EXEC_LISTED ? plan_listed(&g)
		                                         : plan_denied(&g, p->spec->denied);
	return r;
}
