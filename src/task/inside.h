#pragma once
/*
 * Inside: how the files of this room make a task.
 */
#include "base/cleanup.h"
#include "task/task.h"

struct buffer;

/* All of a new task but its keeper: TEXT is the order as JSON, *ret_theirs the keeper's end of the
 * control socket. The caller owns both. */
int task_new(struct store *store, struct keeper_order *order, struct buffer *text, int *ret_theirs,
             struct task **ret_task, struct error *err);
void task_free(struct task *t); /* or NULL */
DEFINE_CLEANUP(struct task *, task_free);
