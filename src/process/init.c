/*
 * Init is a child subreaper: a daemon whose parents have gone becomes its child, so the tree stays
 * one tree and can be walked. All signals are blocked; what happens is read from a signalfd and
 * from the socket. End of file on the socket means that the keeper is dead: then nobody would
 * enforce the time limit or read the output any more, and init ends the tree by itself.
 *
 * One process, no threads, forked from a process without threads: malloc may be used here (tree.c).
 */
#include "process/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "process/child.h"
#include "process/message.h"
#include "process/tree.h"

/* How long killed processes may take to be gone; a process stuck in the kernel is then reported. */
#define KILL_PATIENCE_MS 5000
#define REAP_MAX         1024
#define KILL_AGAIN_MS    5 /* look again for what was forked in the last instant */

struct init {
	int socket;
	int signals;
	pid_t command;
	bool command_ended;
	bool killing;
	int64_t kill_deadline, kill_next;
	struct tree_toll toll;
};

static void tell(struct init *in, struct init_message *m)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
		m->cpu_us = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		            usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
		m->max_rss_kb = usage.ru_maxrss;
	}
	m->pid = in->command;
	m->killed = in->toll.killed;
	(void)send(in->socket, m, sizeof(*m), MSG_NOSIGNAL);
}

static _Noreturn void leave(struct init *in, int survivors)
{
	struct init_message m = {.event = INIT_GONE, .survivors = survivors};

	tell(in, &m);
	_exit(0);
}

static void begin_killing(struct init *in)
{
	if (in->killing)
		return;
	in->killing = true;
	in->kill_deadline = clock_now_ms() + KILL_PATIENCE_MS;
}

/* Reaps all that has ended. Leaves when nothing is left. */
static void reap(struct init *in)
{
	struct init_message m = {.event = INIT_EXITED};
	bool ended = false, empty = false;
	int status;
	pid_t pid;

	for (int i = 0; i < REAP_MAX; i++) { /* bounded: the clock is looked at in between */
		pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (pid <= 0) {
			empty = pid < 0 && errno == ECHILD;
			break;
		}
		if (pid == in->command && !in->command_ended) {
			in->command_ended = ended = true;
			m.status = status;
		}
	}
	if (ended) {
		m.leftover = !empty;
		tell(in, &m);
	}
	if (empty)
		leave(in, 0);
}

static void start(struct init *in, const struct child_plan *plan)
{
	struct init_message m = {.event = INIT_STARTED};
	pid_t pid;

	pid = vfork();
	if (pid == 0)
		child_main(plan);
	if (pid < 0) {
		m = (struct init_message){.event = INIT_FAILED, .step = CHILD_FORK, .sys = errno};
		tell(in, &m);
		_exit(0);
	}
	/* The write ends must be the command's alone, or the keeper never sees the end of a stream.
	 */
	for (int i = 0; i < 3; i++)
		close(plan->stdio[i]);
	in->command = pid;
	tell(in, &m);
}

/* Takes one order, or notices that the keeper is gone. */
static void obey(struct init *in)
{
	enum init_order order;
	ssize_t n = recv(in->socket, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == (ssize_t)sizeof(order) && order == INIT_TERM)
		(void)tree_signal(getpid(), SIGTERM);
	else
		begin_killing(
			in); /* INIT_KILL; and an end of file or a broken packet says the same */
}

/* By the clock, not by what happens: a flood of ending children must not put it off. */
static void kill_again(struct init *in)
{
	int64_t now = clock_now_ms();

	if (!in->killing || now < in->kill_next)
		return;
	in->kill_next = now + KILL_AGAIN_MS;
	tree_kill_on(getpid(), &in->toll);
	/* Also where /proc cannot be read: a limit on our descriptors is within the command's
	 * reach. */
	if (!in->command_ended)
		(void)kill(in->command, SIGKILL);
	if (now > in->kill_deadline)
		leave(in, 1);
}

static void wait_for_events(struct init *in)
{
	struct pollfd fds[2] = {{.fd = in->signals, .events = POLLIN},
	                        {.fd = in->socket, .events = POLLIN}};
	struct signalfd_siginfo info;

	if (poll(fds, in->killing ? 1 : 2, in->killing ? KILL_AGAIN_MS : -1) < 0)
		return;
	/* What is read does not matter: SIGCHLD is merged, so every child is asked in any case. */
	if (fds[0].revents && read(in->signals, &info, sizeof(info)) < 0)
		return;
	reap(in);
	if (!in->killing && fds[1].revents)
		obey(in);
	kill_again(in);
}

_Noreturn void init_main(int socket, const struct child_plan *plan)
{
	struct init in = {.socket = socket, .signals = -1};
	sigset_t all, child;

	(void)prctl(PR_SET_NAME, "nacre-init", 0, 0, 0);
	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* The keeper's own sockets and pipe ends must not live twice. */
	fd_close_except((const int[]){socket, plan->stdio[0], plan->stdio[1], plan->stdio[2]}, 4);
	in.signals = signalfd(-1, &child, SFD_CLOEXEC);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || in.signals < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		struct init_message m = {.event = INIT_FAILED, .step = CHILD_FORK, .sys = errno};

		tell(&in, &m);
		_exit(1);
	}
	start(&in, plan);
	for (;;)
		wait_for_events(&in);
}
