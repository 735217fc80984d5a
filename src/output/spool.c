#include "output/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/*
 * Offsets, once the stream is longer than the cap:
 *
 *	0          head_keep         punched           keep_from          total
 *	|-- head --|-- given back ---|-- up to a step --|-- last tail_keep --|
 *
 * Space is given back before new bytes are written, and bytes that the same call already pushes out
 * of the tail are not written at all, so the disk never holds more than the cap and a step.
 */

enum {
	BLOCK = 4096,
	STEP_MAX = 1 << 20,
	RETRY_AFTER = 1 << 20, /* after a failure, bytes let go before the disk is asked again */
	COPY_SIZE = 256 << 10,
};

struct spool {
	int fd; /* -1: no file */
	uint64_t head_keep;
	uint64_t tail_keep;
	uint64_t step;
	uint64_t punched;  /* end of what was given back; starts at head_keep */
	uint64_t retry_at; /* no attempt to write before the stream is that long */
	bool head_only;    /* no holes on this file system: nothing past the head is written */
	struct spool_status status;
	const struct spool_calls *calls;
};

static const struct spool_calls real_calls = {.pwrite = pwrite, .fallocate = fallocate};

int spool_open(int dirfd, const char *name, uint64_t cap_bytes, struct spool **ret_spool,
               struct error *err)
{
	scoped(spool_freep) struct spool *s = NULL;

	if (cap_bytes > INT64_MAX)
		cap_bytes = INT64_MAX;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_sys(err, ENOMEM, "spool");
	s->fd = -1;
	s->calls = &real_calls;
	s->head_keep = cap_bytes / 2;
	s->tail_keep = cap_bytes - s->head_keep;
	s->punched = s->head_keep;
	s->step = cap_bytes / 8 < BLOCK ? BLOCK : cap_bytes / 8;
	if (s->step > STEP_MAX)
		s->step = STEP_MAX;
	if (cap_bytes) {
		s->fd = openat(dirfd, name,
		               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
		if (s->fd < 0)
			return error_sys(err, errno, "output file '%s'", name);
	}
	*ret_spool = take_ptr(&s);
	return 0;
}

struct spool *spool_free(struct spool *s)
{
	if (!s)
		return NULL;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return NULL;
}

void spool_set_calls(struct spool *s, const struct spool_calls *calls)
{
	s->calls = calls;
}

static void spool_fail(struct spool *s, int sys, uint64_t at, uint64_t n)
{
	struct spool_status *st = &s->status;

	if (!st->first_errno)
		st->first_errno = sys;
	if (!n)
		return;
	if (!st->lost_bytes)
		st->lost_at = at;
	st->lost_bytes += n;
}

/* Writes all or returns the errno of the part that failed; *ret_done says how much is in the file.
 */
static int put(struct spool *s, const char *bytes, size_t n, uint64_t at, size_t *ret_done)
{
	size_t done = 0;
	ssize_t r;

	*ret_done = 0;
	while (done < n) {
		r = s->calls->pwrite(s->fd, bytes + done, n - done, (off_t)(at + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? errno : EIO;
		done += (size_t)r;
		*ret_done = done;
	}
	return 0;
}

static void keep(struct spool *s, const char *bytes, size_t n, uint64_t at)
{
	size_t done = 0;
	int sys = 0;

	if (!n)
		return;
	if (at < s->retry_at) {
		spool_fail(s, s->status.first_errno, at, n);
		return;
	}
	sys = put(s, bytes, n, at, &done);
	s->status.written += done;
	if (sys) {
		spool_fail(s, sys, at + done, n - done);
		s->retry_at = at + n + RETRY_AFTER;
	}
}

static int punch(struct spool *s, uint64_t from, uint64_t to)
{
	int r;

	do
		r = s->calls->fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                        (off_t)from, (off_t)(to - from));
	while (r < 0 && errno == EINTR);
	return r;
}

/* Gives back what lies between the head and KEEP_FROM, in steps that are worth a system call. */
static void give_back(struct spool *s, uint64_t keep_from)
{
	uint64_t to = keep_from - keep_from % BLOCK;

	if (to <= s->punched || to - s->punched < s->step)
		return;
	if (punch(s, s->punched, to) == 0) {
		s->punched = to;
		s->retry_at = 0; /* there is room again */
		return;
	}
	/* Without holes the true offsets cannot be kept within the cap. A truncation that fails
	 * leaves a longer file, which spool_finish() tries to cut once more. */
	s->head_only = true;
	if (ftruncate(s->fd, (off_t)s->head_keep) < 0)
		spool_fail(s, errno, 0, 0);
}

void spool_write(struct spool *s, const void *bytes, size_t n)
{
	const char *from = bytes;
	uint64_t at, end, keep_from;
	size_t part;

	if (!s || !n)
		return;
	at = s->status.total;
	end = at + n;
	s->status.total = end;
	if (s->fd < 0)
		return;
	if (end <= s->head_keep + s->tail_keep) {
		keep(s, from, n, at);
		return;
	}

	if (at < s->head_keep) {
		part = (size_t)(s->head_keep - at);
		keep(s, from, part, at);
		from += part;
		n -= part;
		at += part;
	}
	keep_from = end - s->tail_keep;
	if (!s->head_only)
		give_back(s, keep_from);
	if (s->head_only)
		return;
	part = at < keep_from ? (size_t)(keep_from - at) : 0;
	keep(s, from + part, n - part, at + part);
}

/* Moves the tail down behind the head, giving its old place back on the way. *ret_size is the
 * length of the file that results. Returns whether the file has no hole left. */
static bool close_hole(struct spool *s, uint64_t keep_from, char *buf, uint64_t *ret_size)
{
	uint64_t from = keep_from, to = s->head_keep, total = s->status.total, old, copied;
	size_t want, done;
	ssize_t got;
	int sys = 0;

	while (from < total) {
		want = total - from < COPY_SIZE ? (size_t)(total - from) : COPY_SIZE;
		got = pread(s->fd, buf, want, (off_t)from);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			sys = errno;
		if (got <= 0) /* 0: the end was lost and the file is short */
			break;
		sys = put(s, buf, (size_t)got, to, &done);
		if (sys && from == keep_from && to + (uint64_t)got <= from) {
			/* Nothing has moved yet, so the file can stay as it is. */
			spool_fail(s, sys, 0, 0);
			punch(s, to, to + (uint64_t)got);
			*ret_size = total;
			return false;
		}
		to += done;
		from += done;
		if (sys)
			break;
		old = s->punched > to ? s->punched : to; /* the copy may reach into the old place */
		copied = from - from % BLOCK;
		if (copied > old && copied - old >= s->step && punch(s, old, copied) == 0)
			s->punched = copied;
	}
	if (sys)
		spool_fail(s, sys, from, total - from);
	*ret_size = to;
	return true;
}

/* The head is all there is: what the caller still has in memory becomes the tail. */
static uint64_t append_tail(struct spool *s, const struct iovec *tail)
{
	uint64_t have = 0, skip = 0, at = s->head_keep;
	size_t done;
	int sys;

	if (!tail)
		return at;
	have = (uint64_t)tail[0].iov_len + tail[1].iov_len;
	if (have > s->tail_keep)
		skip = have - s->tail_keep;
	for (int i = 0; i < 2; i++) {
		size_t n = tail[i].iov_len;
		size_t gone = skip < n ? (size_t)skip : n;

		skip -= gone;
		sys = put(s, (const char *)tail[i].iov_base + gone, n - gone, at, &done);
		at += done;
		if (sys) { /* what is missing counts as dropped */
			spool_fail(s, sys, 0, 0);
			break;
		}
	}
	return at;
}

void spool_finish(struct spool *s, const struct iovec *tail)
{
	scoped(freep) char *buf = NULL;
	struct spool_status *st;
	uint64_t size;
	struct stat info;

	if (!s || s->fd < 0)
		return;
	st = &s->status;
	if (st->total > s->head_keep + s->tail_keep) {
		st->dropped_at = s->head_keep;
		st->dropped_bytes = st->total - s->head_keep - s->tail_keep;
		/* For who follows the file: bytes are about to leave their offsets. */
		(void)fchmod(s->fd, 0400);
		if (s->head_only) {
			size = append_tail(s, tail);
			st->dropped_bytes = st->total - size;
		} else {
			buf = malloc(COPY_SIZE);
			st->hole = !buf || !close_hole(s, st->total - s->tail_keep, buf, &size);
		}
		if (!st->hole && ftruncate(s->fd, (off_t)size) < 0)
			spool_fail(s, errno, 0, 0);
	}
	if (fstat(s->fd, &info) == 0)
		st->size = (uint64_t)info.st_size;
}

void spool_status(const struct spool *s, struct spool_status *ret_status)
{
	uint64_t cap;

	*ret_status = (struct spool_status){0};
	if (!s)
		return;
	*ret_status = s->status;
	cap = s->head_keep + s->tail_keep;
	if (!ret_status->dropped_bytes && ret_status->total > cap) { /* not finished yet */
		ret_status->dropped_at = s->head_keep;
		ret_status->dropped_bytes = ret_status->total - (s->head_only ? s->head_keep : cap);
	}
}
