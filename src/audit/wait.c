#include "audit/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096

void wait_done(struct wait_page *p)
{
	if (p->map)
		(void)munmap(p->map, PAGE_BYTES);
	p->map = NULL;
}

uint32_t wait_read(const struct wait_page *p, int at)
{
	uint32_t value;

	return pread(p->fd, &value, sizeof(value), at) == (ssize_t)sizeof(value) ? value : 0;
}

void wait_write(const struct wait_page *p, int at, uint32_t value)
{
	/* What cannot be written was not seen by anybody: sleeps have an end. */
	(void)!pwrite(p->fd, &value, sizeof(value), at);
}

static void *address(struct wait_page *p, int at)
{
	void *map = p->map ? p->map : mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, p->fd, 0);

	if (map == MAP_FAILED)
		return NULL;
	p->map = map;
	return (char *)map + at;
}

bool wait_sleep(struct wait_page *p, int at, uint32_t value, uint32_t bits, int64_t limit_ns)
{
	void *word = address(p, at);
	struct timespec until;
	long r;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	limit_ns += until.tv_nsec;
	until.tv_sec += limit_ns / 1000000000;
	until.tv_nsec = limit_ns % 1000000000;
	r = word ? syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL, bits) : -1;
	if (r == 0 || (word && errno == EAGAIN))
		return true;
	/* Where there is no such page everybody has to look for himself. */
	if (!word || errno == EFAULT)
		(void)sched_yield();
	return false;
}

int wait_wake(struct wait_page *p, int at, uint32_t bits, int most)
{
	void *word = address(p, at);
	long n = word ? syscall(SYS_futex, word, FUTEX_WAKE_BITSET, most, NULL, NULL, bits) : 0;

	return n > 0 ? (int)n : 0;
}
