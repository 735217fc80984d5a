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
/* What the kernel can have made for one in a second of its time, at the very most. */
#define KERNEL_RATE ((uint64_t)8 << 30)
#define FIELD_STATE 3 /* of /proc/PID/stat, the first behind the name */
#define FIELD_STIME 15

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
	ret_now->kernel = value_of(text, "\nSUnreclaim:") + value_of(text, "\nVmallocUsed:");
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

/* Nothing tells for whom the kernel keeps something; but it was made in somebody's time. Those who
 * have ended count, too, with whoever has waited for them. */
static uint64_t holds_kernel(pid_t pid)
{
	char path[64], text[TEXT_MAX], *at;
	uint64_t ticks;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = read_text(path, text) == 0 ? strrchr(text, ')') : NULL;
	for (int field = FIELD_STATE - 1; at && field < FIELD_STIME; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	ticks = strtoull(at, &at, 10);
	(void)strtoull(at, &at, 10); /* of the ended, outside of the kernel */
	ticks += strtoull(at, NULL, 10);
	return ticks * (KERNEL_RATE / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The first is an init of ours, which holds nothing: an ordinary user cannot look into it either,
 * and it must not stand for what the machine lost to others. But those who have lost their parents
 * have ended with it, and their time is there for everybody to see. */
static uint64_t add_up(const pid_t *pids, size_t count, holder holds, pid_t *ret_most)
{
	uint64_t sum = count > 0 && holds == holds_kernel ? holds(pids[0]) : 0, most = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t one = holds(pids[i]);

		sum += one;
		if (one > most) {
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
	if (now->kernel < before->kernel)
		before->kernel = now->kernel;
	if (now->available > before->available)
		before->available = now->available;
}

/* What the tree may have of GONE, which the machine has lost. */
static uint64_t part_of(uint64_t gone, uint64_t enough, const pid_t *pids, size_t count,
                        holder holds, pid_t *ret_most)
{
	uint64_t sum = gone > enough ? add_up(pids, count, holds, ret_most) : 0;

	if (sum <= enough)
		return 0;
	return gone < sum ? gone : sum;
}

uint64_t unseen_of(const pid_t *pids, size_t count, struct unseen *before, uint64_t enough,
                   pid_t *ret_most)
{
	struct unseen now;
	uint64_t shared, sum;

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
	sum = part_of(growth(before->kernel, now.kernel), enough, pids, count, holds_kernel,
	              ret_most);
	if (sum > 0)
		return sum;
	return part_of(growth(now.available, before->available), enough, pids, count, holds_sockets,
	               ret_most);
}
