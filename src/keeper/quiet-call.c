/*
 * Why a thread waits: the system call that it is in (/proc/PID/syscall), with the descriptors that
 * the call names. Where the kernel does not show the call, the place in the kernel (wchan) tells
 * less. Other processes change while they are looked at, so each answer is a guess that was right a
 * moment ago, and nothing but the words of a notice depends on it.
 */
#include "keeper/quiet-inside.h"

#include <arpa/inet.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"

static bool copy_from(pid_t pid, uint64_t at, void *into, size_t n)
{
	struct iovec local = {into, n}, remote = {(void *)(uintptr_t)at, n};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static void note_poll(struct thread_look *l, uint64_t at, uint64_t count)
{
	struct pollfd fds[16];

	if (count > array_size(fds))
		count = array_size(fds);
	if (count == 0) {
		quiet_note(l->process, DOING_SLEEP, "");
		return;
	}
	if (!copy_from(l->process->pid, at, fds, (size_t)count * sizeof(fds[0]))) {
		quiet_note(l->process, DOING_OTHER, "");
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			quiet_note_fd(l, fds[i].fd);
}

static void note_select(struct thread_look *l, uint64_t count, const uint64_t sets[2])
{
	unsigned char bits[2][FDS_MAX / 8] = {{0}};
	bool any = false;

	if (count > FDS_MAX)
		count = FDS_MAX;
	for (int i = 0; i < 2; i++)
		if (sets[i])
			(void)copy_from(l->process->pid, sets[i], bits[i], sizeof(bits[i]));
	for (unsigned fd = 0; fd < count; fd++)
		if ((bits[0][fd / 8] | bits[1][fd / 8]) & (1U << (fd % 8))) {
			any = true;
			quiet_note_fd(l, (int)fd);
		}
	if (!any)
		quiet_note(l->process, DOING_SLEEP, "");
}

static void note_epoll(struct thread_look *l, int fd)
{
	char file[64], text[TEXT_MAX];
	int n = 0;

	snprintf(file, sizeof(file), "fdinfo/%d", fd);
	if (quiet_read(l->process->pid, file, text) <= 0) {
		quiet_note(l->process, DOING_OTHER, "");
		return;
	}
	quiet_note(l->process, DOING_OTHER, "");
	for (const char *at = text; n < 16 && (at = strstr(at, "tfd:")); n++) {
		at += 4;
		quiet_note_fd(l, (int)strtol(at, NULL, 10));
	}
}

/* Who holds what PID waits for: the last entry before it that does not wait. 0: not known. */
static pid_t lock_holder(pid_t pid)
{
	FILE *f = fopen("/proc/locks", "re");
	pid_t holder = 0, found;
	char line[256];
	bool waits = false;

	if (!f)
		return 0;
	for (int n = 0; !waits && n < LINES_MAX && fgets(line, sizeof(line), f); n++) {
		/* NOLINTBEGIN(cert-err34-c): the kernel wrote the numbers */
		if (sscanf(line, "%*[0-9]: -> %*s %*s %*s %d", &found) == 1)
			waits = found == pid;
		else if (sscanf(line, "%*[0-9]: %*s %*s %*s %d", &found) == 1)
			holder = found;
		/* NOLINTEND(cert-err34-c) */
	}
	fclose(f);
	return waits ? holder : 0;
}

/* Whoever took a lock may have ended, and its descriptor live on in another process. */
static const char *holder_name(struct thread_look *l, const char *link)
{
	pid_t holder = lock_holder(l->process->pid);

	for (int i = 0; i < l->tree->count; i++)
		if (l->tree->list[i].pid == holder)
			return l->tree->list[i].name;
	for (int i = 0; i < l->tree->count && !quiet_is_late(l->tree); i++)
		if (&l->tree->list[i] != l->process &&
		    quiet_has_open(l->tree->list[i].pid, link, false))
			return l->tree->list[i].name;
	return "another program";
}

static void note_lock(struct thread_look *l, int fd)
{
	char link[PATH_MAX], detail[DETAIL_MAX];
	const char *by;

	if (!quiet_link(l->process->pid, fd, link))
		snprintf(link, sizeof(link), "a file");
	by = holder_name(l, link);
	quiet_make_printable(link);
	snprintf(detail, sizeof(detail), "wants %.70s, held by %s", link, by);
	quiet_note(l->process, DOING_LOCK, detail);
}

static bool reads_fd(long nr)
{
	static const int calls[] = {
		SYS_read,     SYS_readv,   SYS_pread64, SYS_preadv, SYS_recvfrom,
		SYS_recvmsg,  SYS_connect, SYS_accept4, SYS_splice, SYS_accept,
#ifdef SYS_recvmmsg
		SYS_recvmmsg,
#endif
	};

	for (size_t i = 0; i < array_size(calls); i++)
		if (nr == calls[i])
			return true;
	return false;
}

static void note_call(struct thread_look *l, long nr, const uint64_t a[6])
{
	struct process_view *p = l->process;

	if (reads_fd(nr)) {
		quiet_note_fd(l, (int)a[0]);
		return;
	}
	switch (nr) {
	case SYS_write:
	case SYS_writev:
		quiet_note(p, DOING_INTERNAL, "");
		break;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		note_poll(l, a[0], a[1]);
		break;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		note_select(l, a[0], a + 1);
		break;
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
		note_epoll(l, (int)a[0]);
		break;
	case SYS_flock:
	case SYS_fcntl:
		note_lock(l, (int)a[0]);
		break;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
#ifdef SYS_pause
	case SYS_pause:
#endif
		quiet_note(p, DOING_SLEEP, "");
		break;
	case SYS_wait4:
	case SYS_waitid:
		quiet_note(p, DOING_CHILD, "");
		break;
	case SYS_futex:
		quiet_note(p, DOING_INTERNAL, "");
		break;
	default:
		quiet_note(p, DOING_OTHER, "");
		break;
	}
}

/* Without the system call: where in the kernel it waits. */
static void note_place(struct thread_look *l, pid_t thread)
{
	static const struct {
		const char *place;
		enum doing doing;
	} places[] = {
		{"n_tty_read", DOING_TERMINAL}, {"pipe_read", DOING_STDIN},
		{"flock_lock", DOING_LOCK},     {"locks_lock", DOING_LOCK},
		{"posix_lock", DOING_LOCK},     {"fcntl_setlk", DOING_LOCK},
		{"inet_", DOING_NETWORK},       {"sk_wait", DOING_NETWORK},
		{"tcp_", DOING_NETWORK},        {"nanosleep", DOING_SLEEP},
		{"sigsuspend", DOING_SLEEP},    {"do_wait", DOING_CHILD},
		{"do_sys_pause", DOING_SLEEP},  {"futex", DOING_INTERNAL},
	};
	char file[64], text[TEXT_MAX];

	snprintf(file, sizeof(file), "task/%d/wchan", (int)thread);
	if (quiet_read(l->process->pid, file, text) > 0)
		for (size_t i = 0; i < array_size(places); i++)
			if (strstr(text, places[i].place)) {
				quiet_note(l->process, places[i].doing, "");
				return;
			}
	quiet_note(l->process, DOING_OTHER, "");
}

static void visit_thread(void *owner, pid_t pid, pid_t thread)
{
	struct thread_look *l = owner;
	char file[64], text[TEXT_MAX], *end;
	uint64_t args[6];
	long nr;

	if (quiet_is_late(l->tree))
		return;
	snprintf(file, sizeof(file), "task/%d/syscall", (int)thread);
	if (quiet_read(pid, file, text) <= 0) {
		note_place(l, thread);
		return;
	}
	nr = strtol(text, &end, 10);
	if (end == text || nr < 0) /* it runs, or waits for a page */
		return;
	for (int i = 0; i < 6; i++)
		args[i] = strtoull(end, &end, 16);
	note_call(l, nr, args);
}

void quiet_look_at(struct tree_view *t, struct process_view *p)
{
	struct thread_look l = {.tree = t, .process = p};

	if (p->state == 'T' || p->state == 't')
		quiet_note(p, DOING_STOPPED, "");
	else if (p->state == 'D')
		quiet_note(p, DOING_DISK, "");
	quiet_for_each_thread(p->pid, visit_thread, &l);
}

/* What was running is busy if it still is, or has used much of the time between. */
void quiet_look_for_busy(struct tree_view *t)
{
	bool any = false;

	for (int i = 0; i < t->count; i++)
		any |= t->list[i].state == 'R' || t->list[i].doing == DOING_NOTHING;
	if (!any)
		return;
	(void)poll(NULL, 0, LOOK_AGAIN_MS);
	for (int i = 0; i < t->count; i++) {
		struct process_view *p = &t->list[i], now = *p;

		if (!quiet_read_stat(&now) || strcmp(now.name, p->name) != 0)
			continue;
		if ((p->state == 'R' && now.state == 'R') || now.ticks >= p->ticks + BUSY_TICKS) {
			snprintf(p->detail, sizeof(p->detail), "has used %.1f s of processor time",
			         (double)now.ticks / (double)sysconf(_SC_CLK_TCK));
			quiet_note(p, DOING_BUSY, p->detail);
		}
	}
}
