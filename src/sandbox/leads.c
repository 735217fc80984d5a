/*
 * Where a path of the workspace leads: by a symbolic link, or by a file that git takes for one. Who
 * can change what lies there, or a link on the way, has changed what the path means.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/box.h"

/* What TEXT means in the directory of FROM. */
static const char *resolve(struct sandbox_plan *p, const char *from, const char *text)
{
	const char *slash = strrchr(from, '/'), *path;
	size_t n = strlen(p->workspace);

	if (*text == '/')
		return strncmp(text, p->workspace, n) == 0 && text[n] == '/'
		               ? box_fold(p, text + n + 1)
		               : NULL;
	path = arena_printf(p->arena, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, text);
	return path ? box_fold(p, path) : NULL;
}

const char *box_lead_of_link(struct sandbox_plan *p, const char *path, int fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return resolve(p, path, text);
}

const char *box_lead_of_file(struct sandbox_plan *p, const char *path, const char *prefix)
{
	scoped(fd_closep) int fd =
		box_open_inside(p->workspace_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	scoped(buffer_donep) struct buffer text = {.max = PATH_MAX};
	size_t skipped = strlen(prefix);
	struct stat st;
	char *line;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fd_read_all(fd, &text) < 0 ||
	    text.len <= skipped || memcmp(text.data, prefix, skipped) != 0)
		return NULL;
	(void)buffer_str(&text);
	line = text.data + skipped;
	line[strcspn(line, "\r\n")] = '\0';
	return resolve(p, path, line);
}
