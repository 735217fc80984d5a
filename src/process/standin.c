/*
 * A process in between joins the user and the pid namespace of the box and clones the stand-ins as
 * its own siblings: the caller is their parent, outside of the namespace. All of them have one end
 * of a pipe until they are ready, so its end of file says that the command may run.
 */
#include "process/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/beside.h"

#define READY_MS 2000

/* The places in memory as the kernel has them: fields of /proc/self/stat from number 26 on. */
static bool read_map(struct prctl_mm_map *map)
{
	scoped(fd_closep) int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	uint64_t values[52] = {0};
	char text[2048], *at, *next;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return false;
	at += 3; /* behind the state, which is field 3 */
	for (int field = 4; field < 52; field++, at = next) {
		values[field] = strtoull(at, &next, 10);
		if (next == at)
			return false;
	}
	*map = (struct prctl_mm_map){.start_code = values[26],
	                             .end_code = values[27],
	                             .start_stack = values[28],
	                             .start_data = values[45],
	                             .end_data = values[46],
	                             .start_brk = values[47],
	                             .brk = (uint64_t)(uintptr_t)sbrk(0),
	                             .arg_start = values[48],
	                             .arg_end = values[49],
	                             .env_start = values[50],
	                             .env_end = values[51],
	                             .exe_fd = (uint32_t)-1};
	return true;
}

/* Else it would look like nacre itself. */
static bool take_words(const struct standin *s, struct prctl_mm_map map)
{
	if (s->words_bytes == 0)
		return false;
	map.arg_start = (uint64_t)(uintptr_t)s->words;
	map.arg_end = map.env_start = map.env_end = map.arg_start + s->words_bytes;
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

static _Noreturn void stand_in(const struct standin *s, const struct prctl_mm_map *map)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, s->name, 0, 0, 0);
	if (!take_words(s, *map) || sandbox_beside_seal() < 0)
		_exit(1);
	for (int i = 1; i < 65; i++)
		(void)signal(i, SIG_DFL); /* the kernel refuses some, which need it not */
	sigemptyset(&none);
	(void)setsid();
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (close_range(0, ~0U, 0) < 0) /* the pipe goes last: now we are ready */
		_exit(1);
	for (;;)
		(void)pause();
}

static pid_t clone_one(pid_t number)
{
	struct clone_args args = {.flags = CLONE_PARENT,
	                          .set_tid = number > 0 ? (uintptr_t)&number : 0,
	                          .set_tid_size = number > 0 ? 1 : 0};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static _Noreturn void make_all(const struct sandbox_plan *plan, int space,
                               const struct standin *list, size_t count, int told)
{
	struct prctl_mm_map map; /* that of our children is the same */
	pid_t pid;

	if (!read_map(&map) || sandbox_beside_enter(plan, space) < 0)
		_exit(1);
	for (size_t i = 0; i < count; i++) {
		pid = clone_one(list[i].number);
		if (pid < 0 && (errno == EEXIST || errno == EINVAL || errno == EPERM))
			pid = clone_one(0);
		if (pid == 0)
			stand_in(&list[i], &map);
		if (write(told, &pid, sizeof(pid)) < 0)
			_exit(1);
	}
	_exit(0);
}

/* Until the last of them is ready, or too late. */
static size_t listen(int told, struct standin *list, size_t count)
{
	int64_t end = clock_now_ms() + READY_MS, left;
	struct pollfd word = {.fd = told, .events = POLLIN};
	size_t n = 0;
	pid_t pid;

	while ((left = end - clock_now_ms()) > 0 && poll(&word, 1, (int)left) == 1 &&
	       read(told, &pid, sizeof(pid)) == (ssize_t)sizeof(pid))
		if (n < count)
			list[n++].pid = pid > 0 ? pid : 0;
	return n;
}

int standins_make(const struct sandbox_plan *plan, int space, struct standin *list, size_t count)
{
	int ends[2], made = 0;
	pid_t between;

	for (size_t i = 0; i < count; i++)
		list[i].pid = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	between = fork();
	if (between == 0) {
		close(ends[0]);
		make_all(plan, space, list, count, ends[1]);
	}
	close(ends[1]);
	if (between > 0) {
		(void)listen(ends[0], list, count);
		while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	for (size_t i = 0; i < count; i++)
		made += list[i].pid > 0;
	return made;
}
