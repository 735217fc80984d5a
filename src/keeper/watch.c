#include "keeper/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/family.h"
#include "sandbox/memory.h"
#include "sandbox/spec.h"

#define LOOK_SHARE 8 /* at most one part in so many of a processor is spent with looking */

/* With processor time it is known how soon all processors together can use up the rest. It is
 * looked at more often nevertheless: what a process has used is gone with it if its parent does not
 * care. */
#define CPU_LOOK_MAX_MS 1000

void watch_init(struct watch *w, const struct sandbox_limits *limits, bool memory_held,
                bool processes_counted, int root_fd)
{
	pid_t root = limits->cpu_seconds && root_fd >= 0 ? watch_pid(root_fd) : 0;

	*w = (struct watch){
		.memory_max = memory_held ? 0 : limits->memory_bytes,
		/* The box's init is one more. The kernel refuses the next one, and tells nobody. */
		.tasks_max = processes_counted || !limits->processes ? 0 : limits->processes + 1,
		.cpu_max_us = limits->cpu_seconds * 1000000,
	};
	if (root > 0)
		(void)family_cpu_us(root, &w->cpu_before_us);
	if (w->memory_max)
		unseen_read(&w->before);
}

static bool looks_at_tree(const struct watch *w)
{
	return w->memory_max || w->tasks_max;
}

int64_t watch_wait_ms(const struct watch *w, int64_t now_ms)
{
	int64_t wait = w->cpu_max_us && !w->cpu_spent ? w->cpu_next_look - now_ms : INT64_MAX;
	int64_t look = w->hurry ? WATCH_HURRY_MS : WATCH_LOOK_MS;

	return looks_at_tree(w) && wait > look ? look : wait;
}

pid_t watch_pid(int pidfd)
{
	char path[64], text[512];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	(void)fd_read_text(AT_FDCWD, path, text, sizeof(text));
	line = strstr(text, "\nPid:\t");
	return line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
}

/* Of our own: in a crowd that takes all of the processors a look lasts long and costs little. */
static int64_t cpu_ms(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0
	               ? 0
	               : (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Also where the kernel refuses the look: the process is there, though. */
static void note_blindness(struct watch *w, int root_fd, int r)
{
	struct pollfd end = {.fd = root_fd, .events = POLLIN};

	if ((r == -EACCES || r == -EOPNOTSUPP) && poll(&end, 1, 0) == 0)
		w->blind = true;
}

static void look_at_cpu(struct watch *w, int root_fd, int64_t now_ms)
{
	pid_t root;
	uint64_t now_us = 0, used, rest_ms;
	int r;

	if (!w->cpu_max_us || w->cpu_spent || now_ms < w->cpu_next_look)
		return;
	root = watch_pid(root_fd);
	r = root > 0 ? family_cpu_us(root, &now_us) : -ESRCH;
	w->cpu_next_look = now_ms + WATCH_LOOK_MS;
	if (r < 0)
		return;
	now_us -= now_us < w->cpu_before_us ? now_us : w->cpu_before_us;
	if (now_us < w->cpu_last_us)
		w->cpu_lost_us += w->cpu_last_us - now_us;
	w->cpu_last_us = now_us;
	used = now_us + w->cpu_lost_us;
	w->cpu_spent = used >= w->cpu_max_us;
	if (w->cpu_spent)
		return;
	rest_ms = (w->cpu_max_us - used) / 1000 / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (rest_ms > WATCH_LOOK_MS)
		w->cpu_next_look =
			now_ms + (rest_ms < CPU_LOOK_MAX_MS ? (int64_t)rest_ms : CPU_LOOK_MAX_MS);
}

/* Whether a tree that grows twice as fast as it did since the last look has more than the limit
 * before the next one. */
static bool is_in_a_hurry(struct watch *w, uint64_t bytes, int64_t now_ms)
{
	double grown = (double)bytes - (double)w->last_bytes;
	double elapsed = now_ms > w->last_look ? (double)(now_ms - w->last_look) : 1;
	double wait = (double)(w->next_look - now_ms);

	w->last_bytes = bytes;
	w->last_look = now_ms;
	return w->memory_max && (double)bytes + 2 * grown / elapsed * wait > (double)w->memory_max;
}

void watch_look(struct watch *w, int root_fd, int64_t now_ms)
{
	uint64_t limit = w->memory_max ? w->memory_max : UINT64_MAX;
	struct memory_use use;
	int64_t began;
	pid_t root;
	int r;

	look_at_cpu(w, root_fd, now_ms);
	if (!looks_at_tree(w) || now_ms < w->next_look)
		return;
	began = cpu_ms();
	root = watch_pid(root_fd);
	r = root > 0 ? memory_relieve(root, limit, &w->before, &use) : -ESRCH;
	/* Many processes take long to look at; their output has to be read, too. Those that were
	 * just too many may be so again at once. */
	w->next_look = now_ms + WATCH_LOOK_MS;
	if (r <= 0)
		w->next_look += LOOK_SHARE * (cpu_ms() - began);
	/* Those that were killed need a moment to give back what they have. */
	w->hurry = r >= 0 && is_in_a_hurry(w, use.bytes, now_ms) && r == 0;
	if (w->hurry)
		w->next_look = now_ms + WATCH_HURRY_MS;
	if (r < 0) {
		note_blindness(w, root_fd, r);
		return;
	}
	w->memory_kills += (uint64_t)r;
	if (!w->tasks_max)
		return;
	w->crowded |= use.tasks >= w->tasks_max;
	w->too_many |= use.tasks > w->tasks_max;
}
