/*
 * One timer drives all of it: it tries to connect until the keeper has its socket, then bounds the
 * greeting, the sending, and for a stop the end of the keeper, which is killed when that does not
 * come; its init then ends the command.
 */
#include "task/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "task/reach.h"

#define RETRY_MS         10
#define ANSWER_MS        5000  /* to connect, to greet, to take what is typed */
#define STOP_PATIENCE_MS 75000 /* the longest grace, and all that follows it */
#define KILL_PATIENCE_MS 15000

enum errand_state { ERRAND_CONNECTING, ERRAND_GREETING, ERRAND_SENDING, ERRAND_ENDING };

struct errand {
	struct loop *loop;
	enum errand_state state;
	int dir_fd;
	struct reach reach;
	bool stop, now, killed;
	uint16_t rows, cols;
	struct buffer typed;
	size_t sent;
	int64_t until; /* of this state */
	struct loop_source source;
	struct loop_timer timer;
	errand_done done;
	void *owner;
};

static void errand_free(struct errand *e)
{
	loop_remove(&e->source);
	loop_timer_clear(&e->timer);
	reach_done(&e->reach);
	fd_close(e->dir_fd);
	buffer_done(&e->typed);
	free(e);
}

static int end(struct errand *e, int code)
{
	errand_done done = e->done;
	void *owner = e->owner;

	errand_free(e);
	done(owner, code);
	return 0;
}

static int step(struct errand *e);

static int on_timer(struct loop_timer *t)
{
	return step(container_of(t, struct errand, timer));
}

static int on_ready(struct loop_source *s, uint32_t events)
{
	return step(container_of(s, struct errand, source));
}

/* Goes on soon, or is too late. */
static int again(struct errand *e, int late)
{
	if (loop_now(e->loop) >= e->until)
		return end(e, late);
	if (loop_timer_set(e->loop, &e->timer, loop_now(e->loop) + RETRY_MS, on_timer) < 0)
		return end(e, -ENOMEM);
	return 0;
}

/* 1: there was no memory, and the errand is gone. */
static int enter(struct errand *e, enum errand_state state, int64_t patience_ms, int fd)
{
	loop_remove(&e->source);
	e->state = state;
	e->until = loop_now(e->loop) + patience_ms;
	if ((fd < 0 || loop_add(e->loop, &e->source, fd, EPOLLIN, on_ready, NULL) == 0) &&
	    loop_timer_set(e->loop, &e->timer, e->until, on_timer) == 0)
		return 0;
	(void)end(e, -ENOMEM);
	return 1;
}

static int connect_once(struct errand *e)
{
	int r = reach_try(e->dir_fd, &e->reach);

	if (r == -EAGAIN)
		return again(e, -ETIMEDOUT);
	if (r < 0)
		return end(e, r);
	return enter(e, ERRAND_GREETING, ANSWER_MS, e->reach.socket);
}

/* Everything that fits; the rest when the keeper has read some. */
static int send_all(struct errand *e)
{
	struct control_size size = {e->rows, e->cols};
	int r = 0;

	if (e->stop)
		r = reach_order_now(&e->reach, e->now ? CONTROL_STOP_NOW : CONTROL_STOP, NULL, 0);
	else if (e->rows)
		r = reach_order_now(&e->reach, CONTROL_RESIZE, &size, sizeof(size));
	if (r == 0)
		e->rows = 0;
	while (r == 0 && e->sent < e->typed.len) {
		size_t n = e->typed.len - e->sent;

		n = n < CONTROL_INPUT_MAX ? n : CONTROL_INPUT_MAX;
		r = reach_order_now(&e->reach, CONTROL_INPUT, e->typed.data + e->sent, n);
		e->sent += r == 0 ? n : 0;
	}
	return r;
}

static int deliver(struct errand *e)
{
	int r = send_all(e);

	if (r == -EAGAIN)
		return again(e, -ETIMEDOUT);
	/* A keeper that is just leaving has ended its command. */
	if (e->stop && (r == 0 || r == -EPIPE || r == -ECONNRESET))
		return enter(e, ERRAND_ENDING, e->now ? KILL_PATIENCE_MS : STOP_PATIENCE_MS,
		             e->reach.keeper);
	return end(e, r);
}

static int wait_for_end(struct errand *e)
{
	if (reach_wait(&e->reach, 0))
		return end(e, 0);
	if (loop_now(e->loop) < e->until)
		return 0;
	if (e->killed)
		return end(e, -ETIMEDOUT);
	e->killed = true;
	reach_kill(&e->reach);
	return enter(e, ERRAND_ENDING, KILL_PATIENCE_MS, e->reach.keeper);
}

static int step(struct errand *e)
{
	int r;

	switch (e->state) {
	case ERRAND_CONNECTING:
		return connect_once(e);
	case ERRAND_GREETING:
		r = reach_greeted(&e->reach);
		if (r == -EAGAIN)
			return loop_now(e->loop) >= e->until ? end(e, -ETIMEDOUT) : 0;
		if (r < 0) { /* no room at its socket, or it is leaving: the state tells */
			loop_remove(&e->source);
			reach_done(&e->reach);
			e->state = ERRAND_CONNECTING;
			return again(e, r);
		}
		r = enter(e, ERRAND_SENDING, ANSWER_MS, -1);
		return r ? r : deliver(e);
	case ERRAND_SENDING:
		return deliver(e);
	case ERRAND_ENDING:
		return wait_for_end(e);
	}
	return 0;
}

int errand_start(struct loop *l, int dir_fd, const struct errand_order *order, errand_done done,
                 void *owner, struct errand **ret_errand, struct error *err)
{
	struct errand *e = calloc(1, sizeof(*e));

	if (!e)
		return error_nomem(err);
	*e = (struct errand){
		.loop = l,
		.dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3),
		.reach = {-1, -1},
		.stop = order->stop,
		.now = order->now,
		.rows = order->rows,
		.cols = order->cols,
		.until = loop_now(l) + ANSWER_MS,
		.source = {.fd = -1},
		.done = done,
		.owner = owner,
	};
	if (order->typed)
		buffer_append(&e->typed, order->typed, order->typed_len);
	if (e->dir_fd < 0 || buffer_error(&e->typed) < 0 ||
	    loop_timer_set(l, &e->timer, loop_now(l), on_timer) < 0) {
		errand_free(e);
		return error_nomem(err);
	}
	*ret_errand = e;
	return 0;
}

void errand_leave(struct errand *e)
{
	errand_free(e);
}
