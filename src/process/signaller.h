#pragma once
/*
 * Signaller: lets a command without a pid namespace signal its own tree, and nobody else.
 *
 * Landlock before ABI 6 (Linux 6.12) does not govern signals. So the filter of such a box asks its
 * init about each one that may reach another process, and init answers here: a signal to the caller
 * itself goes on in the kernel; one to another process of the tree is sent by init, who holds the
 * process while it looks where it belongs; all else is refused.
 */
#include <stdbool.h>

/* For init, whose descendants are the tree: answers one question that waits on the listener. False:
 * there will be no more. */
bool signaller_answer(int listener);
