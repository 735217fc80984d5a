/*
 * The life of a keeper: one process, no threads. It begins with an order or waits for one, keeps
 * one command after the other, and leaves.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "change/change.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "keeper/client.h"
#include "keeper/container.h"
#include "task/control.h"
#include "keeper/record.h"
#include "keeper/rehearse.h"
#include "session/session.h"
#include "output/spool.h"
#include "process/held.h"
#include "process/spawn.h"
#include "sandbox/plan.h"

#define LISTEN_AFTER_MS 20
#define COMMANDS_MAX    1000 /* of one keeper: what grows by mistake ends with it */
#define ASKED_FOR_MS    2000 /* for the order of a starter who has asked for this keeper */

static void detach(const int *keep_fds, size_t count)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, fallback = {.sa_handler = SIG_DFL};
	sigset_t none;

	(void)prctl(PR_SET_NAME, "nacre-keeper", 0, 0, 0);
	/* The terminal's Ctrl-C is nacre's to see, not ours. A group is enough for that; a session
	 * of its own would be a scheduling group of its own, and wait behind all others on a busy
	 * machine. */
	(void)setpgid(0, 0);
	for (int s = 1; s < 32; s++)
		(void)sigaction(s, &fallback, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	(void)sigaction(SIGHUP, &ignore, NULL);
	(void)sigaction(SIGINT, &ignore, NULL);
	(void)sigaction(SIGTERM, &ignore,
	                NULL); /* to end a command, ask nacre; to end this, SIGKILL */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd_null_standard(); /* a reader of nacre's output must not wait for us */
	/* Also nothing that nacre inherited: a lock or a pipe of somebody else must not stay alive.
	 */
	fd_close_except(keep_fds, count);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (chdir("/") < 0) /* no file system is kept busy by us; where it is, nothing is lost */
		return;
}

static void say_hello(const struct keeper *k)
{
	scoped(fd_closep) int self = pidfd_open(getpid(), 0);

	(void)control_send(k->fds.control, CONTROL_HELLO, NULL, 0, self);
}

/* From the order to the report. */
static void keep(struct keeper *k, const struct buffer *order)
{
	scoped(fd_closep) int session = -1; /* held: it is not swept while its command runs */
	struct error err = {0};
	int r = -ENOMEM;

	k->view.began_ns = change_clock();
	k->arena = arena_new(4 * ORDER_BYTES_MAX);
	listen_init(&k->listen);
	if (k->fds.hello && k->init_socket < 0)
		say_hello(k);
	if (!k->buffer)
		k->buffer = malloc(KEEPER_READ_BYTES);
	if (k->arena && k->buffer)
		r = keeper_order_read(order->data, order->len, k->arena, &k->order, &err);
	if (r == 0 && k->order.request.session && k->order.request.state && !k->order.background)
		session = session_hold(k->order.request.state, k->order.request.session);
	k->home = (struct home){.tasks_fd = k->order.findable ? -1 : k->fds.tasks,
	                        .fd = k->order.findable ? k->fds.tasks : -1,
	                        .spec_fd = -1,
	                        .id = k->order.task_id,
	                        .order = order->data,
	                        .order_bytes = order->len};
	k->fds.tasks = -1;
	if (r == 0 && k->order.relay)
		r = relay_receive(k->fds.control, k->order.merged, &k->streams[0].relay,
		                  &k->streams[1].relay);
	/* Somebody will look for it, or for the files in it, at once. */
	if (r == 0 &&
	    (k->order.background || k->order.follow || k->order.findable || k->order.terminal.rows))
		(void)home_make(&k->home);
	if (r == 0)
		r = keeper_launch(k, &err);
	/* With an init that stood by there was nothing to wait for until here, and the starter need
	 * not be woken before the command runs. */
	if (r == 0 && k->fds.hello && k->process->init_pid == 0)
		say_hello(k);
	if (r < 0) {
		if (k->report.end != KEEPER_END_REFUSED && k->report.end != KEEPER_END_STOPPED)
			k->report.end = KEEPER_END_FAILED;
		k->report.step = CHILD_FORK;
		k->report.sys = -r;
		k->report.why_public = err.kind == ERROR_UNSUPPORTED;
		snprintf(k->report.why, sizeof(k->report.why), "%s", err.text);
		if (k->process) /* init already runs, its streams could not be opened */
			process_take_over(k->process, &k->report.survivors);
	} else {
		k->listen_at = k->order.background ? 0 : clock_now_ms() + LISTEN_AFTER_MS;
		while (k->state != DONE)
			keeper_turn(k);
	}
	keeper_beside_end(k);
	listen_close(&k->listen);
	if (k->home.fd >= 0)
		(void)unlinkat(k->home.fd, HOME_ROOT, 0); /* below it is nobody any more */
	for (int i = 0; i < 2; i++) {
		stream_close(&k->streams[i], &k->report.streams[i]);
		relay_close(&k->streams[i].relay);
	}
	if (k->home.fd >= 0 || !stream_is_plain(&k->streams[0]) || !stream_is_plain(&k->streams[1]))
		keeper_settle(k);
	keeper_heard(k); /* what was said about its silence is over */
	keeper_commit_session(k);
	keeper_view_end(k);
	keeper_publish_early(k);
	keeper_room_end(k);
	keeper_network_end(k);
	keeper_judge_box(k);
	keeper_container_end(k);
	keeper_refs_end(k);
	keeper_explain_client(k);
	keeper_record_end(k);
	keeper_publish(k);
	keeper_container_sweep(k);
}

void keeper_tidy(struct keeper *k)
{
	if (k->begun) { /* nobody had a command for it */
		k->process = take_ptr(&k->begun);
		fd_close(take_fd(&k->process->socket));
	}
	if (k->owns_plan && k->plan)
		sandbox_plan_end(k->plan);
	/* Not every host has a first process that reaps. */
	if (k->process)
		process_reap(k->process);
	/* A control group can be removed when the last of its processes is gone. */
	if (k->owns_plan)
		k->plan = sandbox_plan_free(k->plan);
}

static _Noreturn void leave(struct keeper *k)
{
	keeper_tidy(k);
	keeper_room_close(k);
	keeper_view_close(k);
	keeper_network_close(k);
	_exit(0);
}

static const struct keeper empty = {
	.fds = {.control = -1, .tasks = -1, .input = -1},
	.home = HOME_NONE,
	.streams = {{.fd = -1, .relay.fd = -1}, {.fd = -1, .relay.fd = -1}},
	.init_socket = -1,
	.init_pidfd = -1,
	.init_asks = -1,
	.init_space = -1,
	.beside.wait = -1,
	.room = {.dir = -1, .tmp = -1, .home = -1, .shm = -1, .caches.dir = -1},
	.net_lock = -1,
	.view = {.shelf = -1, .store = -1, .hold = -1},
	.net = {.user = -1, .net = -1, .gate = -1},
	.network = {.net = {.user = -1, .net = -1, .gate = -1},
                    .gate = {.socket = -1},
                    .channel = -1,
                    .ports = {.life = -1, .look_at = INT64_MAX}},
	.index.fd = -1,
	.state_file = -1,
	.report.sandbox.tier = SANDBOX_TIER_NONE};

_Noreturn void keeper_main(const struct keeper_fds *fds, const struct buffer *order)
{
	struct keeper k = empty;

	k.fds = *fds;
	k.profile = fds->profile;
	if (fds->net)
		k.net = *fds->net;
	detach((const int[]){fds->control, fds->tasks, fds->input, k.net.user, k.net.net,
	                     k.net.gate},
	       6);
	keep(&k, order);
	leave(&k);
}

size_t keeper_fds_list(const struct keeper_fds *fds, int order, int into[KEEPER_FD_MAX])
{
	into[KEEPER_FD_ORDER] = order;
	into[KEEPER_FD_CONTROL] = fds->control;
	into[KEEPER_FD_INPUT] = fds->input;
	into[KEEPER_FD_TASKS] = fds->tasks;
	return fds->tasks >= 0 ? KEEPER_FD_MAX : KEEPER_FD_TASKS;
}

static void fetch(const struct keeper_packet *p, struct keeper_fds *ret_fds, struct buffer *order)
{
	const int *fds = p->fds;

	*ret_fds =
		(struct keeper_fds){.control = fds[KEEPER_FD_CONTROL],
	                            .tasks = p->count > KEEPER_FD_TASKS ? fds[KEEPER_FD_TASKS] : -1,
	                            .input = fds[KEEPER_FD_INPUT],
	                            .hello = true};
	buffer_clear(order);
	buffer_append(order, p->text, p->text_bytes);
	if (p->text_bytes == 0 && (lseek(fds[KEEPER_FD_ORDER], 0, SEEK_SET) < 0 ||
	                           fd_read_all(fds[KEEPER_FD_ORDER], order) < 0))
		_exit(1);
	if (buffer_error(order) < 0)
		_exit(1);
	fd_close(fds[KEEPER_FD_ORDER]);
}

_Noreturn void keeper_launched(const struct keeper_packet *packet)
{
	struct buffer order = {.max = ORDER_BYTES_MAX};
	struct keeper_fds own;

	fetch(packet, &own, &order);
	own.net = packet->net;
	keeper_main(&own, &order);
}

/* Whether the init is there; it says so before anybody has an order, as a rule. */
static bool init_is_ready(struct keeper *k, const struct sandbox_plan *plan, int socket)
{
	struct init_message m;
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n = packet_receive(socket, &m, sizeof(m), fds, &count, 0);

	if (n == (ssize_t)sizeof(m) && m.event == INIT_READY && count >= 1 && count <= 3) {
		size_t at = 1;

		k->init_socket = socket;
		k->init_pidfd = fds[0];
		if (m.detail && count > at)
			k->init_space = fds[at++];
		if (count > at)
			k->init_asks = fds[at];
		if (!sandbox_plan_nets_apart(plan) || keeper_network_take(k, socket) == 0)
			return true;
		k->init_socket = k->init_pidfd = k->init_space = k->init_asks = -1;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	fd_close(socket);
	return false;
}

/* Waits for an order. None comes any more: leaves. */
static void await_order(struct keeper *k, int orders, struct buffer *order)
{
	char text[KEEPER_PACKET_MAX];
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n = packet_receive(orders, text, sizeof(text), fds, &count, 0);

	if (n <= 0 || count < KEEPER_FD_TASKS || count > KEEPER_FD_MAX)
		leave(k);
	fetch(&(struct keeper_packet){fds, count, text, (size_t)n - 1, NULL}, &k->fds, order);
}

/* The starter speaks to us itself: its order is still to come. False: it has none. The profile was
 * looked at when it asked, so it has not long. Takes STARTER. */
static bool hear_starter(int starter, struct keeper *k, struct buffer *order)
{
	struct pollfd p = {.fd = starter, .events = POLLIN};
	char text[KEEPER_PACKET_MAX];
	int fds[PACKET_FDS_MAX];
	size_t count = 0;
	ssize_t n = packet_put(starter, "", 1, MSG_DONTWAIT);

	if (n == 1 && poll(&p, 1, ASKED_FOR_MS) <= 0)
		(void)shutdown(starter, SHUT_RD); /* an order is refused from now on, never lost */
	n = n == 1 ? packet_receive(starter, text, sizeof(text), fds, &count, MSG_DONTWAIT) : 0;
	fd_close(starter);
	if (n > 0 && count >= KEEPER_FD_TASKS && count <= KEEPER_FD_MAX) {
		fetch(&(struct keeper_packet){fds, count, text, (size_t)n - 1, NULL}, &k->fds,
		      order);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return false;
}

/* Waits for an order, from the launcher or from a starter that it sends. None comes any more, or
 * nobody can be told that we wait again: leaves. */
static void stand_by(struct keeper *k, const struct keeper_ready *ready, bool has_init,
                     struct buffer *order)
{
	const pid_t self = getpid();
	char text[KEEPER_PACKET_MAX];
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n;

	for (;;) {
		n = packet_receive(ready->orders, text, sizeof(text), fds, &count, 0);
		if (n <= 0 || count > KEEPER_FD_MAX)
			leave(k);
		if (count >= KEEPER_FD_TASKS)
			break;
		if (count != 1 || !has_init) /* without a box the starter makes one itself */
			leave(k);
		if (hear_starter(fds[0], k, order))
			return;
		if (packet_put(ready->again, &self, sizeof(self), 0) < 0)
			leave(k);
	}
	fetch(&(struct keeper_packet){fds, count, text, (size_t)n - 1, NULL}, &k->fds, order);
}

/* What goes wrong here goes wrong again, and is told, when there is an order. */
static void make_box(struct keeper *k)
{
	struct error err = {0};

	k->order.request.workspace = k->ahead->workspace;
	k->order.request.root = k->ahead->root;
	k->order.request.policy_file = k->ahead->policy_file; /* it may lie in the workspace */
	k->order.request.state = k->ahead->state;
	k->order.request.session = k->ahead->session;
	k->order.request.profile = k->ahead->profile_name;
	k->order.request.agent = k->ahead->agent;
	k->order.principal = k->ahead->principal;
	k->order.envp = k->ahead->envp;
	k->order.max_processes = k->ahead->max_processes;
	keeper_choose_spec(k);
	if (keeper_box_plan(k, &k->spec, &k->plan, &err) < 0)
		return;
	k->owns_plan = true;
	if (sandbox_plan_clone_flags(k->plan) == 0 || process_begin(k->plan, &k->begun, &err) < 0)
		k->plan = sandbox_plan_free(k->plan);
}

_Noreturn void keeper_begin(const struct keeper_ahead *ahead)
{
	struct buffer order = {.max = ORDER_BYTES_MAX};
	struct keeper k = empty;

	detach(&ahead->orders, 1);
	k.profile = ahead->profile;
	k.ahead = ahead;
	make_box(&k);
	keeper_record_prepare(&k, ahead->state, ahead->profile);
	await_order(&k, ahead->orders, &order);
	fd_close(ahead->orders);
	k.fds.hello = false; /* the starter is our parent */
	keep(&k, &order);
	leave(&k);
}

static void forget(struct keeper *k)
{
	const int fds[] = {k->fds.control, k->fds.input, k->state_file, k->index.fd};

	home_done(&k->home);
	for (size_t i = 0; i < array_size(fds); i++)
		fd_close(fds[i]);
	for (int i = 0; i < 2; i++) {
		spool_free(k->streams[i].spool);
		stream_done(&k->streams[i]);
	}
	process_free(k->process);
	buffer_done(&k->notes);
	buffer_done(&k->pty.queue);
	arena_free(k->arena);
}

/* Whether another command may have this keeper and its init: this one was of the ordinary kind and
 * has left nothing. Then the keeper is as it was when it began to wait. */
static bool begin_anew(struct keeper *k)
{
	struct keeper next = empty;

	if (!k->process || k->report.end != KEEPER_END_EXITED || k->starter_gone ||
	    k->order.background || k->let_go || k->owns_plan || k->order.terminal.rows ||
	    process_await_again(k->process, &next.init_socket, &next.init_pidfd) < 0)
		return false;
	next.init_asks = take_fd(&k->process->asks);
	next.init_space = take_fd(&k->process->space);
	next.profile = k->profile;
	next.plan = k->plan;
	next.room = k->room;
	next.net = k->net;
	next.network = k->network;
	next.network.starts = 0;
	next.network.held = false;
	next.network.waited_ms = 0;
	next.network.shown[0] = next.network.written[0] = '\0';
	next.audit = k->audit;
	next.buffer = k->buffer;
	forget(k);
	*k = next;
	return true;
}

/* A box for this keeper alone, which nobody holds but its init: it ends with that. The launcher,
 * who is asked for the next one meanwhile, has it as a child. Where it fails, there is no init. */
static void make_own_box(struct keeper *k, const struct keeper_ready *ready)
{
	struct held box;

	k->profile = ready->profile;
	if (ready->net)
		k->net = *ready->net;
	keeper_network_open(k, ready->workspace);
	if (k->network.net.named)
		sandbox_plan_set_net(ready->plan, &k->network.net);
	if (held_start(ready->plan, true, &box, NULL) < 0)
		return;
	(void)held_prepare(&box, ready->their_init);
	held_done(&box, 0);
}

_Noreturn void keeper_wait(const struct keeper_ready *ready)
{
	struct buffer order = {.max = ORDER_BYTES_MAX};
	struct keeper k = empty;
	bool has_init;
	int keep_fds[3 + SANDBOX_JUDGE_FDS + 8 + KEEPER_NETWORK_FDS] = {ready->orders, ready->init,
	                                                                ready->again};
	size_t doors;
	const pid_t self = getpid();

	if (ready->their_init >= 0)
		make_own_box(&k, ready);
	if (ready->room)
		k.room = *ready->room;
	if (ready->net)
		k.net = *ready->net;
	memcpy(keep_fds + 3 + SANDBOX_JUDGE_FDS,
	       (const int[]){k.room.dir, k.room.tmp, k.room.home, k.room.shm, k.net.user, k.net.net,
	                     k.net.gate, k.room.caches.dir},
	       8 * sizeof(int));
	sandbox_plan_judge_fds(ready->plan, keep_fds + 3);
	doors = keeper_network_fds(&k, keep_fds + 3 + SANDBOX_JUDGE_FDS + 8);
	detach(keep_fds, 3 + SANDBOX_JUDGE_FDS + 8 + doors);
	keeper_record_prepare(&k, ready->state, ready->profile);
	keeper_rehearse(ready->profile, ready->workspace);
	/* At once: the kernel counts descriptors that nobody has received yet, for all processes of
	 * a user together, and refuses to send more of them than one process may have open. */
	has_init = init_is_ready(&k, ready->plan, ready->init);
	stand_by(&k, ready, has_init, &order);
	if (!has_init) {
		/* The box is gone: one is made as for anybody. */
		k.room = empty.room;
		fd_close(ready->orders);
		keep(&k, &order);
		leave(&k);
	}
	k.profile = ready->profile;
	k.plan = ready->plan;
	for (int served = 1;; served++) {
		sandbox_plan_judge_from_now(k.plan);
		sandbox_company_join(k.plan);
		keep(&k, &order);
		sandbox_company_leave(k.plan);
		if (served == COMMANDS_MAX || !begin_anew(&k) ||
		    packet_put(ready->again, &self, sizeof(self), 0) < 0)
			leave(&k);
		stand_by(&k, ready, true, &order);
	}
}
