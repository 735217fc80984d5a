#pragma once
/*
 * Limits: what of a spec's limits the kernel holds per process or per user (rlimits), as values for
 * setrlimit(), worked out before the clone.
 *
 * Limits are only ever lowered: a value above what this process may set is cut to it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include "sandbox/spec.h"

#define LIMITS_MAX 10

struct limit_value {
	int resource; /* RLIMIT_... */
	struct rlimit value;
};

struct limits_place {            /* where the command will run */
	bool own_user_namespace; /* RLIMIT_NPROC then counts the box alone: it can be exact */
	bool kernel_root;        /* RLIMIT_NPROC does not hold for uid 0 */
	bool memory_group;       /* a cgroup bounds memory: no RLIMIT_DATA is needed */
	bool process_group;      /* a cgroup bounds processes, and counts its refusals */
	bool watched;            /* the keeper adds up the processor time of all */
	unsigned waiting;        /* others of ours in the same user namespace; 0: not a kept box */
};

/* Fills INTO, returns how many. */
int limits_fill(const struct sandbox_limits *limits, const struct limits_place *place,
                struct limit_value into[LIMITS_MAX]);

/* What ended or stopped a command, by name in the result. */
enum limit_hit {
	LIMIT_HIT_NONE,
	LIMIT_HIT_MEMORY,
	LIMIT_HIT_PROCESSES,
	LIMIT_HIT_FILE_SIZE,
	LIMIT_HIT_CPU,
	LIMIT_HIT_TMP,
	LIMIT_HIT_ROOM,
	LIMIT_HIT_WORKSPACE,
	LIMIT_HIT_MAX,
};

/* "memory", "processes", "file_size", "cpu", "tmp", "room", "workspace"; NULL for NONE. */
const char *limit_hit_name(enum limit_hit hit);

struct limits_evidence {       /* what was seen at the end of a command */
	int wait_status;       /* of the command, as waitpid() gives it */
	uint64_t cpu_us;       /* of the whole tree */
	uint64_t oom_kills;    /* of its cgroup, or those that a watch made */
	uint64_t forks_denied; /* of its cgroup */
	bool cpu_spent;        /* a watch saw it */
	bool tmp_full;
	bool room_full; /* the room of the session has more in it than it may */
	bool workspace_full;
};

/* The limit that struck, the gravest first. A program that was told EFBIG, EAGAIN or ENOMEM and
 * went on leaves no trace but those of a control group and of a full /tmp. */
enum limit_hit limits_judge(const struct sandbox_limits *limits, const struct limits_evidence *e);

/* Whether the file system at this path (the scratch tmpfs) has no room left. */
bool limits_is_full(const char *path);
