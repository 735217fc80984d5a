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
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/packet.h"
#include "process/child.h"
#include "process/message.h"
#include "process/signaller.h"
#include "process/tree.h"
#include "process/wire.h"
#include "sandbox/afresh.h"
#include "sandbox/enter.h"
#include "sandbox/numbers.h"
#include "sandbox/plan.h"

/* How long killed processes may take to be gone; a process stuck in the kernel is then reported. */
#define KILL_PATIENCE_MS 5000
#define REAP_MAX         1024
#define KILL_AGAIN_MS    5 /* look again for what was forked in the last instant */

struct init {
	int socket;
	int signals;
	int terminal;   /* -1: none, or the command has ended */
	int streams[3]; /* the command's ends of its pipes, until it has ended; -1 */
	int asks;       /* where the command's signals are asked for; -1: nowhere */
	pid_t command;
	bool command_ended;
	bool gone;  /* all of the tree has ended with the command, and the keeper knows */
	bool stays; /* it may have another command after that */
	bool killing;
	struct sandbox_plan *sandbox; /* NULL: none */
	bool first; /* process 1 of a namespace of its own: "all" is one system call */
	int reaped;
	int numbers; /* /proc/loadavg; -1: not open */
	int given;   /* the last process number that was given away before this command */
	int64_t cpu_us, max_rss_kb; /* of all that were reaped */
	int64_t kill_deadline, kill_next;
	struct tree_toll toll;
};

static const struct init none = {.socket = -1,
                                 .signals = -1,
                                 .terminal = -1,
                                 .streams = {-1, -1, -1},
                                 .asks = -1,
                                 .numbers = -1};

static void tell(struct init *in, struct init_message *m)
{
	m->cpu_us = in->cpu_us;
	m->max_rss_kb = in->max_rss_kb;
	m->pid = in->command;
	m->killed = in->toll.killed;
	(void)packet_put(in->socket, m, sizeof(*m), 0);
}

/* The last process number that was given away in our namespace; 0: not known. */
static int last_number(struct init *in)
{
	char text[128];
	const char *last;
	ssize_t n;

	if (in->numbers < 0)
		in->numbers = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	n = pread(in->numbers, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	last = strrchr(text, ' ');
	return last ? (int)strtol(last, NULL, 10) : 0;
}

/* Before the first command. */
static int first_given(struct init *in)
{
	if (!in->first)
		return 0;
	return in->sandbox && sandbox_is_numbered(in->sandbox) ? last_number(in) : 1; /* ours */
}

/* In a namespace of its own the numbers of processes tell: each has had one, and so has each
 * thread. Else it is known of those only that became our children. */
static int processes_ever(struct init *in)
{
	int count = in->first ? last_number(in) - in->given : 0;

	return count > in->reaped ? count : in->reaped;
}

static _Noreturn void leave(struct init *in, int survivors)
{
	struct init_message m = {.event = INIT_GONE, .survivors = survivors};

	m.processes = processes_ever(in);
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

/* Where others have the write ends, too, ours must not keep the keeper from seeing the end of a
 * stream. While the command runs they spare the keeper a waking for each of them, and when nothing
 * is left of it the keeper knows that there will be no more. */
static void let_streams_go(struct init *in)
{
	for (size_t i = 0; i < array_size(in->streams); i++)
		fd_close(take_fd(&in->streams[i]));
}

static void count_usage(struct init *in, const struct rusage *u)
{
	in->cpu_us += (int64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
	              u->ru_utime.tv_usec + u->ru_stime.tv_usec;
	if (u->ru_maxrss > in->max_rss_kb)
		in->max_rss_kb = u->ru_maxrss;
}

/* A child may ask its parent to trace it (PTRACE_TRACEME), and then waits for us whenever a signal
 * comes. It goes on untraced: SIGTRAP tells of its execve(), other signals are what they were. */
static void decline_to_trace(pid_t child, int status)
{
	int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

	(void)ptrace(PTRACE_DETACH, child, NULL, signal);
}

/* Reaps all that has ended. Leaves, or stays for another command, when nothing is left. */
static void reap(struct init *in)
{
	struct init_message m = {.event = INIT_EXITED};
	bool ended = false, empty = false;
	struct rusage usage;
	int status;
	pid_t pid;

	for (int i = 0; i < REAP_MAX; i++) { /* bounded: the clock is looked at in between */
		pid = wait4(-1, &status, WNOHANG | __WALL, &usage);
		if (pid <= 0) {
			empty = pid < 0 && errno == ECHILD;
			break;
		}
		if (WIFSTOPPED(status)) {
			decline_to_trace(pid, status);
			continue;
		}
		in->reaped++;
		count_usage(in, &usage);
		if (in->killing && in->first && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			in->toll.killed++;
		if (pid == in->command && !in->command_ended) {
			in->command_ended = ended = true;
			fd_close(take_fd(&in->terminal));
			m.status = status;
		}
	}
	if (ended && !empty)
		let_streams_go(in);
	if (ended) {
		m.leftover = !empty;
		m.tmp_full = in->sandbox && sandbox_plan_scratch_is_full(in->sandbox);
		m.gone = empty; /* one packet tells both, and wakes the keeper once */
		m.processes = empty ? processes_ever(in) : 0;
		tell(in, &m);
	}
	if (empty && ended && in->stays && !in->killing) {
		in->gone = true;
		return;
	}
	if (empty && ended)
		_exit(0);
	if (empty)
		leave(in, 0);
}

static _Noreturn void fail(struct init *in, enum child_step step, int sys)
{
	struct init_message m = {.event = INIT_FAILED, .step = step, .sys = sys};

	tell(in, &m);
	_exit(0);
}

/* The command's end of the terminal is held here, too, until the command has ended: one that
 * closes its own for a while would else be told that somebody hung up. */
static void make_terminal(struct init *in, struct child_plan *plan)
{
	const struct init_message m = {.event = INIT_TERMINAL};
	scoped(fd_closep) int master = -1;
	int r = pty_open(&plan->terminal, &master, &in->terminal);

	if (r == 0 && plan->sandbox)
		r = sandbox_grant_terminal(plan->sandbox, in->terminal);
	if (r == 0)
		r = packet_send(in->socket, &m, sizeof(m), NULL, 0, &master, 1, 0);
	for (int i = 0; i < 3; i++) /* often one and the same */
		close(plan->stdio[i]);
	plan->stdio[0] = r < 0 ? -1 : fcntl(in->terminal, F_DUPFD_CLOEXEC, 3);
	plan->stdio[1] = plan->stdio[2] = plan->stdio[0];
	if (r < 0 || plan->stdio[0] < 0)
		fail(in, CHILD_TERMINAL, r < 0 ? -r : errno);
}

/* A pair of sockets by which the child hands over where its filter asks. */
static void asks_begin(struct init *in, struct child_plan *plan, int ends[2])
{
	if (!plan->sandbox || !sandbox_plan_asks(plan->sandbox))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		fail(in, CHILD_FORK, errno);
	plan->asks_fd = ends[1];
}

/* What the keeper has to answer. Without it every question is answered with ENOSYS. */
static void pass_on(struct init *in, int listener)
{
	const struct init_message m = {.event = INIT_ASKS};

	if (listener >= 0)
		(void)packet_send(in->socket, &m, sizeof(m), NULL, 0, &listener, 1, 0);
	fd_close(listener);
}

/* For stand-ins (standin.h), of which only a command in a room has any. */
static int own_space(const struct init *in)
{
	return in->sandbox && in->first && sandbox_plan_has_room(in->sandbox)
	               ? open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)
	               : -1;
}

static void tell_space(struct init *in)
{
	const struct init_message m = {.event = INIT_SPACE};
	int space = own_space(in);

	if (space >= 0)
		(void)packet_send(in->socket, &m, sizeof(m), NULL, 0, &space, 1, 0);
	fd_close(space);
}

/* The child has executed its program by now, or has told why not. */
static void asks_receive(struct init *in, int ends[2])
{
	int fds[PACKET_FDS_MAX];
	size_t count = 0;
	char byte;

	if (ends[0] >= 0)
		(void)packet_receive(ends[0], &byte, 1, fds, &count, MSG_DONTWAIT);
	if (count == 1 && sandbox_plan_brokers(in->sandbox))
		pass_on(in, fds[0]);
	else if (count == 1)
		in->asks = fds[0];
	fd_close(ends[0]);
	fd_close(ends[1]);
}

static void start(struct init *in, struct child_plan *plan)
{
	struct init_message m = {.event = INIT_STARTED};
	int sys, ends[2] = {-1, -1};
	pid_t pid;

	asks_begin(in, plan, ends);
	if (plan->sandbox)
		sandbox_volunteer(plan->sandbox, true);
	pid = vfork();
	if (pid == 0)
		child_main(plan);
	sys = errno;
	if (pid < 0 && plan->sandbox)
		sandbox_volunteer(plan->sandbox, false); /* else the child has done it */
	if (pid < 0)
		fail(in, CHILD_FORK, sys);
	asks_receive(in, ends);
	in->command = pid;
	close(plan->stdio[0]);      /* who feeds it must see that it does not read any more */
	if (!plan->terminal.rows) { /* which is one descriptor, and was just closed */
		in->streams[0] = plan->stdio[1];
		in->streams[1] = plan->stdio[2] != plan->stdio[1] ? plan->stdio[2] : -1;
	}
	in->streams[2] = plan->notes_fd > 0 ? plan->notes_fd : -1;
	if (plan->tells_start)
		tell(in, &m);
}

static void signal_all(struct init *in, int signal)
{
	if (!in->first) {
		(void)tree_signal(getpid(), signal);
		return;
	}
	(void)kill(-1, signal); /* all of the namespace but ourselves */
	(void)kill(-1, SIGCONT);
}

/* Takes one order, or notices that the keeper is gone. */
static void obey(struct init *in)
{
	enum init_order order;
	ssize_t n = packet_get(in->socket, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == (ssize_t)sizeof(order) && order == INIT_TERM)
		signal_all(in, SIGTERM);
	else if (n == (ssize_t)sizeof(order) && order == INIT_XCPU)
		signal_all(in, SIGXCPU);
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
	if (in->first)
		(void)kill(-1, SIGKILL);
	else
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
	struct pollfd fds[3] = {{.fd = in->signals, .events = POLLIN},
	                        {.fd = in->socket, .events = POLLIN},
	                        {.fd = in->asks, .events = POLLIN}};
	struct signalfd_siginfo info;

	if (poll(fds, in->killing ? 1 : 3, in->killing ? KILL_AGAIN_MS : -1) < 0)
		return;
	/* What is read does not matter: SIGCHLD is merged, so every child is asked in any case. */
	if (fds[0].revents && read(in->signals, &info, sizeof(info)) < 0)
		return;
	reap(in);
	if (in->gone)
		return;
	if (!in->killing && fds[1].revents)
		obey(in);
	/* One at a time: who asks much waits, and an order does not. Those who are to be killed get
	 * no answer. */
	if (!in->killing && fds[2].revents && !signaller_answer(in->asks))
		fd_close(take_fd(&in->asks));
	kill_again(in);
}

/* The keeper's own sockets and pipe ends must not live twice. */
static void close_others(int socket, const struct child_plan *plan)
{
	int keep[5 + SANDBOX_FDS_MAX] = {socket, plan->stdio[0], plan->stdio[1], plan->stdio[2],
	                                 plan->notes_fd > 0 ? plan->notes_fd : -1};
	const int *fds;
	size_t n = plan->sandbox ? sandbox_plan_fds(plan->sandbox, &fds) : 0;

	for (size_t i = 0; i < n; i++)
		keep[5 + i] = fds[i];
	fd_close_except(keep, 5 + n);
}

/* Waits until the parent has given us our identity; it may as well have died. */
static void wait_for_admission(struct init *in)
{
	enum init_order order;
	ssize_t n;

	do
		n = packet_get(in->socket, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(order) || order != INIT_GO)
		_exit(1);
}

/* AHEAD: of the command; then there is time for the seal, which the command inherits. */
static void enter(struct init *in, struct sandbox_plan *sandbox, bool ahead)
{
	struct init_message m = {.event = INIT_FAILED, .step = CHILD_SANDBOX};
	int r;

	/* Before anything is waited for. Should the keeper be dead already, the socket says it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	in->sandbox = sandbox;
	in->first = sandbox_plan_clone_flags(sandbox) != 0;
	if (sandbox_plan_waits(sandbox))
		wait_for_admission(in);
	r = ahead ? sandbox_enter_sealed(sandbox, &m.detail) : sandbox_enter(sandbox, &m.detail);
	if (r == 0) {
		tell_space(in);
		return;
	}
	m.sys = -r;
	tell(in, &m);
	leave(in, 0);
}

/* Nobody's ignored or handled signals: a shell that ran us with nohup has no say in the command,
 * which inherits what is set here. We ourselves have blocked all of them. */
static void reset_signals(void)
{
	/* The kernel's own struct sigaction: all zero is SIG_DFL. libc would keep two signals from
	 * us. */
	const unsigned long fallback[4] = {0};

	for (int s = 1; s < 65; s++)
		if (s != SIGKILL && s != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, s, fallback, NULL, sizeof(unsigned long));
}

/* Signals, name and duties of any init. */
static void become_init(struct init *in)
{
	sigset_t all, child;

	(void)prctl(PR_SET_NAME, "nacre-init", 0, 0, 0);
	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	in->signals = signalfd(-1, &child, SFD_CLOEXEC);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || in->signals < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		struct init_message m = {.event = INIT_FAILED, .step = CHILD_FORK, .sys = errno};

		tell(in, &m);
		_exit(1);
	}
	reset_signals();
}

/* Returns when the command and its tree have ended, if init stays; else never. */
static void run(struct init *in, struct child_plan *plan)
{
	if (plan->terminal.rows)
		make_terminal(in, plan);
	start(in, plan);
	while (!in->gone)
		wait_for_events(in);
}

_Noreturn void init_main(int socket, struct child_plan *plan)
{
	struct init in = none;

	in.socket = socket;
	close_others(socket, plan);
	become_init(&in);
	if (plan->sandbox)
		enter(&in, plan->sandbox, false);
	in.given = first_given(&in);
	run(&in, plan);
	_exit(0);
}

/* The holder's own socket must not live on here: its end tells the holder that it may go. */
static void close_holders(int socket, const struct sandbox_plan *sandbox)
{
	int keep[2 + SANDBOX_FDS_MAX] = {socket, sandbox_numbers_fd(sandbox)};
	const int *fds;
	size_t n = sandbox_plan_fds(sandbox, &fds);

	for (size_t i = 0; i < n; i++)
		keep[2 + i] = fds[i];
	fd_close_except(keep, 2 + n);
}

/* A new command, of which nothing is known yet, for the same init. */
static void begin_anew(struct init *in)
{
	struct init next = none;

	next.socket = in->socket;
	next.signals = in->signals;
	next.sandbox = in->sandbox;
	next.first = next.stays = true;
	next.numbers = in->numbers;
	next.given = last_number(&next);
	*in = next;
}

static int say_ready(struct init *in, int self)
{
	struct init_message m = {.event = INIT_READY};
	const int more[] = {self < 0 ? -1 : own_space(in),
	                    self < 0 ? -1 : sandbox_listener(in->sandbox)};
	int fds[3] = {self}, r;
	size_t count = self >= 0;

	m.detail = more[0] >= 0;
	for (size_t i = 0; i < array_size(more); i++)
		if (more[i] >= 0)
			fds[count++] = more[i];
	r = packet_send(in->socket, &m, sizeof(m), NULL, 0, fds, count, 0);
	fd_close(more[0]);
	return r;
}

/* Waits for a command and runs it. */
static void serve_one(struct init *in, struct buffer *text)
{
	struct child_plan plan = {.report_fd = in->socket, .sandbox = in->sandbox};
	int r = wire_plan_receive(in->socket, text, &plan);

	if (r == -EPIPE) /* nobody needs us any more */
		_exit(0);
	if (r < 0)
		fail(in, CHILD_FORK, -r);
	run(in, &plan);
	let_streams_go(in);
	wire_plan_done(&plan);
}

/* Signals that the command sent to us, whom they cannot reach, wait for ever, and those of a user
 * are counted. */
static bool is_unmolested(void)
{
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	for (int s = 1; s <= SIGRTMAX; s++) /* glibc's sigisemptyset() looks at the first 32 only */
		if (s != SIGCHLD && sigismember(&pending, s) == 1)
			return false;
	return true;
}

/* The keeper has time to wait for our looks now. */
static bool is_wanted_again(const struct init *in)
{
	enum init_order order;
	ssize_t n;

	do
		n = packet_get(in->socket, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(order) && order == INIT_AGAIN && is_unmolested() &&
	       sandbox_is_afresh(in->sandbox);
}

_Noreturn void init_await(int socket, struct sandbox_plan *sandbox)
{
	struct buffer text = {0};
	struct init in = none;

	in.socket = socket;
	close_holders(socket, sandbox);
	become_init(&in);
	enter(&in, sandbox, true);
	pass_on(&in, sandbox_listener(sandbox));
	in.given = first_given(&in);
	serve_one(&in, &text);
	_exit(0);
}

_Noreturn void init_serve(int socket, struct sandbox_plan *sandbox)
{
	struct init_message m = {.event = INIT_FAILED, .step = CHILD_SANDBOX};
	struct buffer text = {0};
	struct init in = none;
	int self;

	in.socket = socket;
	in.sandbox = sandbox;
	close_holders(socket, sandbox);
	become_init(&in);
	self = pidfd_open(getpid(), 0);
	m.sys = self < 0 ? errno : -sandbox_net_part(sandbox, &m.detail);
	if (m.sys == 0)
		m.sys = -sandbox_enter_nested(sandbox, &m.detail);
	if (m.sys != 0) {
		tell(&in, &m);
		_exit(1);
	}
	sandbox_afresh_begin(sandbox);
	begin_anew(&in);
	if (say_ready(&in, self) < 0 || sandbox_net_pass(sandbox, socket) < 0)
		_exit(1);
	close(self);
	fd_close(sandbox_listener(sandbox));
	for (;;) {
		serve_one(&in, &text);
		if (!is_wanted_again(&in))
			_exit(0);
		begin_anew(&in);
		if (say_ready(&in, -1) < 0)
			_exit(0);
	}
}
