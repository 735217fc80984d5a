#include "launch/heritage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hex.h"

#define TEXT_MAX       16384 /* of one file in /proc */
#define HERITAGE_MAX   65536
#define NAME_BYTES     16
#define IOPRIO_PROCESS 1
#define QUERY          0xffffffff

/* Files that are taken whole. */
static const char *const files[] = {"limits", "cgroup", "oom_score_adj"};

static const char *const status_lines[] = {"Umask:",
                                           "Uid:",
                                           "Gid:",
                                           "Groups:",
                                           "CapInh:",
                                           "CapPrm:",
                                           "CapEff:",
                                           "CapBnd:",
                                           "CapAmb:",
                                           "Seccomp:",
                                           "Seccomp_filters:",
                                           "Speculation_Store_Bypass:",
                                           "SpeculationIndirectBranch:",
                                           "THP_enabled:",
                                           "Cpus_allowed:",
                                           "Mems_allowed:"};

static const char *const namespaces[] = {"user", "mnt", "pid_for_children", "net",
                                         "ipc",  "uts", "cgroup",           "time_for_children"};

/* Of "stat", counted from the state on: nice, real-time priority, policy. */
static const int stat_fields[] = {16, 37, 38};

/* The places of nacre's own files, what the tree of a box depends on, and what a sanitizer is
 * told. */
static const char *const variables[] = {"HOME=",
                                        "PATH=",
                                        "TMPDIR=",
                                        "XDG_CONFIG_HOME=",
                                        "XDG_STATE_HOME=",
                                        "XDG_RUNTIME_DIR=",
                                        "GIT_CONFIG_GLOBAL=",
                                        "GIT_CONFIG_SYSTEM=",
                                        "NACRE_",
                                        "ASAN_OPTIONS=",
                                        "UBSAN_OPTIONS=",
                                        "LSAN_OPTIONS=",
                                        "GCOV_PREFIX"};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool heritage_has_variable(const char *variable)
{
	if (begins(variable, "NACRE_SESSION=")) /* changes with each call */
		return false;
	for (size_t i = 0; i < array_size(variables); i++)
		if (begins(variable, variables[i]))
			return true;
	return false;
}

static int put_status(const char *text, struct buffer *into)
{
	bool told = false;

	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (begins(line, "NoNewPrivs:\t1"))
			return -EPERM;
		told |= begins(line, "NoNewPrivs:");
		for (size_t i = 0; i < array_size(status_lines); i++)
			if (begins(line, status_lines[i]))
				buffer_append(into, line, n);
		line += n + (line[n] == '\n');
	}
	return told ? 0 : -EPERM; /* cut off, or a kernel that does not tell */
}

/* The name, in brackets, may have blanks. */
static int put_stat(const char *text, struct buffer *into)
{
	const char *at = strrchr(text, ')');
	int number = 0;

	if (!at)
		return -EPROTO;
	for (at++; *at == ' '; number++) {
		size_t n = strcspn(++at, " \n");

		for (size_t i = 0; i < array_size(stat_fields); i++)
			if (number == stat_fields[i])
				buffer_append(into, at, n + 1);
		at += n;
	}
	return number > stat_fields[array_size(stat_fields) - 1] ? 0 : -EPROTO;
}

/* A file of /proc, which comes whole by one read if there is room for it. */
static ssize_t read_file(int proc, const char *name, char text[TEXT_MAX])
{
	scoped(fd_closep) int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n < TEXT_MAX - 1 ? n : -E2BIG;
}

static int put_files(int proc, struct buffer *into)
{
	char text[TEXT_MAX];
	ssize_t n;
	int r;

	n = read_file(proc, "status", text);
	r = n < 0 ? (int)n : put_status(text, into);
	if (r < 0)
		return r;
	n = read_file(proc, "stat", text);
	r = n < 0 ? (int)n : put_stat(text, into);
	for (size_t i = 0; r == 0 && i < array_size(files); i++) {
		n = read_file(proc, files[i], text);
		if (n < 0 && n != -ENOENT) /* a kernel without control groups */
			return (int)n;
		buffer_printf(into, "%s:%zd:", files[i], n);
		buffer_append(into, text, n > 0 ? (size_t)n : 0);
	}
	return r;
}

/* A namespace that the kernel does not have is missing for everybody. */
static int put_places(int proc, struct buffer *into)
{
	struct stat st;
	char path[64];

	for (size_t i = 0; i < array_size(namespaces); i++) {
		snprintf(path, sizeof(path), "ns/%s", namespaces[i]);
		if (fstatat(proc, path, &st, 0) == 0)
			buffer_printf(into, "%s:%llu ", namespaces[i],
			              (unsigned long long)st.st_ino);
		else if (errno != ENOENT)
			return -errno;
	}
	if (fstatat(proc, "root", &st, 0) < 0)
		return -errno;
	buffer_printf(into, "root:%llu:%llu", (unsigned long long)st.st_dev,
	              (unsigned long long)st.st_ino);
	return 0;
}

int heritage_read(pid_t pid, struct digest *ret_digest)
{
	scoped(buffer_donep) struct buffer all = {.max = HERITAGE_MAX};
	scoped(fd_closep) int proc = -1;
	char path[32] = "/proc/self";
	int r;

	if (pid > 0)
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return -errno;
	r = put_files(proc, &all);
	if (r == 0)
		r = put_places(proc, &all);
	if (r == 0)
		r = buffer_error(&all);
	if (r == 0)
		digest_make(all.data, all.len, ret_digest);
	return r;
}

/* What honest callers differ in, as far as it is quickly asked for; the launcher looks at all of
 * it. The last ones nobody but the process itself can ask for. */
static int put_own(struct buffer *into)
{
	char text[TEXT_MAX];
	struct rlimit limits[RLIMIT_NLIMITS] = {0};
	struct sched_param param = {0};
	cpu_set_t cpus = {0};
	mode_t mask = umask(0);
	ssize_t n;

	(void)umask(mask);
	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		(void)getrlimit((__rlimit_resource_t)i, &limits[i]);
	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	(void)sched_getparam(0, &param);
	n = read_file(AT_FDCWD, "/proc/self/cgroup", text);
	if (n < 0 && n != -ENOENT)
		return (int)n;
	buffer_append(into, text, n > 0 ? (size_t)n : 0);
	buffer_append(into, limits, sizeof(limits));
	buffer_append(into, &cpus, sizeof(cpus));
	buffer_printf(into, "%o %d %d %d %d %d ", mask, getuid(), getgid(),
	              getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), param.sched_priority);
	buffer_printf(into, "%d %d %d %ld ", personality(QUERY), prctl(PR_GET_TIMERSLACK),
	              prctl(PR_GET_SECUREBITS), syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0));
	return 0;
}

int heritage_name(char into[STANDBY_NAME_MAX + 1])
{
	scoped(buffer_donep) struct buffer all = {.max = 16 * HERITAGE_MAX};
	struct digest digest;
	struct stat program;
	int r;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		return -EPERM;
	if (stat("/proc/self/exe", &program) < 0)
		return -errno;
	buffer_printf(&all, NACRE_VERSION " %llu %llu %lld %lld.%09ld ",
	              (unsigned long long)program.st_dev, (unsigned long long)program.st_ino,
	              (long long)program.st_size, (long long)program.st_ctim.tv_sec,
	              program.st_ctim.tv_nsec);
	r = put_own(&all);
	for (char **v = environ; v && *v; v++)
		if (heritage_has_variable(*v))
			buffer_append(&all, *v, strlen(*v) + 1);
	if (r == 0)
		r = buffer_error(&all);
	if (r < 0)
		return r;
	digest_make(all.data, all.len, &digest);
	hex_write(digest.bytes, NAME_BYTES, into);
	strcat(into, STANDBY_SUFFIX);
	return 0;
}
