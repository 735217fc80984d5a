#include "keeper/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/memory.h"
#include "sandbox/spec.h"

#define LOOK_SHARE 8 /* at most one part in so many of a processor is spent with looking */

void watch_init(struct watch *w, const struct sandbox_limits *limits, bool memory_held,
                bool processes_counted)
{
	*w = (struct watch){
		.memory_max = memory_held ? 0 : limits->memory_bytes,
		/* The box's init is one more. The kernel refuses the next one, and tells nobody. */
		.tasks_max = processes_counted || !limits->processes ? 0 : limits->processes + 1,
	};
	if (w->memory_max)
		unseen_read(&w->before);
}

bool watch_is_on(const struct watch *w)
{
	return w->memory_max || w->tasks_max;
}

pid_t watch_pid(int pidfd)
{
	char path[64], text[512];
	scoped(fd_closep) int fd = -1;
	const char *line;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
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

void watch_look(struct watch *w, int root_fd, int64_t now_ms)
{
	uint64_t limit = w->memory_max ? w->memory_max : UINT64_MAX;
	struct memory_use use;
	int64_t began;
	pid_t root;
	int r;

	if (!watch_is_on(w) || now_ms < w->next_look)
		return;
	began = cpu_ms();
	root = watch_pid(root_fd);
	r = root > 0 ? memory_relieve(root, limit, &w->before, &use) : -ESRCH;
	/* Many processes take long to look at; their output has to be read, too. Those that were
	 * just too many may be so again at once. */
	w->next_look = now_ms + WATCH_LOOK_MS;
	if (r <= 0)
		w->next_look += LOOK_SHARE * (cpu_ms() - began);
	if (r < 0)
		return;
	w->memory_kills += (uint64_t)r;
	if (!w->tasks_max)
		return;
	w->crowded |= use.tasks >= w->tasks_max;
	w->too_many |= use.tasks > w->tasks_max;
}
