/*
 * Files that git reads, wherever they lie. A file that the operator's git could not open either
 * names nothing; any other failure ends the plan.
 */
#include "protect/git.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/passwd.h"
#include "base/path.h"
#include "protect/inside.h"

/* Git runs as the user who made the plan, and may open no more than that. */
static bool is_out_of_reach(int code)
{
	return path_is_absent(code) || code == -EACCES || code == -ENAMETOOLONG;
}

/* First without opening it: a link in the workspace may lead to a device. */
static int open_regular(const char *path)
{
	scoped(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char again[64];
	int file;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTDIR; /* git reads nothing there */
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	file = open(again, O_RDONLY | O_CLOEXEC);
	/* The file is there; what is missing is /proc. */
	return file >= 0 ? file : path_is_absent(-errno) ? -EIO : -errno;
}

int git_file_read(struct protect *p, const char *path, struct buffer *text)
{
	scoped(fd_closep) int fd = -1;
	char real[PATH_MAX];
	int r;

	witness_add(p->witnesses, path, true);
	if (!path)
		return -ENOMEM;
	fd = open_regular(path);
	if (fd < 0)
		return is_out_of_reach(fd)
		               ? 0
		               : protect_refuse(p, fd,
		                                "'%.110s' cannot be read: %s. git may run "
		                                "what it names, so nothing runs",
		                                path, strerrordesc_np(-fd));
	if (path_of_fd(fd, real) == 0 && strcmp(real, path) != 0)
		witness_add(p->witnesses, arena_strdup(p->arena, real), true);
	r = fd_read_all(fd, text);
	if (r == -E2BIG)
		return protect_refuse(
			p, r,
			"'%.110s' is larger than %zu KiB. git may run what it names, so "
			"nothing runs. Make it smaller",
			path, text->max >> 10);
	return r < 0 ? protect_refuse(p, r, "'%.110s' cannot be read: %s", path,
	                              strerrordesc_np(-r))
	             : 1;
}

int git_lead_of_file(struct protect *p, const char *path, const char *prefix, const char **ret_path)
{
	scoped(buffer_donep) struct buffer text = {.max = GIT_FILE_MAX};
	size_t skipped = strlen(prefix);
	const char *slash;
	int r = git_file_read(p, path, &text);
	char *line;

	*ret_path = NULL;
	if (r <= 0 || text.len <= skipped || memcmp(text.data, prefix, skipped) != 0)
		return r < 0 ? r : 0;
	line = text.data + skipped;
	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || strlen(line) >= PATH_MAX)
		return 0;
	slash = strrchr(path, '/');
	*ret_path = *line == '/'
	                    ? arena_strdup(p->arena, line)
	                    : arena_printf(p->arena, "%.*s/%s", (int)(slash - path), path, line);
	return *ret_path ? 0 : -ENOMEM;
}

const char *git_path_of_value(struct protect *p, const char *base, const char *value)
{
	static const char optional[] = ":(optional)";
	const char *home = p->home;
	char other[PATH_MAX];
	size_t n;

	if (strncmp(value, optional, strlen(optional)) == 0)
		value += strlen(optional);
	if (!*value || strlen(value) >= PATH_MAX)
		return NULL;
	if (*value == '/')
		return arena_strdup(p->arena, value);
	if (*value != '~')
		return arena_printf(p->arena, "%s/%s", base, value);
	n = strcspn(value, "/");
	if (n > 1)
		home = passwd_home_of_name(value + 1, n - 1, other) ? other : NULL;
	return home ? arena_printf(p->arena, "%s%s", home, value + n) : NULL;
}

const char *git_inside(const struct protect *p, const char *path)
{
	size_t n = strlen(p->workspace);

	return path_is_in(path, p->workspace) && path[n] == '/' && path[n + 1] ? path + n + 1
	                                                                       : NULL;
}
