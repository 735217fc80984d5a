#include "sandbox/family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd.h"

#define FAMILY_PATH_MAX 352 /* with the name of any thread */

int family_read_proc(pid_t pid, const char *file, char text[FAMILY_TEXT_MAX])
{
	char path[FAMILY_PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	n = fd_read_text(AT_FDCWD, path, text, FAMILY_TEXT_MAX);
	return n < 0 ? (int)n : 0;
}

static void add_children(struct family *t, char *text)
{
	for (char *p = text; t->count < FAMILY_MAX;) {
		long pid = strtol(p, &p, 10);

		if (pid <= 0)
			return;
		t->pids[t->count++] = (pid_t)pid;
	}
}

/* What cannot be looked at has ended, or is hidden: then it is there. */
static bool is_hidden(pid_t pid)
{
	scoped(fd_closep) int held = pidfd_open(pid, 0);
	struct pollfd end = {.fd = held, .events = POLLIN};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return held >= 0 && access(path, R_OK | X_OK) < 0 && poll(&end, 1, 0) == 0;
}

/* A thread has children of its own. */
static int visit(struct family *t, pid_t pid)
{
	char path[64], file[320], text[FAMILY_TEXT_MAX];
	struct dirent *d;
	DIR *threads;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (!threads)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno
		       : is_hidden(pid)                                      ? -EACCES
		                                                             : 0;
	while ((d = readdir(threads))) {
		if (d->d_name[0] == '.')
			continue;
		t->tasks++;
		snprintf(file, sizeof(file), "task/%s/children", d->d_name);
		r = family_read_proc(pid, file, text);
		if (r == 0)
			add_children(t, text);
		else if (r == -ENOENT && pid == t->pids[0])
			r = -EOPNOTSUPP;
		else
			r = 0;
	}
	closedir(threads);
	return r;
}

int family_read(pid_t root, struct family *ret_family)
{
	struct family *f = ret_family;

	f->pids[0] = root;
	f->count = 1;
	f->tasks = 0;
	for (size_t i = 0; i < f->count; i++) {
		int r = visit(f, f->pids[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Of a process with all its threads, and of those children that it has waited for: the fields 14 to
 * 17, in ticks. */
static uint64_t ticks_of(pid_t pid)
{
	char text[FAMILY_TEXT_MAX], *at;
	uint64_t sum = 0;

	if (family_read_proc(pid, "stat", text) < 0)
		return 0;
	at = strrchr(text, ')'); /* the name may hold anything */
	for (int field = 3; at && field <= 14; field++)
		at = strchr(at + 1, ' ');
	for (int field = 14; at && field < 18; field++)
		sum += strtoull(at, &at, 10);
	return sum;
}

int family_cpu_us(pid_t root, uint64_t *ret_us)
{
	struct family f;
	uint64_t ticks = 0;
	int r = family_read(root, &f);

	if (r < 0)
		return r;
	for (size_t i = 0; i < f.count; i++)
		ticks += ticks_of(f.pids[i]);
	*ret_us = ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return 0;
}

/* A child that may not be looked into, as an init. */
static bool child_is_visible(void)
{
	struct family f;
	int ends[2], r = -EAGAIN;
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && write(ends[1], "x", 1) == 1)
			for (;;)
				(void)pause(); /* until it is killed */
		_exit(0);
	}
	close(ends[1]);
	if (pid > 0 && read(ends[0], &byte, 1) == 1)
		r = family_read(pid, &f);
	close(ends[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return r == 0;
}

/* Where somebody else's first process can be looked at, nothing is hidden; that spares a child. */
bool family_is_visible(void)
{
	struct stat st;

	if (access("/proc/thread-self/children", R_OK) < 0)
		return false;
	if (stat("/proc/1", &st) == 0 && st.st_uid != geteuid() &&
	    access("/proc/1/task", R_OK | X_OK) == 0)
		return true;
	return child_is_visible();
}
