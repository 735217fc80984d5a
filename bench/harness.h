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
