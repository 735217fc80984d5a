/*
 * Records to one audit log by several callers at the same time, each a process of its own, each
 * record on the disk before the next one.
 *
 *     append FILE group|each DIRECTORY CALLERS COUNT
 *
 * group: through the audit log, where callers share a sync. each: the plain way, a line of the same
 * length and a sync of its own under a lock. FILE gets "total NANOSECONDS" and a line "0
 * NANOSECONDS" per record.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include "harness.h"
#include "audit/audit.h"
#include "audit/event.h"
#include "base/error.h"

#define LINE 520 /* what an event below takes, with its hashes */

static const char *const words[] = {"/bin/bash", "--noprofile",
                                    "--norc",    "-p",
                                    "-c",        "'make' '-j4' '&&' './run-tests' '--fast'",
                                    NULL};

static int64_t append_group(struct audit *a)
{
	const struct audit_event e = {.kind = AUDIT_STARTED,
	                              .task = "bash-0123456789abcdef",
	                              .profile = "bash",
	                              .workspace = "/home/user/project",
	                              .cwd = "/home/user/project",
	                              .executed = words};
	struct error err = {0};
	int64_t begin = now_ns();
	uint64_t seq;

	if (audit_append(a, &e, 1, &seq, &err) < 0 || audit_sync(a, seq, false, &err) < 0)
		give_up(err.text, 0);
	return now_ns() - begin;
}

static int64_t append_each(int fd)
{
	static char line[LINE];
	int64_t begin = now_ns();

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	if (flock(fd, LOCK_EX) < 0 || write(fd, line, sizeof(line)) != (ssize_t)sizeof(line) ||
	    fdatasync(fd) < 0 || flock(fd, LOCK_UN) < 0)
		give_up("append", errno);
	return now_ns() - begin;
}

static _Noreturn void call(const char *way, const char *directory, int gate, int64_t *samples,
                           size_t count)
{
	struct audit *a = NULL;
	char path[4096], byte;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/plain", directory);
	if (strcmp(way, "group") == 0 && audit_open(directory, NULL, &a, NULL) < 0)
		give_up(directory, errno);
	if (!a && (fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
		give_up(path, errno);
	while (read(gate, &byte, 1) < 0) /* end of file: all begin now */
		if (errno != EINTR)
			_exit(1);
	for (size_t i = 0; i < count; i++)
		samples[i] = a ? append_group(a) : append_each(fd);
	_exit(0);
}

/* The first record makes the files and the key, once in the life of a log. */
static void begin_log(const char *way, const char *directory)
{
	struct audit *a = NULL;

	if (strcmp(way, "group") != 0)
		return;
	if (audit_open(directory, NULL, &a, NULL) < 0)
		give_up(directory, errno);
	(void)append_group(a);
	audit_free(a);
}

int main(int argc, char **argv)
{
	size_t callers, count;
	int64_t *samples, begin, total;
	pid_t *pids;
	int gate[2];
	FILE *out;

	if (argc != 6)
		give_up("usage: append FILE group|each DIRECTORY CALLERS COUNT", 0);
	callers = number_argument(argv[4]);
	count = number_argument(argv[5]);
	pids = allocate(callers, sizeof(*pids));
	samples = mmap(NULL, callers * count * sizeof(*samples), PROT_READ | PROT_WRITE,
	               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (samples == MAP_FAILED || pipe(gate) < 0)
		give_up("memory or a pipe", errno);
	begin_log(argv[2], argv[3]);
	for (size_t i = 0; i < callers; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork", errno);
		if (pids[i] == 0) {
			close(gate[1]);
			call(argv[2], argv[3], gate[0], samples + i * count, count);
		}
	}
	begin = now_ns();
	close(gate[1]);
	for (size_t i = 0; i < callers; i++)
		wait_success(pids[i], "a caller");
	total = now_ns() - begin;
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	fprintf(out, "total %lld\n", (long long)total);
	for (size_t i = 0; i < callers * count; i++)
		fprintf(out, "0 %lld\n", (long long)samples[i]);
	return fclose(out) == 0 ? 0 : 1;
}
