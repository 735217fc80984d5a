/*
 * Submodules that .gitmodules names. One that is not there yet is made by whoever puts a repository
 * into its place: git goes into it when it is asked about the outer one, and reads its
 * configuration. What git itself would make there may stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/box.h"

#define TEXT_MAX       ((size_t)64 << 10)
#define SUBMODULES_MAX 64
#define PLACE          ".git/modules/"

static int protect_one(struct sandbox_plan *p, const char *name, const char *tree)
{
	static const char *const names[] = {"hooks", "config", "config.worktree", "commondir"};
	const char *link = arena_printf(p->arena, "%s/.git", tree), *path;
	scoped(fd_closep) int fd =
		link ? box_open_inside(p->workspace_fd, link, O_PATH | O_NOFOLLOW) : -1;
	struct stat st = {0};
	int r = 0;

	path = arena_printf(p->arena, PLACE "%s", name);
	if (!link || !path)
		return -ENOMEM;
	/* First what leads to it, which is of no use without what it leads to. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		r = box_protect_submodule(p, link, tree);
	/* One that is there is protected with all the others (modules.c). */
	if (r == 0 && *name)
		r = box_protect_submodule(p, path, tree);
	for (size_t i = 0; r == 0 && fd >= 0 && S_ISDIR(st.st_mode) && i < array_size(names); i++) {
		path = arena_printf(p->arena, "%s/%s", link, names[i]);
		r = path ? box_protect_inside(p, path) : -ENOMEM;
	}
	return r;
}

/* The value behind "path =", or NULL. */
static const char *tree_of(struct sandbox_plan *p, const char *line)
{
	if (strncmp(line, "path", 4) != 0)
		return NULL;
	line += 4 + strspn(line + 4, " \t");
	if (*line != '=')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	return *line == '"' || *line == '/' ? NULL : box_fold(p, line);
}

int box_submodules_plan(struct sandbox_plan *p)
{
	scoped(buffer_donep) struct buffer text = {.max = TEXT_MAX};
	char name[256] = "", *line, *rest;
	const char *tree;
	int r = 0, count = 0;

	box_witness_add(p, arena_printf(p->arena, "%s/.gitmodules", p->workspace), true);
	if (box_read_inside(p->workspace_fd, ".gitmodules", &text) < 0)
		return 0;
	for (line = strtok_r(text.data, "\r\n", &rest); r == 0 && line && count < SUBMODULES_MAX;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		line += strspn(line, " \t");
		if (*line == '[') {
			*name = '\0';
			(void)sscanf(line, "[submodule \"%255[^\"]\"]", name);
			continue;
		}
		tree = tree_of(p, line);
		if (!tree)
			continue;
		count++;
		r = protect_one(p, strstr(name, "..") ? "" : name, tree);
	}
	return r;
}

static bool put_ups(struct buffer *into, const char *path)
{
	for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		buffer_puts(into, "../");
	return buffer_error(into) == 0;
}

/* Where the file at PATH leads, if that is where git keeps repositories of submodules. */
static bool follow(int workspace_fd, const char *path, const char *tree, char into[PATH_MAX])
{
	scoped(buffer_donep) struct buffer text = {.max = PATH_MAX};
	scoped(buffer_donep) struct buffer wanted = {.max = PATH_MAX};
	size_t n;

	buffer_puts(&wanted, BOX_GITFILE);
	if (!put_ups(&wanted, tree) || box_read_inside(workspace_fd, path, &text) < 0)
		return false;
	n = wanted.len;
	if (text.len <= n || memcmp(text.data, wanted.data, n) != 0)
		return false;
	text.data[n + strcspn(text.data + n, "\n")] = '\0';
	snprintf(into, PATH_MAX, "%s", text.data + n);
	return strncmp(into, PLACE, strlen(PLACE)) == 0 && !strstr(into, "..");
}

static bool is_directory(int workspace_fd, const char *path)
{
	scoped(fd_closep) int fd =
		openat(workspace_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0;
}

bool box_submodule_is_harmless(int workspace_fd, const char *path, const char *tree)
{
	scoped(buffer_donep) struct buffer worktree = {.max = PATH_MAX};
	char place[PATH_MAX];

	if (strncmp(path, PLACE, strlen(PLACE)) == 0)
		snprintf(place, sizeof(place), "%s", path);
	else if (!follow(workspace_fd, path, tree, place))
		return is_directory(workspace_fd, path) &&
		       box_repository_is_harmless(workspace_fd, path, NULL);
	if (!put_ups(&worktree, place))
		return false;
	buffer_puts(&worktree, tree);
	return buffer_error(&worktree) == 0 &&
	       box_repository_is_harmless(workspace_fd, place, buffer_str(&worktree));
}
