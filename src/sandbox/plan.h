#pragma once
/*
 * Plan: a spec made ready for one command here and now. Everything that needs memory, searching or
 * a decision is done when the plan is made; what is left are system calls that a process makes on
 * it after it was cloned (enter.h).
 *
 * A plan belongs to one process and its clones. It holds descriptors; those that the box needs are
 * named by sandbox_plan_fds().
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "sandbox/limits.h"
#include "sandbox/spec.h"

struct error;
struct limits_evidence;
struct protect;
struct sandbox_doors;
struct sandbox_plan; /* opaque; sandbox/box.h has its parts */
struct sandbox_ports;

/* A user and a network namespace that several boxes are in. Open descriptors keep them alive,
 * without any process. */
struct sandbox_net {
	int user, net; /* -1: none */
	int gate;      /* to the process that serves its doors for several boxes; -1: none */
	uid_t uid;     /* the one that the user namespace has */
	gid_t gid;
	bool named; /* it has doors (doors.h), and somebody serves them */
};

#define SANDBOX_NET_NONE                                                                           \
	(struct sandbox_net)                                                                       \
	{                                                                                          \
		.user = -1, .net = -1, .gate = -1                                                  \
	}

/* Makes them, with the loopback interface up, for boxes of this workspace; with PORTS, also the
 * doors of a network by name (doors.h), which the caller closes. 0, or a negative errno. */
int sandbox_net_make(const char *workspace, const struct sandbox_ports *ports,
                     struct sandbox_net *ret_net, struct sandbox_doors *ret_doors);
/* Whether the user is the one that boxes of this workspace have. */
void sandbox_net_user(const char *workspace, uid_t *ret_uid, gid_t *ret_gid);
void sandbox_net_done(struct sandbox_net *n);

/* A directory of home that is kept elsewhere. */
struct sandbox_cache {
	const char *name; /* relative to home, and to the directory of all of them */
	int fd;           /* O_PATH */
};
#define SANDBOX_CACHES_MAX 16

/* Directories of the host that a box has instead of temporary ones of its own. They are what
 * commands before it have made of them. */
struct sandbox_room {
	const char *path;        /* of the directory that they are in; NULL: there is no room */
	int tmp, home, shm;      /* O_PATH; home -1: it is not shared */
	const char *caches_path; /* of the directory that these are in; only with home: */
	struct sandbox_cache caches[SANDBOX_CACHES_MAX];
	size_t cache_count;
};

struct sandbox_place {
	const char *workspace; /* an existing directory */
	/* The directory that the operator gave to the caller, canonical. The caller chose the
	 * workspace in it. Secrets and protected paths of this directory, and of every directory
	 * down to the workspace, stay so. NULL: the workspace itself. */
	const char *root;
	bool resolved;    /* it was found to be allowed, and had no links on the way then */
	const char *home; /* where the box has a private home; NULL: nowhere */
	bool kept; /* the plan is for a box that is kept: sandbox_plan_is_current() will be asked */
	/* The descriptors of both stay the caller's, as long as the plan. */
	struct sandbox_room room;
	struct sandbox_net net; /* counts only with a room, or for a network by name; -1: none */
	/* Where a copy-on-write view of the workspace keeps what the command changes: an absolute
	 * path, and the same as a descriptor, which stays the caller's. It has the directories
	 * `upper` and `work`, which belong to the owner of the workspace. NULL: there is no view,
	 * and the command changes the workspace itself. */
	const char *view;
	int view_fd;
	const char *tmp; /* a private directory for temporary files; used without namespaces only */
	const char *const *hidden; /* absolute paths of nacre's own (state, policy files): masked
	                              wherever a granted tree has them; NULL: none */
};

/* Layers in force and layers missing, as bits of enum sandbox_layer. */
struct sandbox_standing {
	enum sandbox_tier tier;
	uint32_t layers;
	uint32_t missing;
};

/* Refuses (ERROR_INPUT) a workspace that cannot be one, and (ERROR_UNSUPPORTED) a box that lacks
 * what the spec requires; a spec of tier "none" is not for it. The spec must live as long as the
 * plan. */
int sandbox_plan_new(const struct sandbox_spec *spec, const struct sandbox_place *place,
                     struct sandbox_plan **ret_plan, struct error *err);
/* Only check whether this can be a workspace under the spec. */
int sandbox_place_check(const struct sandbox_spec *spec, const struct sandbox_place *place,
                        struct error *err);
struct sandbox_plan *sandbox_plan_free(struct sandbox_plan *p); /* NULL is fine; returns NULL */
/* The part of sandbox_plan_free() that need not wait for the box's processes. */
void sandbox_plan_end(struct sandbox_plan *p);
DEFINE_CLEANUP(struct sandbox_plan *, sandbox_plan_free);

/* Paths that the spec lets commands write and that are not there, one per line; "": none. */
const char *sandbox_plan_ungranted(const struct sandbox_plan *p);
/* Flags for clone: the namespaces of the box. 0 where there are none. */
uint64_t sandbox_plan_clone_flags(const struct sandbox_plan *p);
/* Whether the box joins the namespaces of a net: who clones it calls sandbox_join() in between, in
 * a process of its own. Where that fails it calls sandbox_plan_stay_apart(), and clones as ever:
 * the box then has a loopback interface of its own and nothing else. -EOPNOTSUPP: the spec requires
 * more. */
bool sandbox_plan_joins(const struct sandbox_plan *p);
int sandbox_plan_stay_apart(struct sandbox_plan *p);
/* Gives a net to a plan that was made without one, before its box is cloned. Nothing where the box
 * cannot be in it. */
void sandbox_plan_set_net(struct sandbox_plan *p, const struct sandbox_net *net);
/* Of a kept box with a network by name: each init makes a network of its own, whose doors come
 * after its first word. So the connections of commands that share the box are told apart. */
struct sandbox_ports;
void sandbox_plan_keep_nets_apart(struct sandbox_plan *p, const struct sandbox_ports *ports);
bool sandbox_plan_nets_apart(const struct sandbox_plan *p);
/* In the init, which has not entered yet; then, when it has said that it is ready. Nothing where
 * networks are not kept apart. */
int sandbox_net_part(struct sandbox_plan *p, int *ret_step);
int sandbox_net_pass(struct sandbox_plan *p, int socket);
/* A control group of version 2 for CLONE_INTO_CGROUP, or -1; where that fails, the parent moves the
 * process in when it admits it. */
int sandbox_plan_group_fd(const struct sandbox_plan *p);
void sandbox_plan_group_later(struct sandbox_plan *p);
/* Descriptors that must stay open in the box's init until it has entered. */
#define SANDBOX_FDS_MAX 64
size_t sandbox_plan_fds(const struct sandbox_plan *p, const int **ret_fds);
/* Whether init must wait until its parent calls sandbox_plan_admit(), right after the clone, for
 * identity and control group. */
bool sandbox_plan_waits(const struct sandbox_plan *p);
int sandbox_plan_admit(struct sandbox_plan *p, pid_t pid, struct error *err);
const struct sandbox_standing *sandbox_plan_standing(const struct sandbox_plan *p);
/* Whether the box has the view of its place. A kernel that does not give it takes it from the plan
 * (sandbox_plan_retry), and the box then has the workspace itself: who needs the view looks before
 * the command runs. RET_WHY, which may be NULL, gets words for people. */
bool sandbox_plan_has_view(const struct sandbox_plan *p, const char **ret_why);
/* Why this workspace can have no view that is kept at STORE: words for people, or NULL. */
const char *sandbox_view_obstacle(const char *workspace, int store);
/* Whether the box has the room of its place; where owners cannot be mapped there it has none. */
bool sandbox_plan_has_room(const struct sandbox_plan *p);
/* Whether the seal gives a descriptor by which some of the command's calls are asked for. */
bool sandbox_plan_asks(const struct sandbox_plan *p);
/* Whether these are for the keeper (broker.h); else they are for init. */
bool sandbox_plan_brokers(const struct sandbox_plan *p);
/* The command's user and group, as the kernel sees them. */
void sandbox_plan_user(const struct sandbox_plan *p, uid_t *ret_uid, gid_t *ret_gid);
/* Values for setrlimit(); returns how many. */
int sandbox_plan_limits(const struct sandbox_plan *p, const struct limit_value **ret_limits);
/* Which limits a control group holds for all processes of the box together. */
void sandbox_plan_held(const struct sandbox_plan *p, bool *ret_memory, bool *ret_processes);
/* For a box that could not be entered: STEP is what sandbox_enter() says, SANDBOX_STEP_CLONE that
 * there was not even a process, SYS the reason. A kernel that refused the namespaces gets the tier
 * below this one, if the spec permits it. A file that another process renamed before it was bound
 * is not a refusal: the plan is made again for the same tier, a few times at most. */
#define SANDBOX_STEP_CLONE INT_MIN
int sandbox_plan_retry(struct sandbox_plan **p, int step, int sys, struct error *err);
/* For the box's init, at the end of the command: whether the bounded space for temporary files is
 * used up. */
bool sandbox_plan_scratch_is_full(const struct sandbox_plan *p);
/* Where temporary files go, for TMPDIR; NULL: /tmp is private. */
const char *sandbox_plan_tmp(const struct sandbox_plan *p);
/* Whether an earlier plan would be the same now: the workspace is the same directory, and
 * protected, secret, denied and listed paths exist or are missing as before. */
bool sandbox_plan_is_current(struct sandbox_plan *p);
/* Flags for clone: the namespaces of one command in a box that is kept (sandbox_enter_nested). */
uint64_t sandbox_nested_flags(const struct sandbox_plan *p);
/* Whether a kept box can bound the processes of several commands at a time. If only a limit per
 * user namespace does it, a box is for one command at a time, and its holder counts, too. */
#define SANDBOX_HOLDERS 1
bool sandbox_plan_is_shared(const struct sandbox_plan *p);
/* Set the limit of processes of a kept box for this many commands and inits. */
void sandbox_plan_share(const struct sandbox_plan *p, size_t commands, size_t inits);
/* For a keeper that was forked with the plan of a kept box: the descriptors that
 * sandbox_plan_judge() needs (-1: none), and the start of the time that it judges. */
#define SANDBOX_JUDGE_FDS 2
void sandbox_plan_judge_fds(const struct sandbox_plan *p, int into[SANDBOX_JUDGE_FDS]);
void sandbox_plan_judge_from_now(struct sandbox_plan *p);
/* For the same keeper: show other commands that one works in the workspace, from before its start
 * until protected paths were checked. A plan for one command does so by itself. */
void sandbox_company_join(struct sandbox_plan *p);
void sandbox_company_leave(struct sandbox_plan *p);
/* What is protected in the workspace, to be looked at after the command (protect/protect.h). */
struct protect *sandbox_plan_protect(struct sandbox_plan *p);
/* The limit of the spec that ended the command, if one did. */
enum limit_hit sandbox_plan_judge(const struct sandbox_plan *p, struct limits_evidence *evidence);
/* Describe the step at which sandbox_enter() failed. */
void sandbox_plan_explain(const struct sandbox_plan *p, int step, int sys, struct error *err);
