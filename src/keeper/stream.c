#include "keeper/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "keeper/index.h"
#include "keeper/report.h"
#include "output/capture.h"
#include "output/spool.h"

#define PIPE_BYTES   (1 << 20) /* asked for when a stream keeps filling its pipe ... */
#define PIPE_DEFAULT 65536
#define FULL_READS   4 /* ... this many times */

int stream_open(struct stream *s, int fd, const struct capture_limits *kept, struct error *err)
{
	s->fd = fd;
	return fd < 0 ? 0 : capture_new(kept, &s->capture, err);
}

void stream_begin_file(struct stream *s)
{
	struct error err = {0};

	if (s->dir_fd < 0)
		return;
	if (spool_open(s->dir_fd, s->name, s->spool_cap, &s->spool, &err) < 0)
		s->spool_errno = err.sys;
	s->dir_fd = -1;
}

static void spool_bytes(struct stream *s, const char *bytes, size_t n)
{
	stream_begin_file(s);
	if (s->index)
		index_note(s->index, s->number, n);
	spool_write(s->spool, bytes, n);
}

bool stream_read(struct stream *s, char *buffer, size_t size)
{
	ssize_t n = read(s->fd, buffer, size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		fd_close(take_fd(&s->fd));
		return false;
	}
	capture_append(s->capture, buffer, (size_t)n);
	spool_bytes(s, buffer, (size_t)n);
	if (n >= PIPE_DEFAULT && ++s->full_reads == FULL_READS)
		(void)fcntl(s->fd, F_SETPIPE_SZ,
		            PIPE_BYTES); /* refused past the user's quota: fine */
	return true;
}

void stream_done(struct stream *s)
{
	fd_close(take_fd(&s->fd));
	s->capture = capture_free(s->capture);
}

void stream_close(struct stream *s, struct keeper_stream *ret_facts)
{
	struct keeper_stream facts = {.lost_errno = s->spool_errno};
	struct spool_status status;
	struct iovec tail[2];

	fd_close(take_fd(&s->fd));
	if (s->capture)
		facts.bytes = facts.lost_bytes = capture_counts(s->capture)->bytes;
	if (s->spool) {
		capture_tail(s->capture, tail);
		spool_finish(s->spool, tail);
		spool_status(s->spool, &status);
		facts.file_bytes = status.size;
		facts.dropped_at = status.dropped_at;
		facts.dropped_bytes = status.dropped_bytes;
		facts.lost_bytes = status.lost_bytes;
		facts.lost_errno = status.first_errno;
	}
	*ret_facts = facts;
}
