#pragma once
/*
 * Signaller: lets a command without a pid namespace signal its own tree, and nothing else.
 *
 * Landlock before ABI 6 (Linux 6.12) does not govern signals. So the filter of such a box asks its
 * init about each one that may reach another process, and init answers here: a signal to the caller
 * itself goes on in the kernel. For another process, init opens a pidfd, checks that the process is
 * in the tree, and sends the signal itself. All others are refused.
 */
#include <stdbool.h>

/* For init, whose descendants are the tree: answers one question that waits on the listener. False:
 * there will be no more. */
bool signaller_answer(int listener);
