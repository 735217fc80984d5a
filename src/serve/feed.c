/*
 * What happens to tasks, approvals and records happens in files, by many processes: the keepers,
 * the command line, other servers. So the kernel is asked to tell of changes in their directories,
 * once for all streams, and nothing is looked at before it does. While nobody listens there is no
 * watch; while nothing happens there is no work.
 *
 * Of a running task every write of its output is a change. It is looked at once a second at most,
 * and at once when it ends. A change that comes while the loop is busy is one look.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "approval/desk.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/events.h"
#include "serve/history.h"
#include "serve/inside.h"
#include "task/find.h"

#define TASKS_SHOWN      200
#define APPROVALS_SHOWN  200
#define APPROVALS_AGE_MS 86400000
#define TRACKED_MAX      4096
#define DIRTY_MAX        64
#define SOON_MS          40 /* several changes are one look */
#define TASK_MS          1000
#define METRICS_MS       2000
#define KEEP_MS          30000
#define ARENA_MAX        ((size_t)64 << 20)
#define AUDIT_BYTES      ((uint64_t)4 << 20)
#define BEHIND_BYTES     ((size_t)1 << 20) /* of a client: it gets records later */

struct tracked {
	struct tracked *next;
	struct feed *feed;
	char id[STORE_ID_MAX];
	struct watcher watcher;
	bool dirty;
	int64_t sent_at;
};

struct feed {
	struct serve *serve;
	struct stream *streams;
	size_t count;
	struct loop_source source;
	int fd; /* inotify; -1: nobody listens */
	int state_wd, tasks_wd, desk_wd, audit_wd;
	struct tracked *tracked;
	size_t tracked_count;
	char asked[DIRTY_MAX][APPROVAL_ID_MAX]; /* approvals that have changed */
	size_t asked_count;
	bool asked_all, audit_dirty, access_dirty;
	struct {
		char id[APPROVAL_ID_MAX];
		int64_t expires_ms;
	} open[DESK_APPROVALS_MAX];
	size_t open_count;
	struct loop_timer soon, expiry, metrics, keep;
	bool soon_set;
};

static int on_soon(struct loop_timer *t);

static void look_in(struct feed *f, int64_t ms)
{
	int64_t at = loop_now(f->serve->loop) + ms;

	if (f->soon_set && f->soon.at <= at)
		return;
	f->soon_set = true;
	(void)loop_timer_set(f->serve->loop, &f->soon, at, on_soon);
}

static bool wants(const struct feed *f, enum stream_topic topic)
{
	for (const struct stream *s = f->streams; s; s = s->next)
		if (s->topics[topic])
			return true;
	return false;
}

/* Tasks */

static void on_task(struct watcher *w)
{
	struct tracked *t = container_of(w, struct tracked, watcher);

	t->dirty = true;
	look_in(t->feed, SOON_MS);
}

static struct tracked **find_tracked(struct feed *f, const char *id)
{
	struct tracked **at = &f->tracked;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

static void untrack(struct feed *f, struct tracked **at)
{
	struct tracked *t = *at;

	*at = t->next;
	watch_remove(&t->watcher);
	free(t);
	f->tracked_count--;
}

static void track(struct feed *f, int dir_fd, const char *id, bool dirty)
{
	struct tracked *t = *find_tracked(f, id);

	if (!t && f->tracked_count < TRACKED_MAX) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return;
		t->feed = f;
		snprintf(t->id, sizeof(t->id), "%s", id);
		if (watch_add(f->serve->watch, dir_fd, &t->watcher, on_task) < 0) {
			free(t);
			return;
		}
		t->next = f->tracked;
		f->tracked = t;
		f->tracked_count++;
	}
	if (t && dirty) {
		t->dirty = true;
		look_in(f, SOON_MS);
	}
}

static void send_task(struct feed *f, int dir_fd, const struct find_entry *e)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	tasks_put_member(&w, dir_fd, e);
	json_object_end(&w);
	for (struct stream *s = f->streams; s; s = s->next)
		if (s->topics[TOPIC_TASKS] && stream_who(s) && tasks_may_see(s->call, &e->origin))
			(void)stream_send(s, NULL, "task", &json);
}

/* Whose it was is not known any more: only who sees all hears of it. */
static void send_gone(struct feed *f, const char *id)
{
	scoped(buffer_donep) struct buffer json = {0};

	buffer_printf(&json, "{\"task_id\":\"%s\"}", id);
	for (struct stream *s = f->streams; s; s = s->next)
		if (s->topics[TOPIC_TASKS] && !s->call->client->name[0])
			(void)stream_send(s, NULL, "task-gone", &json);
}

static bool has_ended(const struct store *store, const char *id)
{
	char path[STORE_ID_MAX + sizeof("/state.json")];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state.json", id);
	return fstatat(store->tasks_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* False: it is to be forgotten. */
static bool look_at_task(struct feed *f, struct store *store, struct tracked *t)
{
	int64_t now = loop_now(f->serve->loop), due = t->sent_at + TASK_MS;
	scoped(fd_closep) int dir_fd = -1;
	struct find_entry e;
	struct stat st;

	if (t->sent_at && now < due && !has_ended(store, t->id)) {
		look_in(f, due - now);
		return true;
	}
	dir_fd = find_open(store, t->id, NULL);
	if (dir_fd < 0)
		return false;
	t->dirty = false;
	if (fstatat(dir_fd, "spec.json", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == 0)
		return true; /* it is being made */
	find_look(dir_fd, t->id, &e);
	send_task(f, dir_fd, &e);
	t->sent_at = now;
	return e.state == FIND_RUNNING;
}

static void look_at_tasks(struct feed *f)
{
	struct tracked **at = &f->tracked;
	struct store *store;

	if (bench_store(f->serve, &store, NULL) < 0)
		return;
	while (*at) {
		struct tracked *t = *at;

		if (t->dirty && !look_at_task(f, store, t))
			untrack(f, at);
		else
			at = &t->next;
	}
}

static void note_task(struct feed *f, const char *id, bool gone)
{
	struct store *store;
	struct tracked **at = find_tracked(f, id);

	if (gone) {
		if (*at)
			untrack(f, at);
		if (wants(f, TOPIC_TASKS))
			send_gone(f, id);
		return;
	}
	if (bench_store(f->serve, &store, NULL) == 0) {
		scoped(fd_closep) int dir_fd = find_open(store, id, NULL);

		if (dir_fd >= 0)
			track(f, dir_fd, id, true);
	}
}

/* Approvals */

static void note_asked(struct feed *f, const char *id)
{
	look_in(f, SOON_MS);
	for (size_t i = 0; i < f->asked_count; i++)
		if (strcmp(f->asked[i], id) == 0)
			return;
	if (f->asked_count == DIRTY_MAX)
		f->asked_all = true;
	else
		snprintf(f->asked[f->asked_count++], APPROVAL_ID_MAX, "%s", id);
}

static bool may_see_approval(const struct stream *s, const struct approval *a)
{
	return s->call->who.approve || strcmp(s->call->client->name, a->principal) == 0;
}

static void forget_open(struct feed *f, const char *id)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (strcmp(f->open[i].id, id) == 0) {
			f->open[i] = f->open[--f->open_count];
			return;
		}
}

static int on_expiry(struct loop_timer *t)
{
	struct feed *f = container_of(t, struct feed, expiry);
	int64_t now = clock_wall_ms();

	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].expires_ms <= now)
			note_asked(f, f->open[i].id);
	return 0;
}

static void arm_expiry(struct feed *f)
{
	int64_t first = INT64_MAX, now = clock_wall_ms();

	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].expires_ms < first)
			first = f->open[i].expires_ms;
	loop_timer_clear(&f->expiry);
	if (first < INT64_MAX)
		(void)loop_timer_set(f->serve->loop, &f->expiry,
		                     loop_now(f->serve->loop) + (first > now ? first - now : 0) + 5,
		                     on_expiry);
}

static void note_open(struct feed *f, const struct approval *a)
{
	forget_open(f, a->id);
	if (a->state != APPROVAL_OPEN || f->open_count == array_size(f->open))
		return;
	memcpy(f->open[f->open_count].id, a->id, APPROVAL_ID_MAX);
	f->open[f->open_count++].expires_ms = a->expires_ms;
}

static void send_approval(struct feed *f, const struct approval *a)
{
	for (struct stream *s = f->streams; s; s = s->next) {
		scoped(buffer_donep) struct buffer json = {0};
		struct json_writer w = {.out = &json};

		if (!s->topics[TOPIC_APPROVALS] || !stream_who(s) || !may_see_approval(s, a))
			continue;
		json_object_begin(&w);
		approvals_put(s->call, &w, a);
		json_object_end(&w);
		(void)stream_send(s, NULL, "approval", &json);
	}
}

static void look_at_approvals(struct feed *f)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(fd_closep) int desk = desk_open(f->serve->options.state, false, NULL);
	struct approval a, *list;
	size_t count;

	if (f->asked_all && arena && desk >= 0 &&
	    desk_list(desk, NULL, true, arena, &list, &count, NULL) == 0)
		for (size_t i = 0; i < count; i++) {
			note_open(f, &list[i]);
			send_approval(f, &list[i]);
		}
	for (size_t i = 0; !f->asked_all && arena && i < f->asked_count; i++) {
		arena_reset(arena);
		if (desk < 0 || desk_read(desk, f->asked[i], arena, &a, NULL) < 0) {
			forget_open(f, f->asked[i]);
			continue;
		}
		note_open(f, &a);
		send_approval(f, &a);
	}
	f->asked_all = false;
	f->asked_count = 0;
	arm_expiry(f);
}

/* Records */

struct records {
	struct stream *stream;
	char *last; /* one is kept back: the last has the place to go on from */
};

static int put_record(void *context, const char *line, size_t n, json_t *record)
{
	struct records *r = context;
	char *text = audit_record_text(r->stream->call, record);

	if (!text)
		return -ENOMEM;
	if (r->last) {
		scoped(buffer_donep) struct buffer json = {0};

		buffer_puts(&json, r->last);
		free(r->last);
		(void)stream_send(r->stream, NULL, "audit", &json);
	}
	r->last = text;
	return 0;
}

static int pass_over(void *context, const char *line, size_t n, json_t *record)
{
	return 0;
}

void feed_audit(struct feed *f, struct stream *s, bool send)
{
	struct audit_query q = {.principal = s->call->who.audit ? NULL : s->call->client->name};
	struct records r = {.stream = s};
	struct error err = {0};
	char directory[PATH_MAX + 8], id[48];

	snprintf(directory, sizeof(directory), "%s/audit", f->serve->options.state);
	if (!send)
		q.until_ms = 1;
	if (audit_follow(directory, &q, &s->audit, send ? put_record : pass_over, &r, &err) < 0 &&
	    err.sys != ENOENT)
		serve_log(f->serve, "events of the audit log: %s", err.text);
	if (r.last) {
		scoped(buffer_donep) struct buffer json = {0};

		snprintf(id, sizeof(id), "%llu.%llu", (unsigned long long)s->audit.file,
		         (unsigned long long)s->audit.offset);
		buffer_puts(&json, r.last);
		(void)stream_send(s, id, "audit", &json);
	}
	free(r.last);
}

static void look_at_audit(struct feed *f)
{
	f->audit_dirty = false;
	for (struct stream *s = f->streams; s; s = s->next) {
		if (!s->topics[TOPIC_AUDIT] || !stream_who(s))
			continue;
		if (http_stream_waiting(s->call->x) > BEHIND_BYTES) {
			f->audit_dirty = true;
			look_in(f, TASK_MS);
			continue;
		}
		feed_audit(f, s, true);
	}
}

/* Numbers */

static int on_metrics(struct loop_timer *t)
{
	struct feed *f = container_of(t, struct feed, metrics);
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct history_point p;

	if (!wants(f, TOPIC_METRICS))
		return 0;
	about_point(f->serve, &p);
	history_put_point(&w, &p);
	for (struct stream *s = f->streams; s; s = s->next)
		if (s->topics[TOPIC_METRICS] && http_stream_waiting(s->call->x) < BEHIND_BYTES)
			(void)stream_send(s, NULL, "metrics", &json);
	(void)loop_timer_set(f->serve->loop, t, loop_now(f->serve->loop) + METRICS_MS, on_metrics);
	return 0;
}

/* Watching */

static int on_soon(struct loop_timer *t)
{
	struct feed *f = container_of(t, struct feed, soon);

	f->soon_set = false;
	if (f->access_dirty) {
		f->access_dirty = false;
		route_refresh(f->serve);
	}
	look_at_tasks(f);
	if (f->asked_all || f->asked_count)
		look_at_approvals(f);
	if (f->audit_dirty)
		look_at_audit(f);
	return 0;
}

static void watch_audit(struct feed *f)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/audit", f->serve->options.state);
	if (f->audit_wd < 0)
		f->audit_wd = inotify_add_watch(f->fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
}

/* "ap-0123456789.answer": the id. */
static void note_desk_file(struct feed *f, const char *name)
{
	char part[APPROVAL_ID_MAX], id[APPROVAL_ID_MAX];

	if (strlen(name) <= APPROVAL_ID_MAX - 1 || name[APPROVAL_ID_MAX - 1] != '.')
		return;
	memcpy(part, name, sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	if (approval_id_read(part, id) == 0)
		note_asked(f, id);
}

static void on_event(struct feed *f, const struct inotify_event *e)
{
	const char *name = e->len ? e->name : "";

	if (e->mask & IN_Q_OVERFLOW) {
		for (struct tracked *t = f->tracked; t; t = t->next)
			t->dirty = true;
		f->asked_all = f->audit_dirty = f->access_dirty = true;
		look_in(f, SOON_MS);
	} else if (e->wd == f->tasks_wd && find_is_task(name)) {
		note_task(f, name, e->mask & (IN_DELETE | IN_MOVED_FROM));
	} else if (e->wd == f->desk_wd) {
		note_desk_file(f, name);
	} else if (e->wd == f->audit_wd) {
		f->audit_dirty = wants(f, TOPIC_AUDIT);
		if (f->audit_dirty)
			look_in(f, SOON_MS);
	} else if (e->wd == f->state_wd) {
		if (strcmp(name, "audit") == 0)
			watch_audit(f);
		if (strcmp(name, "tokens.json") == 0 || strcmp(name, "logins.json") == 0) {
			f->access_dirty = true;
			look_in(f, 0);
		}
	}
}

static int on_events(struct loop_source *source, uint32_t events)
{
	struct feed *f = container_of(source, struct feed, source);
	_Alignas(struct inotify_event) char bytes[8192];
	const struct inotify_event *e;
	ssize_t n = read(f->fd, bytes, sizeof(bytes));

	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
		e = (const struct inotify_event *)(bytes + at);
		on_event(f, e);
	}
	return 0;
}

/* Who has a login that has ended meanwhile hears of it. */
static int on_keep(struct loop_timer *t)
{
	struct feed *f = container_of(t, struct feed, keep);

	route_refresh(f->serve);
	route_end_revoked(f->serve);
	(void)loop_timer_set(f->serve->loop, t, loop_now(f->serve->loop) + KEEP_MS, on_keep);
	return 0;
}

static int begin(struct feed *f)
{
	const uint32_t names = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM;
	const char *state = f->serve->options.state;
	char path[PATH_MAX + 16];
	int desk;

	f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	desk = desk_open(state, true, NULL);
	fd_close(desk < 0 ? -1 : desk);
	f->state_wd = inotify_add_watch(f->fd, state, IN_CREATE | IN_MOVED_TO);
	snprintf(path, sizeof(path), "%s/tasks", state);
	f->tasks_wd = inotify_add_watch(f->fd, path, names);
	snprintf(path, sizeof(path), "%s/approvals", state);
	f->desk_wd = inotify_add_watch(f->fd, path, IN_CREATE | IN_MOVED_TO);
	f->audit_wd = -1;
	watch_audit(f);
	(void)loop_timer_set(f->serve->loop, &f->keep, loop_now(f->serve->loop) + KEEP_MS, on_keep);
	return loop_add(f->serve->loop, &f->source, f->fd, EPOLLIN, on_events, NULL);
}

static void end(struct feed *f)
{
	loop_timer_clear(&f->soon);
	loop_timer_clear(&f->expiry);
	loop_timer_clear(&f->metrics);
	loop_timer_clear(&f->keep);
	f->soon_set = false;
	while (f->tracked)
		untrack(f, &f->tracked);
	loop_remove(&f->source);
	fd_close(f->fd);
	f->fd = -1;
	f->asked_count = f->open_count = 0;
	f->asked_all = f->audit_dirty = f->access_dirty = false;
}

int feed_new(struct serve *s, struct feed **ret_feed, struct error *err)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return error_nomem(err);
	f->serve = s;
	f->fd = f->source.fd = -1;
	*ret_feed = f;
	return 0;
}

struct feed *feed_free(struct feed *f)
{
	if (f && f->fd >= 0)
		end(f);
	free(f);
	return NULL;
}

struct stream *feed_streams(struct feed *f)
{
	return f->streams;
}

size_t feed_count(const struct feed *f)
{
	return f->count;
}

void feed_add(struct feed *f, struct stream *s)
{
	if (f->fd < 0 && begin(f) < 0)
		serve_log(f->serve, "events: changes of files are not heard of");
	s->next = f->streams;
	s->back = &f->streams;
	if (s->next)
		s->next->back = &s->next;
	f->streams = s;
	f->count++;
}

void feed_remove(struct feed *f, struct stream *s)
{
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	f->count--;
	if (f->count == 0 && f->fd >= 0)
		end(f);
}

void feed_look(struct feed *f)
{
	if (wants(f, TOPIC_METRICS) && !f->metrics.slot)
		(void)on_metrics(&f->metrics);
}

/* Snapshots */

static bool wants_task(const void *owner, const struct find_origin *origin)
{
	return tasks_may_see(owner, origin);
}

static void put_tasks(struct feed *f, struct stream *s, struct json_writer *w)
{
	scoped(find_list_donep) struct find_list list = {0};
	struct find_query q = {.wants = s->call->client->name[0] ? wants_task : NULL,
	                       .owner = s->call,
	                       .limit = TASKS_SHOWN};
	struct store *store;

	json_member_array(w, "tasks");
	if (bench_store(f->serve, &store, NULL) == 0 && find_tasks(store, &q, &list, NULL) == 0) {
		for (size_t i = 0; i < list.count; i++) {
			const struct find_entry *e = &list.entries[i];
			scoped(fd_closep) int dir_fd = find_open(store, e->id, NULL);

			if (dir_fd >= 0 && e->state == FIND_RUNNING)
				track(f, dir_fd, e->id, false);
			json_object_begin(w);
			tasks_put_member(w, dir_fd, e);
			json_object_end(w);
		}
	}
	json_array_end(w);
	json_member_bool(w, "more_tasks", list.more);
}

static void put_approvals(struct feed *f, struct stream *s, struct json_writer *w)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(fd_closep) int desk = desk_open(f->serve->options.state, false, NULL);
	int64_t since = clock_wall_ms() - APPROVALS_AGE_MS;
	size_t count = 0, shown = 0;
	struct approval *list;

	json_member_array(w, "approvals");
	if (desk >= 0 && arena && desk_list(desk, NULL, true, arena, &list, &count, NULL) == 0)
		for (size_t i = 0; i < count; i++) {
			note_open(f, &list[i]);
			if (!may_see_approval(s, &list[i]) ||
			    (list[i].state != APPROVAL_OPEN &&
			     (list[i].created_ms < since || shown >= APPROVALS_SHOWN)))
				continue;
			shown++;
			json_object_begin(w);
			approvals_put(s->call, w, &list[i]);
			json_object_end(w);
		}
	json_array_end(w);
	arm_expiry(f);
}

void feed_snapshot(struct feed *f, struct stream *s, const bool topics[TOPIC_MAX])
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	char id[48];

	if (topics[TOPIC_AUDIT] && s->audit.file == 0)
		feed_audit(f, s, false);
	snprintf(id, sizeof(id), "%llu.%llu", (unsigned long long)s->audit.file,
	         (unsigned long long)s->audit.offset);
	json_object_begin(&w);
	json_member_string(&w, "stream", s->id);
	json_member_int(&w, "now_ms", clock_wall_ms());
	if (topics[TOPIC_TASKS])
		put_tasks(f, s, &w);
	if (topics[TOPIC_APPROVALS])
		put_approvals(f, s, &w);
	json_object_end(&w);
	(void)stream_send(s, id, "snapshot", &json);
}
