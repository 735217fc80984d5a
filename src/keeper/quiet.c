#include "keeper/quiet.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#define PROCESSES_MAX  64
#define THREADS_MAX    32
#define FDS_MAX        64
#define LINES_MAX      4096 /* of a table of the kernel */
#define TEXT_MAX       4096
#define LOOK_MAX_MS    300
#define NAMES_MAX_MS   50
#define LOOK_AGAIN_MS  80
#define BUSY_TICKS     3 /* of these, within that time */
#define NAME_MAX_SHOWN 16
#define DETAIL_MAX     128

/* The later ones tell more. */
enum doing {
	DOING_NOTHING,
	DOING_CHILD,    /* waits for a process of its own */
	DOING_INTERNAL, /* waits for another one of the tree, or for a thread */
	DOING_OTHER,
	DOING_SLEEP,
	DOING_DISK,
	DOING_STOPPED,
	DOING_NETWORK,
	DOING_LOCK,
	DOING_TERMINAL,
	DOING_STDIN,
	DOING_BUSY,
};

struct process_view {
	pid_t pid;
	int parent; /* index; -1: none */
	char name[NAME_MAX_SHOWN + 1];
	char state;
	uint64_t ticks; /* processor time */
	enum doing doing;
	char detail[DETAIL_MAX];
};

struct tree_view {
	int64_t until; /* the command decides how much there is to see, not how long we look */
	struct process_view list[PROCESSES_MAX];
	int count;
};

static bool is_late(const struct tree_view *t)
{
	return clock_now_ms() >= t->until;
}

/* Reading /proc */

static ssize_t read_text(pid_t pid, const char *file, char text[TEXT_MAX])
{
	char path[320];
	scoped(fd_closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = *text == '\n' && !text[1] ? '\0' : '?';
}

/* State, name and processor time. */
static bool read_stat(struct process_view *p)
{
	char text[TEXT_MAX], *name, *end;
	size_t n;

	if (read_text(p->pid, "stat", text) <= 0)
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end[1] != ' ')
		return false;
	n = (size_t)(end - name - 1);
	if (n > NAME_MAX_SHOWN)
		n = NAME_MAX_SHOWN;
	memcpy(p->name, name + 1, n);
	p->name[n] = '\0';
	make_printable(p->name);
	p->state = end[2];
	p->ticks = 0;
	end += 3;
	for (int field = 4; field <= 15; field++) {
		uint64_t value = strtoull(end, &end, 10);

		if (field >= 14)
			p->ticks += value;
	}
	return true;
}

static void add_children(struct tree_view *t, int parent, const char *text)
{
	char *end;

	for (; t->count < PROCESSES_MAX; text = end) {
		long pid = strtol(text, &end, 10);
		struct process_view p = {.pid = (pid_t)pid, .parent = parent};

		if (end == text || pid <= 0)
			return;
		if (read_stat(&p) && p.state != 'Z' && p.state != 'X')
			t->list[t->count++] = p;
	}
}

typedef void (*thread_visitor)(void *owner, pid_t pid, pid_t thread);

static void for_each_thread(pid_t pid, thread_visitor visit, void *owner)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while (n < THREADS_MAX && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0])) {
			visit(owner, pid, (pid_t)strtol(d->d_name, NULL, 10));
			n++;
		}
	closedir(dir);
}

struct growing {
	struct tree_view *tree;
	int parent;
};

/* A thread has children of its own. */
static void visit_children(void *owner, pid_t pid, pid_t thread)
{
	struct growing *g = owner;
	char file[64], text[TEXT_MAX];

	snprintf(file, sizeof(file), "task/%d/children", (int)thread);
	if (!is_late(g->tree) && read_text(pid, file, text) > 0)
		add_children(g->tree, g->parent, text);
}

static void read_tree(pid_t root, struct tree_view *t)
{
	struct growing g = {.tree = t, .parent = -1};

	for_each_thread(root, visit_children, &g);
	for (g.parent = 0; g.parent < t->count; g.parent++)
		for_each_thread(t->list[g.parent].pid, visit_children, &g);
}

/* What a descriptor is */

static bool link_of(pid_t pid, int fd, char into[PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, into, PATH_MAX - 1);
	into[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool is_terminal(const char *link)
{
	return strncmp(link, "/dev/pts/", 9) == 0 || strncmp(link, "/dev/tty", 8) == 0 ||
	       strcmp(link, "/dev/console") == 0 || strcmp(link, "/dev/ptmx") == 0;
}

/* Whether the process has LINK open, if WRITING for that. */
static bool has_open(pid_t pid, const char *link, bool writing)
{
	char path[64], file[64], other[PATH_MAX], text[TEXT_MAX];
	bool found = false;
	struct dirent *d;
	const char *flags;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && n++ < FDS_MAX && (d = readdir(dir))) {
		int fd = (int)strtol(d->d_name, NULL, 10);

		if (!isdigit((unsigned char)d->d_name[0]) || !link_of(pid, fd, other) ||
		    strcmp(other, link) != 0)
			continue;
		snprintf(file, sizeof(file), "fdinfo/%d", fd);
		found = !writing;
		if (found || read_text(pid, file, text) <= 0 || !(flags = strstr(text, "flags:")))
			continue;
		found = (strtoul(flags + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
	}
	closedir(dir);
	return found;
}

/* "A:P" from the hexadecimal words of /proc/net/tcp. */
static void address_text(const char *hex, char *into, size_t size)
{
	const char *colon = strchr(hex, ':');
	unsigned port = colon ? (unsigned)strtoul(colon + 1, NULL, 16) : 0;
	char host[INET6_ADDRSTRLEN] = "?", word[9] = "";
	uint32_t words[4] = {0};
	size_t n = colon ? (size_t)(colon - hex) / 8 : 0;

	for (size_t i = 0; i < n && i < 4; i++) {
		memcpy(word, hex + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (n > 0)
		inet_ntop(n == 1 ? AF_INET : AF_INET6, words, host, sizeof(host));
	snprintf(into, size, n > 1 ? "[%s]:%u" : "%s:%u", host, port);
}

/* What a line of a table of sockets says; false: it is another one's. */
static bool read_socket_line(const char *line, const char *inode, bool stream,
                             char detail[DETAIL_MAX])
{
	char local[48], remote[48], found[32], state[8], at[80];

	if (sscanf(line, " %*s %47s %47s %7s %*s %*s %*s %*s %*s %31s", local, remote, state,
	           found) != 4 ||
	    strcmp(found, inode) != 0)
		return false;
	if (stream && strcmp(state, "0A") == 0) {
		address_text(local, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "waits for somebody to connect to %s", at);
	} else if (stream && strcmp(state, "02") == 0) {
		address_text(remote, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "cannot reach %s so far", at);
	} else if (stream || strncmp(remote, "00000000", 8) != 0) {
		address_text(remote, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "has no answer from %s", at);
	} else {
		snprintf(detail, DETAIL_MAX, "waits for a packet");
	}
	return true;
}

/* Whether the socket is one of the network. */
static bool network_socket(pid_t pid, const char *link, char detail[DETAIL_MAX])
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
	char path[64], inode[32] = "", line[512];

	if (sscanf(link, "socket:[%31[0-9]", inode) != 1)
		return false;
	for (size_t i = 0; i < array_size(tables); i++) {
		bool found = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
		f = fopen(path, "re");
		if (!f)
			continue;
		for (int n = 0; !found && n < LINES_MAX && fgets(line, sizeof(line), f); n++)
			found = read_socket_line(line, inode, i < 2, detail);
		fclose(f);
		if (found)
			return true;
	}
	return false;
}

struct thread_look {
	const struct tree_view *tree;
	struct process_view *process;
};

static void note(struct process_view *p, enum doing doing, const char *detail)
{
	if (doing <= p->doing)
		return;
	p->doing = doing;
	if (detail != p->detail)
		snprintf(p->detail, sizeof(p->detail), "%s", detail);
}

/* The thread waits for FD. */
static void note_fd(struct thread_look *l, int fd)
{
	char link[PATH_MAX], first[PATH_MAX], detail[DETAIL_MAX] = "";
	struct process_view *p = l->process;
	bool is_stdin;

	if (is_late(l->tree))
		return;
	if (!link_of(p->pid, fd, link)) {
		note(p, fd == 0 ? DOING_STDIN : DOING_OTHER, "");
		return;
	}
	is_stdin = fd == 0 || (link_of(p->pid, 0, first) && strcmp(first, link) == 0);
	if (is_terminal(link)) {
		note(p, DOING_TERMINAL, "");
	} else if (network_socket(p->pid, link, detail)) {
		note(p, DOING_NETWORK, detail);
	} else if (is_stdin && (strncmp(link, "pipe:", 5) == 0 ||
	                        strncmp(link, "socket:", 7) == 0 || link[0] == '/')) {
		for (int i = 0; i < l->tree->count && !is_late(l->tree); i++)
			if (&l->tree->list[i] != p && has_open(l->tree->list[i].pid, link, true)) {
				note(p, DOING_INTERNAL, "");
				return;
			}
		note(p, DOING_STDIN, "");
	} else {
		note(p, DOING_INTERNAL, "");
	}
}

/* System calls that wait */

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
		note(l->process, DOING_SLEEP, "");
		return;
	}
	if (!copy_from(l->process->pid, at, fds, (size_t)count * sizeof(fds[0]))) {
		note(l->process, DOING_OTHER, "");
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			note_fd(l, fds[i].fd);
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
			note_fd(l, (int)fd);
		}
	if (!any)
		note(l->process, DOING_SLEEP, "");
}

static void note_epoll(struct thread_look *l, int fd)
{
	char file[64], text[TEXT_MAX];
	int n = 0;

	snprintf(file, sizeof(file), "fdinfo/%d", fd);
	if (read_text(l->process->pid, file, text) <= 0) {
		note(l->process, DOING_OTHER, "");
		return;
	}
	note(l->process, DOING_OTHER, "");
	for (const char *at = text; n < 16 && (at = strstr(at, "tfd:")); n++) {
		at += 4;
		note_fd(l, (int)strtol(at, NULL, 10));
	}
}

/* Who holds what PID waits for: the entry with the same number that does not wait. */
static pid_t lock_holder(pid_t pid)
{
	char lines[64][96], number[16], waiter[16];
	pid_t holder = 0, found;
	FILE *f = fopen("/proc/locks", "re");
	char line[256];
	int count = 0;

	if (!f)
		return 0;
	/* The waiting ones follow the one that holds. */
	for (int n = 0; n < LINES_MAX && fgets(line, sizeof(line), f); n++) {
		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote the number */
		if (sscanf(line, "%15[0-9]: -> %*s %*s %*s %d", waiter, &found) == 2) {
			if (found != pid)
				continue;
			for (int i = 0; i < count; i++)
				/* NOLINTNEXTLINE(cert-err34-c) */
				if (sscanf(lines[i], "%15[0-9]: %*s %*s %*s %d", number, &found) ==
				            2 &&
				    strcmp(number, waiter) == 0)
					holder = found;
			break;
		}
		snprintf(lines[count % 64], sizeof(lines[0]), "%.95s", line);
		count = count < 63 ? count + 1 : 63;
	}
	fclose(f);
	return holder;
}

/* Whoever took a lock may have ended, and its descriptor live on in another process. */
static const char *holder_name(struct thread_look *l, const char *link)
{
	pid_t holder = lock_holder(l->process->pid);

	for (int i = 0; i < l->tree->count; i++)
		if (l->tree->list[i].pid == holder)
			return l->tree->list[i].name;
	for (int i = 0; i < l->tree->count && !is_late(l->tree); i++)
		if (&l->tree->list[i] != l->process && has_open(l->tree->list[i].pid, link, false))
			return l->tree->list[i].name;
	return "another program";
}

static void note_lock(struct thread_look *l, int fd)
{
	char link[PATH_MAX], detail[DETAIL_MAX];
	const char *by;

	if (!link_of(l->process->pid, fd, link))
		snprintf(link, sizeof(link), "a file");
	by = holder_name(l, link);
	make_printable(link);
	snprintf(detail, sizeof(detail), "wants %.70s, held by %s", link, by);
	note(l->process, DOING_LOCK, detail);
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
		note_fd(l, (int)a[0]);
		return;
	}
	switch (nr) {
	case SYS_write:
	case SYS_writev:
		note(p, DOING_INTERNAL, "");
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
		note(p, DOING_SLEEP, "");
		break;
	case SYS_wait4:
	case SYS_waitid:
		note(p, DOING_CHILD, "");
		break;
	case SYS_futex:
		note(p, DOING_INTERNAL, "");
		break;
	default:
		note(p, DOING_OTHER, "");
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
	if (read_text(l->process->pid, file, text) > 0)
		for (size_t i = 0; i < array_size(places); i++)
			if (strstr(text, places[i].place)) {
				note(l->process, places[i].doing, "");
				return;
			}
	note(l->process, DOING_OTHER, "");
}

static void visit_thread(void *owner, pid_t pid, pid_t thread)
{
	struct thread_look *l = owner;
	char file[64], text[TEXT_MAX], *end;
	uint64_t args[6];
	long nr;

	if (is_late(l->tree))
		return;
	snprintf(file, sizeof(file), "task/%d/syscall", (int)thread);
	if (read_text(pid, file, text) <= 0) {
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

static void look_at(struct tree_view *t, struct process_view *p)
{
	struct thread_look l = {.tree = t, .process = p};

	if (p->state == 'T' || p->state == 't')
		note(p, DOING_STOPPED, "");
	else if (p->state == 'D')
		note(p, DOING_DISK, "");
	for_each_thread(p->pid, visit_thread, &l);
}

/* What was running is busy if it still is, or has used much of the time between. */
static void look_for_busy(struct tree_view *t)
{
	bool any = false;

	for (int i = 0; i < t->count; i++)
		any |= t->list[i].state == 'R' || t->list[i].doing == DOING_NOTHING;
	if (!any)
		return;
	(void)poll(NULL, 0, LOOK_AGAIN_MS);
	for (int i = 0; i < t->count; i++) {
		struct process_view *p = &t->list[i], now = *p;

		if (!read_stat(&now) || strcmp(now.name, p->name) != 0)
			continue;
		if ((p->state == 'R' && now.state == 'R') || now.ticks >= p->ticks + BUSY_TICKS) {
			snprintf(p->detail, sizeof(p->detail), "has used %.1f s of processor time",
			         (double)now.ticks / (double)sysconf(_SC_CLK_TCK));
			note(p, DOING_BUSY, p->detail);
		}
	}
}

/* The words */

/* Whether git waits for what P does: an editor, for a message or a list. */
static bool is_editor_of_git(const struct tree_view *t, const struct process_view *p)
{
	static const char *const files[] = {"COMMIT_EDITMSG", "MERGE_MSG", "TAG_EDITMSG",
	                                    "git-rebase-todo", "addp-hunk-edit.diff"};
	char text[TEXT_MAX];
	bool edits = false, git = false;
	ssize_t n;

	for (const struct process_view *up = p;; up = &t->list[up->parent]) {
		git |= strcmp(up->name, "git") == 0;
		n = read_text(up->pid, "cmdline", text);
		for (ssize_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		for (size_t i = 0; i < array_size(files); i++)
			edits |= strstr(text, files[i]) != NULL;
		if (up->parent < 0)
			break;
	}
	return git && edits && strcmp(p->name, "git") != 0;
}

static void describe(const struct tree_view *t, const struct process_view *p,
                     char text[QUIET_TEXT_MAX])
{
	static const char *const words[] = {
		[DOING_NOTHING] = "",
		[DOING_CHILD] = "waiting for a process of its own",
		[DOING_INTERNAL] = "waiting for another of its processes or threads",
		[DOING_OTHER] = "waiting",
		[DOING_SLEEP] = "sleeping",
		[DOING_DISK] = "waiting for a disk or another device",
		[DOING_STOPPED] = "stopped by a signal",
		[DOING_NETWORK] = "waiting for the network",
		[DOING_LOCK] = "waiting for a lock",
		[DOING_TERMINAL] = "waiting for input on the terminal",
		[DOING_STDIN] = "waiting for input on standard input",
		[DOING_BUSY] = "busy",
	};

	if ((p->doing == DOING_TERMINAL || p->doing == DOING_STDIN) && is_editor_of_git(t, p))
		snprintf(text, QUIET_TEXT_MAX,
		         "%s: git is running an editor (%s); set GIT_EDITOR=true or %s",
		         words[p->doing], p->name,
		         p->doing == DOING_STDIN ? "use pty" : "type into it (nacre input)");
	else if (p->doing == DOING_STDIN)
		snprintf(text, QUIET_TEXT_MAX, "%s: %s reads it, and nobody writes",
		         words[p->doing], p->name);
	else
		snprintf(text, QUIET_TEXT_MAX, "%s: %s%s%s", words[p->doing], p->name,
		         p->detail[0] ? " " : "", p->detail);
}

void quiet_look(pid_t root, char text[QUIET_TEXT_MAX])
{
	struct tree_view *t = calloc(1, sizeof(*t));
	const struct process_view *best = NULL;

	text[0] = '\0';
	if (!t)
		return;
	t->until = clock_now_ms() + LOOK_MAX_MS;
	read_tree(root, t);
	for (int i = 0; i < t->count; i++)
		look_at(t, &t->list[i]);
	look_for_busy(t);
	/* Of equals the deepest: it is what the others wait for. */
	for (int i = 0; i < t->count; i++)
		if (!best || t->list[i].doing >= best->doing)
			best = &t->list[i];
	if (best && best->doing != DOING_NOTHING)
		describe(t, best, text);
	free(t);
}

void quiet_names(pid_t root, char *into, size_t size)
{
	struct tree_view *t = calloc(1, sizeof(*t));
	size_t at = 0;

	into[0] = '\0';
	if (!t)
		return;
	t->until = clock_now_ms() + NAMES_MAX_MS;
	read_tree(root, t);
	for (int i = 0; i < t->count; i++) {
		size_t n = strlen(t->list[i].name);

		if (n == 0 || at + n + 2 > size)
			continue;
		memcpy(into + at, t->list[i].name, n);
		into[at + n] = '\n';
		at += n + 1;
	}
	into[at] = '\0';
	free(t);
}
