#include "sandbox/pids.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"

uint64_t pids_now(void)
{
	scoped(fd_closep) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128], *slash;
	ssize_t n;

	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	slash = strchr(text, '/'); /* the fourth word is running/all */
	return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

rlim_t pids_rlimit(uint64_t max)
{
	struct rlimit limit;
	uint64_t now;

	if (max == 0 || geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0)
		return RLIM_INFINITY;
	now = pids_now();
	if (now == 0)
		return RLIM_INFINITY;
	return now + max < limit.rlim_max ? now + max : limit.rlim_max;
}
