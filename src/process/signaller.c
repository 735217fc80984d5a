/*
 * What the caller does meanwhile cannot harm: all arguments but one are numbers that the kernel has
 * copied, and that one, the details of a queued signal, is read once and then sent. A number of a
 * process may go to a stranger at any time. So a call goes on in the kernel only if it names the
 * caller, who cannot end before its call does. For others init opens a pidfd first and looks at the
 * number's parents then: either the pidfd is that process, or it is dead.
 *
 * The order of a descriptor to send signals (F_SETOWN) is granted for the caller alone.
 */
#include "process/signaller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/fd.h"
#include "process/tree.h"

#define TEXT_MAX 4096
#define GO_ON    1 /* an answer: the kernel makes the call */

union question { /* a newer kernel's may be longer */
	struct seccomp_notif q;
	char room[256];
};

union reply {
	struct seccomp_notif_resp r;
	char room[256];
};

/* The number behind KEY, which begins a line of a file; -1: it is not there. */
static long number_in(const char *path, const char *key)
{
	char text[TEXT_MAX];
	const char *at;

	(void)fd_read_text(AT_FDCWD, path, text, sizeof(text));
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* The process that a thread is of; 0: it is gone. */
static pid_t process_of(pid_t thread)
{
	char path[64];
	long pid;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	pid = number_in(path, "\nTgid:");
	return pid > 0 ? (pid_t)pid : 0;
}

static bool is_caller(const struct seccomp_notif *q, pid_t pid)
{
	return pid > 0 && (pid == (pid_t)q->pid || pid == process_of((pid_t)q->pid));
}

static bool still_waits(int listener, const struct seccomp_notif *q)
{
	uint64_t id = q->id;

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Somebody who is not in the tree is there, or is not. */
static int refusal_for(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM ? -EPERM : -ESRCH;
}

static int to_process(pid_t pid, int signal, siginfo_t *info)
{
	scoped(fd_closep) int held = -1;

	if (pid <= 0)
		return -ESRCH;
	held = pidfd_open(pid, 0);
	if (held < 0 && errno != ESRCH) { /* the number of a thread */
		pid = process_of(pid);
		held = pid > 0 ? pidfd_open(pid, 0) : -1;
	}
	if (held < 0)
		return -ESRCH;
	if (!tree_has(getpid(), pid))
		return refusal_for(pid);
	return pidfd_send_signal(held, signal, info, 0) < 0 ? -errno : 0;
}

static int to_many(pid_t group, pid_t except, int signal)
{
	int r = tree_signal_group(getpid(), group, except, signal);

	if (r > 0)
		return 0;
	return r < 0 ? -EPERM : group > 0 ? refusal_for(-group) : -ESRCH;
}

static int by_kill(const struct seccomp_notif *q, pid_t pid, int signal)
{
	if (is_caller(q, pid))
		return GO_ON;
	if (pid == -1)
		return to_many(0, process_of((pid_t)q->pid), signal);
	if (pid == INT_MIN)
		return -ESRCH;
	return pid < 0 ? to_many(-pid, 0, signal) : to_process(pid, signal, NULL);
}

/* For a thread of the caller the kernel itself looks whether it is one, in tgkill(). */
static int by_tkill(int listener, const struct seccomp_notif *q, pid_t thread, int signal)
{
	pid_t caller;

	if (is_caller(q, thread))
		return GO_ON;
	caller = process_of((pid_t)q->pid);
	if (thread > 0 && caller > 0 && still_waits(listener, q) &&
	    syscall(SYS_tgkill, caller, thread, signal) == 0)
		return 0;
	return to_process(thread, signal, NULL);
}

static int by_tgkill(const struct seccomp_notif *q, pid_t pid, pid_t thread, int signal)
{
	if (is_caller(q, pid))
		return GO_ON;
	return thread == pid ? to_process(pid, signal, NULL) : -EPERM;
}

/* The details of a signal, from the caller's memory. What a stranger may not say of itself the
 * kernel refuses us as well. */
static int by_queue(int listener, const struct seccomp_notif *q, pid_t pid, int signal,
                    uint64_t from)
{
	siginfo_t info;
	struct iovec into = {&info, sizeof(info)};
	struct iovec there = {(void *)(uintptr_t)from, sizeof(info)};

	if (process_vm_readv((pid_t)q->pid, &into, 1, &there, 1, 0) != (ssize_t)sizeof(info))
		return errno == EFAULT ? -EFAULT : -EPERM;
	if (!still_waits(listener, q))
		return -EPERM;
	info.si_signo = signal;
	return to_process(pid, signal, &info);
}

/* The number that the process of a pidfd has here. It may be another's a moment later: that one is
 * signalled if it is in the tree. */
static int by_pidfd(int listener, const struct seccomp_notif *q)
{
	char path[96];
	long pid;

	if (q->data.args[3] != 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)q->pid, (int)q->data.args[0]);
	pid = number_in(path, "\nPid:");
	if (!still_waits(listener, q))
		return -EPERM;
	if (pid <= 0)
		return access(path, F_OK) < 0 ? -EBADF : -ESRCH;
	if (q->data.args[2])
		return by_queue(listener, q, (pid_t)pid, (int)q->data.args[1], q->data.args[2]);
	return to_process((pid_t)pid, (int)q->data.args[1], NULL);
}

static int decide(int listener, const struct seccomp_notif *q)
{
	const __u64 *a = q->data.args;

	switch (q->data.nr) {
	case SYS_kill:
		return by_kill(q, (pid_t)a[0], (int)a[1]);
	case SYS_tkill:
		return by_tkill(listener, q, (pid_t)a[0], (int)a[1]);
	case SYS_tgkill:
		return by_tgkill(q, (pid_t)a[0], (pid_t)a[1], (int)a[2]);
	case SYS_rt_sigqueueinfo:
		return is_caller(q, (pid_t)a[0])
		               ? GO_ON
		               : by_queue(listener, q, (pid_t)a[0], (int)a[1], a[2]);
	case SYS_rt_tgsigqueueinfo:
		return is_caller(q, (pid_t)a[0]) ? GO_ON : -EPERM;
	case SYS_pidfd_send_signal:
		return by_pidfd(listener, q);
	case SYS_fcntl: /* F_SETOWN; 0: nobody */
		return (pid_t)a[2] == 0 || is_caller(q, (pid_t)a[2]) ? GO_ON : -EPERM;
	default:
		return -EPERM;
	}
}

bool signaller_answer(int listener)
{
	union question question = {0};
	union reply reply = {0};
	int r;

	/* A question that was waited for may be gone, with who asked it. That does not block: each
	 * one that was ever put leaves an answer to be had. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question.q) < 0)
		return errno == ENOENT || errno == EINTR;
	r = decide(listener, &question.q);
	reply.r.id = question.q.id;
	reply.r.error = r < 0 ? r : 0;
	reply.r.flags = r == GO_ON ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply.r); /* or the caller is dead */
	return true;
}
