/*
 * What a keeper does while its command runs: poll over the starter's socket, init's socket, the two
 * pipes and the network's doors, with one deadline. A starter that does not read gets no more
 * packets.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/packet.h"
#include "task/control.h"
#include "process/living.h"
#include "process/spawn.h"
#include "process/tree.h"
#include "sandbox/pids.h"
#include "sandbox/plan.h"

#define FIXED          7 /* descriptors that are always looked at */
#define CROWD_LOOK_MS  50
#define REST_READS_MAX 64 /* far more than a pipe holds */

static void output_read(struct keeper *k, struct stream *s)
{
	size_t n = stream_read(s, k->buffer, KEEPER_READ_BYTES);

	if (n == 0)
		return;
	keeper_heard(k);
	keeper_pty_answer(k, k->buffer, n);
	if (k->state == LINGER && k->deadline < k->linger_end && !keeper_keeps_leftover(k)) {
		keeper_set_deadline(k, KEEPER_LINGER_QUIET_MS);
		if (k->deadline > k->linger_end)
			k->deadline = k->linger_end;
	}
	if (k->order.follow && !k->starter_gone)
		(void)control_send(k->fds.control, CONTROL_OUTPUT, NULL, 0, -1);
}

/* The starter takes more of what it has not taken. */
static void output_push(struct keeper *k, struct stream *s)
{
	relay_push(&s->relay);
	if (s->relay.broken)
		fd_close(take_fd(&s->fd));
	keeper_heard(k);
}

/* While a rest waits for the starter, no more is read. */
static struct pollfd stream_poll(const struct stream *s, int more_events)
{
	if (relay_waits(&s->relay))
		return (struct pollfd){.fd = s->relay.fd, .events = POLLOUT};
	return (struct pollfd){.fd = s->fd, .events = (short)(POLLIN | more_events)};
}

bool keeper_relays(const struct keeper *k)
{
	return relay_waits(&k->streams[0].relay) || relay_waits(&k->streams[1].relay);
}

/* With its namespace all who could write are gone, but for an init that only waits. A stranger who
 * was sent a descriptor is not waited for. */
static void read_rest(struct keeper *k)
{
	for (int i = 0; i < 2 && !k->order.terminal.rows; i++) {
		for (int n = 0; n < REST_READS_MAX && k->streams[i].fd >= 0 &&
		                stream_read(&k->streams[i], k->buffer, KEEPER_READ_BYTES) > 0;
		     n++)
			keeper_heard(k);
		fd_close(take_fd(&k->streams[i].fd));
	}
}

static void note_message(struct keeper *k, const struct init_message *m)
{
	k->report.cpu_ms = m->cpu_us / 1000;
	k->report.max_rss_kb = m->max_rss_kb;
	switch (m->event) {
	case INIT_FAILED:
		k->report.step = m->step;
		k->report.sys = m->sys;
		k->detail = m->detail;
		keeper_step(k, EV_FAILED);
		break;
	case INIT_TERMINAL:
		keeper_pty_begin(k);
		break;
	case INIT_READY: /* for the next command: process_await_again() */
	case INIT_ASKS:  /* the process has it */
	case INIT_SPACE:
		break;
	case INIT_STARTED:
		fd_close(take_fd(&k->fds.input));
		/* A child that could not execute has said so before. */
		if (k->order.background && !k->starter_gone && k->report.end != KEEPER_END_FAILED)
			(void)control_send(k->fds.control, CONTROL_STARTED, NULL, 0, -1);
		break;
	case INIT_EXITED:
		k->report.status = m->status;
		k->tmp_full = m->tmp_full;
		keeper_step(k, m->leftover ? EV_LEFTOVER : EV_EXITED);
		break;
	case INIT_GONE:
		k->report.killed += m->killed;
		k->report.survivors = m->survivors;
		k->report.processes += m->processes;
		keeper_step(k, EV_GONE);
		if (k->state == DRAIN && k->plan && sandbox_plan_clone_flags(k->plan) != 0)
			read_rest(k);
		break;
	}
}

static void init_read(struct keeper *k)
{
	struct init_message m;
	int r;

	while ((r = process_receive(k->process, &m)) > 0)
		note_message(k, &m);
	if (r < 0) {
		keeper_step(
			k,
			EV_INIT_LOST); /* after INIT_GONE this is DRAIN, where it means nothing */
		fd_close(take_fd(&k->process->socket));
	}
}

void keeper_let_go(struct keeper *k)
{
	k->let_go = true;
	if (!k->starter_gone)
		(void)control_send(k->fds.control, CONTROL_LET_GO, NULL, 0, -1);
}

/* An order from the starter or from somebody at the task's socket. */
static void take_order(struct keeper *k, uint32_t kind, const char *bytes, size_t n, bool starter)
{
	switch (kind) {
	case CONTROL_STOP:
		keeper_step(k, EV_STOP);
		break;
	case CONTROL_STOP_NOW:
		keeper_step(k, EV_STOP_NOW);
		break;
	case CONTROL_GIVE_UP:
		keeper_network_give_up(k);
		break;
	case CONTROL_INPUT:
	case CONTROL_RESIZE:
		keeper_pty_order(k, (enum control_order)kind, bytes, n,
		                 starter && k->order.interactive);
		break;
	case CONTROL_KEEP:
		if (!starter)
			break;
		(void)keeper_listen(k);
		(void)control_send(k->fds.control, CONTROL_STARTED, NULL, 0, -1);
		break;
	default: /* of a newer nacre */
		break;
	}
}

static void client_order(void *owner, uint32_t kind, const char *bytes, size_t n)
{
	take_order(owner, kind, bytes, n, false);
}

static void starter_read(struct keeper *k)
{
	char bytes[sizeof(uint32_t) + LISTEN_ORDER_MAX];
	ssize_t n = packet_get(k->fds.control, bytes, sizeof(bytes), MSG_DONTWAIT);
	uint32_t kind;

	if (n >= (ssize_t)sizeof(kind)) {
		memcpy(&kind, bytes, sizeof(kind));
		take_order(k, kind, bytes + sizeof(kind), (size_t)n - sizeof(kind), true);
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNRESET)) {
		/* A starter that leaves without having read our greeting resets the connection:
		 * that is told once and first, and its last order, to stop, comes after it. */
		k->starter_gone = true; /* the command goes on: its result will lie in the task */
		if (k->listen_at != KEEPER_DEADLINE_NONE)
			k->listen_at = 0; /* which others look for from now on */
		if (k->order.relay && k->state != KEPT)
			keeper_step(k, EV_STOP_NOW); /* a shell that is killed leaves nothing */
		else if (k->order.interactive && k->state != KEPT)
			keeper_step(k, EV_STOP); /* but nobody would ever end this one */
	}
}

/* For a list of tasks, which looks at the processes below it. */
static void tell_root(struct keeper *k)
{
	pid_t pid = watch_pid(k->process->init_pidfd);
	char text[64];
	int n;

	if (pid <= 0)
		return;
	n = snprintf(text, sizeof(text), "%d %llu\n", (int)pid, living_start(pid));
	(void)fd_replace_file(k->home.fd, HOME_ROOT, text, (size_t)n);
}

int keeper_listen(struct keeper *k)
{
	int r;

	if (k->listen_at == KEEPER_DEADLINE_NONE)
		return 0; /* it was tried before */
	k->listen_at = KEEPER_DEADLINE_NONE;
	keeper_settle(k);
	r = home_make(&k->home);
	if (r < 0)
		return r;
	r = listen_open(&k->listen, k->home.fd);
	tell_root(k);
	keeper_room_mark(k);
	keeper_reserve_state(k);
	return r;
}

/* A disk that is full, or a system without /proc, leaves a task that only its starter can stop. */
static void listen_when_due(struct keeper *k)
{
	if (k->listen_at != KEEPER_DEADLINE_NONE && clock_now_ms() >= k->listen_at)
		(void)keeper_listen(k);
}

/* Where the kernel does not limit the number of processes, a storm is seen before it fills the
 * machine: the number of all tasks is cheap to read, and only when it has grown by the whole share
 * is ours counted. */
static void look_for_crowd(struct keeper *k)
{
	int64_t now = clock_now_ms();

	if (!k->crowd_line || now < k->crowd_next_look)
		return;
	k->crowd_next_look = now + CROWD_LOOK_MS;
	if (pids_now() > k->crowd_line &&
	    tree_count(k->process->init_pid) > (int)k->order.max_processes)
		keeper_step(k, EV_CROWD);
}

static void at_most(int64_t *wait_ms, int64_t ms)
{
	if (ms < *wait_ms)
		*wait_ms = ms;
}

static int until_next(const struct keeper *k)
{
	int64_t now = clock_now_ms(), wait_ms = k->deadline - now;

	at_most(&wait_ms, k->listen_at - now);
	at_most(&wait_ms, keeper_quiet_due(k) - now);
	at_most(&wait_ms, keeper_network_due(k) - now);
	at_most(&wait_ms, watch_wait_ms(&k->watch, now));
	at_most(&wait_ms, keeper_room_wait_ms(k, now));
	at_most(&wait_ms, k->crowd_line ? CROWD_LOOK_MS : INT32_MAX);
	return wait_ms > 0 ? (int)wait_ms : 0;
}

void keeper_turn(struct keeper *k)
{
	struct pollfd fds[FIXED + LISTEN_POLL_MAX + KEEPER_NETWORK_POLL] = {
		{.fd = k->starter_gone ? -1 : k->fds.control, .events = POLLIN},
		{.fd = k->process->socket, .events = POLLIN},
		stream_poll(&k->streams[0], keeper_pty_events(k)),
		stream_poll(&k->streams[1], 0),
		{.fd = k->process->notes, .events = POLLIN},
		{.fd = k->process->asks, .events = POLLIN},
		{.fd = k->beside.wait, .events = POLLIN},
	};
	size_t doors;
	int n;

	listen_when_due(k);
	listen_watch(&k->listen, fds + FIXED);
	doors = keeper_network_watch(k, fds + FIXED + LISTEN_POLL_MAX);
	n = poll(fds, FIXED + LISTEN_POLL_MAX + doors, until_next(k));
	if (n > 0) {
		/* Output first: what a command wrote before its end is read before its end is seen.
		 */
		for (int i = 0; i < 2; i++)
			if (fds[2 + i].revents && relay_waits(&k->streams[i].relay))
				output_push(k, &k->streams[i]);
			else if (fds[2 + i].revents & ~POLLOUT)
				output_read(k, &k->streams[i]);
		if (k->order.terminal.rows && fds[2].revents & POLLOUT)
			keeper_pty_write(k);
		if (fds[1].revents) {
			keeper_beside_last_look(k);
			init_read(k);
		}
		if (fds[0].revents)
			starter_read(k);
		if (fds[4].revents)
			keeper_read_notes(k);
		if (fds[5].revents)
			keeper_broker(k);
		listen_serve(&k->listen, fds + FIXED, client_order, k);
	}
	keeper_network_turn(k, fds + FIXED + LISTEN_POLL_MAX, n > 0 ? doors : 0);
	if (n > 0)
		keeper_beside_look(k);
	keeper_watch_quiet(k);
	look_for_crowd(k);
	watch_look(&k->watch, k->process->init_pidfd, clock_now_ms());
	if (k->watch.too_many)
		keeper_step(k, EV_CROWD);
	if (k->watch.cpu_spent)
		keeper_step(k, EV_CPU);
	if (keeper_room_is_full(k))
		keeper_step(k, EV_ROOM);
	if (k->state == DRAIN && k->streams[0].fd < 0 && k->streams[1].fd < 0 && !keeper_relays(k))
		k->state = DONE;
	/* Read the clock again: a flood of output must not put off the time limit. */
	if (k->state != DONE && clock_now_ms() >= k->deadline)
		keeper_step(k, EV_DEADLINE);
}
