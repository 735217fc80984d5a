/*
 * Probe: every command that a generated line can find on its PATH.
 *
 * It is linked under many names. Each start is appended to a log as one record, so that every
 * execve of a line is seen without a tracer; then the name decides what happens: some names go on
 * as the real program, the others print how they were called and leave with a status of their own.
 *
 * A record is the name of the file that was executed and the words, each ended by a zero byte, and
 * before them their common length, four bytes in the order of the machine.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define LOG "/run/exec"

static char record[1 << 17];
static size_t used;

static void put(const char *text, size_t n)
{
	if (n > sizeof(record) - used)
		n = sizeof(record) - used;
	memcpy(record + used, text, n);
	used += n;
}

/* One write of one record: O_APPEND keeps the records of processes at the same time apart. */
static void note(const char *file, char **argv)
{
	uint32_t n;
	int fd;

	used = sizeof(n);
	put(file, strlen(file) + 1);
	for (char **word = argv; *word; word++)
		put(*word, strlen(*word) + 1);
	n = (uint32_t)(used - sizeof(n));
	memcpy(record, &n, sizeof(n));
	fd = open(LOG, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, record, used) != (ssize_t)used)
		_exit(99);
	close(fd);
}

/* The language of sh is that of bash, whatever /bin/sh is here; its name makes it POSIX. With
 * run --sh it is another one. */
#ifndef SH
#define SH "bash"
#endif

static void become(const char *name, char **argv)
{
	static const char *const real[] = {
		"bash", "sh", "env", "nice", "nohup", "timeout", "find", "xargs", "cat", "setsid",
		"sort", "tr", "wc",  "head", "grep",  "stdbuf",  "tail", "cut",   "uniq"};
	char path[64];

	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++) {
		if (strcmp(name, real[i]) != 0)
			continue;
		snprintf(path, sizeof(path), "/usr/bin/%s", strcmp(name, "sh") == 0 ? SH : name);
		execv(path, argv);
		_exit(98);
	}
}

/* Words for substitutions to give: several, a pattern, a command, none. */
static const char *output_of(const char *name)
{
	if (strcmp(name, "w1") == 0)
		return "one two\n";
	if (strcmp(name, "w2") == 0)
		return "*.txt\n";
	if (strcmp(name, "w3") == 0)
		return "c4 -x\n";
	if (strcmp(name, "w4") == 0)
		return "";
	return NULL;
}

static void say(const char *name, char **argv)
{
	static const char *const shown[] = {"A", "B", "Z"};
	const char *text = output_of(name);

	used = 0;
	if (text) {
		put(text, strlen(text));
	} else {
		put("<", 1);
		put(name, strlen(name));
		for (char **word = argv + 1; *word; word++) {
			put("|", 1);
			put(*word, strlen(*word));
		}
		for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
			const char *value = getenv(shown[i]);

			if (value) {
				put("; ", 2);
				put(value, strlen(value));
			}
		}
		put(">\n", 2);
	}
	/* Nobody may be reading; the status must not depend on who is faster. */
	if (write(STDOUT_FILENO, record, used) < 0)
		used = 0;
}

int main(int argc, char **argv)
{
	const char *file = (const char *)getauxval(AT_EXECFN);
	const char *name;

	if (argc < 1 || !file)
		return 97;
	name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	note(file, argv);
	become(name, argv);
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(name, ".notfound") == 0) {
		fprintf(stderr, "not found: %s\n", argc > 1 ? argv[1] : "");
		return 127;
	}
	say(name, argv);
	return strcmp(name, "c3") == 0 ? 1 : strcmp(name, "c7") == 0 ? 3 : 0;
}
