/*
 * Both descriptors may be shared with the client, or with a terminal, so neither is made
 * non-blocking: that would hold for everybody who has them. Input is read once when it is there.
 * Output is written only where it does not block: to a socket and to a pipe with a flag for this
 * one call. A kernel older than 6.4 does not know that flag for pipes; there it is pieces of a
 * page, which fit whenever the pipe says that it is writable.
 *
 * A client that does not read is not read from: what is queued for it is bounded by what it has
 * asked for already.
 *
 * At the end of the input calls have a moment to end by themselves, so that requests from a file
 * are answered; then they are cancelled. The process is gone soon in any case; tasks go on.
 */
#include "serve/stdio.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/packet.h"
#include "session/place.h"
#include "base/loop.h"
#include "json/rpc.h"
#include "task/find.h"

#define READ_BYTES    65536
#define PIECE_BYTES   4096
#define QUEUE_HIGH    ((size_t)1 << 20) /* so much unread, and we do not read either */
#define QUEUE_MAX     ((size_t)256 << 20)
#define QUEUE_NOTICES ((size_t)256 << 10) /* behind so much nobody waits for progress */
#define LINGER_MS     1200                /* for calls to end by themselves */
#define LEAVE_MS      600                 /* and then for their trees to be gone */
#define LOOK_MS       20                  /* whether they are */

struct stdio {
	const struct stdio_options *options;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_peer *peer;
	struct loop_source input, output, signals;
	struct loop_timer timer, soon;
	int64_t leave_at;      /* when cancelled */
	struct buffer pending; /* read, not yet taken */
	size_t scanned;        /* of it, without the end of a line */
	bool skipping;         /* inside of a line that is too long */
	struct buffer queue;   /* to be written */
	size_t written;        /* of it */
	bool is_socket, is_pipe;
	bool asks_first; /* whether the pipe is writable */
	bool ended, cancelled, broken;
};

static bool is_done(const struct stdio *s)
{
	return !mcp_peer_is_busy(s->peer) && (s->broken || s->queue.len == s->written);
}

static ssize_t write_piece(const char *bytes, size_t n)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (poll(&p, 1, 0) <= 0 || !(p.revents & (POLLOUT | POLLERR))) {
		errno = EAGAIN;
		return -1;
	}
	return write(STDOUT_FILENO, bytes, n > PIECE_BYTES ? PIECE_BYTES : n);
}

static ssize_t write_pipe(struct stdio *s, char *bytes, size_t n)
{
	const struct iovec whole = {.iov_base = bytes, .iov_len = n};
	ssize_t r = -1;

	if (!s->asks_first) {
		r = pwritev2(STDOUT_FILENO, &whole, 1, -1, RWF_NOWAIT);
		s->asks_first =
			r < 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS);
	}
	return s->asks_first ? write_piece(bytes, n) : r;
}

/* Bytes that were written; -EAGAIN: it would block. */
static ssize_t write_some(struct stdio *s, char *bytes, size_t n)
{
	ssize_t r;

	if (s->is_socket)
		r = packet_put(STDOUT_FILENO, bytes, n, MSG_DONTWAIT);
	else if (s->is_pipe)
		r = write_pipe(s, bytes, n);
	else
		r = write(STDOUT_FILENO, bytes, n);
	return r < 0 ? -errno : r;
}

static int on_output(struct loop_source *source, uint32_t events);

/* Writes what can be written; watches the output only while something is left. */
static void flush(struct stdio *s)
{
	ssize_t n = 0;

	while (s->written < s->queue.len && n >= 0 && !s->broken) {
		n = write_some(s, s->queue.data + s->written, s->queue.len - s->written);
		if (n > 0)
			s->written += (size_t)n;
		if (n == -EINTR)
			n = 0;
	}
	s->broken |= n < 0 && n != -EAGAIN;
	if (s->written == s->queue.len) {
		s->written = 0;
		if (s->queue.capacity > QUEUE_HIGH)
			buffer_done(&s->queue);
		else
			buffer_clear(&s->queue);
		loop_remove(&s->output);
	} else if (s->output.fd < 0 && !s->broken) {
		s->broken =
			loop_add(s->loop, &s->output, STDOUT_FILENO, EPOLLOUT, on_output, NULL) < 0;
	}
}

static int settle(struct stdio *s);

static int on_output(struct loop_source *source, uint32_t events)
{
	struct stdio *s = container_of(source, struct stdio, output);

	flush(s);
	return settle(s);
}

static int on_soon(struct loop_timer *t)
{
	return settle(container_of(t, struct stdio, soon));
}

static bool on_send(void *owner, const struct mcp_output *o)
{
	struct stdio *s = owner;

	if (s->broken || (o->kind == MCP_OUTPUT_MESSAGE && !o->needed &&
	                  s->queue.len - s->written > QUEUE_NOTICES))
		return false;
	if (o->kind == MCP_OUTPUT_NOTHING)
		return true;
	if (s->written > QUEUE_HIGH) { /* what was written makes room */
		memmove(s->queue.data, s->queue.data + s->written, s->queue.len - s->written);
		s->queue.len -= s->written;
		s->written = 0;
	}
	buffer_append(&s->queue, o->json, o->len);
	buffer_putc(&s->queue, '\n');
	s->broken = buffer_error(&s->queue) < 0;
	flush(s);
	/* What follows from this is seen when whoever has sent it is through. */
	(void)loop_timer_set(s->loop, &s->soon, loop_now(s->loop), on_soon);
	return !s->broken;
}

/* Others of the same user work in other directories: their tasks are none of this client's. What
 * the directory is called is asked anew, as for a command: it may have been renamed. */
static bool on_sees(const void *owner, const struct find_origin *origin)
{
	const struct stdio *s = owner;
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};

	return place_open_workspace(s->options->workspace, NULL, &place, NULL) == 0 &&
	       strcmp(place.base, origin->base) == 0;
}

static void take_line(struct stdio *s, const char *line, size_t n)
{
	scoped(rpc_message_donep) struct rpc_message m = {0};

	while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (n == 0)
		return;
	rpc_message_read(line, n, &m);
	(void)mcp_peer_receive(s->peer, &m, NULL, NULL);
}

static void refuse_long(struct stdio *s)
{
	scoped(rpc_message_donep) struct rpc_message m = {0};

	rpc_message_refuse(s->pending.data, s->pending.len, RPC_INVALID_REQUEST,
	                   "the message is too long", &m);
	(void)mcp_peer_receive(s->peer, &m, NULL, NULL);
}

/* Whether more may be taken from the client. */
static bool wants_more(const struct stdio *s)
{
	return !s->broken && s->queue.len - s->written < QUEUE_HIGH;
}

static void take_lines(struct stdio *s)
{
	size_t done = 0;
	char *end;

	while (done < s->pending.len && wants_more(s)) {
		size_t from = s->scanned > done ? s->scanned : done;

		end = memchr(s->pending.data + from, '\n', s->pending.len - from);
		if (!end && s->ended)
			end = s->pending.data + s->pending.len; /* a last line needs no end */
		if (!end)
			break;
		if (!s->skipping)
			take_line(s, s->pending.data + done,
			          (size_t)(end - s->pending.data) - done);
		s->skipping = false;
		done = (size_t)(end - s->pending.data) + 1;
	}
	done = done < s->pending.len ? done : s->pending.len;
	if (done > 0)
		memmove(s->pending.data, s->pending.data + done, s->pending.len - done);
	s->pending.len -= done;
	s->scanned = wants_more(s) ? s->pending.len : 0;
	if (s->pending.len > s->options->line_max && wants_more(s)) {
		if (!s->skipping)
			refuse_long(s);
		s->skipping = true;
		buffer_clear(&s->pending);
		s->scanned = 0;
	}
}

static int on_timer(struct loop_timer *t)
{
	struct stdio *s = container_of(t, struct stdio, timer);

	if (!s->cancelled) {
		s->cancelled = true;
		s->leave_at = loop_now(s->loop) + LEAVE_MS;
		mcp_peer_cancel_all(s->peer);
		if (s->options->stop_tasks)
			mcp_peer_stop_tasks(s->peer);
	}
	if (is_done(s) || loop_now(s->loop) >= s->leave_at) {
		loop_stop(s->loop);
		return 0;
	}
	return loop_timer_set(s->loop, t, loop_now(s->loop) + LOOK_MS, on_timer);
}

static void end(struct stdio *s, bool at_once)
{
	if (!s->ended)
		mcp_peer_say_goodbye(s->peer);
	if (!s->ended && s->options->stop_tasks)
		mcp_peer_stop_tasks(s->peer);
	s->ended = true;
	loop_remove(&s->input);
	if (!s->cancelled && (at_once || s->timer.slot == 0))
		(void)loop_timer_set(s->loop, &s->timer,
		                     loop_now(s->loop) + (at_once ? 0 : LINGER_MS), on_timer);
}

static int on_input(struct loop_source *source, uint32_t events)
{
	struct stdio *s = container_of(source, struct stdio, input);
	char *to = buffer_reserve(&s->pending, READ_BYTES);
	ssize_t n;

	if (!to)
		return -ENOMEM;
	n = read(source->fd, to, READ_BYTES);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n > 0)
		s->pending.len += (size_t)n;
	else
		end(s, false);
	return settle(s);
}

static int on_signal(struct loop_source *source, uint32_t events)
{
	struct stdio *s = container_of(source, struct stdio, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		end(s, true);
	return settle(s);
}

/* After whatever has happened: what may be read, written, or ended now. */
static int settle(struct stdio *s)
{
	take_lines(s);
	flush(s);
	if (s->broken)
		end(s, true); /* nobody reads: what runs is stopped */
	if (s->ended && s->pending.len == 0 && is_done(s)) {
		loop_stop(s->loop);
		return 0;
	}
	if (s->ended || !wants_more(s))
		loop_remove(&s->input);
	else if (s->input.fd < 0)
		return loop_add(s->loop, &s->input, STDIN_FILENO, EPOLLIN, on_input, NULL);
	return 0;
}

/* Answers come outside of our handlers, too: jobs end in the loop by themselves. */
static int run(struct stdio *s, struct error *err)
{
	struct stat st;
	int r;

	s->is_socket = fstat(STDOUT_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
	s->is_pipe = S_ISFIFO(st.st_mode);
	r = loop_add(s->loop, &s->signals, s->options->signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = settle(s);
	if (r == 0)
		r = loop_run(s->loop);
	return r;
}

int stdio_serve(const struct stdio_options *o, struct error *err)
{
	struct stdio s = {.options = o,
	                  .loop = o->mcp.loop,
	                  .input = {.fd = -1},
	                  .output = {.fd = -1},
	                  .signals = {.fd = -1},
	                  .pending = {.max = o->line_max + 2 * READ_BYTES},
	                  .queue = {.max = QUEUE_MAX}};
	struct mcp_peer_options peer = {.door = "mcp",
	                                .has_person = true,
	                                .session = o->session,
	                                .offers = o->offers,
	                                .offer_count = o->offer_count,
	                                .send = on_send,
	                                .sees = on_sees,
	                                .owner = &s};
	int r;

	r = mcp_server_new(&o->mcp, &s.server, err);
	if (r == 0)
		r = mcp_peer_new(s.server, &peer, &s.peer, err);
	if (r == 0)
		r = run(&s, err);
	mcp_peer_free(s.peer);
	mcp_server_free(s.server);
	loop_remove(&s.input);
	loop_remove(&s.output);
	loop_remove(&s.signals);
	loop_timer_clear(&s.timer);
	loop_timer_clear(&s.soon);
	buffer_done(&s.pending);
	buffer_done(&s.queue);
	return r;
}
