#include "gateway/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fd.h"

#define ROUNDS_MAX 8 /* then others have their turn */
#define COPY_BYTES 65536

void relay_pool_init(struct relay_pool *p)
{
	for (size_t i = 0; i < RELAY_PIPES_MAX; i++)
		p->pipes[i] = (struct relay_pipe){.in = -1, .out = -1};
}

static void pipe_close(struct relay_pipe *p)
{
	fd_close(p->in);
	fd_close(p->out);
	*p = (struct relay_pipe){.in = -1, .out = -1};
}

void relay_pool_done(struct relay_pool *p)
{
	for (size_t i = 0; i < RELAY_PIPES_MAX; i++)
		pipe_close(&p->pipes[i]);
}

/* NULL: all are in use, or there can be no more. */
static struct relay_pipe *pool_take(struct relay_pool *pool)
{
	struct relay_pipe *found = NULL;
	int ends[2];

	for (size_t i = 0; i < RELAY_PIPES_MAX; i++) {
		struct relay_pipe *p = &pool->pipes[i];

		if (!p->used && (!found || (found->in < 0 && p->in >= 0)))
			found = p;
	}
	if (!found)
		return NULL;
	if (found->in < 0) {
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
			return NULL;
		/* The share of the user may be used up: a smaller one works, too. */
		(void)fcntl(ends[1], F_SETPIPE_SZ, RELAY_PIPE_BYTES);
		found->out = ends[0];
		found->in = ends[1];
	}
	found->used = true;
	return found;
}

void relay_stop(struct relay *r, struct relay_pool *pool)
{
	(void)pool;
	if (!r->pipe)
		return;
	if (r->held > 0)
		pipe_close(r->pipe);
	else
		r->pipe->used = false;
	r->pipe = NULL;
	r->held = 0;
}

static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* What is taken is only what was given on. True: it moved. */
static bool copy(struct relay *r)
{
	char bytes[COPY_BYTES];
	ssize_t n = recv(r->from, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT), sent;

	if (n == 0)
		r->ended = true;
	if (n < 0 && !is_later())
		r->broken = true;
	if (n <= 0)
		return false;
	sent = send(r->to, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && !is_later())
		r->broken = true;
	if (sent <= 0)
		return false;
	r->bytes += (uint64_t)sent;
	if (recv(r->from, bytes, (size_t)sent, MSG_DONTWAIT) != sent)
		r->broken = true;
	return !r->broken;
}

/* From the socket into the pipe. True: something is in it. */
static bool fill(struct relay *r)
{
	ssize_t n = splice(r->from, NULL, r->pipe->in, NULL, RELAY_PIPE_BYTES,
	                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		r->held = (size_t)n;
	else if (n == 0)
		r->ended = true;
	else if (!is_later())
		r->broken = true;
	return n > 0;
}

/* From the pipe to the other socket. True: it is empty. */
static bool drain(struct relay *r)
{
	while (r->held > 0) {
		ssize_t n = splice(r->pipe->out, NULL, r->to, NULL, r->held,
		                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			r->broken = true;
		if (n <= 0)
			return false;
		r->held -= (size_t)n;
		r->bytes += (uint64_t)n;
	}
	return true;
}

static bool move_once(struct relay *r, struct relay_pool *pool)
{
	if (!r->pipe)
		r->pipe = pool_take(pool);
	if (!r->pipe)
		return copy(r);
	return (r->held > 0 || fill(r)) && drain(r);
}

bool relay_move(struct relay *r, struct relay_pool *pool)
{
	bool more = !r->done && !r->broken;

	for (int i = 0; more && i < ROUNDS_MAX; i++)
		more = !(r->ended && r->held == 0) && move_once(r, pool) && !r->broken;
	if (r->held == 0 || r->broken)
		relay_stop(r, pool);
	if (r->ended && r->held == 0 && !r->done && !r->broken) {
		r->done = true;
		(void)shutdown(r->to, SHUT_WR);
	}
	return more;
}
