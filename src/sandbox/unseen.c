#include "sandbox/unseen.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"

#define TEXT_MAX 4096
#define MAP_LINE 512
/* What one socket can have waiting: twice the largest buffer that is to be had without a privilege,
 * as the kernel counts. */
#define SOCKET_MAX ((uint64_t)2 * 212992)

typedef uint64_t (*holder)(pid_t pid);

static int read_text(const char *path, char text[TEXT_MAX])
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return 0;
}

/* The number of a line "KEY:  N kB", as bytes. */
static uint64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

void unseen_read(struct unseen *ret_now)
{
	char text[TEXT_MAX];

	*ret_now = (struct unseen){0};
	if (read_text("/proc/meminfo", text) < 0)
		return;
	ret_now->shared = value_of(text, "\nShmem:");
	ret_now->tables = value_of(text, "\nPageTables:");
	ret_now->available = value_of(text, "\nMemAvailable:");
}

/* All that is shared and without a file bears this name. One that may not be looked at, since it
 * does not want to be, is taken to have some. */
static uint64_t holds_shared(pid_t pid)
{
	char path[64], line[MAP_LINE];
	uint64_t found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return access(path, F_OK) == 0;
	while (fgets(line, sizeof(line), file))
		found += strstr(line, "s ") && strstr(line, " /dev/zero");
	(void)fclose(file);
	return found;
}

static uint64_t holds_tables(pid_t pid)
{
	char path[64], text[TEXT_MAX];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return read_text(path, text) == 0 ? value_of(text, "\nVmPTE:") : 0;
}

static uint64_t holds_sockets(pid_t pid)
{
	char path[64], name[16];
	uint64_t found = 0;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		found += readlinkat(dirfd(dir), d->d_name, name, sizeof(name)) > 7 &&
		         memcmp(name, "socket:", 7) == 0;
	if (dir)
		closedir(dir);
	return found * SOCKET_MAX;
}

static uint64_t add_up(const pid_t *pids, size_t count, holder holds, pid_t *ret_most)
{
	uint64_t sum = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t one = holds(pids[i]);

		sum += one;
		if (i > 0 && one > most) {
			most = one;
			*ret_most = pids[i];
		}
	}
	return sum;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/* What others give back meanwhile must not hide what the tree takes: the best moment counts. */
static void remember_best(struct unseen *before, const struct unseen *now)
{
	if (now->shared < before->shared)
		before->shared = now->shared;
	if (now->tables < before->tables)
		before->tables = now->tables;
	if (now->available > before->available)
		before->available = now->available;
}

uint64_t unseen_of(const pid_t *pids, size_t count, struct unseen *before, uint64_t enough,
                   pid_t *ret_most)
{
	struct unseen now;
	uint64_t shared, gone, sum;

	if (before->available == 0)
		return 0;
	unseen_read(&now);
	remember_best(before, &now);
	shared = growth(before->shared, now.shared);
	if (shared > enough && add_up(pids, count, holds_shared, ret_most) > 0)
		return shared;
	if (growth(before->tables, now.tables) > enough) {
		sum = add_up(pids, count, holds_tables, ret_most);
		if (sum > enough)
			return sum;
	}
	gone = growth(now.available, before->available);
	if (gone > enough) {
		sum = add_up(pids, count, holds_sockets, ret_most);
		if (sum > enough)
			return gone < sum ? gone : sum;
	}
	return 0;
}
