#pragma once
/*
 * Capabilities: given up in all five sets, for good.
 *
 * Bare system calls only, so that it may run in a process that was just cloned.
 */

/* Drops the bounding and ambient sets, locks the secure bits (a uid 0 without root's powers,
 * nothing regained by execve), then empties permitted, effective and inheritable. Without the right
 * to change the bounding set that step is left out: nothing is lost, since nothing can be regained
 * under no_new_privs. Returns 0, or a negative errno if a capability is left. */
int caps_drop_all(void);

/* 1: the calling process has a capability in one of its three sets, 0: none; or a negative errno.
 */
int caps_any(void);
