/*
 * The keeper's side of init. process_spawn() makes init and gives it the command at once;
 * process_begin() makes an init that waits in its box, and process_give() sends the command later;
 * process_adopt() takes an init that a held box has made. A command that waits is executed after
 * process_go(). Both sides speak struct init_message over one packet socket.
 *
 * init is our child in the first two cases and must be reaped here. An adopted one is not.
 */
#include "process/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "process/clone.h"
#include "process/init.h"
#include "process/tree.h"
#include "process/wire.h"
#include "sandbox/plan.h"

#define TAKE_OVER_PATIENCE_MS 5000
#define REAP_PATIENCE_MS      1000
#define AGAIN_PATIENCE_MS     1000 /* a look at a few files; the machine may be busy */

struct pipes {
	int read[2];
	int write[2];
	int notes; /* write end */
};

static void pipes_done(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		fd_close(p->read[i]);
		fd_close(p->write[i]);
	}
	fd_close(p->notes);
}

/* Only our ends are non-blocking: that is a property of the open file, and a command that finds its
 * standard output non-blocking loses output. */
static int pipe_open(int *ret_read, int *ret_write, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, errno, "pipe");
	*ret_read = ends[0];
	*ret_write = ends[1];
	return fd_set_nonblocking(ends[0]) < 0 ? error_sys(err, errno, "pipe") : 0;
}

static int pipes_open(bool merged, struct pipes *p, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < (merged ? 1 : 2); i++)
		r = pipe_open(&p->read[i], &p->write[i], err);
	return r;
}

void process_go(struct process *p)
{
	const enum init_order go = INIT_GO;

	(void)packet_put(p->socket, &go, sizeof(go), MSG_DONTWAIT);
}

/* What the box's init cannot do for itself. Without it init does not start the command. */
static int admit(struct process *p, struct sandbox_plan *sandbox, struct error *err)
{
	int r;

	if (!sandbox || !sandbox_plan_waits(sandbox))
		return 0;
	r = sandbox_plan_admit(sandbox, p->init_pid, err);
	if (r == 0) {
		process_go(p);
		return 0;
	}
	(void)pidfd_send_signal(p->init_pidfd, SIGKILL, NULL, 0);
	while (waitpid(p->init_pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r;
}

/* A descriptor of a directory is a way out of any tree. */
static int check_input(const struct process_command *command, struct error *err)
{
	struct stat st;

	if (command->sandbox && fstat(command->stdin_fd, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(err, ERROR_INPUT, EISDIR, "standard input is a directory");
	return 0;
}

/* Root's box runs as another user, who could not open its own streams by name (/dev/stderr): a pipe
 * is the user's who made it. Nobody else gains by it, since a pipe is found only through a process
 * that has it. What is a file has an owner of its own, and keeps it. */
static void give_pipes(const struct process_command *command, const struct pipes *pipes)
{
	const int fds[] = {command->stdin_fd, pipes->write[0], pipes->write[1], pipes->notes};
	struct statfs fs;
	uid_t uid;
	gid_t gid;

	if (!command->sandbox)
		return;
	sandbox_plan_user(command->sandbox, &uid, &gid);
	for (size_t i = 0; uid != geteuid() && i < array_size(fds); i++)
		if (fds[i] >= 0 && fstatfs(fds[i], &fs) == 0 && fs.f_type == PIPEFS_MAGIC &&
		    fchown(fds[i], uid, gid) < 0)
			return; /* they work by their numbers */
}

static struct process *process_new(struct error *err)
{
	struct process *p = malloc(sizeof(*p));

	if (p)
		*p = (struct process){.init_pidfd = -1,
		                      .socket = -1,
		                      .output = {-1, -1},
		                      .notes = -1,
		                      .asks = -1,
		                      .space = -1};
	else
		(void)error_nomem(err);
	return p;
}

static int prepare(struct process *p, const struct process_command *command, struct pipes *pipes,
                   struct error *err)
{
	int r = check_input(command, err);

	if (r == 0 && command->notes)
		r = pipe_open(&p->notes, &pipes->notes, err);
	if (r == 0 && !command->terminal.rows)
		r = pipes_open(command->merged, pipes, err);
	if (r == 0)
		give_pipes(command, pipes);
	return r;
}

static struct child_plan plan_of(const struct process_command *command, const struct pipes *pipes)
{
	struct child_plan plan = {
		.stdio = {command->stdin_fd, pipes->write[0],
	                  command->merged ? pipes->write[0] : pipes->write[1]},
		.cwd = command->cwd,
		.paths = command->paths,
		.argv = command->argv,
		.envp = command->envp,
		.limit_count = command->limit_count,
		.notes_fd = pipes->notes > 0 ? pipes->notes : 0,
		.terminal = command->terminal,
		.tells_start = command->tells_start,
		.waits = command->waits,
	};

	if (plan.terminal.rows) /* init puts the terminal in their place */
		plan.stdio[1] = plan.stdio[2] = command->stdin_fd;
	memcpy(plan.limits, command->limits, sizeof(plan.limits));
	return plan;
}

/* Without a PLAN init waits for one to be sent. */
static int start_init(struct process *p, struct sandbox_plan *sandbox, struct child_plan *plan,
                      struct error *err)
{
	scoped(fd_closep) int theirs = -1;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_sys(err, errno, "socket pair for init");
	p->socket = sockets[0];
	theirs = sockets[1];
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return error_sys(err, errno, "becoming a subreaper");
	p->init_pid = sandbox ? process_clone_box(sandbox, false, &p->init_pidfd)
	                      : process_clone(&p->init_pidfd);
	if (p->init_pid == 0 && !plan)
		init_await(theirs, sandbox);
	if (p->init_pid == 0) {
		plan->report_fd = theirs;
		init_main(theirs, plan);
	}
	if (p->init_pid < 0)
		return error_sys(err, (int)-p->init_pid, "starting init");
	return admit(p, sandbox, err);
}

int process_spawn(const struct process_command *command, struct process **ret_process,
                  struct error *err)
{
	scoped(pipes_done) struct pipes pipes = {{-1, -1}, {-1, -1}, -1};
	scoped(process_freep) struct process *p = process_new(err);
	struct child_plan plan;
	int r;

	if (!p)
		return -ENOMEM;
	r = prepare(p, command, &pipes, err);
	if (r < 0)
		return r;
	plan = plan_of(command, &pipes);
	plan.tells_start = true;
	plan.sandbox = command->sandbox;
	r = start_init(p, command->sandbox, &plan, err);
	if (r < 0)
		return r;
	p->output[0] = take_fd(&pipes.read[0]);
	p->output[1] = take_fd(&pipes.read[1]);
	*ret_process = take_ptr(&p);
	return 0;
}

int process_begin(struct sandbox_plan *sandbox, struct process **ret_process, struct error *err)
{
	scoped(process_freep) struct process *p = process_new(err);
	int r = p ? start_init(p, sandbox, NULL, err) : -ENOMEM;

	if (r == 0)
		*ret_process = take_ptr(&p);
	return r;
}

int process_give(struct process *p, const struct process_command *command, struct error *err)
{
	scoped(pipes_done) struct pipes pipes = {{-1, -1}, {-1, -1}, -1};
	struct child_plan plan;
	int r;

	assert(p->socket >= 0 && p->output[0] < 0); /* it has no command yet */
	r = prepare(p, command, &pipes, err);
	if (r < 0)
		return r;
	plan = plan_of(command, &pipes);
	r = wire_plan_send(p->socket, &plan, err);
	if (r < 0)
		return r;
	p->output[0] = take_fd(&pipes.read[0]);
	p->output[1] = take_fd(&pipes.read[1]);
	return 0;
}

int process_adopt(const struct process_command *command, int init_socket, int init_pidfd,
                  struct process **ret_process, struct error *err)
{
	scoped(fd_closep) int socket = init_socket;
	scoped(fd_closep) int pidfd = init_pidfd;
	scoped(process_freep) struct process *p = process_new(err);
	int r;

	assert(init_socket >= 0 && init_pidfd >= 0);
	if (!p)
		return -ENOMEM;
	p->socket = take_fd(&socket);
	p->init_pidfd = take_fd(&pidfd);
	r = process_give(p, command, err);
	if (r == 0)
		*ret_process = take_ptr(&p);
	return r;
}

struct process *process_free(struct process *p)
{
	if (p) {
		fd_close(p->init_pidfd);
		fd_close(p->socket);
		fd_close(p->output[0]);
		fd_close(p->output[1]);
		fd_close(p->notes);
		fd_close(p->asks);
		fd_close(p->space);
		free(p);
	}
	return NULL;
}

int process_receive(struct process *p, struct init_message *ret_message)
{
	struct init_message m;
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n;

	if (p->farewell) {
		p->farewell = false;
		p->last.event = INIT_GONE;
		*ret_message = p->last;
		return 1;
	}
	n = packet_receive(p->socket, &m, sizeof(m), fds, &count, MSG_DONTWAIT);
	if (n == -ECONNRESET) /* orders were left unread; its last words were not */
		n = packet_receive(p->socket, &m, sizeof(m), fds, &count, MSG_DONTWAIT);
	for (size_t i = 0; i < count; i++) {
		if (n == (ssize_t)sizeof(m) && m.event == INIT_TERMINAL && p->output[0] < 0 &&
		    fd_set_nonblocking(fds[i]) == 0)
			p->output[0] = fds[i];
		else if (n == (ssize_t)sizeof(m) && m.event == INIT_ASKS && p->asks < 0)
			p->asks = fds[i];
		else if (n == (ssize_t)sizeof(m) && m.event == INIT_SPACE && p->space < 0)
			p->space = fds[i];
		else
			fd_close(fds[i]);
	}
	if (n == (ssize_t)sizeof(m) && m.event == INIT_READY) {
		p->again = true;
		return 0;
	}
	if (n == (ssize_t)sizeof(m)) {
		p->farewell = m.event == INIT_EXITED && m.gone;
		p->last = m;
		*ret_message = m;
		return 1;
	}
	return n == -EAGAIN || n == -EINTR ? 0 : -EPIPE;
}

int process_await_again(struct process *p, int *ret_socket, int *ret_pidfd)
{
	struct pollfd word = {.fd = p->socket, .events = POLLIN};
	struct init_message m;

	/* An order that it did not read would be the first thing that it reads next. */
	if (p->init_pid > 0 || p->ordered)
		return -EPIPE;
	process_order(p, INIT_AGAIN);
	if (poll(&word, 1, AGAIN_PATIENCE_MS) == 1)
		(void)process_receive(p, &m);
	if (!p->again)
		return -EPIPE;
	*ret_socket = take_fd(&p->socket);
	*ret_pidfd = take_fd(&p->init_pidfd);
	return 0;
}

void process_order(struct process *p, enum init_order order)
{
	p->ordered = true;
	(void)packet_put(p->socket, &order, sizeof(order), MSG_DONTWAIT);
}

int process_take_over(struct process *p, int *ret_survivors)
{
	int64_t deadline = clock_now_ms() + TAKE_OVER_PATIENCE_MS;
	scoped(tree_toll_done) struct tree_toll toll = {0};
	pid_t pid;
	int left;

	(void)pidfd_send_signal(p->init_pidfd, SIGKILL, NULL, 0);
	if (p->init_pid == 0) {
		/* Its pid namespace ends with it, and when a pidfd says that a first process has
		 * ended, all others of the namespace have. */
		struct pollfd end = {.fd = p->init_pidfd, .events = POLLIN};

		*ret_survivors = poll(&end, 1, TAKE_OVER_PATIENCE_MS) == 1 ? 0 : 1;
		return 0;
	}
	/* Until init is dead the tree is not ours to reap. One that somebody traces cannot be
	 * waited for: go on after a while. */
	for (int i = 0; i < 250 && waitpid(p->init_pid, NULL, WNOHANG | __WALL) == 0; i++)
		(void)poll(NULL, 0, 2);
	for (;;) {
		tree_kill_on(getpid(), &toll);
		while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if ((pid < 0 && errno == ECHILD) || clock_now_ms() > deadline)
			break;
		(void)poll(NULL, 0, 2); /* what is dying needs a moment to become reapable */
	}
	left = tree_count(getpid());
	*ret_survivors = left > 0 ? left : 0;
	return toll.killed;
}

void process_reap(struct process *p)
{
	struct pollfd end = {.fd = p->init_pidfd, .events = POLLIN};

	if (p->init_pid > 0 && poll(&end, 1, REAP_PATIENCE_MS) == 1)
		(void)waitpid(p->init_pid, NULL, WNOHANG | __WALL);
}

const char *process_step_text(enum child_step step)
{
	static const char *const texts[] = {
		[CHILD_SETSID] = "new session",
		[CHILD_STDIO] = "standard streams",
		[CHILD_LIMITS] = "resource limits",
		[CHILD_CWD] = "working directory",
		[CHILD_SIGNALS] = "signals",
		[CHILD_PRIVILEGES] = "no_new_privs",
		[CHILD_EXEC] = "executing the file",
		[CHILD_FORK] = "new process",
		[CHILD_SANDBOX] = "sandbox",
		[CHILD_TERMINAL] = "terminal",
		[CHILD_CLOSE] = "close_range, which needs Linux 5.12 and no filter against it",
	};

	return texts[step];
}
