/*
 * A group is named after its owner: "nacre-<pid namespace>-<pid>-<start time>-<random>". Whoever
 * sees such a name can tell whether the owner still lives; names from other pid namespaces are left
 * alone, since their numbers mean nothing here.
 */
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "sandbox/spec.h"

#define NAME_PREFIX  "nacre-"
#define KEPT         "kept-" /* in a name: what is in it outlives the owner */
#define NAME_MAX_OWN 128
#define TEXT_MAX     4096
#define REMOVE_TRIES 100 /* of a millisecond each: what was killed needs a moment to be gone */
#define REMOVE_WAIT  1000000
#define LEAVE_TRIES  5
#define PIDS_OF_INIT 1

struct cgroup {
	struct cgroup_place place;
	pid_t owner; /* a fork of it has a copy, but not the group */
	char name[NAME_MAX_OWN];
	int dirs[CGROUP_CONTROLLERS]; /* -1: not limited; with v2 only the first one is used */
	bool limited[CGROUP_CONTROLLERS];
	int event_fds[CGROUP_CONTROLLERS]; /* what the limits did; -1: none */
	int join_fds[CGROUP_CONTROLLERS];
	size_t join_count;
	uint64_t shared; /* the limit of processes that cgroup_share() has set; 0: none */
	bool swept;      /* beside it */
};

static int write_text(int dir, const char *file, const char *text)
{
	scoped(fd_closep) int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -errno;
	return 0;
}

static int write_number(int dir, const char *file, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_text(dir, file, text);
}

/* The number behind "KEY " at the start of a line. */
static uint64_t read_value(int fd, const char *key)
{
	char text[TEXT_MAX];
	size_t n = strlen(key);
	ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		return 0;
	text[got] = '\0';
	for (const char *line = text; *line;) {
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return 0;
}

/* When a process started, in the kernel's ticks; 0: there is no such process. */
static unsigned long long start_of(pid_t pid)
{
	char path[64], text[TEXT_MAX];
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	p = strrchr(text, ')'); /* the name before it may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static int name_new(bool kept, char name[NAME_MAX_OWN])
{
	char prefix[NAME_MAX_OWN - ID_RANDOM_CHARS - 1];

	snprintf(prefix, sizeof(prefix), NAME_PREFIX "%llu-%d-%llu-%s", pid_namespace(),
	         (int)getpid(), start_of(getpid()), kept ? KEPT : "");
	return id_new(prefix, name, NAME_MAX_OWN);
}

/* Whether NAME is one of ours whose owner is no more. */
static bool is_orphan(const char *name, unsigned long long namespace)
{
	unsigned long long in, pid, start;
	char *end;

	if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return false;
	in = strtoull(name + strlen(NAME_PREFIX), &end, 10);
	if (*end != '-' || in != namespace || in == 0)
		return false;
	pid = strtoull(end + 1, &end, 10);
	if (*end != '-' || pid == 0 || pid > INT32_MAX)
		return false;
	start = strtoull(end + 1, &end, 10);
	return *end == '-' && start != 0 && start_of((pid_t)pid) != start;
}

/* Whether we have made NAME for commands that outlive its box. */
static bool is_own_kept(const char *name, unsigned long long namespace)
{
	char own[NAME_MAX_OWN];
	int n = snprintf(own, sizeof(own), NAME_PREFIX "%llu-%d-%llu-" KEPT, namespace,
	                 (int)getpid(), start_of(getpid()));

	return strncmp(name, own, (size_t)n) == 0;
}

/* Both kinds list the processes in the same file; version 2 can kill them in one go. */
static int kill_in(int dir)
{
	char text[TEXT_MAX];
	ssize_t n;

	if (write_text(dir, "cgroup.kill", "1") == 0)
		return 0;
	n = fd_read_text(dir, "cgroup.procs", text, sizeof(text));
	if (n ==
	    (ssize_t)sizeof(text) - 1) /* the last number may be cut, and be a stranger's then */
		*strrchr(text, '\n') = '\0';
	for (char *p = text; *p;) {
		long pid = strtol(p, &p, 10);

		if (pid > 1 && pid != getpid())
			(void)kill((pid_t)pid, SIGKILL);
		p += *p == '\n';
	}
	return n < 0 ? (int)n : 0;
}

/* ALIVE: what is in it goes on, and with it the group; whoever comes after its end removes it. */
static void remove_group(const char *parent, const char *name, bool alive)
{
	const struct timespec moment = {.tv_nsec = REMOVE_WAIT};
	scoped(fd_closep) int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int dir = -1;

	for (int i = 0; fd >= 0 && i < REMOVE_TRIES; i++) {
		if (unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return;
		if (alive && i == LEAVE_TRIES)
			return;
		if (dir < 0 && !alive)
			dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0)
			(void)kill_in(dir);
		(void)nanosleep(&moment, NULL);
	}
}

static void sweep_in(const char *path)
{
	unsigned long long namespace = pid_namespace();
	DIR *list = opendir(path);
	struct dirent *d;

	while (list && (d = readdir(list)))
		if (is_orphan(d->d_name, namespace))
			remove_group(path, d->d_name, strstr(d->d_name, "-" KEPT) != NULL);
		else if (is_own_kept(d->d_name, namespace))
			/* We could not remove it while a command of it ran. One that is in use has
			 * at least its holder in it, and stays. */
			(void)unlinkat(dirfd(list), d->d_name, AT_REMOVEDIR);
	if (list)
		closedir(list);
}

void cgroup_sweep(const struct cgroup_place *place)
{
	for (size_t c = 0; c < CGROUP_CONTROLLERS; c++)
		if (*place->path[c] && (c == 0 || strcmp(place->path[c], place->path[0]) != 0))
			sweep_in(place->path[c]);
}

static int make_directory(struct cgroup *g, enum cgroup_controller c)
{
	scoped(fd_closep) int fd = open(g->place.path[c], O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || mkdirat(fd, g->name, 0755) < 0)
		return -errno;
	g->dirs[c] = openat(fd, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dirs[c] < 0)
		return -errno;
	if (g->place.kind == CGROUP_V2)
		return 0;
	g->join_fds[g->join_count] = openat(g->dirs[c], "tasks", O_WRONLY | O_CLOEXEC);
	if (g->join_fds[g->join_count] < 0)
		return -errno;
	g->join_count++;
	return 0;
}

static int limit_memory(struct cgroup *g, uint64_t bytes)
{
	int dir = g->dirs[CGROUP_MEMORY], r;

	r = write_number(dir, g->place.kind == CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes",
	                 bytes);
	if (r < 0)
		return r;
	/* What is swapped out would not count. Kernels without swap have no such files. */
	if (g->place.kind == CGROUP_V2)
		(void)write_text(dir, "memory.swap.max", "0");
	else
		(void)write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	g->limited[CGROUP_MEMORY] = true;
	g->event_fds[CGROUP_MEMORY] =
		openat(dir, g->place.kind == CGROUP_V2 ? "memory.events" : "memory.oom_control",
	               O_RDONLY | O_CLOEXEC);
	return 0;
}

static int limit_pids(struct cgroup *g, uint64_t processes)
{
	int dir = g->dirs[g->place.kind == CGROUP_V2 ? CGROUP_MEMORY : CGROUP_PIDS];
	int r = write_number(dir, "pids.max", processes + PIDS_OF_INIT);

	g->limited[CGROUP_PIDS] = r == 0;
	if (r == 0) /* a kernel without the file has nothing to tell */
		g->event_fds[CGROUP_PIDS] = openat(dir, "pids.events", O_RDONLY | O_CLOEXEC);
	return r;
}

/* The lower one of a limit and that of the unit which the box leaves; 0: none. */
static uint64_t lower(const struct cgroup *g, uint64_t processes)
{
	uint64_t unit = g->place.processes;

	return unit && (!processes || unit < processes) ? unit : processes;
}

void cgroup_share(struct cgroup *g, uint64_t processes, size_t commands, size_t inits)
{
	int dir = g->dirs[g->place.kind == CGROUP_V2 ? CGROUP_MEMORY : CGROUP_PIDS];
	uint64_t limit = lower(g, processes * (commands ? commands : 1)) + inits;

	if (g->limited[CGROUP_PIDS] && limit != g->shared)
		g->shared = write_number(dir, "pids.max", limit) == 0 ? limit : 0;
}

static int make(struct cgroup *g, const struct sandbox_limits *limits)
{
	uint64_t processes = lower(g, limits->processes);
	bool memory = limits->memory_bytes && *g->place.path[CGROUP_MEMORY];
	bool pids = processes && *g->place.path[CGROUP_PIDS];
	int r = 0;

	if (!memory && !(pids && limits->processes))
		return -EOPNOTSUPP;
	if (g->place.settle)
		r = cgroup_settle(&g->place);
	if (r < 0)
		return r;
	if (memory || g->place.kind == CGROUP_V2)
		r = make_directory(g, CGROUP_MEMORY);
	if (r == 0 && memory)
		r = limit_memory(g, limits->memory_bytes);
	if (r == 0 && pids && g->place.kind == CGROUP_V1)
		r = make_directory(g, CGROUP_PIDS);
	if (r == 0 && pids)
		r = limit_pids(g, processes);
	return r;
}

int cgroup_new(const struct cgroup_place *place, const struct sandbox_limits *limits,
               struct cgroup **ret_group, struct error *err)
{
	scoped(cgroup_freep) struct cgroup *g = NULL;
	int r;

	if (place->kind == CGROUP_NONE)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 "no control group that nacre may divide");
	g = calloc(1, sizeof(*g));
	if (!g)
		return error_nomem(err);
	for (size_t c = 0; c < CGROUP_CONTROLLERS; c++)
		g->dirs[c] = g->join_fds[c] = g->event_fds[c] = -1;
	g->place = *place;
	g->owner = getpid();
	r = name_new(place->kept, g->name);
	if (r == 0)
		r = make(g, limits);
	if (r < 0)
		return error_sys(err, -r, "control group");
	*ret_group = take_ptr(&g);
	return 0;
}

/* Closes the descriptors and leaves the group to its owner: for clones that hold a copy. */
static struct cgroup *forget(struct cgroup *g)
{
	if (!g)
		return NULL;
	for (size_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		fd_close(g->dirs[c]);
		fd_close(g->join_fds[c]);
		fd_close(g->event_fds[c]);
	}
	free(g);
	return NULL;
}

void cgroup_end(struct cgroup *g)
{
	if (!g || g->owner != getpid() || g->swept)
		return;
	cgroup_sweep(&g->place);
	g->swept = true;
}

struct cgroup *cgroup_free(struct cgroup *g)
{
	if (!g || g->owner != getpid())
		return forget(g);
	cgroup_end(g);
	for (size_t c = 0; c < CGROUP_CONTROLLERS; c++)
		if (g->dirs[c] >= 0)
			remove_group(g->place.path[c], g->name, g->place.kept);
	return forget(g);
}

bool cgroup_limits(const struct cgroup *g, enum cgroup_controller controller)
{
	return g && g->limited[controller];
}

int cgroup_clone_fd(const struct cgroup *g)
{
	return g && g->place.kind == CGROUP_V2 ? g->dirs[CGROUP_MEMORY] : -1;
}

size_t cgroup_join_fds(const struct cgroup *g, const int **ret_fds)
{
	*ret_fds = g ? g->join_fds : NULL;
	return g ? g->join_count : 0;
}

int cgroup_enter(const struct cgroup *g, pid_t pid, struct error *err)
{
	for (size_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		int r = g->dirs[c] < 0 ? 0
		                       : write_number(g->dirs[c], "cgroup.procs", (uint64_t)pid);

		if (r < 0)
			return error_sys(err, -r, "moving a process into its control group");
	}
	return 0;
}

const int *cgroup_event_fds(const struct cgroup *g)
{
	return g->event_fds;
}

void cgroup_read_events(const struct cgroup *g, struct cgroup_events *ret_events)
{
	*ret_events = (struct cgroup_events){
		.oom_kills = read_value(g->event_fds[CGROUP_MEMORY], "oom_kill"),
		.forks_denied = read_value(g->event_fds[CGROUP_PIDS], "max"),
	};
}
