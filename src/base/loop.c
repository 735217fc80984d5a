#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define EVENTS_PER_TURN 64
#define ALWAYS_MAX      8
#define TIMERS_MAX      65536

struct loop {
	int epoll;
	int64_t now;
	bool stopped;
	size_t source_count;
	struct epoll_event *pending; /* of this turn; a removed source is taken out of it */
	int pending_count;
	struct loop_source *always[ALWAYS_MAX];
	size_t always_count;
	struct loop_timer **heap;
	size_t timer_count, timer_capacity;
};

int loop_new(struct loop **ret_loop, struct error *err)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return error_nomem(err);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		free(l);
		return error_sys(err, errno, "epoll");
	}
	l->now = clock_now_ms();
	*ret_loop = l;
	return 0;
}

struct loop *loop_free(struct loop *l)
{
	if (!l)
		return NULL;
	assert(l->source_count == 0 && l->timer_count == 0);
	fd_close(l->epoll);
	free(l->heap);
	free(l);
	return NULL;
}

int loop_add(struct loop *l, struct loop_source *s, int fd, uint32_t events, loop_handler handler,
             struct error *err)
{
	struct epoll_event e = {.events = events, .data.ptr = s};

	*s = (struct loop_source){.fd = -1};
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		if (errno != EPERM || l->always_count == ALWAYS_MAX)
			return error_sys(err, errno, "watching a descriptor");
		l->always[l->always_count++] = s;
		s->always = true;
	}
	s->fd = fd;
	s->handler = handler;
	s->loop = l;
	l->source_count++;
	return 0;
}

void loop_remove(struct loop_source *s)
{
	struct loop *l = s->loop;

	if (!l || s->fd < 0)
		return;
	if (s->always) {
		for (size_t i = 0; i < l->always_count; i++)
			if (l->always[i] == s)
				l->always[i--] = l->always[--l->always_count];
	} else {
		(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	}
	for (int i = 0; i < l->pending_count; i++)
		if (l->pending[i].data.ptr == s)
			l->pending[i].data.ptr = NULL;
	s->fd = -1;
	l->source_count--;
}

static void heap_put(struct loop *l, size_t slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot + 1;
}

/* Moves the timer at SLOT to where its time belongs. */
static void heap_settle(struct loop *l, size_t slot)
{
	struct loop_timer *t = l->heap[slot];
	size_t child;

	while (slot > 0 && l->heap[(slot - 1) / 2]->at > t->at) {
		heap_put(l, slot, l->heap[(slot - 1) / 2]);
		slot = (slot - 1) / 2;
	}
	while ((child = 2 * slot + 1) < l->timer_count) {
		if (child + 1 < l->timer_count && l->heap[child + 1]->at < l->heap[child]->at)
			child++;
		if (l->heap[child]->at >= t->at)
			break;
		heap_put(l, slot, l->heap[child]);
		slot = child;
	}
	heap_put(l, slot, t);
}

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms, loop_timer_handler handler)
{
	struct loop_timer **heap;
	size_t capacity;

	t->at = at_ms;
	t->handler = handler;
	t->loop = l;
	if (t->slot) {
		heap_settle(l, t->slot - 1);
		return 0;
	}
	if (l->timer_count == l->timer_capacity) {
		capacity = l->timer_capacity ? 2 * l->timer_capacity : 16;
		if (capacity > TIMERS_MAX)
			return -E2BIG;
		heap = realloc(l->heap, capacity * sizeof(struct loop_timer *));
		if (!heap)
			return -ENOMEM;
		l->heap = heap;
		l->timer_capacity = capacity;
	}
	heap_put(l, l->timer_count++, t);
	heap_settle(l, t->slot - 1);
	return 0;
}

void loop_timer_clear(struct loop_timer *t)
{
	struct loop *l = t->loop;
	size_t slot = t->slot;

	if (!slot)
		return;
	t->slot = 0;
	if (slot == l->timer_count--)
		return;
	heap_put(l, slot - 1, l->heap[l->timer_count]);
	heap_settle(l, slot - 1);
}

int64_t loop_now(const struct loop *l)
{
	return l->now;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}

int loop_fd(const struct loop *l)
{
	return l->epoll;
}

int loop_wait_ms(const struct loop *l)
{
	int64_t left;

	if (l->always_count > 0)
		return 0;
	if (l->timer_count == 0)
		return -1;
	left = l->heap[0]->at - clock_now_ms();
	return left <= 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static int run_timers(struct loop *l)
{
	struct loop_timer *t;
	int r = 0;

	/* No more than there are now: a handler that arms itself for this instant gets the next
	 * turn. */
	for (size_t budget = l->timer_count; budget > 0 && r >= 0 && !l->stopped; budget--) {
		if (l->timer_count == 0 || l->heap[0]->at > l->now)
			break;
		t = l->heap[0];
		loop_timer_clear(t);
		r = t->handler(t);
	}
	return r;
}

static int run_sources(struct loop *l, struct epoll_event *events, int count)
{
	int r = 0;

	l->pending = events;
	l->pending_count = count;
	for (int i = 0; i < count && r >= 0 && !l->stopped; i++) {
		struct loop_source *s = events[i].data.ptr;

		if (s)
			r = s->handler(s, events[i].events);
	}
	l->pending_count = 0;
	for (size_t i = 0; i < l->always_count && r >= 0 && !l->stopped; i++)
		r = l->always[i]->handler(l->always[i], EPOLLIN);
	return r;
}

static int turn(struct loop *l, int timeout_ms)
{
	struct epoll_event events[EVENTS_PER_TURN];
	int n, r;

	n = epoll_wait(l->epoll, events, EVENTS_PER_TURN, timeout_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	l->now = clock_now_ms();
	r = run_sources(l, events, n > 0 ? n : 0);
	return r < 0 ? r : run_timers(l);
}

int loop_turn(struct loop *l)
{
	int r;

	l->stopped = false;
	r = turn(l, 0);
	return r < 0 ? r : 0;
}

int loop_run(struct loop *l)
{
	int r = 0;

	l->stopped = false;
	while (r >= 0 && !l->stopped)
		r = turn(l, loop_wait_ms(l));
	return r < 0 ? r : 0;
}

int loop_signal_fd(const sigset_t *set)
{
	int fd;

	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
