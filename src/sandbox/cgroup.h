#pragma once
/*
 * Cgroup: control groups of one command's own, for the limits that only a group can hold.
 *
 * Version 2 is used if nacre may divide a group above it, else the memory and pids controllers of
 * version 1 if nacre may write them. Nothing stays: the owner removes its group, and the next owner
 * removes groups of dead owners.
 *
 * The limits of the unit that nacre runs in hold for its commands as well. A box leaves a unit's
 * group only if the unit bounds neither memory nor processor time, and takes the unit's limit of
 * processes with it. A unit that bounds them is divided if it was given to us (Delegate=yes): what
 * lives in it moves into a leaf, and boxes are made beside that leaf.
 *
 * Moving another process costs some 10 ms, since the kernel waits for all processors. So a new
 * process is born in its group (version 2, CLONE_INTO_CGROUP), or moves itself by its single thread
 * (version 1), which costs 20 us.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

struct cgroup; /* opaque */
struct error;
struct sandbox_limits;

enum cgroup_kind {
	CGROUP_NONE,
	CGROUP_V1,
	CGROUP_V2,
	CGROUP_KIND_MAX,
};

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CONTROLLERS };

#define CGROUP_PATH_MAX 512

struct cgroup_place { /* plain data: where groups can be made */
	enum cgroup_kind kind;
	/* The directory to make them in, by controller; "": cannot be had. The same for both with
	 * version 2. */
	char path[CGROUP_CONTROLLERS][CGROUP_PATH_MAX];
	bool kept;    /* for the caller to set: commands in a group outlive its owner */
	bool settle;  /* cgroup_new() moves what is in that group itself into a leaf first */
	bool bounded; /* no group, since the unit around us has limits that a box must not leave */
	uint64_t processes; /* the lowest limit of the groups that a box leaves; 0: none */
};

struct cgroup_events {
	uint64_t oom_kills;    /* processes that the memory limit ended */
	uint64_t forks_denied; /* by the limit of processes */
};

/* Where groups can be made; never fails: the kind may be NONE. No process is moved. */
void cgroup_find(struct cgroup_place *ret_place);

/* Groups for those of memory_bytes and processes that are limited and have a controller;
 * -EOPNOTSUPP if that is none. One process is added for the box's init. */
int cgroup_new(const struct cgroup_place *place, const struct sandbox_limits *limits,
               struct cgroup **ret_group, struct error *err);
/* Kill what is still in the group, remove it, and remove groups of dead owners beside it. A group
 * that is kept is removed only once it is empty. NULL is fine; returns NULL. Call it after the
 * answer was given: it takes time. A fork of the owner only frees its memory.
 */
struct cgroup *cgroup_free(struct cgroup *g);
/* The part of cgroup_free() that need not wait for the processes' end. NULL is fine. */
void cgroup_end(struct cgroup *g);
DEFINE_CLEANUP(struct cgroup *, cgroup_free);

bool cgroup_limits(const struct cgroup *g, enum cgroup_controller controller);

/* For clone3 with CLONE_INTO_CGROUP; -1 with version 1. */
int cgroup_clone_fd(const struct cgroup *g);
/* For version 1: descriptors that the new process hands to cgroup_join(). They hold the rights of
 * the process that made the group, so the new process may have given up its own. Returns how many.
 */
size_t cgroup_join_fds(const struct cgroup *g, const int **ret_fds);
/* Moves the calling process, which has a single thread. Async-signal-safe. */
int cgroup_join(const int *fds, size_t count);
/* For a group with several commands: limit = PROCESSES * COMMANDS + INITS. */
void cgroup_share(struct cgroup *g, uint64_t processes, size_t commands, size_t inits);

/* Move any process: slow, for one that could not be born in the group. */
int cgroup_enter(const struct cgroup *g, pid_t pid, struct error *err);

/* The descriptors that cgroup_read_events() reads; -1: none. A clone needs them to read, too. */
const int *cgroup_event_fds(const struct cgroup *g);
void cgroup_read_events(const struct cgroup *g, struct cgroup_events *ret_events);

/* Moves all processes of the place into a leaf of it and has it pass on its controllers. For
 * cgroup_new(). */
int cgroup_settle(const struct cgroup_place *place);

/* Removes groups whose owner is dead. */
void cgroup_sweep(const struct cgroup_place *place);

/* For tests: as cgroup_find(), with the file system of control groups at ROOT and the text of
 * /proc/self/cgroup. */
void cgroup_find_at(const char *root, const char *self, struct cgroup_place *ret_place);
