#pragma once
/*
 * Show: the terminal of a task on its way to a page, as rows. First all of them, then those that
 * have changed, at most 30 times a second, and only as fast as the client takes them.
 */
#include <stdbool.h>
#include "base/cleanup.h"

struct buffer;
struct loop;
struct show;
struct watch;

struct show_ops {
	void (*frame)(void *owner, struct buffer *json); /* one object */
	/* No more frames will come; the owner may free it. "ended", "failed", "gone". */
	void (*ended)(void *owner, const char *reason);
	bool (*has_room)(void *owner); /* for a frame; NULL: always */
};

/* DIR_FD, the task's directory, becomes the show's, also on failure. -ENOTTY: the task has no
 * terminal. OPS are never called before this has returned. */
int show_new(struct loop *l, struct watch *watch, int dir_fd, const char *task_id,
             const struct show_ops *ops, void *owner, struct show **ret_show);
struct show *show_free(struct show *s);
DEFINE_CLEANUP(struct show *, show_free);

/* There may be room again. */
void show_wake(struct show *s);
