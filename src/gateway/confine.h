#pragma once
/*
 * Confine: the gateway gives up what it does not need, once everything that needs a file is read.
 */
#include <stddef.h>

/* No file can be opened, no program started, no process made; memory and descriptors are bounded.
 * Sockets are for the Internet alone. 0, or a negative errno: the caller must not go on. */
int gateway_confine(void);
/* Before it: as many descriptors as can be had, up to WANTED; how many there are. */
size_t gateway_descriptors(size_t wanted);
