/*
 * Memory is not bounded by RLIMIT_AS: node, Go and Java reserve far more addresses than they use.
 * RLIMIT_DATA counts what a process can really write to on its own, and is the second best where
 * there is no control group: it holds for each process alone, and not for shared memory.
 */
#include "sandbox/limits.h"

#include <signal.h>
#include <stddef.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/pids.h"

#define CPU_GRACE_SECONDS 2 /* between SIGXCPU, which a program may handle, and SIGKILL */
#define FULL_BLOCKS       4
#define GROUP_FIRST       16
/* They count for all of a user's processes, and for whoever made the box. */
#define PENDING_SIGNALS 4096

struct filling {
	struct limit_value *into;
	int count;
};

static void add(struct filling *f, int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now;

	if (f->count == LIMITS_MAX || getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return;
	if (hard > now.rlim_max)
		hard = now.rlim_max;
	if (soft > hard)
		soft = hard;
	f->into[f->count++] = (struct limit_value){resource, {soft, hard}};
}

/* Most users have none of it anyway, and need no call. */
static void add_none(struct filling *f, int resource)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0 || now.rlim_max > 0)
		add(f, resource, 0, 0);
}

static rlim_t processes(const struct sandbox_limits *limits, const struct limits_place *place)
{
	if (!limits->processes || place->kernel_root)
		return RLIM_INFINITY;
	/* Many commands of a kept box have more together than one may have; their group knows how
	 * many there are. */
	if (place->waiting > 0 && place->process_group)
		return RLIM_INFINITY;
	/* The box's init is one of them. Where a group counts how often it refused, it has to be
	 * the one that refuses. */
	if (place->own_user_namespace)
		return limits->processes + 1 + place->waiting +
		       (place->process_group ? GROUP_FIRST : 0);
	return pids_rlimit(limits->processes);
}

int limits_fill(const struct sandbox_limits *limits, const struct limits_place *place,
                struct limit_value into[LIMITS_MAX])
{
	struct filling f = {.into = into};
	rlim_t nproc = processes(limits, place), cpu = limits->cpu_seconds;

	/* The kernel counts the ticks of its clock for this limit, which on a busy machine can be a
	 * third too many. Who adds up what was used must be the one that ends it, and tells. */
	if (cpu && place->watched)
		cpu = 2 * cpu + CPU_GRACE_SECONDS;

	add(&f, RLIMIT_CORE, 0, 0);
	/* Where the operator may have real-time priority, a loop of the command must not. */
	add_none(&f, RLIMIT_RTPRIO);
	add_none(&f, RLIMIT_NICE);
	add(&f, RLIMIT_SIGPENDING, PENDING_SIGNALS, PENDING_SIGNALS);
	if (nproc != RLIM_INFINITY)
		add(&f, RLIMIT_NPROC, nproc, nproc);
	if (limits->file_bytes)
		add(&f, RLIMIT_FSIZE, limits->file_bytes, limits->file_bytes);
	if (limits->open_files)
		add(&f, RLIMIT_NOFILE, limits->open_files, limits->open_files);
	if (cpu)
		add(&f, RLIMIT_CPU, cpu, cpu + CPU_GRACE_SECONDS);
	if (limits->memory_bytes && !place->memory_group)
		add(&f, RLIMIT_DATA, limits->memory_bytes, limits->memory_bytes);
	return f.count;
}

const char *limit_hit_name(enum limit_hit hit)
{
	static const char *const names[LIMIT_HIT_MAX] = {
		[LIMIT_HIT_MEMORY] = "memory",
		[LIMIT_HIT_PROCESSES] = "processes",
		[LIMIT_HIT_FILE_SIZE] = "file_size",
		[LIMIT_HIT_CPU] = "cpu",
		[LIMIT_HIT_TMP] = "tmp",
		[LIMIT_HIT_ROOM] = "room",
		[LIMIT_HIT_WORKSPACE] = "workspace",
	};

	return hit < LIMIT_HIT_MAX ? names[hit] : NULL;
}

/* By the signal itself, or as a shell passes it on. */
static bool ended_by(int status, int signal)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == signal;
	return WIFEXITED(status) && WEXITSTATUS(status) == 128 + signal;
}

enum limit_hit limits_judge(const struct sandbox_limits *limits, const struct limits_evidence *e)
{
	uint64_t cpu_us = limits->cpu_seconds * 1000000;

	if (e->room_full) /* then the signal was ours */
		return LIMIT_HIT_ROOM;
	if (e->workspace_full)
		return LIMIT_HIT_WORKSPACE;
	if (limits->memory_bytes && e->oom_kills)
		return LIMIT_HIT_MEMORY;
	/* A process that the kernel ended for it has used all of it alone. */
	if (limits->cpu_seconds &&
	    (ended_by(e->wait_status, SIGXCPU) || e->cpu_spent || e->cpu_us >= cpu_us))
		return LIMIT_HIT_CPU;
	if (limits->file_bytes && ended_by(e->wait_status, SIGXFSZ))
		return LIMIT_HIT_FILE_SIZE;
	if (limits->processes && e->forks_denied)
		return LIMIT_HIT_PROCESSES;
	if (limits->tmp_bytes && e->tmp_full)
		return LIMIT_HIT_TMP;
	return LIMIT_HIT_NONE;
}

bool limits_is_full(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0 || fs.f_blocks == 0)
		return false;
	return fs.f_bavail < FULL_BLOCKS || (fs.f_files && fs.f_favail == 0);
}
