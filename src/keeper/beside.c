/*
 * Processes of other tasks of the session, as this command sees them: stand-ins
 * (process/standin.h). A signal that ends a stand-in is sent on to the process that it stands for;
 * a process that ends takes its stand-in with it.
 *
 * A signal to all that there is (kill -1) is not meant for other tasks. A sentinel that stands for
 * nothing is made first, so such a signal reaches it first: if it is hit, nothing is sent on. Nor
 * is anything after the command has ended or was told to end.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/fd.h"
#include "process/living.h"
#include "process/spawn.h"
#include "process/standin.h"
#include "sandbox/plan.h"
#include "session/room.h"
#include "task/find.h"

#define SPACE_MS 2000
#define DYING_MS 200
#define SENTINEL "nacre: tasks of this session"

struct search {
	struct keeper *k;
	int tasks;
	char words[KEEPER_BESIDE_MAX][STANDIN_WORDS_MAX];
	struct standin list[KEEPER_BESIDE_MAX];
	char names[KEEPER_BESIDE_MAX][LIVING_NAME_MAX + 1];
	int real[KEEPER_BESIDE_MAX]; /* pidfd of what it stands for; -1: the sentinel */
	size_t count;
};

static size_t read_words(pid_t pid, char into[STANDIN_WORDS_MAX])
{
	scoped(fd_closep) int fd = -1;
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, into, STANDIN_WORDS_MAX - 1);
	if (n <= 0)
		return 0;
	if (into[n - 1] != '\0')
		into[n++] = '\0';
	return (size_t)n;
}

static void add(struct search *s, const struct living_process *p)
{
	unsigned long long start = living_start(p->pid);
	int fd = pidfd_open(p->pid, 0);
	size_t n;

	/* The number may have been given away again between the look and the descriptor. */
	if (fd < 0 || start == 0 || living_start(p->pid) != start) {
		fd_close(fd);
		return;
	}
	n = read_words(p->pid, s->words[s->count]);
	if (n == 0) {
		fd_close(fd);
		return;
	}
	snprintf(s->names[s->count], sizeof(s->names[0]), "%s", p->name);
	s->list[s->count] = (struct standin){.number = p->inner,
	                                     .name = s->names[s->count],
	                                     .words = s->words[s->count],
	                                     .words_bytes = n};
	s->real[s->count++] = fd;
}

static int visit(void *context, const char *task)
{
	struct search *s = context;
	scoped(fd_closep) int dir =
		openat(s->tasks, task, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct living l;

	if (dir < 0 || strcmp(task, s->k->order.task_id) == 0 || !find_living(dir, &l))
		return 0;
	for (int i = 0; i < l.count && s->count < KEEPER_BESIDE_MAX; i++)
		add(s, &l.list[i]);
	return s->count == KEEPER_BESIDE_MAX;
}

/* Init sends it first of all. */
static bool has_space(struct process *p)
{
	struct pollfd word = {.fd = p->socket, .events = POLLIN};
	struct init_message m;

	if (p->space < 0 && p->init_pid > 0 && poll(&word, 1, SPACE_MS) == 1 &&
	    recv(p->socket, &m, sizeof(m), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(m) &&
	    m.event == INIT_SPACE)
		(void)process_receive(p, &m);
	return p->space >= 0;
}

static void wait_for(struct keeper *k, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	(void)epoll_ctl(k->beside.wait, EPOLL_CTL_ADD, fd, &e);
}

static void begin(struct keeper *k, struct search *s)
{
	struct keeper_beside *b = &k->beside;

	if (standins_make(k->plan, k->process->space, s->list, s->count) == 0)
		return;
	b->wait = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < s->count; i++) {
		struct keeper_standin *own = &b->list[b->count];

		if (s->list[i].pid <= 0)
			continue;
		*own = (struct keeper_standin){.pid = s->list[i].pid,
		                               .pidfd = pidfd_open(s->list[i].pid, 0),
		                               .real = take_fd(&s->real[i]),
		                               .sentinel = i == 0};
		b->count++;
		wait_for(k, own->pidfd);
		if (own->real >= 0)
			wait_for(k, own->real);
	}
	/* Without it nobody could tell a signal to all from one that is meant. */
	if (b->count == 0 || !b->list[0].sentinel)
		keeper_beside_end(k);
}

void keeper_beside_begin(struct keeper *k)
{
	const char *state = k->order.request.state;
	struct search *s;
	char path[PATH_MAX];

	if (!k->report.room.id[0] || !k->plan || sandbox_plan_clone_flags(k->plan) == 0 || !state ||
	    snprintf(path, sizeof(path), "%s/tasks", state) >= (int)sizeof(path))
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	s->k = k;
	s->real[0] = -1;
	memcpy(s->words[0], SENTINEL, sizeof(SENTINEL)); /* the kernel shows no constants */
	s->list[0] = (struct standin){
		.name = "nacre", .words = s->words[0], .words_bytes = sizeof(SENTINEL)};
	s->count = 1;
	s->tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->tasks >= 0)
		(void)room_tasks(state, k->room.id, visit, s);
	if (s->count > 1 && has_space(k->process))
		begin(k, s);
	for (size_t i = 0; i < s->count; i++)
		fd_close(s->real[i]);
	fd_close(s->tasks);
	free(s);
}

static bool has_ended(int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	return poll(&end, 1, 0) == 1;
}

/* The signal that has ended it, once; 0: it lives, or was ended otherwise. */
static int fate_of(struct keeper_standin *s)
{
	siginfo_t info = {0};

	if (s->pid == 0 || waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | __WALL) < 0 ||
	    info.si_pid == 0)
		return 0;
	s->pid = 0;
	return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED ? info.si_status : 0;
}

/* A signal that it has, but has not died of yet, is seen here: bits of SigPnd and ShdPnd. */
static bool is_hit(pid_t pid)
{
	scoped(fd_closep) int fd = -1;
	char path[48], text[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	for (const char *p = text; (p = strstr(p, "Pnd:\t")); p++)
		if (strspn(p + 5, "0") < 16)
			return true;
	return n <= 0;
}

void keeper_beside_look(struct keeper *k)
{
	struct keeper_beside *b = &k->beside;
	int fates[KEEPER_BESIDE_MAX] = {0};
	bool meant;

	if (b->count == 0)
		return;
	if (k->state != RUNNING || k->process->ordered) {
		keeper_beside_end(k);
		return;
	}
	for (size_t i = 1; i < b->count; i++) {
		struct keeper_standin *s = &b->list[i];

		fates[i] = fate_of(s);
		if (s->pid > 0 && has_ended(s->real)) {
			(void)pidfd_send_signal(s->pidfd, SIGKILL, NULL, 0);
			(void)waitpid(s->pid, NULL, __WALL);
			s->pid = 0;
		}
		if (s->pid == 0 && s->pidfd >= 0)
			fd_close(take_fd(&s->pidfd)); /* and waits no longer */
	}
	meant = fate_of(&b->list[0]) == 0 && b->list[0].pid > 0 && !is_hit(b->list[0].pid);
	for (size_t i = 1; i < b->count; i++)
		if (fates[i] && meant)
			(void)pidfd_send_signal(b->list[i].real, fates[i], NULL, 0);
	for (size_t i = 1; i < b->count; i++)
		if (b->list[i].pid == 0 && b->list[i].real >= 0)
			fd_close(take_fd(&b->list[i].real));
	if (!meant)
		keeper_beside_end(k);
}

/* A line may end with a kill. What it was meant for has the signal, but may not have died of it. */
void keeper_beside_last_look(struct keeper *k)
{
	struct keeper_beside *b = &k->beside;

	for (size_t i = 1; k->state == RUNNING && i < b->count; i++) {
		struct pollfd end = {.fd = b->list[i].pidfd, .events = POLLIN};

		if (b->list[i].pid > 0 && is_hit(b->list[i].pid))
			(void)poll(&end, 1, DYING_MS);
	}
	keeper_beside_look(k);
}

void keeper_beside_end(struct keeper *k)
{
	struct keeper_beside *b = &k->beside;

	for (size_t i = 0; i < b->count; i++) {
		struct keeper_standin *s = &b->list[i];

		if (s->pid > 0) {
			(void)pidfd_send_signal(s->pidfd, SIGKILL, NULL, 0);
			(void)waitpid(s->pid, NULL, __WALL);
		}
		fd_close(s->pidfd);
		fd_close(s->real);
	}
	b->count = 0;
	fd_close(take_fd(&b->wait));
}
