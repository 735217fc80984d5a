/*
 * Living on after the command has ended. Each attempt leaves processes that have the number of
 * the second argument among their own arguments: the driver looks for it in /proc once the result
 * is there. They also write a line to the workspace later: neither may be found.
 */
#include "attack.h"
#include <sched.h>
#include <sys/prctl.h>

static const char *marker;

__attribute__((noreturn)) static void stay(void)
{
	char script[256];

	snprintf(script, sizeof(script),
	         "trap '' TERM HUP INT; sleep 0.7; echo alive >daemon-%s; sleep %s", marker,
	         marker);
	execl("/bin/bash", "bash", "-c", script, marker, NULL);
	_exit(1);
}

static void detach(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
}

/* The process is on its way when the pipe that it closes on exec reads its end. */
static void leave(void (*prepare)(void))
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0) {
		no("pipe");
		return;
	}
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			prepare();
			stay();
		}
		_exit(0);
	}
	close(ready[1]);
	while (read(ready[0], &byte, 1) < 0 && errno == EINTR)
		;
}

static void nothing(void)
{
}

static void ignore_all(void)
{
	detach();
	for (int n = 1; n < 65; n++)
		signal(n, SIG_IGN);
}

static void be_subreaper(void)
{
	detach();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (fork() != 0) {
		close_range(3, ~0U, 0);
		for (;;)
			pause();
	}
}

static void twice(void)
{
	leave(detach);
}

static void holding_the_pipe(void)
{
	leave(nothing);
}

static void ignoring(void)
{
	leave(ignore_all);
}

static void under_a_subreaper(void)
{
	leave(be_subreaper);
}

static void sibling(void)
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		detach();
		stay();
	}
	if (pid < 0)
		no("clone with CLONE_PARENT");
}

/* Is not reaped with SIGCHLD, and is a child of pid 1 from birth on, if the kernel lets it. */
static void silent_sibling(void)
{
	long pid = syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		detach();
		stay();
	}
	if (pid < 0)
		no("clone without a signal");
}

static void stopped(void)
{
	if (fork() == 0) {
		detach();
		if (fork() == 0)
			stay();
		raise(SIGSTOP);
	}
}

static void forking_on(void)
{
	if (fork() == 0) {
		detach();
		for (int turn = 0; turn < 300; turn++) { /* a new process id every time */
			if (fork() != 0)
				_exit(0);
		}
		stay();
	}
}

static const struct attempt all[] = {
	{"twice", twice},       {"holding_the_pipe", holding_the_pipe},
	{"ignoring", ignoring}, {"under_a_subreaper", under_a_subreaper},
	{"sibling", sibling},   {"silent_sibling", silent_sibling},
	{"stopped", stopped},   {"forking_on", forking_on},
};

int main(int argc, char **argv)
{
	marker = argc > 2 ? argv[2] : "0";
	return attack(argc, argv, all, count_of(all));
}
