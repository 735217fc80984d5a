#include "serve/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"

#define BUCKETS 256

struct watch_place {
	struct watch *watch;
	struct watch_place *next, **back;
	struct watcher *watchers;
	int descriptor; /* the kernel's name of it: one for each directory */
};

struct watch {
	int fd;
	struct loop_source source;
	struct watch_place *places[BUCKETS];
	struct watcher *next; /* to be woken after this one: whoever leaves is passed over */
};

static struct watch_place *find(struct watch *w, int descriptor)
{
	struct watch_place *p = w->places[(unsigned)descriptor % BUCKETS];

	while (p && p->descriptor != descriptor)
		p = p->next;
	return p;
}

/* The place may go with its last watcher. */
static void wake_all(struct watch *w, int descriptor)
{
	struct watch_place *p = find(w, descriptor);

	w->next = p ? p->watchers : NULL;
	while (w->next) {
		struct watcher *who = w->next;

		w->next = who->next;
		who->wake(who);
	}
}

static int on_events(struct loop_source *s, uint32_t events)
{
	struct watch *w = container_of(s, struct watch, source);
	_Alignas(struct inotify_event) char bytes[4096];
	const struct inotify_event *e;
	int last = -1;
	ssize_t n;

	n = read(w->fd, bytes, sizeof(bytes));
	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
		e = (const struct inotify_event *)(bytes + at);
		if (e->mask & IN_Q_OVERFLOW) {
			for (size_t i = 0; i < BUCKETS; i++)
				for (struct watch_place *p = w->places[i]; p;
				     p = p ? p->next : NULL) {
					int descriptor = p->descriptor;

					wake_all(w, descriptor);
					p = find(w, descriptor);
					if (!p)
						break; /* the rest is looked at by and by */
				}
			continue;
		}
		/* Of a flood of writes to one place one is enough. */
		if (e->wd != last)
			wake_all(w, e->wd);
		last = e->wd;
	}
	return 0;
}

int watch_new(struct loop *l, struct watch **ret_watch, struct error *err)
{
	struct watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_nomem(err);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		free(w);
		return error_sys(err, errno, "inotify");
	}
	r = loop_add(l, &w->source, w->fd, EPOLLIN, on_events, err);
	if (r < 0) {
		fd_close(w->fd);
		free(w);
		return r;
	}
	*ret_watch = w;
	return 0;
}

struct watch *watch_free(struct watch *w)
{
	if (!w)
		return NULL;
	loop_remove(&w->source);
	fd_close(w->fd);
	free(w);
	return NULL;
}

int watch_add(struct watch *w, int dir_fd, struct watcher *who, void (*wake)(struct watcher *w))
{
	struct watch_place *p;
	int descriptor;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	descriptor = inotify_add_watch(
		w->fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF);
	if (descriptor < 0)
		return -errno;
	p = find(w, descriptor);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p) {
			(void)inotify_rm_watch(w->fd, descriptor);
			return -ENOMEM;
		}
		p->watch = w;
		p->descriptor = descriptor;
		p->back = &w->places[(unsigned)descriptor % BUCKETS];
		p->next = *p->back;
		if (p->next)
			p->next->back = &p->next;
		*p->back = p;
	}
	*who = (struct watcher){
		.next = p->watchers, .back = &p->watchers, .place = p, .wake = wake};
	if (who->next)
		who->next->back = &who->next;
	p->watchers = who;
	return 0;
}

void watch_remove(struct watcher *who)
{
	struct watch_place *p = who->place;

	if (!p)
		return;
	if (p->watch->next == who)
		p->watch->next = who->next;
	*who->back = who->next;
	if (who->next)
		who->next->back = who->back;
	who->place = NULL;
	if (p->watchers)
		return;
	(void)inotify_rm_watch(p->watch->fd, p->descriptor); /* fails if the directory is gone */
	*p->back = p->next;
	if (p->next)
		p->next->back = p->back;
	free(p);
}
