/*
 * The file is one page: a place with a sum over it in its first sector, written by one call, and in
 * the second how far the log is synced. A write inside of a page is not broken off by a signal, and
 * a disk writes a sector or does not; the sum tells a place that was half-written after all, or
 * that somebody edited.
 *
 * It is read and written by system calls rather than through memory: most writers write twice in
 * their life, which is dearer through a page that they have to be given first, and a file that
 * somebody cuts short is then an error and not a signal. Only who waits for a sync maps it, to wait
 * there (futex), so that one wake serves all.
 *
 * The locks are flock(), on this file for who writes and on the directory for who syncs: the kernel
 * gives them back when a holder dies, and they belong to an open file, so that two writers in one
 * process exclude each other, too. They are tried and tried again rather than waited for: a holder
 * that was stopped must not stop all others for ever.
 */
#include "audit/head.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <sodium.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define PAGE_BYTES   4096
#define SYNC_AT      512
#define BOOT_BYTES   36
#define LOCK_WAIT_MS 10000
#define SYNC_WAIT_NS 10000000 /* whoever syncs may have been killed */

struct page {
	char magic[8];
	char boot[BOOT_BYTES + 4];
	struct head_place place;
	unsigned char sum[AUDIT_HASH_BYTES]; /* over all in front of it */
};
_Static_assert(sizeof(struct page) <= SYNC_AT, "one sector");

struct progress {
	uint64_t synced;
	uint32_t syncs; /* the futex: how many there have been */
	uint32_t nothing;
};

static const char magic[8] = "nacreA1";

struct head {
	int fd, dir_fd; /* the directory is the caller's, open for this head alone */
	char *map;      /* NULL: not needed so far */
	char boot[BOOT_BYTES + 4];
};

static void sum_of(const struct page *page, unsigned char into[AUDIT_HASH_BYTES])
{
	(void)crypto_generichash(into, AUDIT_HASH_BYTES, (const unsigned char *)page,
	                         offsetof(struct page, sum), NULL, 0);
}

static void read_boot(char into[BOOT_BYTES + 4])
{
	scoped(fd_closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, into, BOOT_BYTES);

	/* Without it every start looks like the same one: a crash is then seen by its traces. */
	if (n != BOOT_BYTES)
		memset(into, '0', BOOT_BYTES);
	memset(into + BOOT_BYTES, 0, 4);
}

struct head *head_free(struct head *h)
{
	if (!h)
		return NULL;
	if (h->map)
		(void)munmap(h->map, PAGE_BYTES);
	fd_close(h->fd);
	free(h);
	return NULL;
}

static int open_file(int dir_fd, const char *name)
{
	scoped(fd_closep) int fd =
		openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_uid == geteuid() ? take_fd(&fd) : -EPERM;
}

int head_open(int dir_fd, struct head **ret_head, struct error *err)
{
	scoped(head_freep) struct head *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	h->fd = -1;
	read_boot(h->boot);
	r = open_file(dir_fd, "head");
	if (r < 0)
		return error_sys(err, -r, "head of the audit log");
	h->fd = r;
	h->dir_fd = dir_fd;
	*ret_head = take_ptr(&h);
	return 0;
}

int head_lock(struct head *h, struct error *err)
{
	int64_t deadline = clock_now_ms() + LOCK_WAIT_MS;
	struct timespec pause = {.tv_nsec = 10000}; /* a write takes about as long */

	while (flock(h->fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_sys(err, errno, "lock of the audit log");
		if (clock_now_ms() > deadline)
			return error_set(err, ERROR_SYSTEM, ETIMEDOUT,
			                 "the audit log has been locked for %d seconds",
			                 LOCK_WAIT_MS / 1000);
		/* Not sched_yield(): on a busy machine that is a place at the end of the queue. */
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

bool head_is_removed(const struct head *h)
{
	struct stat st;

	return fstat(h->fd, &st) < 0 || st.st_nlink == 0;
}

void head_unlock(struct head *h)
{
	if (h)
		(void)flock(h->fd, LOCK_UN);
}

static bool read_page(int fd, struct page *page)
{
	unsigned char sum[AUDIT_HASH_BYTES];

	if (pread(fd, page, sizeof(*page), 0) != (ssize_t)sizeof(*page) ||
	    memcmp(page->magic, magic, sizeof(magic)) != 0)
		return false;
	sum_of(page, sum);
	return memcmp(sum, page->sum, sizeof(sum)) == 0;
}

int head_fill(struct head *h)
{
	static const char zeros[PAGE_BYTES];
	struct stat st;

	if (fstat(h->fd, &st) < 0)
		return -errno;
	if (st.st_size >= PAGE_BYTES)
		return 0;
	errno = ENOSPC;
	return pwrite(h->fd, zeros, sizeof(zeros), 0) == (ssize_t)sizeof(zeros) ? 0 : -errno;
}

bool head_read(const struct head *h, struct head_place *ret_place, bool *ret_same_boot)
{
	struct page page;

	if (!read_page(h->fd, &page))
		return false;
	*ret_place = page.place;
	*ret_same_boot = memcmp(page.boot, h->boot, BOOT_BYTES) == 0;
	return true;
}

int head_write(struct head *h, const struct head_place *place)
{
	struct page page;

	memset(&page, 0, sizeof(page));
	memcpy(page.magic, magic, sizeof(magic));
	memcpy(page.boot, h->boot, sizeof(page.boot));
	page.place = *place;
	sum_of(&page, page.sum);
	errno = ENOSPC;
	return pwrite(h->fd, &page, sizeof(page), 0) == (ssize_t)sizeof(page) ? 0 : -errno;
}

static struct progress read_progress(const struct head *h)
{
	struct progress p;

	if (pread(h->fd, &p, sizeof(p), SYNC_AT) != (ssize_t)sizeof(p))
		return (struct progress){0};
	return p;
}

uint64_t head_synced(const struct head *h)
{
	return read_progress(h).synced;
}

static uint32_t *futex_of(struct head *h)
{
	void *map = h->map ? h->map : mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, h->fd, 0);

	if (map == MAP_FAILED)
		return NULL;
	h->map = map;
	return (uint32_t *)(void *)(h->map + SYNC_AT + offsetof(struct progress, syncs));
}

int head_set_synced(struct head *h, uint64_t seq)
{
	struct progress p = read_progress(h);
	uint32_t *futex = futex_of(h);

	p.synced = seq;
	p.syncs++;
	errno = ENOSPC;
	if (pwrite(h->fd, &p, sizeof(p), SYNC_AT) != (ssize_t)sizeof(p))
		return -errno;
	if (futex)
		(void)syscall(SYS_futex, futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return 0;
}

bool head_try_sync(struct head *h)
{
	return flock(h->dir_fd, LOCK_EX | LOCK_NB) == 0;
}

void head_end_sync(struct head *h)
{
	(void)flock(h->dir_fd, LOCK_UN);
}

void head_wait_synced(struct head *h, uint64_t seq)
{
	struct timespec limit = {.tv_nsec = SYNC_WAIT_NS};
	struct progress p = read_progress(h);
	uint32_t *futex = futex_of(h);

	if (p.synced >= seq)
		return;
	if (futex)
		(void)syscall(SYS_futex, futex, FUTEX_WAIT, p.syncs, &limit, NULL, 0);
	else
		(void)sched_yield();
}

int head_look(int dir_fd, struct head_place *ret_place)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, "head");
	struct page page;

	if (fd < 0)
		return fd;
	/* A writer may be at it while we read: then the sum does not fit. */
	for (int i = 0; i < 1000; i++) {
		if (read_page(fd, &page)) {
			*ret_place = page.place;
			return 0;
		}
		(void)sched_yield();
	}
	return -EBADMSG;
}
