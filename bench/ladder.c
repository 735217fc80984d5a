/*
 * What a start through nacre is made of: the same processes, pipes, sockets and files, built up
 * rung by rung without nacre's own work. The cost of a part is the difference between two rungs.
 *
 *     ladder RUNG DIRECTORY PROGRAM
 *
 *     0  a static program that starts and ends        4  output through pipes to the keeper
 *     1  it starts PROGRAM and waits                  5  signals, limits, descriptors set right
 *     2  a keeper in between starts PROGRAM           6  keeper and PROGRAM in sessions of their
 * own 3  an init in between keeper and PROGRAM        7  a task directory with its records
 *
 * Nothing here is checked or reported beyond "it did not work": this is a measure, not a model.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "harness.h"

#define SIGNALS_MAX 65
#define CAPTURE     251080 /* what two streams of nacre's keep at most, each */

enum rung { NOTHING, COMMAND, KEEPER, INIT, PIPES, STATE, SESSIONS, TASK };

struct ladder {
	enum rung rung;
	const char *directory;
	char *argv[2];
	int null, task, out[2], err[2];
};

static _Noreturn void fail(int step)
{
	_exit(100 + step);
}

static pid_t clone_process(void)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? fork() : (pid_t)pid;
}

static void reset_signals(int last)
{
	struct sigaction fallback = {.sa_handler = SIG_DFL};

	for (int s = 1; s < last; s++)
		(void)sigaction(s, &fallback, NULL);
}

static void command_state(const struct ladder *l)
{
	const struct rlimit none = {0, 0}, some = {1024, 1024};
	sigset_t empty;

	sigemptyset(&empty);
	if (l->rung >= SESSIONS)
		(void)setsid();
	(void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setrlimit(RLIMIT_NPROC, &some);
	(void)chdir("/tmp");
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	reset_signals(SIGNALS_MAX);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL);
}

static pid_t start_command(const struct ladder *l)
{
	pid_t pid = vfork();

	if (pid == 0) {
		if (l->rung >= PIPES) {
			(void)dup2(l->null, 0);
			(void)dup2(l->out[1], 1);
			(void)dup2(l->err[1], 2);
		}
		if (l->rung >= STATE)
			command_state(l);
		execve(l->argv[0], l->argv, environ);
		_exit(127);
	}
	return pid;
}

static void wait_zero(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		fail(1);
}

static void tell(int socket)
{
	char message[48] = {0};

	if (send(socket, message, sizeof(message), MSG_NOSIGNAL) != (ssize_t)sizeof(message))
		fail(2);
}

/* Starts the command, tells so, waits for it through a signalfd, tells the end. */
static _Noreturn void init_main(const struct ladder *l, int socket)
{
	struct signalfd_siginfo info;
	sigset_t all, child;
	int signals;

	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (l->rung >= STATE)
		for (int i = 0; i < 5; i++)
			(void)close_range(900U + (unsigned)i, 900U + (unsigned)i, 0);
	signals = signalfd(-1, &child, SFD_CLOEXEC);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)start_command(l);
	close(l->out[1]);
	close(l->err[1]);
	tell(socket);
	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info) || wait(NULL) < 0)
		fail(3);
	tell(socket);
	tell(socket);
	_exit(0);
}

/* Until init has said its last word and both pipes have ended. */
static void pump(const struct ladder *l, int socket, char *buffer, size_t size)
{
	struct pollfd fds[3] = {{.fd = socket, .events = POLLIN},
	                        {.fd = l->rung >= PIPES ? l->out[0] : -1, .events = POLLIN},
	                        {.fd = l->rung >= PIPES ? l->err[0] : -1, .events = POLLIN}};
	int said = 0;

	while (said < 3 || fds[1].fd >= 0 || fds[2].fd >= 0) {
		if (poll(fds, 3, 60000) <= 0)
			fail(4);
		for (int i = 1; i < 3; i++)
			if (fds[i].revents && read(fds[i].fd, buffer, size) == 0)
				fds[i].fd = -1;
		while (fds[0].revents && said < 3 && recv(socket, buffer, size, MSG_DONTWAIT) > 0)
			said++;
	}
}

static void keeper_state(const struct ladder *l)
{
	(void)prctl(PR_SET_NAME, "ladder-keeper", 0, 0, 0);
	if (l->rung >= SESSIONS)
		(void)setsid();
	reset_signals(32);
	for (int i = 0; i < 3; i++)
		(void)dup2(l->null, i);
	for (int i = 0; i < 4; i++)
		(void)close_range(900U + (unsigned)i, 900U + (unsigned)i, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)chdir("/");
}

static void write_file(int directory, const char *name, bool lock)
{
	char text[500];
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	memset(text, 'x', sizeof(text));
	if (fd < 0 || (lock && flock(fd, LOCK_EX | LOCK_NB) < 0) ||
	    write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		fail(5);
	if (!lock)
		close(fd);
}

static _Noreturn void keeper_main(struct ladder *l, int control)
{
	char *buffer = mmap(NULL, 262144 + 2 * CAPTURE, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sockets[2];
	pid_t init;

	if (buffer == MAP_FAILED)
		fail(6);
	if (l->rung >= STATE)
		keeper_state(l);
	if (l->rung >= TASK)
		write_file(l->task, "spec.json", true);
	if (l->rung == KEEPER) {
		wait_zero(start_command(l));
	} else {
		if (l->rung >= PIPES &&
		    (pipe2(l->out, O_CLOEXEC) < 0 || pipe2(l->err, O_CLOEXEC) < 0))
			fail(7);
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
			fail(8);
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		init = clone_process();
		if (init == 0)
			init_main(l, sockets[1]);
		close(sockets[1]);
		close(l->out[1]);
		close(l->err[1]);
		pump(l, sockets[0], buffer, 262144);
	}
	if (l->rung >= TASK) {
		write_file(l->task, ".state.json.new", false);
		(void)renameat(l->task, ".state.json.new", l->task, "state.json");
	}
	tell(control);
	_exit(0);
}

static void run_keeper(struct ladder *l)
{
	struct epoll_event event = {.events = EPOLLIN};
	int sockets[2], loop = epoll_create1(EPOLL_CLOEXEC);
	char message[48];
	pid_t keeper;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 || loop < 0)
		fail(9);
	keeper = clone_process();
	if (keeper == 0)
		keeper_main(l, sockets[1]);
	close(sockets[1]);
	if (epoll_ctl(loop, EPOLL_CTL_ADD, sockets[0], &event) < 0 ||
	    epoll_wait(loop, &event, 1, 60000) != 1 ||
	    recv(sockets[0], message, sizeof(message), 0) != (ssize_t)sizeof(message))
		fail(10);
	wait_zero(keeper);
}

static void run_task(struct ladder *l)
{
	static const char *const names[] = {"out",        "err",  "spec.json",
	                                    "state.json", "sock", ".state.json.new"};
	int state = open(l->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char id[32];

	snprintf(id, sizeof(id), "task-%d", (int)getpid());
	if (state < 0 || mkdirat(state, id, 0700) < 0)
		fail(11);
	l->task = openat(state, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run_keeper(l);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(l->task, names[i], 0);
	if (unlinkat(state, id, AT_REMOVEDIR) < 0)
		fail(12);
}

int main(int argc, char **argv)
{
	struct ladder l = {.task = -1, .out = {-1, -1}, .err = {-1, -1}};

	if (argc != 4)
		give_up("usage: ladder RUNG DIRECTORY PROGRAM", 0);
	l.rung = (enum rung)number_argument(argv[1]);
	l.directory = argv[2];
	l.argv[0] = argv[3];
	l.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (l.rung == COMMAND)
		wait_zero(start_command(&l));
	else if (l.rung == TASK)
		run_task(&l);
	else if (l.rung > COMMAND)
		run_keeper(&l);
	return 0;
}
