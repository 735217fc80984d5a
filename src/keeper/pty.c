#include "keeper/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "task/control.h"
#include "keeper/inside.h"
#include "keeper/record.h"
#include "output/capture.h"
#include "process/spawn.h"

#define QUEUE_MAX   ((size_t)4 << 20) /* the text of a request is typed as a whole */
#define RESIZES_MAX 4096
#define ANSWERS_MAX 4096   /* bytes: a command that asks and does not listen is told no more */
#define END_OF_FILE "\004" /* what Ctrl-D sends */

/* The bytes of standard input that the request gave are typed, and then the end of the file. Twice
 * behind an unfinished line: the first one only sends that. What cannot be recorded is not typed,
 * and the command that waits for it has nothing to wait for. */
static void type_input(struct keeper *k)
{
	scoped(fd_closep) int fd = take_fd(&k->fds.input);
	struct buffer *q = &k->pty.queue;
	uint64_t seq = 0;
	struct stat st;

	q->max = QUEUE_MAX;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, q) < 0) {
		buffer_done(q);
		return;
	}
	if (keeper_record_input(k, q->data, q->len, &seq) < 0 ||
	    keeper_record_input_sync(k, seq) < 0) {
		buffer_done(q);
		keeper_step(k, EV_STOP_NOW);
		return;
	}
	if (q->len > 0 && q->data[q->len - 1] != '\n')
		buffer_puts(q, END_OF_FILE);
	buffer_puts(q, END_OF_FILE);
}

/* From which byte of the log on which size holds (see task/replay.h). A client can resize as often
 * as it likes, and the file does not grow for ever. What cannot be written is missing there, and
 * the command goes on. */
static void record_size(struct keeper *k)
{
	bool anew = k->pty.resizes++ % RESIZES_MAX == 0;
	scoped(fd_closep) int fd = -1;
	char line[64];
	int n = snprintf(line, sizeof(line), "%" PRIu64 " %u %u\n",
	                 capture_counts(k->streams[0].capture)->bytes, k->order.terminal.rows,
	                 k->order.terminal.cols);

	if (home_make(&k->home) < 0)
		return;
	fd = openat(k->home.fd, "sizes",
	            O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (anew ? O_TRUNC : 0),
	            0600);
	if (fd >= 0)
		(void)fd_write_all(fd, line, (size_t)n);
}

void keeper_pty_begin(struct keeper *k)
{
	struct error err = {0};

	if (k->pty.open || k->process->output[0] < 0)
		return;
	if (stream_open(&k->streams[0], take_fd(&k->process->output[0]), &k->order.kept, &err) <
	    0) {
		keeper_step(k, EV_STOP_NOW); /* no memory: it could not be read */
		return;
	}
	k->pty.open = true;
	/* It may have been resized while init was at work. */
	(void)pty_resize(k->streams[0].fd, &k->order.terminal);
	record_size(k);
	type_input(k);
}

static void resize(struct keeper *k, const char *bytes, size_t n)
{
	struct control_size wanted;
	struct pty_size *size = &k->order.terminal;

	if (n != sizeof(wanted))
		return;
	memcpy(&wanted, bytes, sizeof(wanted));
	if (!pty_size_is_valid(wanted.rows, wanted.cols) ||
	    (wanted.rows == size->rows && wanted.cols == size->cols))
		return;
	*size = (struct pty_size){.rows = wanted.rows, .cols = wanted.cols};
	if (!k->pty.open || k->streams[0].fd < 0)
		return;
	record_size(k);
	(void)pty_resize(k->streams[0].fd, size);
}

/* What was taken goes when it is half of the queue: each byte moves at most once. */
static void tidy(struct keeper_pty *p)
{
	if (p->written == p->queue.len) {
		buffer_done(&p->queue); /* most of the time nobody types */
		p->written = p->recorded = 0;
	} else if (p->written > p->queue.len / 2) {
		memmove(p->queue.data, p->queue.data + p->written, p->queue.len - p->written);
		p->queue.len -= p->written;
		p->recorded -= p->written;
		p->written = 0;
	}
}

/* All of it or nothing; and nothing without a record, which is synced before it is written. */
static void type(struct keeper *k, const char *bytes, size_t n, bool seated)
{
	struct buffer *q = &k->pty.queue;
	size_t before = q->len;

	q->max = QUEUE_MAX;
	if (n > QUEUE_MAX - before ||
	    (!seated && keeper_record_input(k, bytes, n, &k->pty.typed_seq) < 0))
		return;
	buffer_append(q, bytes, n);
	if (buffer_error(q) < 0) {
		q->len = before;
		q->failed = 0;
	}
}

/* One sync for all that came in one turn. What cannot be synced is not typed. */
static void settle(struct keeper *k)
{
	struct keeper_pty *p = &k->pty;

	if (keeper_record_input_sync(k, p->typed_seq) < 0)
		p->queue.len = p->recorded;
	p->typed_seq = 0;
	p->recorded = p->queue.len;
}

void keeper_pty_order(struct keeper *k, enum control_order order, const char *bytes, size_t n,
                      bool seated)
{
	if (!k->order.terminal.rows)
		return;
	if (order == CONTROL_INPUT)
		type(k, bytes, n, seated);
	else if (order == CONTROL_RESIZE)
		resize(k, bytes, n);
}

/* Not recorded: the answers are always the same, and nobody has typed them. */
void keeper_pty_answer(struct keeper *k, const char *bytes, size_t n)
{
	scoped(buffer_donep) struct buffer said = {.max = ANSWERS_MAX};

	if (!k->pty.open || k->order.interactive)
		return;
	reply_feed(&k->pty.reply, k->order.terminal.rows, k->order.terminal.cols, bytes, n, &said);
	if (said.len > 0 && buffer_error(&said) == 0 && k->pty.queue.len < ANSWERS_MAX)
		type(k, said.data, said.len, true);
}

short keeper_pty_events(const struct keeper *k)
{
	return k->pty.open && k->pty.queue.len > 0 ? POLLOUT : 0;
}

void keeper_pty_write(struct keeper *k)
{
	struct keeper_pty *p = &k->pty;
	ssize_t n;

	if (p->queue.len == 0)
		return;
	settle(k);
	if (p->written == p->queue.len) {
		tidy(p);
		return;
	}
	n = k->streams[0].fd < 0 ? -1
	                         : write(k->streams[0].fd, p->queue.data + p->written,
	                                 p->queue.len - p->written);
	if (n >= 0)
		p->written += (size_t)n;
	else if (k->streams[0].fd < 0 || (errno != EAGAIN && errno != EINTR))
		p->written = p->queue.len; /* nobody will read it */
	tidy(p);
}
