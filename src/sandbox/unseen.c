#include "sandbox/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/fd.h"

#define TEXT_MAX 4096
#define MAP_LINE 512
/* What one socket can have waiting: twice the largest buffer that is to be had without a privilege,
 * as the kernel counts. */
#define SOCKET_MAX ((uint64_t)2 * 212992)
/* What waits in a pipe, by each of its ends. Larger ones can be had, but few: the kernel counts
 * their sum for a user, and past that gives everybody small ones without end. */
#define PIPE_MAX ((uint64_t)65536)
/* What the kernel can have made for one in a second of its time, at the very most. */
#define KERNEL_RATE ((uint64_t)8 << 30)
#define SAMPLE_MAX  128 /* descriptors of a process that are looked at */
#define FIELD_STATE 3   /* of /proc/PID/stat, the first behind the name */
#define FIELD_STIME 15

typedef uint64_t (*holder)(pid_t pid);

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
	if (fd_read_text(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) <= 0)
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
	return fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? value_of(text, "\nVmPTE:")
	                                                            : 0;
}

/* What descriptor N of a process can have waiting; negative: it may not be looked at. */
static int64_t waiting_at(int dir_fd, unsigned n)
{
	char number[16], name[16];

	snprintf(number, sizeof(number), "%u", n);
	if (readlinkat(dir_fd, number, name, sizeof(name)) <= 7)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	return memcmp(name, "socket:", 7) == 0 ? (int64_t)SOCKET_MAX
	       : memcmp(name, "pipe:", 5) == 0 ? (int64_t)PIPE_MAX
	                                       : 0;
}

/* A crowd that has thousands of descriptors each is not looked at one by one, that takes seconds: a
 * part of the numbers, which nobody can foresee, tells of all. Who may not be looked at, since he
 * does not want to be, is taken to have what fits. */
static uint64_t holds_waiting(pid_t pid)
{
	char path[64], text[TEXT_MAX];
	scoped(fd_closep) int fd = -1;
	uint64_t size, tries, found = 0;
	struct timespec now = {0};
	uint64_t random;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	random = (uint64_t)now.tv_nsec;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	size = fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0
	               ? value_of(text, "\nFDSize:") / 1024
	               : 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tries = size < SAMPLE_MAX ? size : SAMPLE_MAX;
	for (uint64_t i = 0; fd >= 0 && i < tries; i++) {
		int64_t one;

		random = random * 6364136223846793005U + 1442695040888963407U;
		one = waiting_at(fd, (unsigned)(size > tries ? (random >> 33) % size : i));
		if (one < 0)
			return size * SOCKET_MAX;
		found += (uint64_t)one;
	}
	return tries > 0 ? found * size / tries : 0;
}

/* Nothing tells for whom the kernel keeps something; but it was made in somebody's time. Those who
 * have ended count, too, with whoever has waited for them. */
static uint64_t holds_kernel(pid_t pid)
{
	char path[64], text[TEXT_MAX], *at;
	uint64_t ticks;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
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
static uint64_t add_up(const pid_t *pids, size_t count, holder holds, uint64_t held[])
{
	uint64_t sum = count > 0 && holds == holds_kernel ? holds(pids[0]) : 0;

	for (size_t i = 1; i < count; i++)
		sum += held[i] = holds(pids[i]);
	return sum;
}

/* Who has how much nobody can tell: the one that may have most goes, and it is looked again. */
static void leave_most(size_t count, uint64_t held[])
{
	size_t most = 1;

	for (size_t i = 2; i < count; i++) {
		size_t less = held[i] > held[most] ? most : i;

		most = less == i ? most : i;
		held[less] = 0;
	}
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
                        holder holds, uint64_t held[])
{
	uint64_t sum = gone > enough ? add_up(pids, count, holds, held) : 0;

	if (sum <= enough)
		return 0;
	return gone < sum ? gone : sum;
}

/* What is in somebody's hands, though nobody knows how much of it. */
static uint64_t undivided(const pid_t *pids, size_t count, const struct unseen *before,
                          const struct unseen *now, uint64_t enough, uint64_t held[])
{
	uint64_t shared = growth(before->shared, now->shared), sum;

	if (shared > enough && add_up(pids, count, holds_shared, held) > 0)
		return shared;
	if (growth(before->tables, now->tables) > enough) {
		sum = add_up(pids, count, holds_tables, held);
		if (sum > enough)
			return sum;
	}
	return part_of(growth(before->kernel, now->kernel), enough, pids, count, holds_kernel,
	               held);
}

uint64_t unseen_of(const pid_t *pids, size_t count, struct unseen *before, uint64_t enough,
                   uint64_t held[])
{
	struct unseen now;
	uint64_t sum;

	memset(held, 0, count * sizeof(*held));
	if (before->available == 0 || count < 2)
		return 0;
	unseen_read(&now);
	remember_best(before, &now);
	sum = undivided(pids, count, before, &now, enough, held);
	if (sum > 0) {
		leave_most(count, held);
		return sum;
	}
	return part_of(growth(now.available, before->available), enough, pids, count, holds_waiting,
	               held);
}
