/*
 * One pass reads /proc/<pid>/stat of every process (pid, state, parent, start time) and marks those
 * whose chain of parents leads to the root. Between that reading and the signal a process can end
 * and its number be given to a stranger; so each one is opened as a pidfd, read again, and
 * signalled only if its start time is still the same.
 */
#include "process/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"

/* A storm is bounded by pid_max (at most 4 Mi); past this many the rest waits for the next pass. */
#define CENSUS_MAX ((size_t)1 << 20)
/* Each pass stops all it sees; what still escapes is for the caller's next try. */
#define STOP_PASSES_MAX 16
#define CROWD           32
/* Something that replaces itself by a child again and again is gone before it is signalled; its
 * group is not. */
#define CHASE_PASSES 3
#define PID_MAX      (1 << 22) /* the kernel's own limit */
#define CLIMB_TRIES  8
#define CLIMB_STEPS  4096
#define GROUP_PASSES 4

struct entry {
	pid_t pid, parent, group;
	unsigned long long start;
	char state;
	bool threaded; /* more than one thread */
	bool inside;
};

struct census {
	struct entry *entries;
	size_t count, capacity;
};

static void census_done(struct census *c)
{
	free(c->entries);
	*c = (struct census){0};
}

/* The fields behind the name: state, parent, group, ... and as the 20th the start time. */
static int stat_parse(const char *text, struct entry *e)
{
	const char *p = strrchr(text, ')'); /* the name may hold anything, also ") " */
	char *end;

	if (!p || p[1] != ' ' || !p[2])
		return -EPROTO;
	e->state = p[2];
	p += 3;
	for (int field = 2; field <= 20; field++) {
		unsigned long long value = strtoull(p, &end, 10);

		if (end == p)
			return -EPROTO;
		if (field == 2)
			e->parent = (pid_t)value;
		else if (field == 3)
			e->group = (pid_t)value;
		else if (field == 18)
			e->threaded = value > 1;
		else if (field == 20)
			e->start = value;
		p = end;
	}
	return 0;
}

static int stat_read(int proc_fd, pid_t pid, struct entry *ret_entry)
{
	struct entry e = {.pid = pid};
	char name[32], text[512];
	ssize_t n;
	int r;

	snprintf(name, sizeof(name), "%d/stat", (int)pid);
	n = fd_read_text(proc_fd, name, text, sizeof(text));
	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	r = stat_parse(text, &e);
	if (r == 0)
		*ret_entry = e;
	return r;
}

static int census_add(struct census *c, const struct entry *e)
{
	struct entry *entries;
	size_t capacity;

	if (c->count == c->capacity) {
		capacity = c->capacity ? c->capacity * 2 : 256;
		if (capacity > CENSUS_MAX)
			return -E2BIG;
		entries = realloc(c->entries, capacity * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		c->entries = entries;
		c->capacity = capacity;
	}
	c->entries[c->count++] = *e;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct entry *census_find(struct census *c, pid_t pid)
{
	struct entry key = {.pid = pid};

	return bsearch(&key, c->entries, c->count, sizeof(key), by_pid);
}

/* Marks descendants of ROOT: climbs from each process to the root, or past it. */
static void census_mark(struct census *c, pid_t root)
{
	struct entry *e;

	for (size_t i = 0; i < c->count; i++) {
		e = &c->entries[i];
		/* The table is not of one instant, so a chain could be a ring: count the steps. */
		for (size_t steps = 0; e && e->pid != root && steps < c->count; steps++) {
			if (e->parent == root || e->inside) {
				c->entries[i].inside = true;
				break;
			}
			e = e->parent > 1 ? census_find(c, e->parent) : NULL;
		}
	}
}

static int census_take(int proc_fd, pid_t root, struct census *ret_census)
{
	DIR *dir;
	struct dirent *d;
	struct census c = {0};
	struct entry e = {0};
	int fd, r = 0;

	fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		r = stat_read(proc_fd, (pid_t)strtol(d->d_name, NULL, 10), &e);
		if (r == 0)
			r = census_add(&c, &e);
		else if (r != -EMFILE && r != -ENFILE && r != -ENOMEM)
			r = 0; /* it has ended, or is somebody else's */
	}
	closedir(dir);
	if (r < 0 && r != -E2BIG) {
		census_done(&c);
		return r;
	}
	if (c.count > 0) {
		qsort(c.entries, c.count, sizeof(*c.entries), by_pid);
		census_mark(&c, root);
	}
	*ret_census = c;
	return 0;
}

/* Signals the process that the entry describes, or nobody. */
static int entry_signal(int proc_fd, const struct entry *e, int signal, bool then_continue)
{
	scoped(fd_closep) int pidfd = -1;
	struct entry now = {0};

	pidfd = pidfd_open(e->pid, 0);
	if (pidfd < 0)
		return -errno;
	if (stat_read(proc_fd, e->pid, &now) < 0 || now.start != e->start)
		return -ESRCH;
	if (pidfd_send_signal(pidfd, signal, NULL, 0) < 0)
		return -errno;
	if (then_continue)
		pidfd_send_signal(pidfd, SIGCONT, NULL, 0);
	return 0;
}

static bool is_dead(const struct entry *e)
{
	/* A process whose first thread has ended looks like a zombie while others run. */
	return (e->state == 'Z' && !e->threaded) || e->state == 'X';
}

/* Whether *E, as it was read, is the child of the process that is read into *RET_PARENT. The parent
 * is the same one before and after the child still names it: so that number was not another's in
 * between. */
static bool climb(int proc_fd, const struct entry *e, struct entry *ret_parent)
{
	struct entry again = {0}, parent = {0};

	if (stat_read(proc_fd, e->parent, ret_parent) < 0 ||
	    stat_read(proc_fd, e->pid, &again) < 0 || stat_read(proc_fd, e->parent, &parent) < 0)
		return false;
	return again.start == e->start && again.parent == e->parent &&
	       parent.start == ret_parent->start;
}

/* A process is born into a tree, or never in it: links may be looked at one after the other. Those
 * whose parent ends meanwhile get another, and are looked at again. */
static bool is_below(int proc_fd, pid_t root, pid_t pid)
{
	for (int i = 0; i < CLIMB_TRIES; i++) {
		struct entry e = {0}, parent = {0};

		if (stat_read(proc_fd, pid, &e) < 0)
			return false;
		for (int steps = 0; steps < CLIMB_STEPS; steps++) {
			if (e.parent == root)
				return true;
			if (e.parent <= 1)
				return false;
			if (!climb(proc_fd, &e, &parent))
				break;
			e = parent;
		}
	}
	return false;
}

bool tree_has(pid_t root, pid_t pid)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return proc_fd >= 0 && pid > 1 && pid != root && is_below(proc_fd, root, pid);
}

int tree_signal(pid_t root, int signal)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(census_done) struct census c = {0};
	int r, count = 0;

	if (proc_fd < 0)
		return -errno;
	r = census_take(proc_fd, root, &c);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.count; i++)
		if (c.entries[i].inside && !is_dead(&c.entries[i]) &&
		    entry_signal(proc_fd, &c.entries[i], signal, true) == 0)
			count++;
	return count;
}

int tree_count(pid_t root)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(census_done) struct census c = {0};
	int r, count = 0;

	if (proc_fd < 0)
		return -errno;
	r = census_take(proc_fd, root, &c);
	for (size_t i = 0; i < c.count; i++)
		count += c.entries[i].inside && !is_dead(&c.entries[i]);
	return r < 0 ? r : count;
}

/* A storm forks faster than anyone can look at its members one by one, but it rarely leaves its
 * process group, and a signal to a group reaches all members at once. Groups are left out while
 * they are small: the number of a group that ends could come to name another one, that of a crowd
 * cannot. */
static void stop_crowds(const struct census *c, size_t crowd)
{
	pid_t group = 0, own = getpgrp(); /* we would stop ourselves */
	size_t members = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct entry *e = &c->entries[i];

		if (!e->inside || is_dead(e) || e->group <= 1 || e->group == own)
			continue;
		if (e->group != group) {
			group = e->group;
			members = 0;
		}
		if (++members == crowd)
			(void)killpg(group, SIGSTOP);
	}
}

/* One pass: stops all that still move. Returns how many those were. */
static int stop_pass(int proc_fd, pid_t root, size_t crowd)
{
	scoped(census_done) struct census c = {0};
	int r, moving = 0;

	r = census_take(proc_fd, root, &c);
	if (r < 0)
		return r;
	stop_crowds(&c, crowd);
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entries[i];

		if (e->inside && !is_dead(e) && e->state != 'T' && e->state != 't' &&
		    entry_signal(proc_fd, e, SIGSTOP, false) == 0)
			moving++;
	}
	return moving;
}

/* Whether the toll has not yet seen this process. Without memory each one counts as new. */
static bool is_new(struct tree_toll *toll, pid_t pid)
{
	unsigned char bit = (unsigned char)(1 << (pid % 8));
	bool is;

	if (!toll->seen)
		toll->seen =
			calloc(1, PID_MAX / 8); /* zero pages that are not touched cost nothing */
	if (!toll->seen || pid < 0 || pid >= PID_MAX)
		return true;
	is = !(toll->seen[pid / 8] & bit);
	toll->seen[pid / 8] |= bit;
	return is;
}

void tree_toll_done(struct tree_toll *toll)
{
	free(toll->seen);
	toll->seen = NULL;
}

/* One pass; TOLL knows those that have had it. Returns how many were new. */
static int signal_pass(int proc_fd, pid_t root, const struct entry *like, int signal,
                       struct tree_toll *toll)
{
	scoped(census_done) struct census c = {0};
	int r = census_take(proc_fd, root, &c), fresh = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entries[i];
		scoped(fd_closep) int held = -1;

		if (!e->inside || e->pid == like->pid || (like->group && e->group != like->group) ||
		    !is_new(toll, e->pid))
			continue;
		held = pidfd_open(e->pid, 0);
		if (held < 0 || !is_below(proc_fd, root, e->pid) ||
		    pidfd_send_signal(held, signal, NULL, 0) < 0)
			continue;
		fresh++;
	}
	return fresh;
}

int tree_signal_group(pid_t root, pid_t group, pid_t except, int signal)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(tree_toll_done) struct tree_toll toll = {0};
	const struct entry like = {.pid = except, .group = group};
	int r, count = 0, passes = 0;

	if (proc_fd < 0)
		return -errno;
	do {
		r = signal_pass(proc_fd, root, &like, signal, &toll);
		count += r > 0 ? r : 0;
	} while (r > 0 && signal != 0 && toll.seen && ++passes < GROUP_PASSES);
	return r < 0 ? r : count;
}

static int kill_all(pid_t root, struct tree_toll *toll)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(census_done) struct census c = {0};
	int r, passes = 0, before = 0;

	if (proc_fd < 0)
		return -errno;
	do {
		/* A process in the kernel (state D) takes its stop later: two passes with the same
		 * number of movers mean that only such are left, and they cannot fork meanwhile. */
		r = stop_pass(proc_fd, root, passes < CHASE_PASSES ? CROWD : 1);
		if (r > 0 && r == before)
			break;
		before = r;
	} while (r > 0 && ++passes < STOP_PASSES_MAX);
	r = census_take(proc_fd, root, &c);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.count; i++)
		if (c.entries[i].inside && !is_dead(&c.entries[i]) &&
		    entry_signal(proc_fd, &c.entries[i], SIGKILL, false) == 0 &&
		    is_new(toll, c.entries[i].pid))
			toll->killed++;
	return 0;
}

/* A /proc that hides processes (hidepid) tells us the numbers of our own children nevertheless.
 * What these leave behind becomes ours when they are dead. Only we can reap them, so the numbers
 * are theirs. */
static void kill_hidden_children(struct tree_toll *toll)
{
	scoped(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[4096], *at = text;
	ssize_t n = fd_read_text(proc_fd, "thread-self/children", text, sizeof(text));
	struct entry e = {0};
	pid_t pid;

	if (n == (ssize_t)sizeof(text) - 1 && strrchr(text, ' ')) /* the last number may be cut */
		*strrchr(text, ' ') = '\0';
	while ((pid = (pid_t)strtol(at, &at, 10)) > 0)
		if (stat_read(proc_fd, pid, &e) < 0 && kill(pid, SIGKILL) == 0 && is_new(toll, pid))
			toll->killed++;
}

void tree_kill_on(pid_t root, struct tree_toll *toll)
{
	(void)kill_all(root,
	               toll); /* what could not be looked at is still there for the next call */
	if (root == getpid())
		kill_hidden_children(toll);
}
