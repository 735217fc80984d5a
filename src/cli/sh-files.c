/*
 * An agent can write texts that look like those of its client. So a path of such a text names a
 * file only if no other program has a use for one of this name at this place, and the file is ours,
 * regular, and no link. The directory is opened before the command runs, and the command cannot
 * reach it.
 */
#include "cli/sh-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/cli.h"
#include "engine/result.h"

#define DIGITS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool take(const char **at, const char *words)
{
	size_t n = strlen(words);

	if (strncmp(*at, words, n) != 0)
		return false;
	*at += n;
	return true;
}

static bool take_some(const char **at, const char *of)
{
	size_t n = strspn(*at, of);

	*at += n;
	return n > 0;
}

/* claude-ID-cwd, or cwd-ID */
static bool is_cwd_name(const char *name)
{
	const char *at = name;

	if (take(&at, "claude-") && take_some(&at, DIGITS) && take(&at, "-cwd") && !*at)
		return true;
	at = name;
	return take(&at, "cwd-") && take_some(&at, DIGITS) && !*at;
}

/* A directory of everybody's needs to be sticky; any other must be ours alone to write. */
static bool is_safe(int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	if (st.st_mode & S_IWOTH)
		return (st.st_mode & S_ISVTX) && (st.st_uid == 0 || st.st_uid == geteuid());
	return st.st_uid == geteuid() && !(st.st_mode & S_IWGRP);
}

/* One of the places for temporary files, or the client's own directory in it. */
static bool is_temporary(int dir)
{
	const char *places[] = {"/tmp", getenv("TMPDIR"), getenv("CLAUDE_CODE_TMPDIR")};
	char path[PATH_MAX], place[PATH_MAX], own[PATH_MAX + 32];

	if (path_of_fd(dir, path) < 0)
		return false;
	for (size_t i = 0; i < array_size(places); i++) {
		if (!places[i] || !*places[i] || !realpath(places[i], place) ||
		    strcmp(place, "/") == 0)
			continue;
		snprintf(own, sizeof(own), "%s/claude-%u", place, (unsigned)geteuid());
		if (strcmp(path, place) == 0 || path_is_in(path, own))
			return true;
	}
	return false;
}

/* PATH without its last part, as a descriptor; *RET_NAME is that part. */
static int open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	if (path[0] != '/' || !slash || slash - path >= PATH_MAX - 1)
		return -EINVAL;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	*ret_name = slash + 1;
	return open(*parent ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool sh_cwd_file_open(const char *path, struct sh_cwd_file *ret)
{
	const char *name = "";
	scoped(fd_closep) int dir = open_parent(path, &name);

	*ret = (struct sh_cwd_file){.dir = -1};
	if (dir < 0 || strlen(name) > NAME_MAX || !is_cwd_name(name) || !is_safe(dir) ||
	    !is_temporary(dir))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->dir = take_fd(&dir);
	return true;
}

/* A file of ours with no other name, now empty; -1: it is something else. */
static int open_own(int dir, const char *name)
{
	scoped(fd_closep) int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1 || ftruncate(fd, 0) < 0)
		return -1;
	return take_fd(&fd);
}

void sh_cwd_file_write(const struct sh_cwd_file *f, const char *cwd)
{
	scoped(fd_closep) int fd = f->dir >= 0 && *cwd ? open_own(f->dir, f->name) : -1;

	if (fd >= 0 && fd_write_all(fd, cwd, strlen(cwd)) == 0)
		(void)fd_write_all(fd, "\n", 1);
}

void sh_cwd_file_done(struct sh_cwd_file *f)
{
	fd_close(take_fd(&f->dir));
}

/* snapshot-bash-TIME-ID.sh */
static bool is_snapshot_name(const char *name)
{
	const char *at = name;

	return take(&at, "snapshot-bash-") && take_some(&at, DIGITS "-") && take(&at, ".sh") &&
	       !*at;
}

/* Claude Code's own directory, by its variable or in home. */
static bool is_of_claude(int dir)
{
	const char *config = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");
	char path[PATH_MAX], wanted[PATH_MAX], real[PATH_MAX];

	if (config && *config)
		(void)snprintf(wanted, sizeof(wanted), "%s/shell-snapshots", config);
	else
		(void)snprintf(wanted, sizeof(wanted), "%s/.claude/shell-snapshots",
		               home ? home : "");
	return path_of_fd(dir, path) == 0 && realpath(wanted, real) && strcmp(path, real) == 0;
}

int sh_snapshot_make(const char *path)
{
	static const char text[] =
		"# Snapshot file\n"
		"# nsh made it: commands run in a sandbox of nacre, where no start-up file is "
		"read.\n"
		"unalias -a 2>/dev/null || true\n";
	const char *name = "";
	scoped(fd_closep) int dir = open_parent(path, &name);
	scoped(fd_closep) int fd = -1;

	if (dir < 0 || !is_snapshot_name(name) || !is_safe(dir) || !is_of_claude(dir)) {
		cli_complain("'%.150s' is no file for a snapshot of the shell; nothing is done",
		             path);
		return EXIT_REFUSED;
	}
	fd = open_own(dir, name);
	if (fd < 0 || fd_write_all(fd, text, sizeof(text) - 1) < 0) {
		cli_complain("%.150s: cannot be written", path);
		return EXIT_NACRE_FAILED;
	}
	return 0;
}
