#include "cli/sh-relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"

/* A pipe that is ready takes so much without waiting. */
#define PIECE ((size_t)4096)

/* One open file, or two that both write at the end, or at no place at all. */
static bool same_file(int a, int b)
{
	struct stat one, other;
	int flags = O_APPEND;

	if (fstat(a, &one) < 0 || fstat(b, &other) < 0 || one.st_dev != other.st_dev ||
	    one.st_ino != other.st_ino)
		return false;
	if (!S_ISREG(one.st_mode))
		return true;
	flags &= fcntl(a, F_GETFL);
	flags &= fcntl(b, F_GETFL);
	return flags == O_APPEND ||
	       syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, (long)a, (long)b) == 0;
}

int sh_relay_open(struct sh_relay *r, struct error *err)
{
	int ends[2];

	r->merged = same_file(STDOUT_FILENO, STDERR_FILENO);
	for (int i = 0; i < 2; i++) {
		struct sh_lane *l = &r->lanes[i];

		l->relay = r;
		l->in.fd = l->out.fd = l->from = l->theirs = r->theirs[i] = -1;
		l->to = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
	}
	for (int i = 0; i < (r->merged ? 1 : 2); i++) {
		struct sh_lane *l = &r->lanes[i];

		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
			return error_sys(err, errno, "pipe");
		l->from = ends[0];
		r->theirs[i] = l->theirs = ends[1];
	}
	return 0;
}

static int on_input(struct loop_source *s, uint32_t events);
static int on_room(struct loop_source *s, uint32_t events);

static void close_lane(struct sh_lane *l)
{
	loop_remove(&l->in);
	loop_remove(&l->out);
	fd_close(take_fd(&l->from));
	l->len = l->done = 0;
}

/* -EAGAIN: nobody takes it now. */
static int write_some(struct sh_lane *l)
{
	size_t n = l->len - l->done;
	ssize_t w = write(l->to, l->bytes + l->done, n < PIECE ? n : PIECE);

	if (w < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (w < 0)
		return -errno;
	l->done += (size_t)w;
	return 0;
}

/* Output waits for its reader, input for the output. */
static int turn(struct sh_lane *l)
{
	struct loop *loop = l->relay->loop;

	if (l->done < l->len) {
		loop_remove(&l->in);
		return l->out.fd >= 0 ? 0 : loop_add(loop, &l->out, l->to, EPOLLOUT, on_room, NULL);
	}
	loop_remove(&l->out);
	return l->in.fd >= 0 || l->from < 0
	               ? 0
	               : loop_add(loop, &l->in, l->from, EPOLLIN, on_input, NULL);
}

static int on_room(struct loop_source *s, uint32_t events)
{
	struct sh_lane *l = container_of(s, struct sh_lane, out);
	int r = write_some(l);

	if (r < 0 && r != -EAGAIN) {
		close_lane(l);
		return 0;
	}
	return turn(l);
}

/* False: there is nothing now, or nothing any more. */
static bool fill(struct sh_lane *l)
{
	ssize_t n = read(l->from, l->bytes, sizeof(l->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_lane(l);
		return false;
	}
	l->len = (size_t)n;
	l->done = 0;
	return true;
}

static int on_input(struct loop_source *s, uint32_t events)
{
	struct sh_lane *l = container_of(s, struct sh_lane, in);

	return fill(l) ? turn(l) : 0;
}

int sh_relay_begin(struct sh_relay *r, struct loop *loop, struct error *err)
{
	int code = 0;

	r->loop = loop;
	for (int i = 0; i < 2 && code == 0; i++) {
		fd_close(take_fd(&r->lanes[i].theirs)); /* the keeper has it */
		if (r->lanes[i].from >= 0)
			code = loop_add(loop, &r->lanes[i].in, r->lanes[i].from, EPOLLIN, on_input,
			                err);
	}
	return code;
}

/* A reader who sleeps is waited for: this is the end, and signals end us as they end anybody. */
static void drain(struct sh_lane *l)
{
	struct pollfd p = {.fd = l->to, .events = POLLOUT};

	int r = 0;

	for (;;) {
		while (l->done < l->len && (r == 0 || r == -EAGAIN)) {
			r = write_some(l);
			if (r == -EAGAIN)
				(void)poll(&p, 1, -1);
		}
		if (l->done < l->len || l->from < 0 || !fill(l))
			return;
	}
}

void sh_relay_end(struct sh_relay *r)
{
	for (int i = 0; i < 2; i++) {
		struct sh_lane *l = &r->lanes[i];

		loop_remove(&l->in);
		loop_remove(&l->out);
		drain(l);
	}
}

void sh_relay_close(struct sh_relay *r)
{
	for (int i = 0; i < 2; i++) {
		close_lane(&r->lanes[i]);
		fd_close(take_fd(&r->lanes[i].theirs));
	}
}
