#pragma once
/*
 * Loop: the one place where a process waits. Descriptors, signals and timers are sources embedded
 * in their owners; a handler never blocks and may remove any source, its own included.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include "base/cleanup.h"

struct loop; /* opaque */
struct error;
struct loop_source;
struct loop_timer;

/* A negative return ends the loop: loop_run() returns it. An owner that fails alone handles that
 * itself and returns 0. */
typedef int (*loop_handler)(struct loop_source *s, uint32_t events);
typedef int (*loop_timer_handler)(struct loop_timer *t);

struct loop_source {
	int fd; /* borrowed; -1: not in a loop */
	loop_handler handler;
	struct loop *loop;
	bool always; /* a regular file: epoll refuses it, and it is always ready */
};

struct loop_timer {
	int64_t at; /* loop_now() time in ms */
	loop_timer_handler handler;
	struct loop *loop;
	size_t slot; /* place in the heap + 1; 0: not armed */
};

int loop_new(struct loop **ret_loop, struct error *err);
struct loop *loop_free(struct loop *l); /* asserts that no source or timer is left */
DEFINE_CLEANUP(struct loop *, loop_free);

int loop_add(struct loop *l, struct loop_source *s, int fd, uint32_t events, loop_handler handler,
             struct error *err);
void loop_remove(struct loop_source *s); /* not in a loop: fine */

/* Arms, or arms anew. */
int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms, loop_timer_handler handler);
void loop_timer_clear(struct loop_timer *t);

int64_t loop_now(const struct loop *l); /* monotonic ms, read once per turn */

/* Turns until loop_stop() is called in a handler (0) or a handler fails (its value). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* For who waits elsewhere, in a loop that is not ours: the descriptor becomes readable when a
 * source is ready, in loop_wait_ms() a timer is due (-1: there is none), and loop_turn() does what
 * there is to do, without waiting. */
int loop_fd(const struct loop *l);
int loop_wait_ms(const struct loop *l);
int loop_turn(struct loop *l);

/* Blocks the signals of SET for this process and gives a descriptor to read them from, or a
 * negative errno. */
int loop_signal_fd(const sigset_t *set);
