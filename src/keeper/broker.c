/*
 * What the command wanted at protected paths and did not get. It is kept in memory until the end,
 * the last content of each path; then a person is asked.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "approval/desk.h"
#include "approval/held.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "process/spawn.h"
#include "profile/profile.h"
#include "protect/broker.h"
#include "protect/protect.h"
#include "sandbox/plan.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define KEPT_MS     ((int64_t)7 * 24 * 3600 * 1000)

/* The entry of the path, a new one if there is none; NULL: there are too many. */
static struct keeper_held *held_of(struct keeper *k, const char *path)
{
	struct keeper_held *h;

	for (size_t i = 0; i < k->held_count; i++)
		if (strcmp(k->held[i].path, path) == 0)
			return &k->held[i];
	if (k->held_count == KEEPER_HELD_MAX)
		return NULL;
	h = &k->held[k->held_count++];
	*h = (struct keeper_held){.path = path};
	return h;
}

static void note_held(void *owner, const struct broker_file *f)
{
	struct keeper_held *h = held_of(owner, f->path);

	if (!h)
		return;
	buffer_clear(&h->now);
	buffer_clear(&h->was);
	buffer_append(&h->now, f->now, f->now_bytes);
	buffer_append(&h->was, f->was, f->was_bytes);
	h->wanted = true;
}

static void note_refused(void *owner, const char *path)
{
	(void)held_of(owner, path);
}

void keeper_broker(struct keeper *k)
{
	const struct broker_told told = {.held = note_held, .refused = note_refused, .owner = k};

	if (!broker_answer(sandbox_plan_protect(k->plan), k->process->asks, &told))
		fd_close(take_fd(&k->process->asks));
}

/* Asks a person about the file. */
static int ask(struct keeper *k, const struct keeper_held *h, struct arena *arena,
               struct approval *a)
{
	const struct keeper_order *o = &k->order;
	const struct held_text was = {buffer_str(&h->was), h->was.len};
	const struct held_file f = {.workspace = o->request.workspace,
	                            .path = h->path,
	                            .now = {buffer_str(&h->now), h->now.len},
	                            .was = &was};
	scoped(fd_closep) int desk = -1;
	struct approval wanted;
	int r;

	if (!o->request.state || buffer_error(&h->now) < 0 || buffer_error(&h->was) < 0)
		return -ENOENT;
	*a = (struct approval){.principal = o->principal ? o->principal : "",
	                       .door = approval_escaped(arena, o->door, false),
	                       .session = o->request.session,
	                       .profile = approval_escaped(arena, k->profile->name, false),
	                       .description = approval_escaped(arena, o->description, false),
	                       .created_ms = clock_wall_ms(),
	                       .audited = !k->profile->audit.off,
	                       .mask = k->profile->audit.log.mask};
	a->expires_ms = a->created_ms + KEPT_MS;
	r = a->profile ? held_fill(a, &f, arena) : -ENOMEM;
	desk = r < 0 ? r : desk_open(o->request.state, true, NULL);
	if (desk < 0)
		return take_fd(&desk);
	wanted = *a;
	if (desk_find(desk, &wanted, arena, a, NULL) == 0 && a->state == APPROVAL_OPEN)
		return 0;
	*a = wanted;
	return desk_put(desk, a, NULL);
}

void keeper_ask_held(struct keeper *k)
{
	scoped(buffer_donep) struct buffer lines = {.max = REPORT_HELD_MAX - 1};

	for (size_t i = 0; i < k->held_count; i++) {
		scoped(arena_freep) struct arena *arena = arena_new(ARENA_BYTES);
		struct keeper_held *h = &k->held[i];
		scoped(buffer_donep) struct buffer line = {0};
		struct approval a;
		bool asked = h->wanted && arena && ask(k, h, arena, &a) == 0;

		if (i > 0)
			buffer_putc(&line, '\n');
		buffer_puts(&line, h->path);
		buffer_putc(&line, '\t');
		if (asked)
			buffer_puts(&line, a.id);
		else
			buffer_putc(&line, PROTECT_STAYS);
		buffer_append(&lines, line.data, line.len);
		buffer_done(&h->now);
		buffer_done(&h->was);
	}
	k->held_count = 0;
	snprintf(k->report.held, sizeof(k->report.held), "%s", buffer_str(&lines));
}
