#include "engine/permits.h"

#include <assert.h>
#include <errno.h>

static bool is_free(const struct permit_share *s)
{
	return s->permits->running < s->permits->running_max &&
	       (s->running_max == 0 || s->running < s->running_max);
}

static void take(struct permit_share *s)
{
	s->permits->running++;
	s->running++;
}

int permit_take(struct permit *p, struct permit_share *share)
{
	struct permits *all = share ? share->permits : NULL;

	p->waits = false;
	p->next = NULL;
	p->share = share;
	if (!share)
		return 0;
	if (is_free(share)) {
		take(share);
		return 0;
	}
	if (all->queued >= all->queued_max) {
		p->share = NULL;
		return -EBUSY;
	}
	if (all->last)
		all->last->next = p;
	else
		all->first = p;
	all->last = p;
	all->queued++;
	p->waits = true;
	return 0;
}

static void unqueue(struct permit *p)
{
	struct permits *all = p->share->permits;
	struct permit **at = &all->first, *previous = NULL;

	while (*at != p) {
		previous = *at;
		at = &previous->next;
	}
	*at = p->next;
	if (all->last == p)
		all->last = previous;
	all->queued--;
	p->waits = false;
}

/* What is granted may drop permits and take others, so the queue is looked at from its start again.
 * A drop in there leaves that to the one that grants. */
static void grant(struct permits *all)
{
	struct permit *p = all->first;

	if (all->granting)
		return;
	all->granting = true;
	while (p) {
		if (!is_free(p->share)) {
			p = p->next;
			continue;
		}
		unqueue(p);
		take(p->share);
		p->granted(p);
		p = all->first;
	}
	all->granting = false;
}

void permit_drop(struct permit *p)
{
	struct permit_share *share = p->share;

	if (!share)
		return;
	if (p->waits) {
		unqueue(p);
	} else {
		assert(share->running > 0 && share->permits->running > 0);
		share->permits->running--;
		share->running--;
	}
	p->share = NULL;
	grant(share->permits);
}

void permits_close(struct permits *p)
{
	p->running_max = 0;
}
