/*
 * Files of the workspace, opened so that no link leads out of it: what a command has made there is
 * not followed elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"

int workspace_open(int workspace_fd, const char *path, uint64_t flags)
{
	return path_open_beneath(workspace_fd, path, flags);
}

int workspace_read(int workspace_fd, const char *path, struct buffer *text)
{
	scoped(fd_closep) int fd =
		workspace_open(workspace_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fd < 0 ? fd : -EINVAL;
	r = fd_read_all(fd, text);
	if (r == 0 && memchr(buffer_str(text), 0, text->len))
		r = -EBADMSG;
	return r;
}
