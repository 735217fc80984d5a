#include "task/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>
#include "base/fd.h"

void index_init(struct index *x, const int *dir_fd)
{
	*x = (struct index){.dir_fd = dir_fd, .fd = -1};
}

static bool put(struct index *x)
{
	ssize_t n;

	do
		n = pwrite(x->fd, &x->last, sizeof(x->last), (off_t)x->at);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(x->last);
}

/* A reader that finds the mark goes on without an order. Where even that cannot be written he
 * waits for the end of the task. */
static void give_up(struct index *x)
{
	x->last = (struct index_piece){.stream = INDEX_STOP};
	(void)put(x);
	fd_close(take_fd(&x->fd));
	x->dir_fd = NULL;
}

static bool next_piece(struct index *x, unsigned stream)
{
	x->at += sizeof(x->last);
	x->last = (struct index_piece){.stream = stream};
	return x->at + 2 * sizeof(x->last) <= INDEX_BYTES;
}

/* One piece holds up to 4 GiB. */
static bool grow(struct index *x, uint64_t n)
{
	while (n > UINT32_MAX - x->last.length) {
		n -= UINT32_MAX - x->last.length;
		x->last.length = UINT32_MAX;
		if (!put(x) || !next_piece(x, x->last.stream))
			return false;
	}
	x->last.length += (uint32_t)n;
	return put(x);
}

void index_note(struct index *x, unsigned stream, uint64_t n)
{
	uint64_t before = x->totals[!stream];
	bool ok = true;

	x->totals[stream] += n;
	if (!x->dir_fd || n == 0 || before == 0)
		return;
	if (x->fd < 0) {
		x->fd = openat(*x->dir_fd, "index",
		               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (x->fd < 0) {
			x->dir_fd = NULL;
			return;
		}
		x->last.stream = !stream;
		ok = grow(x, before);
	}
	if (ok && x->last.stream != stream)
		ok = next_piece(x, stream);
	if (!ok || !grow(x, n))
		give_up(x);
}
