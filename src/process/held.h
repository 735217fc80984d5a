#pragma once
/*
 * Held: a box that is kept for several commands of one session.
 *
 * Its own first process holds the namespaces and the tree, and on request starts an init for one
 * command in a pid, mount and ipc namespace below. Such an init is ready before its command is
 * known; it then waits for a plan (process/wire.h). The box ends when no process holds its socket
 * any longer and its last command has ended.
 */
#include <stdbool.h>
#include <sys/types.h>

struct error;
struct sandbox_plan;

struct held {
	pid_t pid;
	int pidfd;
	int socket; /* -1: none */
};

/* The plan stays the caller's and is not changed. SIBLING: the box is a child of our parent's. */
int held_start(struct sandbox_plan *plan, bool sibling, struct held *ret_held, struct error *err);

/* Asks for one more init. It speaks on INIT_SOCKET, of which the caller keeps the other end: first
 * INIT_READY with its own pidfd. */
int held_prepare(const struct held *h, int init_socket);

/* Release the box; running commands continue. Wait at most PATIENCE_MS for its end. */
void held_done(struct held *h, int patience_ms);
