#pragma once
/*
 * Reach: a connection to the keeper of a task that another process started.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "task/control.h"

struct error;

struct reach {
	int socket; /* -1: none */
	int keeper; /* pidfd: readable when the keeper has ended */
};

/* DIR_FD is the task's directory. -ESRCH: it is not running. */
int reach_open(int dir_fd, struct reach *ret_reach, struct error *err);
void reach_done(struct reach *r);
static inline void reach_donep(struct reach *r)
{
	reach_done(r);
}

/* Waits if the keeper is busy, for as long as packets queue up. 0, or a negative errno. */
int reach_order(struct reach *r, enum control_order order, const void *bytes, size_t n);

/* Whether the keeper has ended, within this time. */
bool reach_wait(struct reach *r, int64_t timeout_ms);

/* A keeper that does not answer is killed; its init then ends the command. */
void reach_kill(struct reach *r);

/* For a caller that must not wait: one attempt to connect, without the greeting. *ret_reach has no
 * pidfd yet; the greeting is taken by reach_greeted() when the socket is readable. -ESRCH: it is
 * not running; -EAGAIN: try again soon. */
int reach_try(int dir_fd, struct reach *ret_reach);
int reach_greeted(struct reach *r); /* 0; or -EAGAIN: not yet; else it will never be */
/* -EAGAIN: the keeper is busy. */
int reach_order_now(struct reach *r, enum control_order order, const void *bytes, size_t n);

/* The user and the network namespace of the task's room, in this order, and the socket of its gate,
 * or -1. 0, or a negative errno. */
int reach_room(int dir_fd, int ret_fds[3]);
