#pragma once
/*
 * Inside: how the files of this room make a task.
 */
#include "base/cleanup.h"
#include "launch/task.h"

struct buffer;
struct profile;

/* What a shelf is found by (launch/shelf.h): strings one behind the other. Those of a very long one
 * are empty. */
#define LAUNCHER_KEY_MAX 12288
int launcher_key_write(const struct keeper_order *order, const struct profile *profile,
                       struct buffer *key);

/* How a keeper gets its order: what is different between the ways to start a task. */
struct task_starter {
	int (*start)(void *owner, struct task *t, const struct keeper_order *order,
	             const struct keeper_fds *fds, const struct buffer *text, struct error *err);
	void *owner;
};

/* task_start() by this way. */
int task_begin(struct store *store, struct keeper_order *order, int input_fd,
               const struct task_starter *starter, struct task **ret_task, struct error *err);
void task_free(struct task *t); /* or NULL */
DEFINE_CLEANUP(struct task *, task_free);
