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
struct sandbox_plan; /* opaque; sandbox/box.h has its parts */

struct sandbox_place {
	const char *workspace; /* an existing directory */
	/* The directory that the operator gave to the caller, who chose the workspace in it;
	 * canonical. What is secret or protected there, and in every directory down to the
	 * workspace, stays so. NULL: the workspace itself. */
	const char *root;
	bool resolved;    /* it was found to be allowed, and had no links on the way then */
	const char *home; /* where the box has a private home; NULL: nowhere */
	bool kept; /* the plan is for a box that is kept: sandbox_plan_is_current() will be asked */
	const char *tmp; /* a private directory for temporary files; used without namespaces only */
	const char *const *hidden; /* absolute paths of nacre's own (state, policy files): masked
	                              wherever a granted tree has them; NULL: none */
};

/* What is in force and what is not, as bits of enum sandbox_layer. */
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
/* The first half of that alone: whether this can be a workspace by what the spec protects. */
int sandbox_place_check(const struct sandbox_spec *spec, const struct sandbox_place *place,
                        struct error *err);
struct sandbox_plan *sandbox_plan_free(struct sandbox_plan *p); /* NULL is fine; returns NULL */
/* What of this need not wait until the processes of the box have ended. */
void sandbox_plan_end(struct sandbox_plan *p);
DEFINE_CLEANUP(struct sandbox_plan *, sandbox_plan_free);

/* Paths that the spec lets commands write and that are not there, one per line; "": none. */
const char *sandbox_plan_ungranted(const struct sandbox_plan *p);
/* Flags for clone: the namespaces of the box. 0 where there are none. */
uint64_t sandbox_plan_clone_flags(const struct sandbox_plan *p);
/* A control group of version 2 for CLONE_INTO_CGROUP, or -1; where that fails, the parent moves the
 * process in when it admits it. */
int sandbox_plan_group_fd(const struct sandbox_plan *p);
void sandbox_plan_group_later(struct sandbox_plan *p);
/* Descriptors that must stay open in the box's init until it has entered. */
#define SANDBOX_FDS_MAX 64
size_t sandbox_plan_fds(const struct sandbox_plan *p, const int **ret_fds);
/* Whether init has to wait for its parent, who calls sandbox_plan_admit() right after the clone:
 * identity and control group. */
bool sandbox_plan_waits(const struct sandbox_plan *p);
int sandbox_plan_admit(struct sandbox_plan *p, pid_t pid, struct error *err);
const struct sandbox_standing *sandbox_plan_standing(const struct sandbox_plan *p);
/* Whether the seal gives a descriptor by which the command's signals are asked for. */
bool sandbox_plan_asks(const struct sandbox_plan *p);
/* Who the command is to the kernel. */
void sandbox_plan_user(const struct sandbox_plan *p, uid_t *ret_uid, gid_t *ret_gid);
/* Values for setrlimit(); returns how many. */
int sandbox_plan_limits(const struct sandbox_plan *p, const struct limit_value **ret_limits);
/* What a control group holds for all processes of the box together. */
void sandbox_plan_held(const struct sandbox_plan *p, bool *ret_memory, bool *ret_processes);
/* For a box that could not be entered: STEP is what sandbox_enter() says, SANDBOX_STEP_CLONE that
 * there was not even a process, SYS the reason. A kernel that refused the namespaces gets the tier
 * below this one, if the spec can do with it. What others in the workspace can bring about, by
 * renaming what is about to be bound, is no refusal: the plan is made anew, for the same tier, and
 * a few times only. */
#define SANDBOX_STEP_CLONE INT_MIN
int sandbox_plan_retry(struct sandbox_plan **p, int step, int sys, struct error *err);
/* For the box's init, at the end of the command: whether the bounded space for temporary files is
 * used up. */
bool sandbox_plan_scratch_is_full(const struct sandbox_plan *p);
/* Where temporary files go, for TMPDIR; NULL: /tmp is private. */
const char *sandbox_plan_tmp(const struct sandbox_plan *p);
/* Whether a plan that was made earlier would be made in the same way now: the workspace is the same
 * directory, and what is protected, secret, denied or listed is there, or not there, as before. */
bool sandbox_plan_is_current(struct sandbox_plan *p);
/* Flags for clone: the namespaces of one command in a box that is kept (sandbox_enter_nested). */
uint64_t sandbox_nested_flags(const struct sandbox_plan *p);
/* Whether a kept box bounds the processes of several commands at a time. Where only a limit per
 * user namespace does that, a box is for one command at a time, and who holds it is in it, too. */
#define SANDBOX_HOLDERS 1
bool sandbox_plan_is_shared(const struct sandbox_plan *p);
/* How many commands and inits of ours are in a kept box now: its limit of processes is for each of
 * the commands, and for all of them together. */
void sandbox_plan_share(const struct sandbox_plan *p, size_t commands, size_t inits);
/* For a keeper that was forked with the plan of a kept box: descriptors that it needs to judge (-1
 * in the list means nothing), and the moment from which on it judges. */
#define SANDBOX_JUDGE_FDS 2
void sandbox_plan_judge_fds(const struct sandbox_plan *p, int into[SANDBOX_JUDGE_FDS]);
void sandbox_plan_judge_from_now(struct sandbox_plan *p);
/* For the same keeper: other commands see that one is in the workspace, from before it begins until
 * what it left was looked for. A plan for one command does it by itself. */
void sandbox_company_join(struct sandbox_plan *p);
void sandbox_company_leave(struct sandbox_plan *p);
/* What is protected in the workspace, to be looked at after the command (protect/protect.h). */
struct protect *sandbox_plan_protect(struct sandbox_plan *p);
/* What ended the command, if that was a limit of the spec. */
enum limit_hit sandbox_plan_judge(const struct sandbox_plan *p, struct limits_evidence *evidence);
/* What the box was doing when sandbox_enter() failed there, in words. */
void sandbox_plan_explain(const struct sandbox_plan *p, int step, int sys, struct error *err);
