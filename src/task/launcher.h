#pragma once
/*
 * Launcher: a small process that starts keepers for a big one, and keeps boxes warm.
 *
 * Forking copies page tables: a server with 512 MB resident would wait 28 ms for each command. So
 * it starts the launcher first, while it is small itself, and never forks again. Keepers are
 * children of the launcher and outlive both.
 *
 * For what was asked for before (same profile, same workspace) the launcher has a box, and in it
 * inits with their keepers that only wait for a command.
 */
#include <stddef.h>
#include <sys/types.h>
#include "keeper/keeper.h"

struct error;
struct keeper_request;

struct launcher {
	int socket; /* -1: none */
	pid_t pid;
	int pidfd;
};

/* Call while the process is small and has no threads. */
int launcher_start(struct launcher *ret_launcher, struct error *err);
void launcher_done(struct launcher *l); /* the keepers it started go on */

/* Starts a keeper. REQUEST says which box would do; the order holds it, too. The descriptors stay
 * the caller's. A launcher that was killed is replaced. */
int launcher_spawn(struct launcher *l, const struct keeper_fds *fds,
                   const struct keeper_request *request, const char *order, size_t order_bytes,
                   struct error *err);
