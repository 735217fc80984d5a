#pragma once
/*
 * Ahead: the keeper of one command that is still being decided about. It makes the box meanwhile,
 * on another processor; nothing of the command is in it before it has the order, and has decided
 * once more. A command that may not run costs an unused box.
 */
#include "base/cleanup.h"
#include "launch/task.h"

struct ahead;

/* NULL: there is none, and task_start() is the way. */
struct ahead *ahead_new(const struct keeper_ahead *wanted);

/* A call of this session has begun: the launcher that stays for it gets ready. NULL: there is none.
 * *RET_MISSING: it could be left behind. */
struct ahead *ahead_come(const char *state, const char *session, bool *ret_missing);
/* Asks it for a keeper with a box that is there already. Does not wait: whether there is one is
 * known when the order is sent. */
struct profile;
int ahead_ask(struct ahead *a, const struct keeper_order *order, const struct profile *profile);
void ahead_drop(struct ahead *a); /* no order will come; does not wait for anything; or NULL */
struct ahead *ahead_free(struct ahead *a); /* waits a while for a keeper without a task; or NULL */
DEFINE_CLEANUP(struct ahead *, ahead_free);

/* As task_start(): the keeper is the task's then. */
int ahead_start(struct ahead *a, struct store *store, struct keeper_order *order, int input_fd,
                struct task **ret_task, struct error *err);
