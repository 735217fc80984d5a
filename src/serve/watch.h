#pragma once
/*
 * Watch: tells many followers when the directory of their task has changed, by one inotify
 * descriptor for all of them. A process has few of those, and a server has many followers.
 */
#include "base/cleanup.h"

struct error;
struct loop;
struct watch;

struct watcher {
	struct watcher *next, **back;
	struct watch_place *place; /* NULL: not watching */
	void (*wake)(struct watcher *w);
};

int watch_new(struct loop *l, struct watch **ret_watch, struct error *err);
struct watch *watch_free(struct watch *w); /* nobody watches any more */
DEFINE_CLEANUP(struct watch *, watch_free);

/* DIR_FD stays the caller's. A watcher may be removed while any is woken. */
int watch_add(struct watch *w, int dir_fd, struct watcher *who, void (*wake)(struct watcher *w));
void watch_remove(struct watcher *who);
