/*
 * What stands at the end of a plan: the limits and who holds them, the layers in force and those
 * that are missing, and whether the spec can do with that.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include "base/error.h"
#include "base/fd.h"
#include "sandbox/box.h"
#include "sandbox/cgroup.h"
#include "sandbox/family.h"
#include "sandbox/landlock-abi.h"
#include "sandbox/layers.h"
#include "sandbox/probe.h"

/* A group of its own is what bounds the memory of all processes together, and the processes of the
 * kernel's root. Without one the rlimits are left. */
static void find_group(struct sandbox_plan *p)
{
	const struct sandbox_limits *l = &p->spec->limits;
	struct cgroup_place place;
	const int *fds;
	size_t n;

	if (!l->memory_bytes && (!l->processes || p->identity.uid != 0))
		return;
	cgroup_find(&place);
	place.kept = p->keeps;
	if (cgroup_new(&place, l, &p->group, NULL) < 0)
		return;
	n = cgroup_join_fds(p->group, &fds);
	for (size_t i = 0; i < n && i < CGROUP_CONTROLLERS; i++) {
		int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);

		if (fd < 0 || box_fd_keep(p, fd) < 0) {
			fd_close(take_fd(&p->workspace_tree));
			p->group = cgroup_free(p->group);
			p->join_count = 0;
			return;
		}
		p->join_fds[p->join_count++] = fd;
	}
	if (cgroup_limits(p->group, CGROUP_MEMORY))
		p->standing.layers |= SANDBOX_LAYER_MEMORY;
	if (cgroup_limits(p->group, CGROUP_PIDS))
		p->standing.layers |= SANDBOX_LAYER_PROCESSES;
}

static void find_limits(struct sandbox_plan *p)
{
	struct limits_place place = {
		.own_user_namespace = p->clone_flags != 0,
		.kernel_root = p->identity.uid == 0,
		.memory_group = p->group && cgroup_limits(p->group, CGROUP_MEMORY),
		.process_group = cgroup_limits(p->group, CGROUP_PIDS),
		.waiting = p->keeps ? SANDBOX_HOLDERS : 0,
	};
	int seen = p->spec->limits.cpu_seconds ? family_is_visible() : -1;

	place.watched = seen > 0;
	p->limit_count = limits_fill(&p->spec->limits, &place, p->limits);
	for (int i = 0; i < p->limit_count; i++) {
		int resource = p->limits[i].resource;
		uint32_t layer = resource == RLIMIT_NPROC  ? SANDBOX_LAYER_PROCESSES
		                 : resource == RLIMIT_DATA ? SANDBOX_LAYER_MEMORY
		                                           : 0;
		/* The others are for one process, or for all of a user: they bound a command only
		 * with the keeper's look at all of its processes together. */
		bool exact = resource == RLIMIT_NPROC && place.own_user_namespace;

		if (!layer || p->standing.layers & layer)
			continue;
		if (!exact && seen < 0)
			seen = family_is_visible();
		if (exact || seen > 0)
			p->standing.layers |= layer;
	}
}

/* Before ABI 3 it does not govern cutting files, before ABI 6 signals: in a tree and a pid
 * namespace of the box's own that does not matter, elsewhere the filter has to stand in. */
static bool landlock_is_whole(const struct sandbox_plan *p)
{
	if (p->wall.abi == 0 || p->clone_flags)
		return p->wall.abi > 0;
	return p->wall.abi >= LL_ABI_SCOPE || p->asks;
}

static void find_layers(struct sandbox_plan *p)
{
	const struct sandbox_spec *spec = p->spec;
	uint32_t wanted = sandbox_spec_layers(spec);
	uint32_t have = SANDBOX_LAYER_NO_NEW_PRIVS | p->standing.layers;

	if (p->clone_flags & CLONE_NEWUSER)
		have |= SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_PROGRAMS;
	else if (p->wall.abi > 0 && spec->exec == SANDBOX_EXEC_ANY) /* the loader maps what it can
	                                                               read */
		have |= SANDBOX_LAYER_PROGRAMS;
	if (p->clone_flags & CLONE_NEWNET || p->joins ||
	    (!p->clone_flags && p->filtered)) /* no sockets */
		have |= SANDBOX_LAYER_NETWORK;
	if (p->joins && spec->network == SANDBOX_NETWORK_NAMES)
		have |= SANDBOX_LAYER_NETWORK_NAMES;
	if (landlock_is_whole(p))
		have |= SANDBOX_LAYER_LANDLOCK;
	if (p->filtered)
		have |= SANDBOX_LAYER_SECCOMP;
	if (p->identity.uid != 0)
		have |= SANDBOX_LAYER_UNPRIVILEGED;
	if (p->programs_leak)
		have &= ~(uint32_t)SANDBOX_LAYER_PROGRAMS;
	p->standing.layers = have & wanted;
	p->standing.missing = wanted & ~have;
}

/* Nothing runs behind a wall that has a hole where the profile wants none. */
static int check_required(const struct sandbox_plan *p, struct error *err)
{
	uint32_t lacking = p->spec->require & ~p->standing.layers;

	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (lacking & 1U << i)
			return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
			                 "the profile requires the sandbox layer '%s': %s",
			                 sandbox_layer_name((enum sandbox_layer)(1U << i)),
			                 sandbox_layer_remedy((enum sandbox_layer)(1U << i)));
	return 0;
}

int box_standing_settle(struct sandbox_plan *p, struct error *err)
{
	find_group(p);
	find_limits(p);
	find_layers(p);
	return check_required(p, err);
}

bool sandbox_plan_scratch_is_full(const struct sandbox_plan *p)
{
	return p->clone_flags && !p->room.path && p->spec->limits.tmp_bytes &&
	       limits_is_full("/dev/shm");
}

bool sandbox_plan_is_shared(const struct sandbox_plan *p)
{
	return p->spec->limits.processes == 0 || cgroup_limits(p->group, CGROUP_PIDS);
}

void sandbox_plan_share(const struct sandbox_plan *p, size_t commands, size_t inits)
{
	if (p->group)
		cgroup_share(p->group, p->spec->limits.processes, commands, inits);
}

void sandbox_plan_judge_fds(const struct sandbox_plan *p, int into[SANDBOX_JUDGE_FDS])
{
	_Static_assert(SANDBOX_JUDGE_FDS == CGROUP_CONTROLLERS, "one for each");
	for (int i = 0; i < SANDBOX_JUDGE_FDS; i++)
		into[i] = p->group ? cgroup_event_fds(p->group)[i] : -1;
}

void sandbox_plan_judge_from_now(struct sandbox_plan *p)
{
	if (p->group)
		cgroup_read_events(p->group, &p->before);
}

enum limit_hit sandbox_plan_judge(const struct sandbox_plan *p, struct limits_evidence *evidence)
{
	struct cgroup_events events;

	if (p->group) {
		cgroup_read_events(p->group, &events);
		evidence->oom_kills += events.oom_kills - p->before.oom_kills;
		evidence->forks_denied += events.forks_denied - p->before.forks_denied;
	}
	return limits_judge(&p->spec->limits, evidence);
}
