#include "keeper/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "keeper/control.h"
#include "keeper/inside.h"
#include "output/sizes.h"
#include "process/spawn.h"

#define QUEUE_FULL ((size_t)256 << 10) /* from here on no orders are read */
#define QUEUE_MAX  ((size_t)4 << 20)   /* the text of a request is typed as a whole */
#define END_OF_FILE "\004"

/* The bytes of standard input that the request gave are typed, and then the end of the file. Twice
 * behind an unfinished line: the first one only sends that. */
static void type_input(struct keeper *k)
{
	scoped(fd_closep) int fd = take_fd(&k->fds.input);
	struct buffer *q = &k->pty.queue;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, q) < 0) {
		buffer_done(q);
		q->max = QUEUE_MAX;
		return;
	}
	if (q->len > 0 && q->data[q->len - 1] != '\n')
		buffer_puts(q, END_OF_FILE);
	buffer_puts(q, END_OF_FILE);
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
	k->pty.queue.max = QUEUE_MAX;
	/* It may have been resized while init was at work. */
	(void)pty_resize(k->streams[0].fd, &k->order.terminal);
	sizes_record(k->fds.task, 0, &k->order.terminal.rows, &k->order.terminal.cols);
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
	sizes_record(k->fds.task, stream_bytes(&k->streams[0]), size->rows, size->cols);
	(void)pty_resize(k->streams[0].fd, size);
}
