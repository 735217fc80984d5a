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
#include "harness.h"
#include "audit/audit.h"
#include "audit/event.h"
#include "base/error.h"

#define LINE 520 /* what an event below takes, with its hashes */

static const char *const words[] = {"/bin/bash", "--noprofile",
                                    "--norc",    "-p",
                                    "-c",        "'make' '-j4' '&&' './run-tests' '--fast'",
                                    NULL};

struct log {
	const char *way, *directory;
	struct audit *audit; /* of the one way */
	int fd;              /* of the other */
};

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

	if (audit_append(a, &e, 1, &seq, &err) < 0 || audit_sync(a, seq, &err) < 0)
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

static int64_t append(void *context)
{
	struct log *l = context;

	return l->audit ? append_group(l->audit) : append_each(l->fd);
}

static void open_log(void *context)
{
	struct log *l = context;
	char path[4096];

	snprintf(path, sizeof(path), "%s/plain", l->directory);
	if (strcmp(l->way, "group") == 0 && audit_open(l->directory, NULL, &l->audit, NULL) < 0)
		give_up(l->directory, errno);
	if (!l->audit && (l->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
		give_up(path, errno);
}

int main(int argc, char **argv)
{
	struct log log = {0};
	const struct caller_work work = {open_log, append, &log};

	if (argc != 6)
		give_up("usage: append FILE group|each DIRECTORY CALLERS COUNT", 0);
	log = (struct log){.way = argv[2], .directory = argv[3]};
	/* The first record makes the files and the key, once in the life of a log. */
	open_log(&log);
	(void)append(&log);
	log.audit = audit_free(log.audit);
	return run_callers(argv[1], number_argument(argv[4]), number_argument(argv[5]), &work);
}
