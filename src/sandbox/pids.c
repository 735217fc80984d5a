#include "sandbox/pids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"

static ssize_t read_small(const char *path, char *text, size_t size)
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* All tasks of the system: the fourth word of /proc/loadavg is running/total. */
static uint64_t tasks_now(void)
{
	char text[128], *slash;

	if (read_small("/proc/loadavg", text, sizeof(text)) < 0)
		return 0;
	slash = strchr(text, '/');
	return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

/* Where groups of this process may be made: the pids hierarchy of version 1, else version 2. */
static int own_group(char into[PATH_MAX])
{
	char text[4096], *line, *rest = text, *path;

	if (read_small("/proc/self/cgroup", text, sizeof(text)) < 0)
		return -ENOENT;
	while ((line = strsep(&rest, "\n"))) {
		path = strstr(line, ":pids:");
		if (path &&
		    snprintf(into, PATH_MAX, "/sys/fs/cgroup/pids%s", path + 6) < PATH_MAX &&
		    access(into, W_OK) == 0)
			return 0;
		if (strncmp(line, "0::", 3) == 0 &&
		    snprintf(into, PATH_MAX, "/sys/fs/cgroup%s", line + 3) < PATH_MAX) {
			char probe[PATH_MAX + 32];

			/* A group of version 2 passes a controller on only where this says so. */
			snprintf(probe, sizeof(probe), "%s/cgroup.subtree_control", into);
			if (read_small(probe, text, sizeof(text)) > 0 && strstr(text, "pids"))
				return 0;
		}
	}
	return -ENOENT;
}

static int write_file(const char *group, const char *name, uint64_t value)
{
	scoped(fd_closep) int fd = -1;
	char path[PATH_MAX + 96], text[32];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd_write_all(
		fd, text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)value));
}

static void make_group(uint64_t max, const char *name, struct pids_limit *l)
{
	char parent[PATH_MAX], procs[PATH_MAX + 96];

	if (own_group(parent) < 0)
		return;
	snprintf(l->group, sizeof(l->group), "%s/nacre-%.40s", parent, name);
	if (mkdir(l->group, 0755) < 0) {
		l->group[0] = '\0';
		return;
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", l->group);
	if (write_file(l->group, "pids.max", max) == 0)
		l->procs_fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (l->procs_fd < 0) {
		pids_group_remove(l->group);
		l->group[0] = '\0';
	}
}

void pids_limit_make(uint64_t max, const char *name, struct pids_limit *ret_limit)
{
	struct rlimit now;
	uint64_t tasks;

	*ret_limit = (struct pids_limit){.nproc = RLIM_INFINITY, .procs_fd = -1};
	if (max == 0)
		return;
	if (geteuid() == 0) {
		make_group(max, name, ret_limit);
		return;
	}
	tasks = tasks_now();
	if (tasks > 0 && getrlimit(RLIMIT_NPROC, &now) == 0 && tasks + max < now.rlim_max)
		ret_limit->nproc = tasks + max;
}

int pids_limit_holds(const struct pids_limit *l)
{
	return l->nproc != RLIM_INFINITY || l->procs_fd >= 0;
}

void pids_group_remove(const char *group)
{
	if (group && *group)
		(void)rmdir(group);
}
