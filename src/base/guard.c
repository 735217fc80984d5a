#include "base/guard.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"

static void ignore_signals(void)
{
	static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN,
	                              SIGTTOU, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < array_size(ignored); i++)
		(void)sigaction(ignored[i], &ignore, NULL);
}

static _Noreturn void guard_main(int fd, void (*undo)(const void *context), const void *context,
                                 int keep_fd)
{
	ssize_t n;
	char byte;

	(void)prctl(PR_SET_NAME, "nacre-guard", 0, 0, 0);
	ignore_signals();
	(void)setsid(); /* a signal to the parent's group or session is not for the guard */
	fd_close_except((const int[]){fd, keep_fd}, 2);
	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		undo(context);
	_exit(0);
}

int guard_post(struct guard *ret_guard, void (*undo)(const void *context), const void *context,
               int keep_fd)
{
	scoped(fd_closep) int theirs = -1;
	scoped(fd_closep) int ours = -1;
	int ends[2];
	pid_t pid;

	assert(undo);
	*ret_guard = (struct guard){.fd = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	theirs = ends[0];
	ours = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		guard_main(theirs, undo, context, keep_fd);
	*ret_guard = (struct guard){.pid = pid, .fd = take_fd(&ours)};
	return 0;
}

void guard_dismiss(struct guard *g)
{
	if (g->pid == 0)
		return;
	assert(g->fd >= 0);
	(void)fd_write_all(g->fd, "", 1); /* it may be gone */
	fd_close(take_fd(&g->fd));
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	g->pid = 0;
}

void guard_release(struct guard *g)
{
	if (g->pid > 0)
		fd_close(take_fd(&g->fd));
	g->pid = 0;
}
