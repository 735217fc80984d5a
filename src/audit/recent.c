#include "audit/recent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/inside.h"
#include "audit/scan.h"
#include "audit/wait.h"
#include "base/error.h"
#include "base/fd.h"

#define NAME       "recent"
#define NEW_NAME   "recent.new"
#define PAGE_BYTES 4096
#define HELD_BYTES (RECENT_BYTES - PAGE_BYTES) /* the last page is written as a whole */

/* What is where, in the head's file: written with the lock of who syncs. */
struct copied {
	uint64_t file;
	uint64_t until;   /* of this file of the log, everything up to here is on the disk */
	uint64_t log;     /* and up to here in the log itself, so that it need not be here */
	uint32_t repairs; /* the word below, when that was true */
	uint32_t unused;
};

/* Behind it a word that each recovery counts up, under the lock of the writers: what somebody
 * else believes of the log's bytes from before is void then. */
#define REPAIRS_AT (HEAD_RECENT_AT + (int)sizeof(struct copied))

static int fill(int fd)
{
	static const char zeros[16 << 10];

	for (uint64_t at = 0; at < RECENT_BYTES; at += sizeof(zeros)) {
		errno = ENOSPC;
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)at) != (ssize_t)sizeof(zeros))
			return -errno;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static bool is_usable(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_NLINK, &st) == 0 &&
	       S_ISREG(st.stx_mode) && st.stx_nlink > 0 && st.stx_size == RECENT_BYTES;
}

static int open_named(const struct audit *a, const char *name, int flags)
{
	return openat(a->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
}

void recent_make(struct audit *a)
{
	scoped(fd_closep) int there = open_named(a, NAME, 0);
	scoped(fd_closep) int fd = -1;

	if (there >= 0 && is_usable(there))
		return;
	/* With its name only when it is whole: a part of it would be no place for a promise. */
	fd = open_named(a, NEW_NAME, O_CREAT | O_TRUNC);
	if (fd < 0 || fill(fd) < 0 || renameat(a->dir_fd, NEW_NAME, a->dir_fd, NAME) < 0)
		(void)unlinkat(a->dir_fd, NEW_NAME, 0);
}

/* Each write to it is on the disk when it returns, and goes there past the cache where it can:
 * nobody reads it, and half of the work is saved. Somebody may have removed it or cut it short
 * since the last time. */
static bool has_file(struct audit *a)
{
	if (a->recent_fd >= 0 && is_usable(a->recent_fd))
		return true;
	fd_close(take_fd(&a->recent_fd));
	a->recent_fd = open_named(a, NAME, O_DSYNC | O_DIRECT);
	if (a->recent_fd < 0 && errno == EINVAL)
		a->recent_fd = open_named(a, NAME, O_DSYNC);
	return a->recent_fd >= 0 && is_usable(a->recent_fd);
}

/* In whole pages, as a write past the cache must be. What is in front of FROM is there already;
 * what is behind UNTIL nobody was promised. */
static int copy(struct audit *a, uint64_t from, uint64_t until)
{
	_Alignas(PAGE_BYTES) char bytes[8 * PAGE_BYTES];

	from -= from % PAGE_BYTES;
	while (from < until) {
		uint64_t at = from % RECENT_BYTES,
			 n = (until - from + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		ssize_t got;

		if (n > sizeof(bytes))
			n = sizeof(bytes);
		if (n > RECENT_BYTES - at)
			n = RECENT_BYTES - at;
		got = pread(a->log_fd, bytes, n, (off_t)from);
		if (got <= 0)
			return -EIO;
		memset(bytes + got, 0, n - (size_t)got);
		if (pwrite(a->recent_fd, bytes, n, (off_t)at) != (ssize_t)n)
			return -EIO;
		from += n;
	}
	return 0;
}

int recent_sync(struct audit *a, const struct head_place *place, struct error *err)
{
	int fd = head_words(a->head)->fd;
	/* Both behind the place, which a recovery writes when it has counted. */
	struct {
		struct copied copied;
		uint32_t repairs;
	} words = {0};
	bool known = pread(fd, &words, sizeof(words), HEAD_RECENT_AT) == (ssize_t)sizeof(words);
	struct copied c = words.copied;

	/* Who still has a head that was removed knows nothing of what others need here. */
	if (head_is_removed(a->head))
		return sync_log(a, err);
	if (!known || !head_knows_boot() || c.file != place->file || c.repairs != words.repairs ||
	    c.until > place->size || place->size - c.log > HELD_BYTES || !has_file(a) ||
	    copy(a, c.until, place->size) < 0) {
		int r = sync_log(a, err);

		if (r < 0)
			return r;
		c = (struct copied){
			.file = place->file, .log = place->size, .repairs = words.repairs};
	}
	c.until = place->size;
	/* Whoever does not find this syncs the log itself. */
	(void)!pwrite(fd, &c, sizeof(c), HEAD_RECENT_AT);
	return 0;
}

int recent_forget(struct audit *a)
{
	struct wait_page *words = head_words(a->head);
	uint32_t repairs = wait_read(words, REPAIRS_AT) + 1;

	wait_write(words, REPAIRS_AT, repairs);
	return wait_read(words, REPAIRS_AT) == repairs ? 0 : -EIO;
}

/* -ENOENT: there is none, or something else. Any other failure may pass, and what is there may
 * have been promised. */
static int open_kept(const struct audit *a)
{
	scoped(fd_closep) int fd = open_named(a, NAME, 0);

	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO || errno == ENODEV
		               ? -ENOENT
		               : -errno;
	return is_usable(fd) ? take_fd(&fd) : -ENOENT;
}

/* The bytes that would follow a log of this size: what they are the chain will tell. */
static int read_behind(int fd, uint64_t size, char bytes[RECENT_BYTES])
{
	uint64_t first = RECENT_BYTES - size % RECENT_BYTES;

	errno = EIO;
	return pread(fd, bytes, first, (off_t)(size % RECENT_BYTES)) == (ssize_t)first &&
	                       pread(fd, bytes + first, RECENT_BYTES - first, 0) ==
	                               (ssize_t)(RECENT_BYTES - first)
	               ? 0
	               : -errno;
}

int recent_restore(struct audit *a, struct head_place *place, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	scoped(freep) char *bytes = NULL;
	struct scan_end end;
	int r;

	/* The first record of a file is synced in the log itself, and follows nothing here. */
	if (place->size == 0)
		return 0;
	fd = open_kept(a);
	if (fd == -ENOENT)
		return 0;
	bytes = malloc(RECENT_BYTES);
	r = fd < 0 ? fd : !bytes ? -ENOMEM : read_behind(fd, place->size, bytes);
	if (r < 0)
		return error_sys(err, -r, "the end of the audit log, kept beside it");
	scan_bytes(bytes, RECENT_BYTES, &place->link, &end);
	errno = ENOSPC;
	if (end.size > 0 &&
	    pwrite(a->log_fd, bytes, end.size, (off_t)place->size) != (ssize_t)end.size) {
		r = -errno;
		(void)!ftruncate(a->log_fd, (off_t)place->size);
		return error_sys(err, -r, "putting back the end of the audit log");
	}
	place->size += end.size;
	place->link = end.link;
	return 0;
}
