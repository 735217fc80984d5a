#pragma once
/*
 * Harness: what all measuring programs share. They are small on purpose: a start from a big process
 * is dearer, and the peak memory of a parent shows in its children.
 *
 * A program that is measured must succeed: a failure is usually quick, and would look like speed.
 */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline _Noreturn void give_up(const char *what, int sys)
{
	if (sys)
		fprintf(stderr, "bench: %s: %s\n", what, strerrordesc_np(sys));
	else
		fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static inline void *allocate(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (!p)
		give_up("memory", ENOMEM);
	return p;
}

static inline size_t number_argument(const char *text)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		give_up("a number was expected", EINVAL);
	return (size_t)n;
}

static inline pid_t start(char *const *argv, char *const *envp)
{
	pid_t pid;
	int r = posix_spawn(&pid, argv[0], NULL, NULL, argv, envp);

	if (r != 0)
		give_up(argv[0], r);
	return pid;
}

static inline void wait_success(pid_t pid, const char *name)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			give_up(name, errno);
	if (status != 0) {
		fprintf(stderr, "bench: '%s' ended with status %#x\n", name, (unsigned)status);
		exit(1);
	}
}

static inline int64_t time_command(char *const *argv, char *const *envp)
{
	int64_t begin = now_ns();

	wait_success(start(argv, envp), argv[0]);
	return now_ns() - begin;
}

/* "total NANOSECONDS", and a line "0 NANOSECONDS" for each sample. */
static inline int write_samples(const char *path, int64_t total, const int64_t *samples, size_t n)
{
	FILE *out = fopen(path, "we");

	if (!out)
		give_up(path, errno);
	fprintf(out, "total %lld\n", (long long)total);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "0 %lld\n", (long long)samples[i]);
	return fclose(out) == 0 ? 0 : 1;
}

/* What each of several callers does: once to be ready, then again and again. */
struct caller_work {
	void (*prepare)(void *context);
	int64_t (*once)(void *context); /* how long it took */
	void *context;                  /* each caller has its own copy of what is there */
};

static inline _Noreturn void caller_main(const struct caller_work *work, int ready, int gate,
                                         int64_t *samples, size_t count)
{
	char byte = 0;

	work->prepare(work->context);
	if (write(ready, &byte, 1) != 1)
		_exit(1);
	while (read(gate, &byte, 1) < 0) /* end of file: all begin now */
		if (errno != EINTR)
			_exit(1);
	for (size_t i = 0; i < count; i++)
		samples[i] = work->once(work->context);
	_exit(0);
}

/* By CALLERS processes at the same time, COUNT times each; returns what write_samples() does. */
static inline int run_callers(const char *path, size_t callers, size_t count,
                              const struct caller_work *work)
{
	int64_t *samples = mmap(NULL, callers * count * sizeof(*samples), PROT_READ | PROT_WRITE,
	                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t *pids = allocate(callers, sizeof(*pids));
	int ready[2], gate[2];
	int64_t begin;
	char byte;

	if (samples == MAP_FAILED || pipe(ready) < 0 || pipe(gate) < 0)
		give_up("memory or a pipe", errno);
	for (size_t i = 0; i < callers; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork", errno);
		if (pids[i] == 0) {
			close(gate[1]);
			caller_main(work, ready[1], gate[0], samples + i * count, count);
		}
	}
	for (size_t i = 0; i < callers; i++)
		if (read(ready[0], &byte, 1) != 1)
			give_up("a caller", errno);
	begin = now_ns();
	close(gate[1]);
	for (size_t i = 0; i < callers; i++)
		wait_success(pids[i], "a caller");
	return write_samples(path, now_ns() - begin, samples, callers * count);
}
