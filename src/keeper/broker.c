/*
 * What the command wanted at protected paths and did not get. It is kept in memory until the end,
 * the last content of each path; then a person is asked.
 */
#include "keeper/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "approval/desk.h"
#include "approval/held.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "process/spawn.h"
#include "profile/profile.h"
#include "protect/broker.h"
#include "protect/checkout.h"
#include "protect/protect.h"
#include "protect/refs.h"
#include "sandbox/plan.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define KEPT_MS     ((int64_t)7 * 24 * 3600 * 1000)
#define OPEN_MAX    16 /* files of one principal that wait */
#define DEPTH_MAX   8  /* of a directory that the command has made */
#define ENTRIES_MAX 64

/* The entry of the path, a new one if there is none; NULL: there are too many. */
static struct keeper_held *held_of(struct keeper *k, const char *path)
{
	struct keeper_held *h;

	for (size_t i = 0; i < k->held_count; i++)
		if (strcmp(k->held[i].path, path) == 0)
			return &k->held[i];
	if (k->held_count == KEEPER_HELD_MAX)
		return NULL;
	path = arena_strdup(k->arena, path);
	if (!path)
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
	h->anew = f->made;
	h->runs = f->runs;
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

static void hold_file(struct keeper *k, const char *path, int fd, const struct stat *st)
{
	struct keeper_held *h = strchr(path, '?') ? NULL : held_of(k, path);

	if (!h)
		return;
	h->made = true;
	h->runs = (st->st_mode & 0100) != 0;
	h->now.max = HELD_BYTES_MAX;
	h->wanted = fd_read_all(fd, &h->now) == 0;
}

/* No links, and not many: what is not asked about stays where it is. */
static void hold_in(struct keeper *k, const char *path, int at, const char *name, int depth)
{
	scoped(fd_closep) int fd =
		openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode) && st.st_size <= (off_t)HELD_BYTES_MAX)
		hold_file(k, path, fd, &st);
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
		return;
	dir = fdopendir(fd);
	if (!dir)
		return;
	for (int i = 0; i < ENTRIES_MAX && k->held_count < KEEPER_HELD_MAX && (d = readdir(dir));
	     i++) {
		char below[PATH_MAX];

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, d->d_name) < (int)sizeof(below))
			hold_in(k, below, fd, d->d_name, depth + 1);
	}
	(void)take_fd(&fd); /* the directory's */
	closedir(dir);
}

void keeper_hold_planted(struct keeper *k, const char *path, const char *name)
{
	hold_in(k, path, k->home.fd, name, 0);
}

void keeper_refs_begin(struct keeper *k)
{
	if (!k->refs && k->order.request.state && k->order.request.workspace)
		k->refs = refs_begin(k->order.request.state, k->order.request.workspace);
}

void keeper_refs_end(struct keeper *k)
{
	k->checkout = checkout_free(k->checkout);
	k->refs = refs_end(k->refs);
}

struct history *keeper_history(void *owner)
{
	return refs_history(((struct keeper *)owner)->refs);
}

static struct broker_told told_to(struct keeper *k)
{
	return (struct broker_told){.held = note_held,
	                            .refused = note_refused,
	                            .history = keeper_history,
	                            .checkout = k->checkout,
	                            .owner = k};
}

void keeper_finish_checkout(struct keeper *k, struct protect *protect)
{
	const struct broker_told told = told_to(k);

	checkout_finish(k->checkout, protect, &told);
}

void keeper_broker(struct keeper *k)
{
	struct broker_told told;

	if (!k->checkout && sandbox_plan_protect(k->plan)->served_count > 0)
		k->checkout = checkout_new();
	told = told_to(k);
	if (!broker_answer(sandbox_plan_protect(k->plan), k->process->asks, &told))
		fd_close(take_fd(&k->process->asks));
}

/* A command must not fill the desk, where others wait for answers. */
static bool is_crowded(int desk, const char *principal, struct arena *arena)
{
	struct approval *list;
	size_t count, held = 0;

	if (desk_list(desk, principal, false, arena, &list, &count, NULL) < 0)
		return true;
	for (size_t i = 0; i < count; i++)
		held += list[i].held != NULL;
	return held >= OPEN_MAX;
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
	                            .was = h->made || h->anew ? NULL : &was,
	                            .runs = h->runs};
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
	return is_crowded(desk, a->principal, arena) ? -ENOSPC : desk_put(desk, a, NULL);
}

static void keeper_forget_held(struct keeper *k)
{
	for (size_t i = 0; i < k->held_count; i++) {
		buffer_done(&k->held[i].now);
		buffer_done(&k->held[i].was);
	}
	k->held_count = 0;
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

		if (h->made && !asked) /* where it lies is told elsewhere */
			continue;
		if (lines.len > 0)
			buffer_putc(&line, '\n');
		buffer_puts(&line, h->path);
		buffer_putc(&line, '\t');
		if (asked)
			buffer_puts(&line, a.id);
		else
			buffer_putc(&line, PROTECT_STAYS);
		buffer_append(&lines, line.data, line.len);
	}
	keeper_forget_held(k);
	snprintf(k->report.held, sizeof(k->report.held), "%s", buffer_str(&lines));
}
