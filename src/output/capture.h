#pragma once
/*
 * Capture: what one stream of one command has written so far.
 *
 * Memory use is settled before the command starts: the first bytes and the last bytes are kept, the
 * middle is counted and let go. A reader thus always sees how a command began, how it ended, and
 * how much lies between. The address space is reserved at once, so that appending cannot fail; a
 * page becomes resident only when bytes reach it.
 *
 * A capture belongs to the process that pumps the bytes. Others get a snapshot: plain data, copied
 * in the same process or carried over a file descriptor.
 *
 * Lines of the middle that matter can be kept as well. They are looked for only when the stream no
 * longer fits into head and tail, and then in all of it.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "base/cleanup.h"

struct buffer;
struct capture; /* opaque; one writer, no locking */
struct error;

struct capture_limits {
	size_t head;   /* bytes kept from the start */
	size_t tail;   /* bytes kept from the end */
	size_t middle; /* bytes of lines between that matter, as salient.h chooses them; 0: none */
};

#define CAPTURE_NO_NUL     UINT64_MAX
#define CAPTURE_HEADER_MAX 72 /* of a record */

struct capture_counts {
	uint64_t bytes;
	uint64_t chars;    /* bytes that do not continue a UTF-8 character */
	uint64_t newlines; /* '\n' */
	uint64_t nul_at;   /* offset of the first NUL byte; CAPTURE_NO_NUL: there is none */
};

/* The head and right behind it the tail, in one piece of memory: where nothing is omitted they are
 * the stream as it was. */
struct capture_snapshot {
	struct capture_counts counts;
	char *data;
	size_t head_len;
	size_t tail_len;
	char *middle; /* for salient_next(); NULL: none were chosen */
	size_t middle_len;
};

/* The caller owns *ret_capture and releases it with capture_free(). */
int capture_new(const struct capture_limits *limits, struct capture **ret_capture,
                struct error *err);
struct capture *capture_free(struct capture *c); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct capture *, capture_free);

/* Never fails: what does not fit is counted, not kept. */
void capture_append(struct capture *c, const void *bytes, size_t n);

const struct capture_counts *capture_counts(const struct capture *c);
uint64_t capture_omitted(const struct capture *c); /* bytes between head and tail */

/* The memory stays the capture's; the head never moves, the tail is good until the next append. The
 * tail is what follows the head, so nothing is in both. */
void capture_head(const struct capture *c, const char **ret_bytes, size_t *ret_n);
void capture_tail(const struct capture *c, struct iovec ret_parts[2]); /* oldest bytes first */
size_t capture_tail_copy(const struct capture *c, void *ret_bytes, size_t size); /* the last SIZE */

/* Appends the lines of the middle, for salient_next(). */
void capture_put_middle(const struct capture *c, struct buffer *into);

/* The caller releases the snapshot with capture_snapshot_done(). */
int capture_copy(const struct capture *c, struct capture_snapshot *ret_snapshot, struct error *err);
void capture_snapshot_done(struct capture_snapshot *s); /* leaves an empty snapshot */
static inline void capture_snapshot_donep(struct capture_snapshot *s)
{
	capture_snapshot_done(s);
}
uint64_t capture_snapshot_omitted(const struct capture_snapshot *s);

/* One snapshot as a record at the position of FD, which is left behind the record: several may
 * follow one another. FD is a memfd, a file or a blocking pipe. */
int capture_write(const struct capture *c, int fd, struct error *err);

/* The same in memory. */
void capture_put(const struct capture *c, struct buffer *into);

/* Reads one record. What is not exactly a record of this version, contradicts itself or keeps more
 * than MAX_KEPT bytes of head and tail is refused with -EBADMSG and nothing is set. */
int capture_read(int fd, size_t max_kept, struct capture_snapshot *ret_snapshot, struct error *err);

/* The same from memory; *at is left behind the record. */
int capture_take(const char **at, const char *end, size_t max_kept,
                 struct capture_snapshot *ret_snapshot, struct error *err);
