#include "container/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define READ_BYTES 4096

int docker_watch_pause(const struct docker_watch *watch, int64_t ms)
{
	int64_t deadline = clock_now_ms() + ms, left = ms;

	do {
		struct pollfd p = {.fd = watch ? watch->fd : -1, .events = POLLIN};

		if (poll(&p, 1, left > 0 ? (int)left : 0) > 0 && watch &&
		    watch->is_over(watch->owner))
			return -ECANCELED;
		left = deadline - clock_now_ms();
	} while (left > 0);
	return 0;
}

/* All signals as a new program expects them, a session of its own, the three streams. */
static int spawn(const char *const *argv, const char *const *envp, const int fds[3], pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attributes);
	for (int i = 0; r == 0 && i < 3; i++)
		r = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
		                                                  POSIX_SPAWN_SETSIGDEF |
		                                                  POSIX_SPAWN_SETSID);
	if (r == 0) /* its prototype is older than const */
		r = posix_spawnp(ret_pid, argv[0], &actions, &attributes,
		                 (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* One read; at the end of the stream its descriptor becomes -1. What does not fit is let go. */
static void take(int *fd, struct buffer *into)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n > 0 && into && into->len + (size_t)n <= into->max)
		buffer_append(into, bytes, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		fd_close(take_fd(fd));
}

/* Until both streams have ended. A child that it leaves behind with its output is not waited for
 * beyond the time. */
static int pump(const struct tool_command *c, int ends[2], struct buffer *buffers[2])
{
	int64_t deadline = clock_now_ms() + c->timeout_ms;

	while (ends[0] >= 0 || ends[1] >= 0) {
		struct pollfd fds[3] = {{.fd = ends[0], .events = POLLIN},
		                        {.fd = ends[1], .events = POLLIN},
		                        {.fd = c->watch ? c->watch->fd : -1, .events = POLLIN}};
		int64_t left = deadline - clock_now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(fds, 3, left < INT32_MAX ? (int)left : INT32_MAX) <= 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (fds[i].revents)
				take(&ends[i], buffers[i]);
		if (fds[2].revents && c->watch && c->watch->is_over(c->watch->owner))
			return -ECANCELED;
	}
	return 0;
}

int tool_run(const struct tool_command *command, struct buffer *out, struct buffer *words,
             int *ret_status, struct error *err)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	scoped(fd_closep) int write_out = -1;
	scoped(fd_closep) int write_words = -1;
	struct buffer *buffers[2] = {out, words};
	int ends[2] = {-1, -1}, pair[2], r;
	pid_t pid = 0;

	if (null < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return error_sys(err, errno, "%s", command->argv[0]);
	ends[0] = pair[0];
	write_out = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0) {
		r = -errno;
		fd_close(ends[0]);
		return error_sys(err, -r, "%s", command->argv[0]);
	}
	ends[1] = pair[0];
	write_words = pair[1];
	r = spawn(command->argv, command->envp, (const int[]){null, write_out, write_words}, &pid);
	fd_close(take_fd(&write_out));
	fd_close(take_fd(&write_words));
	if (r == 0) {
		r = pump(command, ends, buffers);
		if (r < 0)
			(void)kill(pid, SIGKILL);
		*ret_status = reap(pid);
	}
	fd_close(ends[0]);
	fd_close(ends[1]);
	return r < 0 ? error_sys(err, -r, "%s", command->argv[0]) : 0;
}

void tool_last_line(const char *text, char *into, int size)
{
	size_t end = strlen(text), begin, at = 0;

	while (end > 0 && (unsigned char)text[end - 1] <= ' ')
		end--;
	for (begin = end; begin > 0 && text[begin - 1] != '\n';)
		begin--;
	for (; begin < end && at + 1 < (size_t)size; begin++) {
		char c = text[begin];

		if ((unsigned char)c < ' ' || c == 0x7f)
			c = '?';
		into[at++] = c;
	}
	into[at] = '\0';
}

/* A process that is no child of ours and outlives us, in a session of its own, with nothing open
 * but KEEP_FD; LOG_FD (-1: none) becomes its output. In that process this returns 0, in ours 1. */
static int apart(int keep_fd, int log_fd, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_sys(err, errno, "fork");
	if (pid > 0) {
		(void)reap(pid);
		return 1;
	}
	/* The child of a child is nobody's of ours: neither our tree nor our end takes it along. */
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	fd_null_standard();
	if (log_fd >= 0 && (dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0))
		_exit(1);
	fd_close_except(&keep_fd, 1);
	return 0;
}

static _Noreturn void run_apart(const char *const *argv, const char *const *envp, int end_fd)
{
	int status;
	pid_t pid = 0;
	int r;

	(void)prctl(PR_SET_NAME, "nacre-starter", 0, 0, 0);
	r = spawn(argv, envp, (const int[]){0, 1, 2}, &pid);

	fd_null_standard(); /* the log is the program's */
	status = r < 0 ? r : reap(pid);
	(void)fd_write_all(end_fd, &status, sizeof(status)); /* nobody may listen any more */
	_exit(0);
}

int tool_start_apart(const char *const *argv, const char *const *envp, int log_fd, int *ret_end,
                     struct error *err)
{
	scoped(fd_closep) int theirs = -1;
	scoped(fd_closep) int ours = -1;
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_sys(err, errno, "%s", argv[0]);
	ours = pair[0];
	theirs = pair[1];
	r = apart(theirs, log_fd, err);
	if (r < 0)
		return r;
	if (r == 0)
		run_apart(argv, envp, theirs);
	*ret_end = take_fd(&ours);
	return 0;
}
