/*
 * The file is one page: a place with a sum over it in its first sector, written by one call, and
 * behind it words for who waits (wait.h). A write inside of a page is not broken off by a signal,
 * and a disk writes a sector or does not; the sum tells a place that was half-written after all, or
 * that somebody edited, and a place that is read while another one writes it.
 *
 * It is read and written by system calls rather than through memory: most writers write twice in
 * their life, which is dearer through a page that they have to be given first, and a file that
 * somebody cuts short is then an error and not a signal.
 *
 * The locks are flock(), on this file for who writes and on the directory for who syncs: the kernel
 * gives them back when a holder dies, whatever the process ids of its container mean to others, and
 * nothing in the file has to be believed for that. They belong to an open file, so that two writers
 * in one process exclude each other, too. A lock is never waited for in flock() itself: a holder
 * that was stopped must not stop all others for ever, and a process that waits there would have to
 * be woken by a signal. Who does not get it sets a word and sleeps on it, and who gives the lock
 * back wakes one of those. A holder that was killed wakes nobody; so a sleep is short.
 */
#include "audit/head.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "audit/wait.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define PAGE_BYTES   4096
#define BOOT_BYTES   36
#define UNKNOWN_BOOT '?'
#define LOCK_WAIT_MS 10000
#define LOCK_TRIES   20      /* about as long as a write takes */
#define LOCK_LOOK_NS 2000000 /* the holder may have been killed */

struct page {
	char magic[8];
	char boot[BOOT_BYTES + 4];
	struct head_place place;
	unsigned char sum[AUDIT_HASH_BYTES]; /* over all in front of it */
};
_Static_assert(sizeof(struct page) <= HEAD_SYNC_AT, "one sector");

static const char magic[8] = "nacreA1";

struct head {
	int fd, dir_fd; /* the directory is the caller's, open for this head alone */
	struct wait_page words;
};

static void sum_of(const struct page *page, unsigned char into[AUDIT_HASH_BYTES])
{
	(void)crypto_generichash(into, AUDIT_HASH_BYTES, (const unsigned char *)page,
	                         offsetof(struct page, sum), NULL, 0);
}

/* The same for as long as the machine runs, so it is read once in a process or in the one that it
 * was forked from: /proc is dear. */
static const char *boot_id(void)
{
	static char boot[BOOT_BYTES + 4];
	scoped(fd_closep) int fd = -1;

	if (boot[0])
		return boot;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	/* Without it every start looks like the same one: a crash is then seen by its traces. */
	if (fd < 0 || read(fd, boot, BOOT_BYTES) != BOOT_BYTES)
		memset(boot, UNKNOWN_BOOT, BOOT_BYTES);
	return boot;
}

bool head_knows_boot(void)
{
	return boot_id()[0] != UNKNOWN_BOOT;
}

void head_prepare(void)
{
	(void)boot_id();
}

struct head *head_free(struct head *h)
{
	if (!h)
		return NULL;
	wait_done(&h->words);
	fd_close(h->fd);
	free(h);
	return NULL;
}

static int open_file(int dir_fd, const char *name)
{
	scoped(fd_closep) int fd =
		openat(dir_fd, name,
	               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC, 0600);
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
		return error_nomem(err);
	h->fd = -1;
	r = open_file(dir_fd, "head");
	if (r < 0)
		return error_sys(err, -r, "head of the audit log");
	h->fd = h->words.fd = r;
	h->dir_fd = dir_fd;
	*ret_head = take_ptr(&h);
	return 0;
}

static int try_lock(struct head *h)
{
	return flock(h->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

int head_lock(struct head *h, struct error *err)
{
	int64_t deadline = 0;
	int r = try_lock(h);

	for (int i = 0; r == -EWOULDBLOCK && i < LOCK_TRIES; i++)
		r = try_lock(h);
	while (r == -EWOULDBLOCK || r == -EINTR) {
		/* Once more when the word is set: the holder looks at it behind its unlock. It
		 * stays set when we have the lock, for those who sleep there still. */
		wait_write(&h->words, HEAD_LOCK_AT, 1);
		r = try_lock(h);
		if (r != -EWOULDBLOCK)
			continue;
		if (deadline == 0)
			deadline = clock_now_ms() + LOCK_WAIT_MS;
		if (clock_now_ms() > deadline)
			return error_set(err, ERROR_SYSTEM, ETIMEDOUT,
			                 "the audit log has been locked for %d seconds",
			                 LOCK_WAIT_MS / 1000);
		(void)wait_sleep(&h->words, HEAD_LOCK_AT, 1, WAIT_ANY, LOCK_LOOK_NS);
	}
	return r < 0 ? error_sys(err, -r, "lock of the audit log") : 0;
}

void head_unlock(struct head *h)
{
	if (!h)
		return;
	(void)flock(h->fd, LOCK_UN);
	if (wait_read(&h->words, HEAD_LOCK_AT) == 0)
		return;
	wait_write(&h->words, HEAD_LOCK_AT, 0);
	(void)wait_wake(&h->words, HEAD_LOCK_AT, WAIT_ANY, 1);
}

int head_try_sync(struct head *h)
{
	return flock(h->dir_fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

void head_end_sync(struct head *h)
{
	(void)flock(h->dir_fd, LOCK_UN);
}

struct wait_page *head_words(struct head *h)
{
	return &h->words;
}

bool head_is_removed(const struct head *h)
{
	struct statx st; /* fstat() would ask for the times, too: the next write is dearer then */

	return statx(h->fd, "", AT_EMPTY_PATH, STATX_NLINK, &st) < 0 || st.stx_nlink == 0;
}

static bool is_of_now(const struct page *page)
{
	return memcmp(page->boot, boot_id(), BOOT_BYTES) == 0;
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
	*ret_same_boot = is_of_now(&page);
	return true;
}

int head_write(struct head *h, const struct head_place *place)
{
	struct page page;

	memset(&page, 0, sizeof(page));
	memcpy(page.magic, magic, sizeof(magic));
	memcpy(page.boot, boot_id(), sizeof(page.boot));
	page.place = *place;
	sum_of(&page, page.sum);
	errno = ENOSPC;
	return pwrite(h->fd, &page, sizeof(page), 0) == (ssize_t)sizeof(page) ? 0 : -errno;
}

int head_sync(struct head *h)
{
	return fdatasync(h->fd) < 0 ? -errno : 0;
}

int head_look(int dir_fd, struct head_place *ret_place, bool *ret_same_boot)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, "head");
	struct page page;

	if (fd < 0)
		return fd;
	/* A writer may be at it while we read: then the sum does not fit. */
	for (int i = 0; i < 1000; i++) {
		if (read_page(fd, &page)) {
			*ret_place = page.place;
			*ret_same_boot = is_of_now(&page);
			return 0;
		}
		(void)sched_yield();
	}
	return -EBADMSG;
}
