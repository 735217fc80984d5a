#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
