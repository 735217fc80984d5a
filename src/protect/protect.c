/*
 * Protected paths before the command: what is there is held, what is not is noted; and the same for
 * where it leads. check.c looks at them afterwards.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"
#include "protect/git.h"

#define HOPS_MAX    40   /* links that lead to links: the kernel follows no more */
#define ENTRIES_MAX 4096 /* of one directory that may be links */

int protect_refuse(struct protect *p, int code, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	p->refusal = arena_strdup(p->arena, text);
	return code;
}

void protect_reset(struct protect *p)
{
	p->hold_count = p->absent_count = p->offer_count = p->served_count = 0;
	p->refusal = NULL;
}

/* What nobody knows about cannot be protected. */
static int refuse(struct protect *p, const char *inside, int code)
{
	return protect_refuse(
		p, code,
		"'%.120s' is protected and cannot be looked at: %s. Make it accessible, or "
		"remove it",
		inside, strerrordesc_np(-code));
}

static bool is_usable(const char *path)
{
	size_t n = strlen(path);

	if (n == 0 || n >= PATH_MAX || *path == '/')
		return false;
	while (*path) {
		n = strcspn(path, "/");
		if (n == 0 || (n <= 2 && strncmp(path, "..", n) == 0))
			return false;
		path += n;
		if (*path && !*++path) /* "a/" */
			return false;
	}
	return true;
}

int protect_hold_add(struct protect *p, const struct protect_hold *hold)
{
	for (size_t i = 0; i < p->hold_count; i++)
		if (strcmp(p->holds[i].path, hold->path) == 0) {
			p->holds[i].readonly |= hold->readonly;
			return 0;
		}
	if (p->hold_count == p->hold_capacity) {
		size_t wanted = p->hold_capacity ? p->hold_capacity * 2 : 64;
		struct protect_hold *larger =
			arena_new_array(p->arena, struct protect_hold, wanted);

		if (!larger)
			return -ENOMEM;
		if (p->hold_count > 0)
			memcpy(larger, p->holds, p->hold_count * sizeof(*larger));
		p->holds = larger;
		p->hold_capacity = wanted;
	}
	p->holds[p->hold_count++] = *hold;
	return 0;
}

/* The first N bytes of INSIDE, which is ST now. */
static int hold(struct protect *p, const char *inside, size_t n, bool readonly,
                const struct stat *st)
{
	/* The root only for a directory above the workspace. */
	const char *top = strcmp(p->workspace, "/") == 0 ? "" : p->workspace;
	struct protect_hold hold = {.path = arena_printf(p->arena, "%s/%.*s", top, (int)n, inside),
	                            .readonly = readonly,
	                            .device = st->st_dev,
	                            .inode = st->st_ino};

	return hold.path ? protect_hold_add(p, &hold) : -ENOMEM;
}

/* Where a path that is or leads through a link really lies: that is held, too. */
static int hold_real(struct protect *p, const char *inside)
{
	char real[PATH_MAX];
	size_t n = strlen(p->workspace);
	scoped(fd_closep) int fd = workspace_open(p->workspace_fd, inside, O_PATH);
	struct stat st;
	int r;

	if (fd < 0)
		return path_is_absent(fd) ? 0 : refuse(p, inside, fd);
	if (fstat(fd, &st) < 0)
		return refuse(p, inside, -errno);
	r = path_of_fd(fd, real);
	if (r < 0)
		return refuse(p, inside, r);
	if (strncmp(real, p->workspace, n) != 0 || real[n] != '/' ||
	    strcmp(real + n + 1, inside) == 0)
		return 0;
	r = protect_pin_parents(p, real);
	return r == 0 ? hold(p, real + n + 1, strlen(real + n + 1), true, &st) : r;
}

uint64_t protect_content_of(int fd)
{
	uint64_t hash = 0xcbf29ce484222325;
	struct stat st;
	struct dirent *d;
	DIR *dir;
	int r = fstat(fd, &st);

	for (int i = 0; r == 0 && i < 4; i++) {
		const uint64_t parts[4] = {st.st_ino, (uint64_t)st.st_size,
		                           (uint64_t)st.st_ctim.tv_sec,
		                           (uint64_t)st.st_ctim.tv_nsec};

		hash = (hash ^ parts[i]) * 0x100000001b3;
	}
	fd = r == 0 && S_ISDIR(st.st_mode) ? openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
	                                   : -1;
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			hash += (uint64_t)st.st_ino * 31 + (uint64_t)st.st_ctim.tv_nsec +
			        (uint64_t)st.st_ctim.tv_sec * 17;
	if (dir)
		closedir(dir);
	else
		fd_close(fd);
	return hash | 1;
}

static int note(struct protect *p, const char *path, size_t missing, uint64_t content)
{
	for (size_t i = 0; i < p->absent_count; i++)
		if (strcmp(p->absent[i].path, path) == 0)
			return 0;
	if (p->absent_count == PROTECT_ABSENT_MAX)
		return protect_refuse(
			p, -E2BIG,
			"more than %d paths of the workspace would have to be protected, "
			"'%.100s' among them",
			PROTECT_ABSENT_MAX, path);
	p->absent[p->absent_count++] =
		(struct protect_absent){.path = path, .missing = missing, .content = content};
	return 0;
}

/* What is bound comes free when somebody who has it not bound replaces it: another command
 * (company.c), or the operator's own git, which writes a new configuration and renames it. Then it
 * is looked at, too. As if all but the first part were missing: what git itself would write is
 * harmless. */
static int note_same(struct protect *p, const char *inside, int fd)
{
	size_t count = p->absent_count;
	int r = note(p, inside, strcspn(inside, "/"), 0);

	if (r == 0 && p->absent_count > count) {
		p->absent[count].same = true;
		p->absent[count].stays = !p->has_company;
		r = file_identify(fd, &p->absent[count].identity);
	}
	return r;
}

static int protect_from(struct protect *p, const char *inside, int hops);

/* The link FD stands for a part of a path, at LINK; REST is what is behind it. */
static int protect_lead(struct protect *p, const char *link, int fd, const char *rest, int hops)
{
	const char *to = protect_lead_of_link(p, link, fd), *slash = strrchr(link, '/'), *path;
	char text[PATH_MAX];
	ssize_t n;

	if (hops >= HOPS_MAX)
		return 0;
	path = to && *rest ? arena_printf(p->arena, "%s%s", to, rest) : to;
	if (path)
		return is_usable(path) ? protect_from(p, path, hops + 1) : 0;
	/* It leads out, and perhaps back in. */
	n = readlinkat(fd, "", text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	path = *text == '/' ? arena_printf(p->arena, "%s%s", text, rest)
	                    : arena_printf(p->arena, "%s/%.*s%s%s", p->workspace,
	                                   slash ? (int)(slash - link) + 1 : 0, link, text, rest);
	return path ? git_place_protect(p, path, GIT_NAMED_FILE) : -ENOMEM;
}

/* The files of a directory that are links: a hook often leads to a script of the project. */
static int protect_entries(struct protect *p, const char *inside, int hops)
{
	int fd = workspace_open(p->workspace_fd, inside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
	    r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int links = 0;
	struct dirent *d;

	if (!dir) {
		r = fd < 0 ? fd : -ENOMEM;
		fd_close(fd);
		return path_is_absent(r) ? 0 : refuse(p, inside, r);
	}
	while (r == 0 && (d = readdir(dir))) {
		scoped(fd_closep) int link = -1;
		const char *path;

		if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
			continue;
		if (++links > ENTRIES_MAX) {
			r = protect_refuse(
				p, -E2BIG,
				"'%.120s' is protected and has more than %d links in it. "
				"Remove some",
				inside, ENTRIES_MAX);
			break;
		}
		link = openat(fd, d->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		path = arena_printf(p->arena, "%s/%s", inside, d->d_name);
		if (!path)
			r = -ENOMEM;
		else if (link >= 0)
			r = protect_lead(p, path, link, "", hops);
		else if (errno != ENOENT)
			r = refuse(p, path, -errno);
	}
	closedir(dir);
	return r;
}

/* The first N bytes of INSIDE are there, and FD. */
static int protect_part(struct protect *p, const char *inside, size_t n, int fd,
                        const struct stat *st, int hops)
{
	const char *part = arena_strndup(p->arena, inside, n), *rest = inside + n;
	size_t count = p->absent_count;
	int r = part ? hold(p, inside, n, !*rest, st) : -ENOMEM;

	if (r == 0 && !*rest) {
		r = note_same(p, inside, fd);
		if (r == 0 && p->absent_count == count) /* we have been here */
			return 0;
	}
	if (r == 0 && S_ISLNK(st->st_mode))
		r = protect_lead(p, part, fd, rest, hops);
	if (r < 0 || *rest)
		return r;
	r = hold_real(p, inside);
	if (r == 0 && S_ISDIR(st->st_mode)) {
		witness_add(p->witnesses, arena_printf(p->arena, "%s/%s", p->workspace, inside),
		            true);
		r = protect_entries(p, inside, hops);
	}
	return r;
}

/* A work tree or submodule has a file ".git" that leads to its repository: nothing is below it, and
 * it must not lead elsewhere. */
static int protect_file(struct protect *p, const char *part, const char *rest, int hops)
{
	const char *lead = NULL, *path;
	int r = protect_from(p, part, hops);

	if (r == 0)
		r = git_lead_of_file(p, arena_printf(p->arena, "%s/%s", p->workspace, part),
		                     PROTECT_GITFILE, &lead);
	if (r < 0 || !lead)
		return r;
	path = arena_printf(p->arena, "%s%s", lead, rest);
	return path ? git_place_protect(p, path, GIT_NAMED_FILE) : -ENOMEM;
}

/* HOPS: links that led here. */
static int protect_from(struct protect *p, const char *inside, int hops)
{
	const char *end = inside;
	struct stat st;
	int r = 0;

	/* A command can have git's files name a path so long that no box could be made with it. */
	if (strlen(p->workspace) + strlen(inside) + 2 > PATH_MAX)
		return 0;
	for (bool last = false; r == 0 && !last; end++) {
		scoped(fd_closep) int fd = -1;
		const char *part;

		end += strcspn(end, "/");
		last = *end == '\0';
		part = arena_strndup(p->arena, inside, (size_t)(end - inside));
		if (!part)
			return -ENOMEM;
		if (p->witnesses)
			witness_add(p->witnesses,
			            arena_printf(p->arena, "%s/%s", p->workspace, part), false);
		fd = workspace_open(p->workspace_fd, part, O_PATH | O_NOFOLLOW);
		if (path_is_absent(fd))
			return note(p, inside, (size_t)(end - inside), 0);
		if (fd == -ENAMETOOLONG) /* nothing has such a name */
			return 0;
		if (fd < 0 || fstat(fd, &st) < 0)
			return refuse(p, part, fd < 0 ? fd : -errno);
		if (!last && S_ISREG(st.st_mode))
			return protect_file(p, part, end, hops);
		if (p->mounts)
			r = protect_part(p, inside, (size_t)(end - inside), fd, &st, hops);
		else if (last) /* nothing can be mounted: it is compared afterwards */
			r = note(p, inside, strlen(inside), protect_content_of(fd));
	}
	return r;
}

static int protect(struct protect *p, const char *inside)
{
	return protect_from(p, inside, 0);
}

int protect_pin_parents(struct protect *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;
	int r = 0;

	if (p->readonly || !path_is_in(path, p->workspace) || strcmp(path, p->workspace) == 0)
		return 0;
	for (const char *slash = strchr(inside, '/'); r == 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		size_t n = (size_t)(slash - inside);
		const char *part = arena_strndup(p->arena, inside, n);
		scoped(fd_closep) int fd = -1;
		struct stat st;

		if (!part)
			return -ENOMEM;
		fd = workspace_open(p->workspace_fd, part, O_PATH | O_NOFOLLOW);
		if (fd < 0 || fstat(fd, &st) < 0) /* it was there a moment ago */
			return -ESTALE;
		r = hold(p, inside, n, false, &st);
	}
	return r;
}

int protect_path(struct protect *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;

	if (!path_is_in(path, p->workspace) || strcmp(path, p->workspace) == 0 || p->readonly ||
	    !is_usable(inside))
		return 0;
	return protect(p, inside);
}

int protect_same(struct protect *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;
	scoped(fd_closep) int fd = -1;

	if (!p->has_company || p->readonly || !path_is_in(path, p->workspace) ||
	    strcmp(path, p->workspace) == 0 || !is_usable(inside))
		return 0;
	fd = workspace_open(p->workspace_fd, inside, O_PATH | O_NOFOLLOW);
	return fd < 0 ? -ESTALE : note_same(p, inside, fd); /* it was there a moment ago */
}

void protect_offer(struct protect *p, const char *inside)
{
	scoped(fd_closep) int fd = -1;
	struct stat st;

	if (!p->mounts || p->offer_count == PROTECT_OFFERS_MAX || !is_usable(inside))
		return;
	for (size_t i = 0; i < p->offer_count; i++)
		if (strcmp(p->offers[i].path, inside) == 0)
			return;
	fd = workspace_open(p->workspace_fd, inside, O_PATH | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return;
	p->offers[p->offer_count++] =
		(struct protect_offer){.path = inside, .device = st.st_dev, .inode = st.st_ino};
}

/* Not nacre's own file: an older one may permit more. */
static void serve(struct protect *p, const char *path)
{
	struct stat st, git;

	if (!p->mounts || p->served_count == PROTECT_SERVED_MAX || strchr(path, '/') ||
	    strcmp(path, ".git") == 0 || strcmp(path, ".nacre.yaml") == 0 ||
	    fstatat(p->workspace_fd, ".git", &git, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(git.st_mode) || fstatat(p->workspace_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !(S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink == 1)))
		return;
	p->served[p->served_count++] =
		(struct protect_served){.path = path, .is_directory = S_ISDIR(st.st_mode)};
}

int protect_inside(struct protect *p, const char *inside)
{
	return is_usable(inside) ? protect(p, inside) : 0;
}

int protect_submodule(struct protect *p, const char *path, const char *tree)
{
	scoped(fd_closep) int fd = workspace_open(p->workspace_fd, path, O_PATH | O_NOFOLLOW);
	size_t count = p->absent_count;
	struct stat st;
	int r;

	if (!is_usable(path) || (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	r = protect(p, path);
	for (; r == 0 && count < p->absent_count; count++)
		p->absent[count].tree = tree;
	return r;
}

static bool is_there(const struct protect *p, const char *inside)
{
	scoped(fd_closep) int fd = workspace_open(p->workspace_fd, inside, O_PATH | O_NOFOLLOW);

	return fd >= 0;
}

/* The workspace itself is a repository as soon as it has a HEAD, and a few directories that do no
 * harm alone. That there is a .git does not help: who takes away what makes it one, its HEAD
 * perhaps, has git look here next. */
static int protect_bare(struct protect *p)
{
	static const char *const names[] = {"config", "hooks", "config.worktree", "commondir"};
	int r = 0;

	if (!is_there(p, "HEAD"))
		return protect(p, "HEAD");
	for (size_t i = 0; r == 0 && i < array_size(names); i++)
		r = protect(p, names[i]);
	return r;
}

/* The first two let git read its configuration from another file than the one that is protected. */
static int protect_config(struct protect *p)
{
	int r = protect(p, ".git/config.worktree");

	if (r == 0)
		r = protect(p, ".git/commondir");
	if (r == 0)
		r = protect_bare(p);
	return r == 0 ? git_plan(p) : r;
}

int protect_plan(struct protect *p)
{
	bool config = false;
	int r = 0;

	assert(p->arena && p->workspace && p->workspace[0] == '/' && p->workspace_fd >= 0);
	if (p->readonly)
		return 0;
	for (const char *const *path = p->paths; r == 0 && path && *path; path++) {
		if (is_usable(*path)) {
			r = protect(p, *path);
			serve(p, *path);
		}
		if (r == 0 && strcmp(*path, PROTECT_MODULES) == 0)
			protect_offer(p, PROTECT_MODULES);
		config = config || strcmp(*path, ".git/config") == 0;
	}
	return r == 0 && config ? protect_config(p) : r;
}
