#pragma once
/*
 * Enter: a freshly cloned process enters its box. Only system calls on a prepared plan are made: no
 * memory is allocated, nothing is looked up.
 *
 * A box for one command: its init calls sandbox_enter(). A box that is kept: its first process
 * calls sandbox_enter_session() and keeps the capabilities of its namespace; each command's init,
 * cloned from it with sandbox_nested_flags(), calls sandbox_enter_nested(). sandbox_seal() is for
 * each command, last before execve.
 *
 * All return 0, or a negative errno with *ret_step set for sandbox_plan_explain(). The arguments
 * and the environment that the program was started with are wiped, so the command's own must lie in
 * other memory.
 */
#include <stdbool.h>

struct sandbox_plan;

/* For the process that clones the box's first one, and nothing else: it becomes the box's user in
 * the namespaces of the room, and enters the control group. 0, or a negative errno. */
int sandbox_join(struct sandbox_plan *p);

/* Builds the tree and makes it the root, becomes the box's user, gives up all capabilities. */
int sandbox_enter(struct sandbox_plan *p, int *ret_step);
/* The same, and sandbox_seal() for all that is forked from here on. Only for a box with namespaces,
 * whose init needs nothing that the seal forbids. */
int sandbox_enter_sealed(struct sandbox_plan *p, int *ret_step);

/* As sandbox_enter(), but keeps the capabilities. */
int sandbox_enter_session(struct sandbox_plan *p, int *ret_step);

/* For the survey, in a process that was cloned into namespaces and mapped itself: a root, a tree in
 * it and the switch to it, by the calls that any box makes; with NETWORK, its interface, too. 0, or
 * a negative errno. */
int sandbox_enter_trial(bool network);

/* A /proc, /tmp, /dev/shm, /dev/pts and home of the command's own; capabilities are given up and
 * the caller itself is sealed. */
int sandbox_enter_nested(struct sandbox_plan *p, int *ret_step);

/* When memory runs out, the kernel should kill the command and not the init that must report it.
 * Init says yes before vfork(), the child says no for init: it stays the kernel's first choice. */
void sandbox_volunteer(const struct sandbox_plan *p, bool yes);

/* Whether nacre itself must act as the program NAME in the box: "which". */
bool sandbox_offers(const struct sandbox_plan *p, const char *name);

/* Where the filter of a process that has sealed itself asks (sandbox_plan_brokers); -1: nowhere. */
int sandbox_listener(const struct sandbox_plan *p);

/* For a box without a tree of its own, between entering and the seal: its terminal can be opened by
 * name. */
int sandbox_grant_terminal(const struct sandbox_plan *p, int fd);

/* no_new_privs, the Landlock rules, the system call filter. Where the filter asks
 * (sandbox_plan_asks) the answer is not 0 but the descriptor by which it does, for the caller's
 * init. */
int sandbox_seal(const struct sandbox_plan *p, int *ret_step);
