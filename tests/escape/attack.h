#pragma once
/*
 * What the attackers share.
 *
 * Each program holds the attempts of one theme: `theme NAME` makes one of them. The driver,
 * tests/integration/test_escape.py, runs it in a box and looks from outside at what came of it. An
 * attacker says "GOT" for a success that only it can see, prints what it could read, and ends with
 * "TRIED", so that an attempt that never took place is not taken for one that was stopped.
 *
 * The surroundings (ports, process ids, paths) stand in the file `attack/world` of the workspace,
 * one `key=value` a line. No attempt does lasting harm where it succeeds: signals are SIGWINCH,
 * calls that would change the machine get operands that the kernel refuses after its check of
 * rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct attempt {
	const char *name;
	void (*make)(void);
};

#define count_of(a) (sizeof(a) / sizeof((a)[0]))

static inline const char *world(const char *key)
{
	static char text[8192], value[512];
	size_t n = strlen(key);

	if (!text[0]) {
		int fd = open("attack/world", O_RDONLY | O_CLOEXEC);
		ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (got <= 0) {
			printf("no world: %s\n", strerror(errno));
			exit(99);
		}
		text[got] = 0;
		close(fd);
	}
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, key, n) == 0 && line[n] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)(end - line - (ptrdiff_t)n - 1),
			         line + n + 1);
			return strdup(value);
		}
		line = *end ? end + 1 : NULL;
	}
	printf("the world has no '%s'\n", key);
	exit(99);
}

static inline long world_number(const char *key)
{
	return strtol(world(key), NULL, 0);
}

__attribute__((format(printf, 1, 2))) static inline void got(const char *format, ...)
{
	va_list args;

	fputs("GOT ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* A step that failed, and why: for the reader of a failing test. */
static inline void no(const char *what)
{
	printf("no: %s: %s\n", what, strerror(errno));
	fflush(stdout);
}

/* Tells how a step ended, which counts as a success if it did not fail. */
static inline bool told(const char *what, long result)
{
	if (result < 0)
		no(what);
	else
		got("%s", what);
	return result >= 0;
}

/* Prints what is in a file, its NULs as newlines: the driver looks for its secrets in it. */
static inline void show_fd(int fd, const char *name)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0) {
		no(name);
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] == 0)
			buf[i] = '\n';
	printf("%s: ", name);
	fwrite(buf, 1, (size_t)n, stdout);
	putchar('\n');
	fflush(stdout);
}

static inline void show(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		no(path);
		return;
	}
	show_fd(fd, path);
	close(fd);
}

/* Makes one attempt in a child, because the answer may be its death. */
static inline void in_child(void (*make)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		make();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0) {
		no("fork");
		return;
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("no: killed by signal %d\n", WTERMSIG(status));
}

static inline int attack(int argc, char **argv, const struct attempt *all, size_t n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < n; i++)
		if (argc > 1 && strcmp(argv[1], all[i].name) == 0) {
			all[i].make();
			puts("TRIED");
			return 0;
		}
	fprintf(stderr, "%s: no attempt '%s'\n", argv[0], argc > 1 ? argv[1] : "");
	return 98;
}
