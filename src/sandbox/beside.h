#pragma once
/*
 * Beside: how a process of nacre gets into the pid namespace of a box that is there already,
 * without anything that a command could use (process/standin.h).
 */
struct sandbox_plan;

/* Joins the user namespace of SPACE, which is the box's pid namespace, becomes the box's user, has
 * an empty root, and makes its next children in SPACE. For a process that does nothing else. */
int sandbox_beside_enter(const struct sandbox_plan *p, int space);

/* Of such a child: nothing is left to it, and nobody may look into it. */
int sandbox_beside_seal(void);
