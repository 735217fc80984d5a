/*
 * The landlock tier: no namespaces, so the files of the host are all there, and Landlock says which
 * of them can be touched. A rule covers all that lies below its path and nothing takes away from
 * it; where something must be left out, the directories above it are granted for walking only and
 * their other entries one by one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define DEPTH_MAX 8

/* A path that must not be granted, by name and, for files with more names than one, by identity. */
struct exception {
	const char *path;
	dev_t device;
	ino_t inode;
};

struct exceptions {
	struct exception *items;
	size_t count, capacity;
	bool linked; /* one of them has more names than one */
};

struct rules {
	struct sandbox_plan *plan;
	struct exceptions out;
};

int box_except(struct rules *rules, const char *path)
{
	struct exceptions *out = &rules->out;
	struct exception *larger;
	struct stat st;
	const char *real = box_real(rules->plan, path, &st);

	if (!real)
		return 0;
	if (out->count == out->capacity) {
		size_t capacity = out->capacity ? out->capacity * 2 : 32;

		larger = arena_new_array(rules->plan->arena, struct exception, capacity);
		if (!larger)
			return -ENOMEM;
		if (out->count > 0)
			memcpy(larger, out->items, out->count * sizeof(*larger));
		out->items = larger;
		out->capacity = capacity;
	}
	out->items[out->count] = (struct exception){
		.path = real,
		.device = st.st_dev,
		.inode = st.st_ino,
	};
	out->count++;
	out->linked = out->linked || (S_ISREG(st.st_mode) && st.st_nlink > 1);
	return 0;
}

/* Other names of a file are seen by its identity, where that can matter. */
static bool is_exception(const struct rules *g, const char *path, unsigned char type)
{
	struct stat st = {0};

	for (size_t i = 0; i < g->out.count; i++)
		if (strcmp(g->out.items[i].path, path) == 0)
			return true;
	if (!g->out.linked || type == DT_DIR)
		return false;
	if (lstat(path, &st) < 0)
		return true;
	for (size_t i = 0; st.st_nlink > 1 && i < g->out.count; i++)
		if (g->out.items[i].inode == st.st_ino && g->out.items[i].device == st.st_dev)
			return true;
	return false;
}

static bool has_exception_below(const struct rules *g, const char *path)
{
	for (size_t i = 0; i < g->out.count; i++)
		if (path_is_in(g->out.items[i].path, path))
			return true;
	return false;
}

/* PATH is canonical. Until it is opened somebody may put a link there, to any place. */
static int add_rule(struct rules *g, const char *path, enum landlock_right right)
{
	struct box_rules *rules = &g->plan->rules;
	int r = box_rule_add(g->plan, path, right);

	if (r == 0)
		rules->items[rules->count - 1].resolved = true;
	return r;
}

static int grant(struct rules *g, const char *path, enum landlock_right right, int depth);

static int grant_entries(struct rules *g, const char *path, enum landlock_right right, int depth)
{
	DIR *dir = opendir(path);
	const char *inside;
	struct dirent *d;
	int r;

	if (!dir)
		return 0;
	r = add_rule(g, path, LANDLOCK_WALK);
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    d->d_type == DT_LNK) /* a link has what it leads to */
			continue;
		inside = arena_printf(g->plan->arena, "%s/%s", path, d->d_name);
		if (!inside)
			r = -ENOMEM;
		else if (!is_exception(g, inside, d->d_type))
			r = d->d_type == DT_REG ? add_rule(g, inside, right)
			                        : grant(g, inside, right, depth + 1);
	}
	closedir(dir);
	return r;
}

/* PATH is canonical. */
static int grant(struct rules *g, const char *path, enum landlock_right right, int depth)
{
	for (size_t i = 0; i < g->out.count; i++)
		if (path_is_in(path, g->out.items[i].path))
			return 0;
	if (has_exception_below(g, path)) {
		/* What lies too deep is not granted at all. */
		return depth < DEPTH_MAX ? grant_entries(g, path, right, depth) : 0;
	}
	return add_rule(g, path, right);
}

static int grant_existing(struct rules *g, const char *path, enum landlock_right right)
{
	struct stat st;
	const char *real = path ? box_real(g->plan, path, &st) : NULL;

	return real ? grant(g, real, right, 0) : 0;
}

/* Nothing is taken from the workspace itself. */
static int except_secret(void *context, const char *path)
{
	struct rules *g = context;

	return path_is_in(g->plan->workspace, path) ? 0 : box_except(g, path);
}

static int except_path(void *context, const char *path)
{
	return box_except(context, path);
}

static int find_exceptions(struct rules *g)
{
	const char *own[BOX_OWN_PLACES];
	int n, r = 0;

	if (geteuid() == 0) {
		r = box_except(g, "/etc/ssh");
		if (r == 0)
			r = box_private_visit(g->plan, except_path, g);
	}
	n = box_own_places(g->plan, own);
	for (int i = 0; r == 0 && i < n; i++)
		r = box_except(g, own[i]);
	return r == 0 ? box_secrets_visit(g->plan, except_secret, g) : r;
}

static int grant_list(struct rules *g, const char *const *list, enum landlock_right right)
{
	int r = 0;

	for (; r == 0 && list && *list; list++)
		r = grant_existing(g, box_expand(g->plan, *list), right);
	return r;
}

static int grant_system(struct rules *g, enum landlock_right right)
{
	static const char *const directories[] = {"/usr",  "/opt", "/nix",   "/gnu",   "/bin",
	                                          "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	/* No /dev/pts: there are the terminals of everybody with our uid. A terminal of the
	 * command's own is open already, and /dev/tty names it. */
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
	                                      "/dev/random", "/dev/urandom", "/dev/tty"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_size(directories); i++)
		r = grant_existing(g, directories[i], right);
	if (r == 0 && !g->plan->spec->etc_minimal)
		r = grant_existing(g, "/etc", LANDLOCK_READ);
	for (const char *const *path = box_etc_paths; r == 0 && *path; path++)
		r = grant_existing(g, *path, LANDLOCK_READ);
	if (r == 0)
		r = grant_existing(g, "/proc", LANDLOCK_READ);
	for (const char *const *path = box_machine_paths; r == 0 && *path; path++)
		r = grant_existing(g, *path, LANDLOCK_READ);
	for (size_t i = 0; r == 0 && i < array_size(devices); i++)
		r = grant_existing(g, devices[i], LANDLOCK_DEVICE);
	return r;
}

/* One that is there is in no rule. */
static int protect_missing(void *context, const char *path)
{
	struct stat st;

	return box_real(context, path, &st) ? 0 : box_protect_path(context, path);
}

static int protect_own(struct sandbox_plan *p)
{
	const char *own[BOX_OWN_PLACES];
	int n = box_own_places(p, own), r = n < 0 ? n : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = protect_missing(p, own[i]);
	return r == 0 ? box_secrets_visit(p, protect_missing, p) : r;
}

int box_rules_plan(struct sandbox_plan *p, struct error *err)
{
	struct rules g = {.plan = p};
	bool listed = p->spec->exec == SANDBOX_EXEC_LISTED;
	enum landlock_right own = p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE;
	enum landlock_right foreign = listed ? LANDLOCK_READ : LANDLOCK_READ_EXEC;
	int r = find_exceptions(&g);

	if (r == 0)
		r = box_programs_except(p, &g);
	if (r == 0)
		r = grant_system(&g, foreign);
	if (r == 0)
		r = grant_list(&g, p->spec->readable, foreign);
	if (r == 0)
		r = grant_list(&g, p->spec->writable, own);
	if (r == 0 && p->spec->workspace_readonly)
		own = p->runs_own ? LANDLOCK_READ_EXEC : LANDLOCK_READ;
	if (r == 0)
		r = grant(&g, p->workspace, own, 0); /* not where it leads by now */
	if (r == 0)
		r = grant_existing(&g, p->tmp, p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE);
	if (r == 0)
		r = box_protect_plan(p);
	if (r == 0)
		r = protect_own(p);
	if (r == 0)
		r = p->unknown;
	return r < 0 ? box_plan_error(p, r, "rules of the box", err) : 0;
}
