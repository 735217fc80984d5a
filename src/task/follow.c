/*
 * While a command runs, a byte lies in the file at the offset that it has in its stream. Past the
 * cap a hole wanders through the file, so what was read counts only if no hole is there afterwards.
 * At the end the keeper moves the tail up behind the head; before it does it takes the right to
 * write from the file, and a follower who sees that waits for state.json, which tells how far all
 * was moved.
 */
#include "task/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/index.h"
#include "task/find.h"

#define LOOK_ANYWAY_MS 1000

struct follow {
	int dir_fd; /* borrowed */
	int files[2];
	int index;
	int wakes; /* inotify */
	enum follow_stream which;
	uint64_t skip;      /* bytes of both streams to pass over */
	uint64_t at[2];     /* next byte of each stream */
	uint64_t given;     /* offset among all that is followed */
	uint64_t piece_at;  /* in the index */
	uint64_t piece_use; /* bytes of that piece that were handed out */
	bool ended, lost, index_over;
	struct keeper_report report;
};

static const char *const names[2] = {"out", "err"};

const char *follow_stream_name(enum follow_stream which)
{
	return which == FOLLOW_BOTH ? "both" : which == FOLLOW_OUT ? "stdout" : "stderr";
}

int follow_stream_parse(const char *name, enum follow_stream *ret_which)
{
	for (int i = FOLLOW_BOTH; i <= FOLLOW_ERR; i++)
		if (strcmp(name, follow_stream_name((enum follow_stream)i)) == 0) {
			*ret_which = (enum follow_stream)i;
			return 0;
		}
	return -EINVAL;
}

int follow_new(int dir_fd, enum follow_stream which, uint64_t offset, struct follow **ret_follow,
               struct error *err)
{
	struct follow *f = calloc(1, sizeof(*f));
	char path[64];

	if (!f)
		return error_nomem(err);
	f->dir_fd = dir_fd;
	f->files[0] = f->files[1] = f->index = -1;
	f->which = which;
	f->given = offset;
	if (which == FOLLOW_BOTH)
		f->skip = offset;
	else
		f->at[which] = offset;
	/* Files are made and replaced in the directory; the lock file is closed when its keeper
	 * dies, however it does. */
	f->wakes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	if (f->wakes >= 0 && inotify_add_watch(f->wakes, path,
	                                       IN_MODIFY | IN_CREATE | IN_MOVED_TO |
	                                               IN_CLOSE_WRITE | IN_DELETE_SELF) < 0)
		fd_close(take_fd(&f->wakes));
	*ret_follow = f;
	return 0;
}

struct follow *follow_free(struct follow *f)
{
	if (!f)
		return NULL;
	fd_close(f->files[0]);
	fd_close(f->files[1]);
	fd_close(f->index);
	fd_close(f->wakes);
	free(f);
	return NULL;
}

int follow_fd(const struct follow *f)
{
	return f->wakes;
}

void follow_unwatch(struct follow *f)
{
	fd_close(take_fd(&f->wakes));
}

void follow_woken(struct follow *f)
{
	char events[4096];

	while (f->wakes >= 0 && read(f->wakes, events, sizeof(events)) > 0)
		;
}

void follow_wait(struct follow *f, int64_t timeout_ms)
{
	struct pollfd p = {.fd = f->wakes, .events = POLLIN};
	int64_t most = f->wakes < 0 ? FOLLOW_LOOK_MS : LOOK_ANYWAY_MS;

	(void)poll(&p, 1, (int)(timeout_ms < most ? timeout_ms : most));
	follow_woken(f);
}

uint64_t follow_offset(const struct follow *f)
{
	return f->given;
}

const struct keeper_report *follow_report(const struct follow *f)
{
	return f->ended && !f->lost ? &f->report : NULL;
}

/* How the task has ended, if it has. */
static void look_for_end(struct follow *f)
{
	scoped(buffer_donep) struct buffer text = {.max = REPORT_BYTES_MAX};
	scoped(fd_closep) int fd = -1;
	enum find_state state = find_state(f->dir_fd);

	if (state == FIND_RUNNING)
		return;
	f->ended = true;
	fd = state == FIND_ENDED ? fd_open_regular(f->dir_fd, "state.json") : -1;
	f->lost = fd < 0 || fd_read_all(fd, &text) < 0 ||
	          keeper_report_read(buffer_str(&text), text.len, &f->report, NULL) < 0;
}

static int file_of(struct follow *f, int stream)
{
	if (f->files[stream] < 0)
		f->files[stream] = fd_open_regular(f->dir_fd, names[stream]);
	return f->files[stream];
}

/* Whether the bytes still lie at their offsets. */
static bool is_sealed(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || !(st.st_mode & S_IWUSR);
}

/* Where a byte of the stream lies in the file, and how many follow it there. 0: in no file, and
 * *ret_missing is how many are not. */
static uint64_t locate(const struct follow *f, int stream, uint64_t *ret_missing, off_t *ret_at)
{
	const struct keeper_stream *s = &f->report.streams[stream];
	uint64_t at = f->at[stream], dropped = 0;
	bool moved;

	if (f->ended && !f->lost)
		dropped = s->dropped_bytes;
	moved = dropped > 0 && s->file_bytes < s->bytes;
	*ret_missing = 0;
	*ret_at = (off_t)at;
	if (dropped == 0)
		return UINT64_MAX;
	if (at < s->dropped_at)
		return s->dropped_at - at;
	if (at < s->dropped_at + dropped) {
		*ret_missing = s->dropped_at + dropped - at;
		return 0;
	}
	*ret_at = (off_t)(moved ? at - dropped : at);
	return UINT64_MAX;
}

/* Bytes of a stream at its offset. >0: as many; 0: none are there yet; <0: so many are missing. */
static int64_t read_stream(struct follow *f, int stream, char *bytes, uint64_t size)
{
	int fd = file_of(f, stream);
	uint64_t here, missing;
	off_t at, data, hole;
	ssize_t n;

	if (fd < 0 || (!f->ended && is_sealed(fd)))
		return 0;
	here = locate(f, stream, &missing, &at);
	if (here == 0)
		return -(int64_t)missing;
	data = lseek(fd, at, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		return 0; /* the end of the file, or nothing but a hole up to there */
	if (data > at)
		return (uint64_t)(data - at) < here ? at - data : -(int64_t)here;
	n = pread(fd, bytes, size < here ? size : here, at);
	if (n <= 0)
		return 0;
	hole = lseek(fd, at, SEEK_HOLE);
	if (!f->ended && is_sealed(fd))
		return 0;
	/* Punched meanwhile: at the next step this is a gap. */
	return hole >= at && hole < at + n ? hole - at : n;
}

/* Bytes that were written and cannot be read: they could not be put on the disk. */
static uint64_t lost_rest(const struct follow *f, int stream)
{
	uint64_t all = f->ended && !f->lost ? f->report.streams[stream].bytes : 0;

	return all > f->at[stream] ? all - f->at[stream] : 0;
}

static uint64_t size_of(struct follow *f, int stream)
{
	struct stat st;

	if (f->ended && !f->lost)
		return f->report.streams[stream].bytes;
	return file_of(f, stream) >= 0 && fstat(f->files[stream], &st) == 0 ? (uint64_t)st.st_size
	                                                                    : 0;
}

static bool read_piece(struct follow *f, uint64_t at, struct index_piece *ret)
{
	return pread(f->index, ret, sizeof(*ret), (off_t)at) == (ssize_t)sizeof(*ret) &&
	       ret->stream <= INDEX_STOP;
}

/* The piece of the index where we are, or false: there is none yet. The last one may grow. */
static bool current_piece(struct follow *f, struct index_piece *ret)
{
	struct index_piece p;

	while (read_piece(f, f->piece_at, &p)) {
		if (p.stream == INDEX_STOP) {
			f->index_over = true;
			return false;
		}
		if (f->piece_use < p.length) {
			p.length -= (uint32_t)f->piece_use;
			*ret = p;
			return true;
		}
		if (!read_piece(f, f->piece_at + sizeof(p), &(struct index_piece){0}))
			return false;
		/* There is a next one, so this one grows no more; what it has now is final. */
		if (!read_piece(f, f->piece_at, &p) || f->piece_use < p.length)
			continue;
		f->piece_at += sizeof(p);
		f->piece_use -= p.length;
	}
	return false;
}

/* Which stream is next, and how many bytes of it at most; 0: that is not known yet. */
static uint64_t choose(struct follow *f, int *ret_stream)
{
	/* Before the index is looked for: what is there while there is none came before it. */
	uint64_t sizes[2] = {size_of(f, 0), size_of(f, 1)};
	struct index_piece p;
	int first = sizes[0] > 0 ? 0 : 1;

	if (f->which != FOLLOW_BOTH) {
		*ret_stream = f->which;
		return UINT64_MAX;
	}
	if (f->index < 0 && !f->index_over) {
		f->index = fd_open_regular(f->dir_fd, "index");
		f->piece_use = f->at[0] + f->at[1];
	}
	if (f->index >= 0 && !f->index_over) {
		if (current_piece(f, &p)) {
			*ret_stream = (int)p.stream;
			return p.length;
		}
		if (!f->index_over && !f->ended)
			return 0;
	} else if (!f->ended && !f->index_over) {
		*ret_stream = first;
		if (sizes[!first] > 0)
			return 0;
		return sizes[first] > f->at[first] ? sizes[first] - f->at[first] : 0;
	}
	*ret_stream = sizes[0] > f->at[0] ? 0 : 1;
	return sizes[*ret_stream] > f->at[*ret_stream] ? sizes[*ret_stream] - f->at[*ret_stream]
	                                               : 0;
}

static void advance(struct follow *f, int stream, uint64_t n)
{
	f->at[stream] += n;
	if (f->index >= 0)
		f->piece_use += n;
}

/* Passes over bytes of both streams, as far as their order is known. Whether it came to the end. */
static bool skip_on(struct follow *f)
{
	while (f->skip > 0) {
		int stream;
		uint64_t n = choose(f, &stream);

		if (n == 0)
			return false;
		if (n > f->skip)
			n = f->skip;
		advance(f, stream, n);
		f->skip -= n;
	}
	return true;
}

static enum follow_event step(struct follow *f, char *bytes, size_t size,
                              struct follow_piece *ret_piece)
{
	uint64_t most, n;
	int64_t got;
	int stream;

	if (!skip_on(f))
		return FOLLOW_NOTHING;
	most = choose(f, &stream);
	if (most == 0)
		return FOLLOW_NOTHING;
	got = read_stream(f, stream, bytes, most < size ? most : size);
	if (got == 0 && f->ended)
		got = -(int64_t)lost_rest(f, stream);
	if (got == 0)
		return FOLLOW_NOTHING;
	n = got < 0 ? (uint64_t)-got : (uint64_t)got;
	if (n > most)
		n = most;
	*ret_piece = (struct follow_piece){.stream = stream, .offset = f->given, .n = n};
	advance(f, stream, n);
	f->given += n;
	return got > 0 ? FOLLOW_BYTES : FOLLOW_GAP;
}

enum follow_event follow_next(struct follow *f, char *bytes, size_t size,
                              struct follow_piece *ret_piece)
{
	enum follow_event e = step(f, bytes, size, ret_piece);

	if (e != FOLLOW_NOTHING)
		return e;
	if (f->ended)
		return FOLLOW_ENDED;
	/* What was written before its end may have come after our look at the files. */
	look_for_end(f);
	return f->ended ? follow_next(f, bytes, size, ret_piece) : FOLLOW_NOTHING;
}
