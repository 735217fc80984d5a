#include "mcp/vigil.h"

#include "base/cleanup.h"
#include "task/follow.h"

#define LOOK_ANYWAY_MS 1000

static int on_timer(struct loop_timer *t);

static int arm(struct vigil *w, struct loop *l)
{
	int64_t next = loop_now(l) + (w->source.fd < 0 ? FOLLOW_LOOK_MS : LOOK_ANYWAY_MS);

	return loop_timer_set(l, &w->timer, next < w->deadline ? next : w->deadline, on_timer);
}

static int on_timer(struct loop_timer *t)
{
	struct vigil *w = container_of(t, struct vigil, timer);

	(void)arm(w, t->loop); /* the memory for it is there: it was armed before */
	w->look(w->owner);
	return 0;
}

static int on_ready(struct loop_source *s, uint32_t events)
{
	struct vigil *w = container_of(s, struct vigil, source);

	follow_woken(w->follow);
	w->look(w->owner);
	return 0;
}

int vigil_start(struct vigil *w, struct loop *l, int dir_fd)
{
	int fd, r;

	w->source = (struct loop_source){.fd = -1};
	r = follow_new(dir_fd, FOLLOW_BOTH, 0, &w->follow, NULL);
	if (r < 0)
		return r;
	fd = follow_fd(w->follow);
	if (fd >= 0)
		(void)loop_add(l, &w->source, fd, EPOLLIN, on_ready, NULL);
	r = arm(w, l);
	if (r < 0)
		vigil_stop(w);
	return r;
}

void vigil_stop(struct vigil *w)
{
	loop_remove(&w->source);
	loop_timer_clear(&w->timer);
	w->follow = follow_free(w->follow);
}
