/*
 * The box's first process keeps the capabilities of its user namespace: it needs them to make the
 * namespaces below. No command can reach it: commands live in pid namespaces of their own, where
 * it has no number, and it is not dumpable. It reads one thing only: requests of its launcher.
 */
#include "process/held.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "process/clone.h"
#include "process/init.h"
#include "process/message.h"
#include "sandbox/enter.h"
#include "sandbox/plan.h"

#define HELD_END_MS 1000

struct holder {
	int socket; /* -1: the launcher is gone */
	int signals;
	struct sandbox_plan *plan;
};

static void start_init(struct holder *h, int init_socket)
{
	int pidfd = -1;
	pid_t pid = process_clone_into(sandbox_nested_flags(h->plan), &pidfd);

	if (pid == 0)
		init_serve(init_socket, h->plan);
	/* One that could not be started shows as a closed socket. */
	fd_close(pidfd);
}

/* False: the launcher is gone. */
static bool take_request(struct holder *h)
{
	int fds[PACKET_FDS_MAX];
	size_t count;
	char byte;
	ssize_t n = packet_receive(h->socket, &byte, sizeof(byte), fds, &count, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return true;
	if (n > 0 && count == 1)
		start_init(h, fds[0]);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return n > 0;
}

static void serve(struct holder *h)
{
	struct pollfd fds[2] = {{.fd = h->signals, .events = POLLIN},
	                        {.fd = h->socket, .events = POLLIN}};
	struct signalfd_siginfo info;
	pid_t pid;

	if (poll(fds, 2, -1) < 0)
		return;
	if (fds[0].revents && read(h->signals, &info, sizeof(info)) < 0)
		return;
	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0);
	if (fds[1].revents && !take_request(h))
		fd_close(take_fd(&h->socket));
	if (h->socket < 0 && pid < 0 && errno == ECHILD)
		_exit(0);
}

static void close_others(int socket, const struct sandbox_plan *plan)
{
	int keep[1 + SANDBOX_FDS_MAX] = {socket};
	const int *fds;
	size_t n = sandbox_plan_fds(plan, &fds);

	for (size_t i = 0; i < n; i++)
		keep[1 + i] = fds[i];
	fd_close_except(keep, 1 + n);
}

static _Noreturn void holder_main(int socket, struct sandbox_plan *plan)
{
	struct holder h = {.socket = socket, .plan = plan};
	struct init_message m = {.event = INIT_FAILED, .step = CHILD_SANDBOX};
	enum init_order order;
	sigset_t all, child;
	int r;

	(void)prctl(PR_SET_NAME, "nacre-box", 0, 0, 0);
	close_others(socket, plan);
	fd_null_standard();
	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	h.signals = signalfd(-1, &child, SFD_CLOEXEC);
	if (h.signals < 0 || sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		_exit(1);
	/* A launcher ignores SIGCHLD, which would hide our children's ends from us. */
	(void)signal(SIGCHLD, SIG_DFL);
	if (sandbox_plan_waits(plan) &&
	    (packet_get(socket, &order, sizeof(order), 0) != (ssize_t)sizeof(order) ||
	     order != INIT_GO))
		_exit(1);
	r = sandbox_enter_session(plan, &m.detail);
	m.sys = -r;
	if (r == 0)
		m.event = INIT_READY;
	if (packet_put(socket, &m, sizeof(m), 0) < 0 || r < 0)
		_exit(1);
	for (;;)
		serve(&h);
}

/* Waits until it has entered: seldom, and a few milliseconds. */
static int await_entry(const struct held *h, struct sandbox_plan *plan, struct error *err)
{
	const enum init_order go = INIT_GO;
	struct init_message m = {.event = INIT_FAILED, .sys = EIO};
	int r = 0;

	if (sandbox_plan_waits(plan)) {
		r = sandbox_plan_admit(plan, h->pid, err);
		if (r == 0)
			(void)packet_put(h->socket, &go, sizeof(go), 0);
	}
	if (r == 0 && packet_get(h->socket, &m, sizeof(m), 0) != (ssize_t)sizeof(m))
		return error_set(err, ERROR_SYSTEM, EIO, "the box ended before it was ready");
	if (r == 0 && m.event != INIT_READY) {
		sandbox_plan_explain(plan, m.detail, m.sys, err);
		return m.sys > 0 ? -m.sys : -EIO;
	}
	return r;
}

int held_start(struct sandbox_plan *plan, bool sibling, struct held *ret_held, struct error *err)
{
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int theirs = -1;
	struct held h = {.pidfd = -1, .socket = -1};
	int sockets[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_sys(err, errno, "socket pair for a box");
	ours = sockets[0];
	theirs = sockets[1];
	h.pid = process_clone_box(plan, sibling, &h.pidfd);
	if (h.pid == 0)
		holder_main(theirs, plan);
	if (h.pid < 0)
		return error_sys(err, (int)-h.pid, "starting a box");
	fd_close(take_fd(&theirs)); /* its end must be seen */
	h.socket = take_fd(&ours);
	r = await_entry(&h, plan, err);
	if (r < 0) {
		(void)pidfd_send_signal(h.pidfd, SIGKILL, NULL, 0);
		held_done(&h, HELD_END_MS);
		return r;
	}
	*ret_held = h;
	return 0;
}

int held_prepare(const struct held *h, int init_socket)
{
	return packet_send(h->socket, "", 1, NULL, 0, &init_socket, 1, MSG_DONTWAIT);
}

void held_done(struct held *h, int patience_ms)
{
	struct pollfd end = {.fd = h->pidfd, .events = POLLIN};

	fd_close(take_fd(&h->socket));
	if (h->pidfd >= 0 && patience_ms > 0 && poll(&end, 1, patience_ms) == 1)
		(void)waitpid(h->pid, NULL, WNOHANG | __WALL);
	fd_close(take_fd(&h->pidfd));
}
