#pragma once
/*
 * Wire: sends a command's plan to an init that was started before the command was known.
 *
 * Strings travel in the packet, very long ones in an anonymous file, with the standard streams as
 * descriptors. Only keepers write here, so the content is trusted; every length is checked.
 */
#include "process/child.h"

struct buffer;
struct error;

/* Sends cwd, paths, argv, envp, limits and the standard streams. */
int wire_plan_send(int socket, const struct child_plan *plan, struct error *err);

/* Waits for a plan. 0: *ret_plan was filled, with strings that lie in TEXT; wire_plan_done() frees
 * the rest. -EPIPE: none will come. */
int wire_plan_receive(int socket, struct buffer *text, struct child_plan *ret_plan);
void wire_plan_done(struct child_plan *plan); /* the descriptors stay open */
