/*
 * Files of the workspace, opened so that no link leads out of it: what a command has made there is
 * not followed elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/box.h"

#define TRIES_MAX 1000

/* Links are followed as far as they stay in the workspace: what git or an editor would read. Where
 * one has a ".." in it the kernel gives up as soon as anybody renames anything meanwhile, which
 * another command can do without end; so often in a row it does not happen. */
int box_open_inside(int workspace_fd, const char *path, uint64_t flags)
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

int box_read_inside(int workspace_fd, const char *path, struct buffer *text)
{
	scoped(fd_closep) int fd =
		box_open_inside(workspace_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fd < 0 ? fd : -EINVAL;
	r = fd_read_all(fd, text);
	if (r == 0 && memchr(buffer_str(text), 0, text->len))
		r = -EBADMSG;
	return r;
}
