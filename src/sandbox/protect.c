/*
 * A new repository has a .git/config and a .git/hooks of its own, and both are wanted: where .git
 * was made by the command, hooks that are samples and a config without anything that git would run
 * are left alone.
 */
#include "sandbox/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define CONFIG_MAX  ((size_t)64 << 10)
#define SECTION_MAX 31
#define TRIES_MAX   1000
#define HOPS_MAX    8  /* links that lead to links */
#define ENTRIES_MAX 64 /* links of one directory */
#define GITFILE     "gitdir: "

/* Links are followed as far as they stay in the workspace: what git or an editor would read. Where
 * one has a ".." in it the kernel gives up as soon as anybody renames anything meanwhile, which
 * another command can do without end; so often in a row it does not happen. */
static int open_inside(int workspace_fd, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int tries = 0;
	long fd;

	do
		fd = syscall(SYS_openat2, workspace_fd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < TRIES_MAX);
	return fd < 0 ? -errno : (int)fd;
}

int box_open_inside(const struct sandbox_plan *p, const char *path, uint64_t flags)
{
	return open_inside(p->workspace_fd, path, flags);
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

/* The first N bytes of INSIDE, which is ST now. */
static int hold(struct sandbox_plan *p, const char *inside, size_t n, uint64_t attr,
                const struct stat *st)
{
	const char *path = arena_printf(p->arena, "%s/%.*s", p->workspace + 1, (int)n, inside);
	struct box_step *s;

	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < p->steps.count; i++) {
		s = &p->steps.items[i];
		if (s->kind == BOX_HOLD && strcmp(s->path, path) == 0) {
			s->attr |= attr;
			return 0;
		}
	}
	s = box_step_add(p, BOX_MASKS, BOX_HOLD, path);
	if (!s)
		return -ENOMEM;
	s->attr = attr | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	s->device = st->st_dev;
	s->inode = st->st_ino;
	return 0;
}

/* Where a path that is or leads through a link really lies: that is held, too. */
static int hold_real(struct sandbox_plan *p, const char *inside)
{
	char real[PATH_MAX];
	size_t n = strlen(p->workspace);
	scoped(fd_closep) int fd = open_inside(p->workspace_fd, inside, O_PATH);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || path_of_fd(fd, real) < 0)
		return 0;
	if (strncmp(real, p->workspace, n) != 0 || real[n] != '/' ||
	    strcmp(real + n + 1, inside) == 0)
		return 0;
	r = box_pin_parents(p, real);
	return r == 0 ? hold(p, real + n + 1, strlen(real + n + 1), MOUNT_ATTR_RDONLY, &st) : r;
}

/* A number for what a path is now, with what a directory has in it; never 0. */
static uint64_t content_of(int fd)
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

static int note(struct sandbox_plan *p, const char *path, size_t missing, uint64_t content)
{
	for (size_t i = 0; i < p->absent_count; i++)
		if (strcmp(p->absent[i].path, path) == 0)
			return 0;
	if (p->absent_count == BOX_ABSENT_MAX)
		return -E2BIG;
	p->absent[p->absent_count++] =
		(struct box_absent){.path = path, .missing = missing, .content = content};
	return 0;
}

/* What is bound comes free when somebody who has it not bound replaces it: another command
 * (company.c), or the operator's own git, which writes a new configuration and renames it. Then it
 * is looked at, too. As if all but the first part were missing: what git itself would write is
 * harmless. */
static int note_same(struct sandbox_plan *p, const char *inside, int fd)
{
	size_t count = p->absent_count;
	int r = note(p, inside, strcspn(inside, "/"), 0);

	if (r == 0 && p->absent_count > count) {
		p->absent[count].same = true;
		p->absent[count].stays = !p->has_company;
		r = box_identify(fd, &p->absent[count]);
	}
	return r;
}

static int protect_from(struct sandbox_plan *p, const char *inside, int hops);

/* What stands for a part of a path leads TO; REST is what is behind it. */
static int protect_lead(struct sandbox_plan *p, const char *to, const char *rest, int hops)
{
	const char *path = to && *rest ? arena_printf(p->arena, "%s%s", to, rest) : to;

	return path && hops < HOPS_MAX && is_usable(path) ? protect_from(p, path, hops + 1) : 0;
}

/* The files of a directory that are links: a hook often leads to a script of the project. */
static int protect_entries(struct sandbox_plan *p, const char *inside, int hops)
{
	int fd = open_inside(p->workspace_fd, inside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int links = 0;
	struct dirent *d;

	if (!dir)
		fd_close(fd);
	while (dir && r == 0 && links < ENTRIES_MAX && (d = readdir(dir))) {
		scoped(fd_closep) int link = -1;
		const char *path;

		if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
			continue;
		links++;
		link = openat(fd, d->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		path = arena_printf(p->arena, "%s/%s", inside, d->d_name);
		r = path ? protect_lead(p, box_lead_of_link(p, path, link), "", hops) : -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return r;
}

/* The first N bytes of INSIDE are there, and FD. */
static int protect_part(struct sandbox_plan *p, const char *inside, size_t n, int fd,
                        const struct stat *st, int hops)
{
	const char *part = arena_strndup(p->arena, inside, n), *rest = inside + n;
	int r = part ? hold(p, inside, n, *rest ? 0 : MOUNT_ATTR_RDONLY, st) : -ENOMEM;

	if (r == 0 && S_ISLNK(st->st_mode))
		r = protect_lead(p, box_lead_of_link(p, part, fd), rest, hops);
	if (r < 0 || *rest)
		return r;
	r = note_same(p, inside, fd);
	if (r == 0)
		r = hold_real(p, inside);
	if (r == 0 && S_ISDIR(st->st_mode)) {
		box_witness_add(p, arena_printf(p->arena, "%s/%s", p->workspace, inside), true);
		r = protect_entries(p, inside, hops);
	}
	return r;
}

/* A work tree or submodule has a file ".git" that leads to its repository: nothing is below it, and
 * it must not lead elsewhere. */
static int protect_file(struct sandbox_plan *p, const char *part, const char *rest, int hops)
{
	int r = protect_from(p, part, hops);

	return r == 0 ? protect_lead(p, box_lead_of_file(p, part, GITFILE), rest, hops) : r;
}

/* HOPS: links that led here. */
static int protect_from(struct sandbox_plan *p, const char *inside, int hops)
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
		if (p->keeps)
			box_witness_add(p, arena_printf(p->arena, "%s/%s", p->workspace, part),
			                false);
		fd = open_inside(p->workspace_fd, part, O_PATH | O_NOFOLLOW);
		if (fd < 0 || fstat(fd, &st) < 0)
			return note(p, inside, (size_t)(end - inside), 0);
		if (!last && S_ISREG(st.st_mode))
			return protect_file(p, part, end, hops);
		if (p->clone_flags)
			r = protect_part(p, inside, (size_t)(end - inside), fd, &st, hops);
		else if (last) /* nothing can be mounted: it is compared afterwards */
			r = note(p, inside, strlen(inside), content_of(fd));
	}
	return r;
}

static int protect(struct sandbox_plan *p, const char *inside)
{
	return protect_from(p, inside, 0);
}

int box_pin_parents(struct sandbox_plan *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;
	int r = 0;

	if (p->spec->workspace_readonly || !path_is_in(path, p->workspace) ||
	    strcmp(path, p->workspace) == 0)
		return 0;
	for (const char *slash = strchr(inside, '/'); r == 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		size_t n = (size_t)(slash - inside);
		const char *part = arena_strndup(p->arena, inside, n);
		scoped(fd_closep) int fd = -1;
		struct stat st;

		if (!part)
			return -ENOMEM;
		fd = open_inside(p->workspace_fd, part, O_PATH | O_NOFOLLOW);
		if (fd < 0 || fstat(fd, &st) < 0) /* it was there a moment ago */
			return -ESTALE;
		r = hold(p, inside, n, 0, &st);
	}
	return r;
}

int box_protect_path(struct sandbox_plan *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;

	if (!path_is_in(path, p->workspace) || strcmp(path, p->workspace) == 0 ||
	    p->spec->workspace_readonly || !is_usable(inside))
		return 0;
	return protect(p, inside);
}

int box_protect_same(struct sandbox_plan *p, const char *path)
{
	const char *inside = path + strlen(p->workspace) + 1;
	scoped(fd_closep) int fd = -1;

	if (!p->has_company || p->spec->workspace_readonly || !path_is_in(path, p->workspace) ||
	    strcmp(path, p->workspace) == 0 || !is_usable(inside))
		return 0;
	fd = open_inside(p->workspace_fd, inside, O_PATH | O_NOFOLLOW);
	return fd < 0 ? -ESTALE : note_same(p, inside, fd); /* it was there a moment ago */
}

int box_protect_inside(struct sandbox_plan *p, const char *inside)
{
	return is_usable(inside) ? protect(p, inside) : 0;
}

int box_protect_submodule(struct sandbox_plan *p, const char *path, const char *tree)
{
	scoped(fd_closep) int fd = open_inside(p->workspace_fd, path, O_PATH | O_NOFOLLOW);
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

static bool is_there(const struct sandbox_plan *p, const char *inside)
{
	scoped(fd_closep) int fd = open_inside(p->workspace_fd, inside, O_PATH | O_NOFOLLOW);

	return fd >= 0;
}

/* The workspace itself is a repository as soon as it has a HEAD, and a few directories that do no
 * harm alone. That there is a .git does not help: who takes away what makes it one, its HEAD
 * perhaps, has git look here next. */
static int protect_bare(struct sandbox_plan *p)
{
	static const char *const names[] = {"config", "hooks", "config.worktree", "commondir"};
	int r = 0;

	if (!is_there(p, "HEAD"))
		return protect(p, "HEAD");
	for (size_t i = 0; r == 0 && i < array_size(names); i++)
		r = protect(p, names[i]);
	return r;
}

/* What the repository in this directory names and has in it. */
static int protect_named(struct sandbox_plan *p, const char *directory)
{
	int r = box_gitconfig_plan(p, directory);

	return r == 0 ? box_modules_plan(p, directory) : r;
}

/* Where .git is a file, the repository is elsewhere, perhaps in the workspace; and one of a linked
 * work tree has its hooks and its configuration in yet another place. */
static int protect_elsewhere(struct sandbox_plan *p)
{
	static const char *const names[] = {"hooks", "config", "config.worktree", "commondir",
	                                    "info/attributes"};
	const char *directory = box_lead_of_file(p, ".git", GITFILE), *common, *path;
	int r;

	if (!directory)
		return 0;
	r = protect_named(p, directory);
	path = arena_printf(p->arena, "%s/commondir", directory);
	if (r < 0 || !path)
		return r < 0 ? r : -ENOMEM;
	common = box_lead_of_file(p, path, "");
	for (size_t i = 0; r == 0 && common && i < array_size(names); i++) {
		path = arena_printf(p->arena, "%s/%s", common, names[i]);
		r = path ? protect(p, path) : -ENOMEM;
	}
	return r == 0 && common ? protect_named(p, common) : r;
}

/* The first two let git read its configuration from another file than the one that is protected. */
static int protect_config(struct sandbox_plan *p)
{
	int r = protect(p, ".git/config.worktree");

	if (r == 0)
		r = protect(p, ".git/commondir");
	if (r == 0)
		r = protect_bare(p);
	if (r == 0)
		r = protect_named(p, ".git");
	if (r == 0)
		r = protect_elsewhere(p);
	if (r == 0)
		r = box_submodules_plan(p);
	return r == 0 ? box_gitconfig_plan(p, NULL) : r;
}

int box_protect_plan(struct sandbox_plan *p)
{
	bool config = false;
	int r = 0;

	if (p->spec->workspace_readonly)
		return 0;
	for (const char *const *path = p->spec->protected_; r == 0 && path && *path; path++) {
		if (is_usable(*path))
			r = protect(p, *path);
		config = config || strcmp(*path, ".git/config") == 0;
	}
	return r == 0 && config ? protect_config(p) : r;
}

/* Keys with which a config file runs nothing. */
static bool is_harmless_key(const char *section, const char *key)
{
	static const char *const keys[] = {"core.repositoryformatversion",
	                                   "core.filemode",
	                                   "core.bare",
	                                   "core.logallrefupdates",
	                                   "core.ignorecase",
	                                   "core.symlinks",
	                                   "core.precomposeunicode",
	                                   "remote.url",
	                                   "remote.fetch",
	                                   "branch.remote",
	                                   "branch.merge",
	                                   "user.name",
	                                   "user.email",
	                                   "extensions.objectformat"};
	char both[80];

	snprintf(both, sizeof(both), "%s.%s", section, key);
	for (size_t i = 0; i < array_size(keys); i++)
		if (strcasecmp(both, keys[i]) == 0)
			return true;
	return false;
}

/* Whether the line is [section] or [section "name"] and nothing more: git also takes a key that
 * stands behind it. */
static bool is_section(const char *line, char section[SECTION_MAX + 1])
{
	const char *at;

	if (sscanf(line, "[%31[a-z]", section) != 1)
		return false;
	at = line + 1 + strlen(section);
	if (strncmp(at, " \"", 2) == 0) {
		at = strchr(at + 2, '"');
		at += at != NULL;
	}
	return at && strcmp(at, "]") == 0;
}

static bool is_harmless_line(const char *line, const char *section)
{
	char key[40];

	return sscanf(line, "%39[a-zA-Z]", key) == 1 && strchr(" \t=", line[strlen(key)]) &&
	       is_harmless_key(section, key);
}

int box_read_inside(int workspace_fd, const char *path, struct buffer *text)
{
	scoped(fd_closep) int fd =
		open_inside(workspace_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fd < 0 ? fd : -EINVAL;
	r = fd_read_all(fd, text);
	if (r == 0 && memchr(buffer_str(text), 0, text->len))
		r = -EBADMSG;
	return r;
}

static bool is_worktree(const char *line, const char *section, const char *worktree)
{
	static const char key[] = "worktree = ";

	return worktree && strcmp(section, "core") == 0 && strncmp(line, key, strlen(key)) == 0 &&
	       strcmp(line + strlen(key), worktree) == 0;
}

/* [section "name"] and key = value, one a line; anything else is not known to be harmless. A URL
 * that begins with "ext::" names a program. */
static bool is_harmless_config(int workspace_fd, const char *path, const char *worktree)
{
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	char section[SECTION_MAX + 1] = "", *line, *rest;

	if (box_read_inside(workspace_fd, path, &text) < 0)
		return false;
	if (text.len == 0)
		return true;
	if (strchr(text.data, '\\') || strstr(text.data, "::"))
		return false;
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (!*line || *line == '#' || *line == ';')
			continue;
		if (*line == '[' ? !is_section(line, section)
		                 : !is_harmless_line(line, section) &&
		                           !is_worktree(line, section, worktree))
			return false;
	}
	return true;
}

static bool is_harmless_hooks(int workspace_fd, const char *path)
{
	int fd = open_inside(workspace_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool harmless = dir != NULL;
	struct dirent *d;

	if (!dir)
		fd_close(fd);
	while (harmless && (d = readdir(dir))) {
		size_t n = strlen(d->d_name);

		harmless = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		           (n > 7 && strcmp(d->d_name + n - 7, ".sample") == 0);
	}
	if (dir)
		closedir(dir);
	return harmless;
}

/* What else has this name is no repository either. */
bool box_repository_is_harmless(int workspace_fd, const char *directory, const char *worktree)
{
	static const char *const names[] = {"config", "hooks", "commondir", "config.worktree"};
	char path[PATH_MAX];
	bool harmless = true;

	for (size_t i = 0; harmless && i < array_size(names); i++) {
		scoped(fd_closep) int fd = -1;

		if (snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "",
		             names[i]) >= (int)sizeof(path))
			return false;
		fd = open_inside(workspace_fd, path, O_PATH | O_NOFOLLOW);
		if (fd >= 0)
			harmless = i == 0   ? is_harmless_config(workspace_fd, path, worktree)
			           : i == 1 ? is_harmless_hooks(workspace_fd, path)
			                    : false;
	}
	return harmless;
}

static bool is_harmless(int workspace_fd, const struct box_absent *a)
{
	if (a->tree)
		return box_submodule_is_harmless(workspace_fd, a->path, a->tree);
	if (strcmp(a->path, "HEAD") == 0)
		return box_repository_is_harmless(workspace_fd, "", NULL);
	if (strchr(a->path + a->missing, '/') == NULL) /* only the last part was missing */
		return false;
	if (strcmp(a->path, ".git/config") == 0)
		return is_harmless_config(workspace_fd, a->path, NULL);
	if (strcmp(a->path, ".git/hooks") == 0)
		return is_harmless_hooks(workspace_fd, a->path);
	return false;
}

/* The command may have taken the right to change the directory from its owner. */
static void make_writable(int fd)
{
	struct stat st;
	char path[64];

	if (fstat(fd, &st) < 0 || (st.st_mode & 0300) == 0300 || geteuid() != st.st_uid)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, (st.st_mode | 0700) & 07777);
}

/* Only the name is moved, whatever it is; nothing is opened. */
static bool move_away(int workspace_fd, const char *path, const struct protect_aside *to,
                      int number)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[PATH_MAX], aside[NAME_MAX + 1];
	scoped(fd_closep) int fd = -1;
	int into_fd = to->open(to->owner);

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
	         slash ? path : ".");
	fd = open_inside(workspace_fd, parent, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return false;
	make_writable(fd);
	snprintf(aside, sizeof(aside), "planted-%d", number);
	if (into_fd >= 0) {
		if (renameat(fd, name, into_fd, aside) == 0)
			return true;
		if (errno == ENOENT)
			return false;
	}
	snprintf(aside, sizeof(aside), "%.150s.planted-%.60s-%d", name, to->id, number);
	return renameat(fd, name, fd, aside) == 0 || errno != ENOENT;
}

/* Whether nothing was made in the workspace's own directory since the plan. Times have the grain of
 * a tick, so a change shortly before the plan says nothing. */
static bool is_untouched(const struct sandbox_plan *p, int workspace_fd)
{
	struct stat st;

	return p->workspace_settled && fstat(workspace_fd, &st) == 0 &&
	       st.st_ctim.tv_sec == p->workspace_changed.tv_sec &&
	       st.st_ctim.tv_nsec == p->workspace_changed.tv_nsec;
}

/* Opened anew: the plan may come from a process that closed its descriptors since. */
static int open_workspace(const struct sandbox_plan *p)
{
	scoped(fd_closep) int fd =
		open(p->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == p->workspace_device && st.st_ino == p->workspace_inode ? take_fd(&fd)
	                                                                           : -ESTALE;
}

static bool is_same(const struct box_absent *a, int fd)
{
	struct box_absent now;

	return a->same && fd >= 0 && box_identify(fd, &now) == 0 && now.inode == a->inode &&
	       now.device == a->device && now.born_ns == a->born_ns;
}

static bool is_changed(const struct box_absent *a, int fd)
{
	return fd < 0 || content_of(fd) != a->content;
}

/* Whether it appeared; then it is moved away. */
static bool is_planted(int workspace_fd, const struct box_absent *a, int fd,
                       const struct protect_aside *to, int number)
{
	char first[PATH_MAX];

	if (fd >= 0)
		return !is_harmless(workspace_fd, a) &&
		       move_away(workspace_fd, a->path, to, number);
	if (fd != -EXDEV && fd != -ELOOP && fd != -ENOTDIR && fd != -EAGAIN)
		return false;
	/* It leads out of the workspace, by a link that was made just now; or something is in its
	 * way that is no directory. A file ".git" leads git to another one. */
	snprintf(first, sizeof(first), "%.*s", (int)a->missing, a->path);
	return move_away(workspace_fd, first, to, number);
}

/* Nothing is made in the workspace's own directory without its time changing. */
static bool is_passed_over(const struct box_absent *a)
{
	return !a->content && !memchr(a->path, '/', a->same ? strlen(a->path) : a->missing);
}

static void add_name(struct buffer *names, const char *path)
{
	if (names->len > 0)
		buffer_putc(names, '\n');
	buffer_puts(names, path);
}

int sandbox_protect_check(struct sandbox_plan *p, const struct protect_aside *aside,
                          struct buffer *planted, struct buffer *replaced)
{
	scoped(fd_closep) int workspace_fd = -1;
	bool untouched;
	int count = 0;

	if (p->absent_count > 0)
		workspace_fd = open_workspace(p);
	untouched = workspace_fd >= 0 && is_untouched(p, workspace_fd);
	for (size_t i = 0; workspace_fd >= 0 && i < p->absent_count; i++) {
		const struct box_absent *a = &p->absent[i];
		scoped(fd_closep) int fd = -1;

		if (untouched && is_passed_over(a))
			continue;
		fd = open_inside(workspace_fd, a->path, O_PATH | O_NOFOLLOW);
		if (is_same(a, fd))
			continue;
		if (a->stays) {
			if (fd >= 0 && !is_harmless(workspace_fd, a))
				add_name(replaced, a->path);
			continue;
		}
		if (a->content ? !is_changed(a, fd)
		               : !is_planted(workspace_fd, a, fd, aside, count))
			continue;
		count++;
		add_name(planted, a->path);
	}
	return count;
}
