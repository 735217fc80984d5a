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
struct keeper_order;

struct launcher {
	int socket; /* -1: none */
	pid_t pid;  /* 0: not our child */
	int pidfd;
	const char *program; /* borrowed: it was executed; NULL: it was forked */
};

/* Call while the process is small and has no threads. */
int launcher_start(struct launcher *ret_launcher, struct error *err);

/* The same for a process that is big already, has threads, or is not ours at all: executes PROGRAM,
 * which must be nacre of the same version (`nacre launcher`), and waits until it answers. PROGRAM
 * must live as long as the launcher, which is restarted if it was killed. */
int launcher_execute(const char *program, struct launcher *ret_launcher, struct error *err);

/* What the executed program then does: greets, and starts keepers until SOCKET ends. VERSION is
 * what the other side wants us to be. Returns only if that is not so. */
int launcher_serve(int socket, const char *version);

/* Leaves a launcher behind that serves the next calls of this order's session, and returns at once.
 * Only for nacre itself, whose program is executed. PROFILE decides about the order. */
struct profile;
int launcher_leave(const struct keeper_order *order, const struct profile *profile,
                   struct error *err);

/* What the executed program then does. Returns if there is one already, or it cannot. */
int launcher_stay(int socket, const char *version);

void launcher_done(struct launcher *l); /* the keepers it started go on */

/* Starts a keeper. ORDER says which box would do; TEXT is the same as JSON. The descriptors stay
 * the caller's. A launcher that was killed is replaced. */
int launcher_spawn(struct launcher *l, const struct keeper_fds *fds,
                   const struct keeper_order *order, const char *text, size_t text_bytes,
                   struct error *err);
