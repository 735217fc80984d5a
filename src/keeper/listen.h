#pragma once
/*
 * Listen: the task's own socket, through which any process of the same user gives orders to a
 * keeper that it did not start.
 *
 * Packets as on the control socket: an enum control_order in four bytes, then what belongs to it.
 * A client is greeted with CONTROL_HELLO, which carries a pidfd of the keeper, so that it can wait
 * for the end. Nothing else is sent to it but the answer to CONTROL_ROOM, so a client that does not
 * read delays nobody.
 */
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include "task/control.h"

#define LISTEN_CLIENTS_MAX 8
#define LISTEN_POLL_MAX    (1 + LISTEN_CLIENTS_MAX)
#define LISTEN_ORDER_MAX   CONTROL_INPUT_MAX /* bytes after the kind */

struct listen {
	int fd; /* -1: not open */
	int dir_fd;
	int clients[LISTEN_CLIENTS_MAX]; /* -1: free */
	int room[3]; /* borrowed: what CONTROL_ROOM is answered with; -1: nothing, or no third */
};

void listen_init(struct listen *l);

/* Makes "sock" in the directory, which the caller keeps open. 0, or a negative errno. */
int listen_open(struct listen *l, int dir_fd);
void listen_close(struct listen *l); /* and removes the socket */

/* Fill LISTEN_POLL_MAX entries; poll() skips those with -1. */
void listen_watch(const struct listen *l, struct pollfd *into);

/* After poll(): greet new clients and pass their orders on. */
typedef void (*listen_order)(void *owner, uint32_t kind, const char *bytes, size_t n);
void listen_serve(struct listen *l, const struct pollfd *polled, listen_order order, void *owner);
