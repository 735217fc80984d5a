/*
 * What git would run, of what a command has made. A new repository has a .git/config and a
 * .git/hooks of its own, and both are wanted: where .git was made by the command, hooks that are
 * samples and a config without anything that git would run are left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "protect/git.h"
#include "protect/inside.h"

#define CONFIG_MAX ((size_t)64 << 10)

static bool is_harmless_config(int workspace_fd, const char *path, const char *worktree)
{
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};

	return workspace_read(workspace_fd, path, &text) == 0 &&
	       git_config_is_harmless(&(struct git_text){buffer_str(&text), text.len}, NULL,
	                              worktree);
}

/* What `git submodule add` makes. */
static bool is_harmless_modules(int workspace_fd, const char *path)
{
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	struct git_text now;

	if (workspace_read(workspace_fd, path, &text) < 0)
		return false;
	now = (struct git_text){buffer_str(&text), text.len};
	return git_config_is_harmless(&now, NULL, NULL) &&
	       protect_modules_are_harmless(workspace_fd, &now, NULL);
}

static bool is_harmless_hooks(int workspace_fd, const char *path)
{
	int fd = workspace_open(workspace_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
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
bool protect_repository_is_harmless(int workspace_fd, const char *directory, const char *worktree)
{
	static const char *const names[] = {"config", "hooks", "commondir", "config.worktree"};
	char path[PATH_MAX];
	bool harmless = true;

	for (size_t i = 0; harmless && i < array_size(names); i++) {
		scoped(fd_closep) int fd = -1;

		if (snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "",
		             names[i]) >= (int)sizeof(path))
			return false;
		fd = workspace_open(workspace_fd, path, O_PATH | O_NOFOLLOW);
		if (fd >= 0 || fd != -ENOENT)
			harmless = i == 0   ? is_harmless_config(workspace_fd, path, worktree)
			           : i == 1 ? is_harmless_hooks(workspace_fd, path)
			                    : false;
	}
	return harmless;
}

bool protect_is_harmless(int workspace_fd, const struct protect_absent *a)
{
	if (a->tree)
		return protect_submodule_is_harmless(workspace_fd, a->path, a->tree);
	if (strcmp(a->path, "HEAD") == 0)
		return protect_repository_is_harmless(workspace_fd, "", NULL);
	if (strcmp(a->path, PROTECT_MODULES) == 0)
		return is_harmless_modules(workspace_fd, a->path);
	if (strchr(a->path + a->missing, '/') == NULL) /* only the last part was missing */
		return false;
	if (strcmp(a->path, ".git/config") == 0)
		return is_harmless_config(workspace_fd, a->path, NULL);
	if (strcmp(a->path, ".git/hooks") == 0)
		return is_harmless_hooks(workspace_fd, a->path);
	return false;
}
