#pragma once
/*
 * Spool: the file with everything that one stream of one command wrote, up to a cap.
 *
 * While the command runs a byte lies at the offset that it has in the stream, so a reader who
 * follows the file needs no index. Past the cap the first half stays, the last half moves on with
 * the stream and the middle is given back to the file system as a hole; spool_finish() closes that
 * hole. Before it does the file becomes read-only: its offsets then are no longer the stream's.
 *
 * Writing never fails for the caller: a command must not die of a full disk that is not its own.
 * What could not be written is counted and reported. The caller ignores SIGXFSZ; a file size limit
 * is then one more reason why bytes are lost.
 *
 * A NULL spool is allowed everywhere and keeps nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "base/cleanup.h"

struct error;
struct spool;

struct spool_status {
	uint64_t total;      /* bytes of the stream so far */
	uint64_t written;    /* of these, put into the file when they came */
	uint64_t size;       /* of the file; known after spool_finish() */
	uint64_t lost_bytes; /* could not be written; zero bytes or a short file in their place */
	uint64_t lost_at;    /* stream offset of the first lost byte; only if lost_bytes */
	int first_errno;     /* why; 0: all is well */
	uint64_t dropped_at; /* where the middle is missing; only if dropped_bytes */
	uint64_t dropped_bytes; /* let go because of the cap */
	bool hole; /* the middle could not be closed: it is still there as zero bytes */
};

/* Creates NAME below DIRFD, 0600; an existing name is an error. CAP_BYTES 0 makes no file: all is
 * dropped. The caller owns *ret_spool. */
int spool_open(int dirfd, const char *name, uint64_t cap_bytes, struct spool **ret_spool,
               struct error *err);
struct spool *spool_free(struct spool *s); /* closes the file as it is; returns NULL */
DEFINE_CLEANUP(struct spool *, spool_free);

void spool_write(struct spool *s, const void *bytes, size_t n);

/* The stream has ended: brings the file into its last form, head and tail without a hole. Where the
 * file system cannot punch holes only the head was written; TAIL, the last bytes of the stream as
 * capture_tail() gives them (two parts, or NULL), is then appended. May be called once. */
void spool_finish(struct spool *s, const struct iovec *tail);

void spool_status(const struct spool *s, struct spool_status *ret_status);

/* The system calls that can fail for reasons a test cannot arrange everywhere. */
struct spool_calls {
	ssize_t (*pwrite)(int fd, const void *bytes, size_t n, off_t offset);
	int (*fallocate)(int fd, int mode, off_t offset, off_t n);
};
void spool_set_calls(struct spool *s, const struct spool_calls *calls); /* CALLS outlives S */
