#pragma once
/*
 * Afresh: whether the namespaces of one command in a kept box are as they were before it.
 *
 * When a command has ended and left no process behind, all that could be left of it beside its work
 * in the workspace are temporary files, shared memory, semaphores and message queues. Where there
 * are none of these, and init has the rank that it had, the next command of the same session may
 * have the same namespaces: it finds nothing that it would not find in new ones.
 *
 * For the init of such a command, from inside. Where something cannot be looked at, the answer is
 * no.
 */
#include <stdbool.h>

struct sandbox_plan;

/* How it is now: after sandbox_enter_nested(). */
void sandbox_afresh_begin(struct sandbox_plan *p);

/* Whether it is so again. */
bool sandbox_is_afresh(const struct sandbox_plan *p);
