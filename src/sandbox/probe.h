#pragma once
/*
 * Probe: what this kernel, in this place, can give a box.
 *
 * The short probe is two system calls, for the plan of every command: whether namespaces can be had
 * is learnt from the real clone. The survey tries everything in children and is for people.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>
#include "sandbox/cgroup.h"
#include "sandbox/plan.h"
#include "sandbox/spec.h"

struct sandbox_probe {
	int landlock_abi; /* 0: no Landlock */
	bool seccomp;
};

void sandbox_probe_read(struct sandbox_probe *ret_probe);

enum sandbox_trial_kind {
	SANDBOX_TRIAL_USER,    /* user namespace, with a map of our own uid */
	SANDBOX_TRIAL_MOUNTS,  /* a tree of our own, by the calls and in the namespaces of a box */
	SANDBOX_TRIAL_PROC,    /* the same namespaces with a fresh /proc */
	SANDBOX_TRIAL_NETWORK, /* the same namespaces and a network of their own */
	SANDBOX_TRIAL_IDMAP,   /* idmapped mount of a directory; tried by root only */
	SANDBOX_TRIAL_CLONE3,
	SANDBOX_TRIAL_OPENAT2, /* else paths are looked up part by part */
	SANDBOX_TRIAL_CLOSE,   /* close_range with its flag: without it nothing runs */
	SANDBOX_TRIAL_MAX,
};

struct sandbox_trial {
	bool tried;
	int sys;            /* 0: works; else the errno of the first step that failed */
	const char *remedy; /* NULL: not needed, or not known */
};

struct sandbox_survey {
	struct sandbox_probe probe;
	int landlock_sys; /* why Landlock is missing: ENOSYS or EOPNOTSUPP */
	struct utsname kernel;
	bool root;      /* we run as uid 0 */
	bool container; /* we run in one */
	bool has_proc;  /* /proc is mounted: without it nothing runs */
	struct sandbox_trial trials[SANDBOX_TRIAL_MAX];
	struct cgroup_place cgroup;
	const char *cgroup_remedy; /* NULL: groups can be made, or none is known */
};

/* Tries what a box would do, in children that change nothing outside of themselves. DIRECTORY is
 * the one whose file system is tried for idmapped mounts. */
void sandbox_survey_read(const char *directory, struct sandbox_survey *ret_survey);

/* "user_namespace", "mounts" ... */
const char *sandbox_trial_name(enum sandbox_trial_kind kind);

/* NULL, or why no command can run here, whatever the profile. */
const char *sandbox_survey_obstacle(const struct sandbox_survey *s);
/* The best tier that works here, for a box without the host's network. */
enum sandbox_tier sandbox_survey_tier(const struct sandbox_survey *s);

/* How a box of this spec would stand here. */
void sandbox_survey_stand(const struct sandbox_survey *s, const struct sandbox_spec *spec,
                          struct sandbox_standing *ret_standing);
/* What a spec asks for, as layers. */
uint32_t sandbox_spec_layers(const struct sandbox_spec *spec);
/* The same for a spec whose box is a container, and what any engine gives of it. What the engine
 * itself is made of is its own affair, and no layer of ours. */
uint32_t sandbox_container_layers(const struct sandbox_spec *spec, uint32_t *ret_have);
