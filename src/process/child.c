/*
 * Runs in a vfork child: it shares the memory of init until execve, so it changes none of it.
 */
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/packet.h"
#include "process/message.h"
#include "process/which.h"
#include "sandbox/enter.h"

static _Noreturn void child_fail(const struct child_plan *plan, enum child_step step, int sys,
                                 int detail)
{
	struct init_message m = {.event = INIT_FAILED, .step = step, .sys = sys, .detail = detail};

	(void)packet_put(plan->report_fd, &m, sizeof(m), 0);
	_exit(127);
}

/* When memory runs out the kernel should take the command, not those who have to report its end. */
static void volunteer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "500", 3) < 0) {
		/* Without it the choice is the kernel's. */
	}
	close(fd);
}

/* As execvp() searches: a file that is missing lets the next one try, one that may not be run is
 * remembered, any other failure is final. */
static int exec_first(const struct child_plan *plan)
{
	int sys = ENOENT;

	for (const char *const *path = plan->paths; *path; path++) {
		/* execve() does not write to them; its prototype is older than const. */
		execve(*path, (char *const *)(uintptr_t)plan->argv,
		       (char *const *)(uintptr_t)plan->envp);
		if (errno == EACCES)
			sys = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR)
			return errno;
	}
	return sys;
}

/* Init itself sleeps until we execute something (vfork), so the order is ours to read. Any other
 * order, and the end of the keeper, means that there is nothing to be executed. */
static void await_go(const struct child_plan *plan)
{
	enum init_order order;
	ssize_t n;

	do
		n = packet_get(plan->report_fd, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(order) || order != INIT_GO)
		_exit(CHILD_NOT_RUN);
}

static _Noreturn void exec_or_replace(const struct child_plan *plan)
{
	int sys = exec_first(plan);

	if ((sys == ENOENT || sys == EACCES) && plan->sandbox &&
	    sandbox_offers(plan->sandbox, plan->argv[0]))
		_exit(which_run(plan->argv, plan->envp));
	child_fail(plan, CHILD_EXEC, sys, 0);
}

/* Nothing to read is a device of the host, and a descriptor of it lets everybody change its times.
 * The box has one that cannot be changed. */
static void take_own_null(void)
{
	struct stat st;
	int fd;

	if (fstat(STDIN_FILENO, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)dup2(fd, STDIN_FILENO);
	close(fd);
}

/* The system call filter goes last. Where it asks, init has to hear it before anything runs. */
static void seal(const struct child_plan *plan)
{
	int detail = 0, listener = sandbox_seal(plan->sandbox, &detail), r = 0;

	if (listener > 0)
		r = packet_send(plan->asks_fd, "", 1, NULL, 0, &listener, 1, 0);
	if (listener < 0 || r < 0)
		child_fail(plan, CHILD_SANDBOX, listener < 0 ? -listener : -r, detail);
}

_Noreturn void child_main(const struct child_plan *plan)
{
	sigset_t none;

	/* Init is no volunteer any more before anything else happens: it may sleep here for long,
	 * and afterwards the command would run before it. A child of vfork() keeps its own choice,
	 * though it shares init's memory; once it executes a program, the kernel could take the two
	 * for one. */
	if (plan->sandbox)
		sandbox_volunteer(plan->sandbox, false);
	if (setsid() < 0) /* no controlling terminal, and no group shared with nacre */
		child_fail(plan, CHILD_SETSID, errno, 0);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(plan->stdio[fd], fd) < 0)
			child_fail(plan, CHILD_STDIO, errno, 0);
	if (plan->sandbox)
		take_own_null();
	if (plan->terminal.rows && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		child_fail(plan, CHILD_TERMINAL, errno, 0);
	/* Everything of ours is close-on-exec; what nacre itself inherited may not be. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		child_fail(plan, CHILD_CLOSE, errno, 0);
	if (plan->notes_fd > 0 && dup2(plan->notes_fd, CHILD_NOTES_FD) < 0)
		child_fail(plan, CHILD_STDIO, errno, 0);
	if (!plan->sandbox)
		volunteer_for_oom(); /* a box's init has done it */
	if (chdir(plan->cwd) < 0)
		child_fail(plan, CHILD_CWD, errno, 0);
	/* A set-user-id program could not be signalled by us, and so could outlive its keeper. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		child_fail(plan, CHILD_PRIVILEGES, errno, 0);
	sigemptyset(&none); /* what was ignored or handled was given back by init */
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		child_fail(plan, CHILD_SIGNALS, errno, 0);
	if (plan->sandbox)
		seal(plan);
	/* After the seal, which may have to send a descriptor: the kernel compares those that are
	 * under way with this limit. All are only lowered. */
	for (int i = 0; i < plan->limit_count; i++)
		if (setrlimit((__rlimit_resource_t)plan->limits[i].resource,
		              &plan->limits[i].value) < 0)
			child_fail(plan, CHILD_LIMITS, errno, 0);
	if (plan->waits)
		await_go(plan);
	exec_or_replace(plan);
}
