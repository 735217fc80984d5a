#include "keeper/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "task/home.h"
#include "task/index.h"
#include "task/report.h"
#include "output/binary.h"
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

static void spool_bytes(struct stream *s, const char *bytes, size_t n)
{
	if (n > 0 && s->index)
		index_note(s->index, s->number, n);
	spool_write(s->spool, bytes, n);
}

void stream_begin_file(struct stream *s)
{
	struct error err = {0};
	const char *waiting = NULL;
	size_t n = 0;
	int fd;

	if (s->begun)
		return;
	s->begun = true;
	fd = home_make(s->home);
	if (fd < 0)
		s->spool_errno = s->home->sys;
	else if (spool_open(fd, s->name, s->spool_cap, &s->spool, &err) < 0)
		s->spool_errno = err.sys;
	if (s->capture)
		capture_head(s->capture, &waiting, &n);
	spool_bytes(s, waiting, n);
}

static uint64_t bytes_so_far(const struct stream *s)
{
	return s->capture ? capture_counts(s->capture)->bytes : 0;
}

/* In memory they lie in the head of the capture. With two streams their order has to be told. */
static bool may_wait(const struct stream *s, size_t n)
{
	return !s->begun && bytes_so_far(s) + n <= s->patience &&
	       (!s->other || bytes_so_far(s->other) == 0);
}

static void keep_bytes(struct stream *s, const char *bytes, size_t n)
{
	if (!may_wait(s, n)) {
		if (s->other && bytes_so_far(s->other) > 0)
			stream_begin_file(s->other);
		stream_begin_file(s);
		spool_bytes(s, bytes, n);
	}
	capture_append(s->capture, bytes, n);
}

size_t stream_read(struct stream *s, char *buffer, size_t size)
{
	ssize_t n = read(s->fd, buffer, size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		fd_close(take_fd(&s->fd));
		return 0;
	}
	keep_bytes(s, buffer, (size_t)n);
	relay_put(&s->relay, buffer, (size_t)n);
	if (s->relay.broken)
		fd_close(take_fd(&s->fd));
	if (s->fd >= 0 && n >= PIPE_DEFAULT && ++s->full_reads == FULL_READS)
		(void)fcntl(s->fd, F_SETPIPE_SZ,
		            PIPE_BYTES); /* refused past the user's quota: fine */
	return (size_t)n;
}

void stream_done(struct stream *s)
{
	fd_close(take_fd(&s->fd));
	relay_close(&s->relay);
	s->capture = capture_free(s->capture);
}

static void measure(const struct stream *s, bool finished, struct keeper_stream *ret_facts)
{
	struct keeper_stream facts = {.lost_errno = s->spool_errno};
	struct spool_status status;

	facts.bytes = bytes_so_far(s);
	facts.lost_bytes = s->begun ? facts.bytes : 0;
	if (s->spool) {
		spool_status(s->spool, &status);
		facts.file_bytes = finished ? status.size : status.written;
		facts.dropped_at = status.dropped_at;
		facts.dropped_bytes = status.dropped_bytes;
		facts.lost_bytes = status.lost_bytes;
		facts.lost_errno = status.first_errno;
	}
	*ret_facts = facts;
}

void stream_close(struct stream *s, struct keeper_stream *ret_facts)
{
	struct iovec tail[2];

	fd_close(take_fd(&s->fd));
	if (s->spool) {
		capture_tail(s->capture, tail);
		spool_finish(s->spool, tail);
	}
	measure(s, true, ret_facts);
}

void stream_measure(const struct stream *s, struct keeper_stream *ret_facts)
{
	measure(s, false, ret_facts);
}

bool stream_is_plain(const struct stream *s)
{
	const char *bytes = "", *type;
	size_t n = 0;

	if (s->begun)
		return false;
	if (s->capture)
		capture_head(s->capture, &bytes, &n);
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') ||
		    bytes[i] == 0x7f)
			return false;
	return utf8_valid_prefix(bytes, n) == n && !binary_detect(bytes, n, &type);
}
