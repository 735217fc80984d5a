#pragma once
/*
 * Afresh: whether the namespaces of one command in a kept box are as they were before it.
 *
 * A command that has ended without a process of its own still running can leave five things outside
 * of the workspace: temporary files, shared memory, semaphores, message queues, and a changed
 * priority of init. If there is none of these, the next command of the same session may use the
 * same namespaces.
 *
 * Called by the init of such a command. If something cannot be read, the answer is no.
 */
#include <stdbool.h>

struct sandbox_plan;

/* Record the state now, right after sandbox_enter_nested(). */
void sandbox_afresh_begin(struct sandbox_plan *p);

/* Whether the state is the recorded one. */
bool sandbox_is_afresh(const struct sandbox_plan *p);
