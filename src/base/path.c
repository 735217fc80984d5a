#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"

int path_of_fd(int fd, char into[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, into, PATH_MAX);
	if (n < 0 || n >= PATH_MAX)
		return n < 0 ? -errno : -ENAMETOOLONG;
	into[n] = '\0';
	return 0;
}

bool path_is_in(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (n == 1) /* "/" */
		return true;
	return strncmp(path, directory, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

int path_descend(int top_fd, const char *top, const char *bottom, path_descent_visit *visit,
                 void *context)
{
	scoped(fd_closep) int fd = openat(top_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
	char path[PATH_MAX], name[NAME_MAX + 1];
	int r;

	if (fd < 0)
		return -errno;
	if (!path_is_in(bottom, top) || strlen(bottom) >= sizeof(path))
		return -EXDEV;
	r = visit(context, fd, top);
	for (int depth = 1; r == 0 && bottom[n] && bottom[n + 1]; depth++) {
		const char *part = bottom + n + 1;
		size_t length = strcspn(part, "/");
		int next;

		if (depth == PATH_DESCENT_MAX || length >= sizeof(name))
			return -E2BIG;
		snprintf(name, sizeof(name), "%.*s", (int)length, part);
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		fd_close(fd);
		fd = next;
		n += 1 + length;
		snprintf(path, sizeof(path), "%.*s", (int)n, bottom);
		r = visit(context, fd, path);
	}
	return r;
}
