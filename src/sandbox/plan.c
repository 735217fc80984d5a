/*
 * A plan is made in two halves. box_plan_begin() settles what never changes: the workspace by its
 * descriptor, the directories above it, the homes, and whether this may be a workspace at all.
 * build() does the rest for one tier: the identity, the tree of mounts or the Landlock rules, the
 * layers, the control group, the filter.
 *
 * build() can run again on the same first half. A kernel that refuses namespaces gets the next
 * tier. A file that somebody renamed before it was bound gets a new plan for the same tier.
 * box_forget() stands between the two and must undo all that build() leaves.
 */
#include "sandbox/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove.h"
#include "sandbox/box.h"
#include "sandbox/cgroup.h"
#include "sandbox/landlock-abi.h"

#define PLAN_BYTES_MAX ((size_t)16 << 20)
/* With the first ABI of Landlock nothing can be renamed from one directory to another; beside a
 * tree of our own it is not worth that. */
#define LANDLOCK_ABI_USEFUL 2
#define RETRIES_MAX         8

/* Doubles an array of the arena; the old one stays there unused. */
static void *grow(struct arena *arena, void *items, size_t size, size_t count, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *larger = arena_alloc_array(arena, size, wanted);

	if (!larger)
		return NULL;
	if (count > 0)
		memcpy(larger, items, count * size);
	*capacity = wanted;
	return larger;
}

struct box_step *box_step_add(struct sandbox_plan *p, enum box_phase phase, enum box_step_kind kind,
                              const char *path)
{
	struct box_steps *steps = &p->steps;
	struct box_step *items;

	if (!path)
		return NULL;
	if (steps->count == steps->capacity) {
		items = grow(p->arena, steps->items, sizeof(*items), steps->count,
		             &steps->capacity);
		if (!items)
			return NULL;
		steps->items = items;
	}
	items = &steps->items[steps->count++];
	*items = (struct box_step){.phase = phase, .kind = kind, .path = path, .fd = -1};
	return items;
}

int box_rule_add(struct sandbox_plan *p, const char *path, enum landlock_right right)
{
	struct box_rules *rules = &p->rules;
	struct box_rule *items;

	if (!path)
		return -ENOMEM;
	if (rules->count == rules->capacity) {
		items = grow(p->arena, rules->items, sizeof(*items), rules->count,
		             &rules->capacity);
		if (!items)
			return -ENOMEM;
		rules->items = items;
	}
	rules->items[rules->count++] = (struct box_rule){.path = path, .right = right};
	return 0;
}

int box_fd_keep(struct sandbox_plan *p, int fd)
{
	if (p->fd_count == SANDBOX_FDS_MAX) {
		fd_close(fd);
		return -E2BIG;
	}
	p->fds[p->fd_count++] = fd;
	return 0;
}

int box_plan_error(const struct sandbox_plan *p, int code, const char *what, struct error *err)
{
	return p->refusal ? error_set(err, ERROR_LIMIT, -code, "%s", p->refusal)
	                  : error_set(err, ERROR_SYSTEM, -code, "%s: %s", what,
	                              strerrordesc_np(-code));
}

static int by_phase(const void *a, const void *b)
{
	const struct box_step *const *x = a, *const *y = b;

	if ((*x)->phase != (*y)->phase)
		return (*x)->phase < (*y)->phase ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int steps_sort(struct sandbox_plan *p)
{
	struct box_step *sorted = arena_new_array(p->arena, struct box_step, p->steps.count + 1);
	struct box_step **order = arena_new_array(p->arena, struct box_step *, p->steps.count + 1);

	if (!sorted || !order)
		return -ENOMEM;
	for (size_t i = 0; i < p->steps.count; i++)
		order[i] = &p->steps.items[i];
	qsort(order, p->steps.count, sizeof(struct box_step *), by_phase);
	for (size_t i = 0; i < p->steps.count; i++)
		sorted[i] = *order[i];
	p->steps.items = sorted;
	p->steps.capacity = p->steps.count;
	return 0;
}

/* A workspace in or around one of these would make the system's own files the command's. */
static int check_workspace(const char *path, struct error *err)
{
	static const char *const reserved[] = {"/usr",   "/etc",   "/bin",    "/sbin", "/lib",
	                                       "/lib32", "/lib64", "/libx32", "/dev",  "/proc",
	                                       "/sys",   "/run",   "/boot"};
	/* One place in these may be a service's or a user's own, but not all of them. */
	static const char *const shared[] = {"/var/lib", "/var/spool", "/var/cache", "/home"};
	bool is_system = false;

	for (size_t i = 0; i < array_size(reserved); i++)
		is_system =
			is_system || path_is_in(path, reserved[i]) || path_is_in(reserved[i], path);
	for (size_t i = 0; i < array_size(shared); i++)
		is_system = is_system || path_is_in(shared[i], path);
	return is_system
	               ? error_set(err, ERROR_INPUT, EINVAL,
	                           "'%.150s' cannot be a workspace: it is part of the system", path)
	               : 0;
}

static int find_workspace(struct sandbox_plan *p, const char *path, bool resolved,
                          struct error *err)
{
	struct stat held, named;
	char real[PATH_MAX];

	p->workspace_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->workspace_fd < 0)
		return error_set(err, ERROR_INPUT, errno, "workspace '%.150s': %s", path,
		                 strerrordesc_np(errno));
	if (path_of_fd(p->workspace_fd, real) < 0)
		return error_set(err, ERROR_UNSUPPORTED, errno,
		                 "/proc cannot be read (%s): nacre needs it mounted",
		                 strerrordesc_np(errno));
	p->workspace = arena_strdup(p->arena, real);
	/* A deleted directory has a name that is not its own. */
	if (!p->workspace || fstat(p->workspace_fd, &held) < 0 || lstat(p->workspace, &named) < 0 ||
	    held.st_ino != named.st_ino || held.st_dev != named.st_dev)
		return error_set(err, ERROR_INPUT, ENOENT, "workspace '%.150s' is not there", path);
	/* Who works in a directory above it can make a link of it, to any place. */
	if (resolved && strcmp(p->workspace, path) != 0)
		return error_set(err, ERROR_INPUT, ESTALE, "workspace '%.150s' has become a link",
		                 path);
	p->workspace_device = held.st_dev;
	p->workspace_inode = held.st_ino;
	p->workspace_changed = held.st_ctim;
	p->workspace_shared = (held.st_mode & S_ISGID) != 0;
	p->workspace_settled = held.st_ctim.tv_sec + 1 < clock_wall_ms() / 1000;
	box_company_look(p);
	return p->spec->tier == SANDBOX_TIER_NONE ? 0 : check_workspace(p->workspace, err);
}

/* The caller's strings need not live as long as the plan. */
static int keep_hidden(struct sandbox_plan *p, const char *const *hidden)
{
	for (; hidden && *hidden; hidden++) {
		if (p->hidden_count == BOX_HIDDEN_MAX)
			return -E2BIG;
		p->hidden[p->hidden_count] = arena_strdup(p->arena, *hidden);
		if (!p->hidden[p->hidden_count++])
			return -ENOMEM;
	}
	return 0;
}

/* Without namespaces the rules are the wall; without them, too, there is none. */
static int plan_rules(struct sandbox_plan *p, int abi, struct error *err)
{
	char path[] = "/tmp/nacre-XXXXXX";

	if (abi < 1)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 "neither namespaces nor Landlock can be had here; "
		                 "'nacre doctor' says why");
	if (!p->tmp && mkdtemp(path)) {
		p->tmp = arena_strdup(p->arena, path);
		p->owns_tmp = true;
	}
	return box_rules_plan(p, err);
}

/* When the control group is known: without one the memory of unmapped files would be nobody's. */
static int plan_filter(struct sandbox_plan *p, struct error *err)
{
	bool no_network = p->spec->network != SANDBOX_NETWORK_HOST;
	/* Without a tree of its own a box that may connect to one path may connect to all. */
	bool wants_socket = p->spec->sockets && p->spec->sockets[0];
	struct seccomp_options options = {
		.sockets = p->clone_flags || !no_network ? SECCOMP_SOCKETS_INET
	                   : wants_socket                ? SECCOMP_SOCKETS_UNIX
	                                                 : SECCOMP_SOCKETS_PAIRS,
		.no_anonymous_exec = !p->runs_own,
		.no_anonymous_files =
			p->spec->limits.memory_bytes > 0 && !cgroup_limits(p->group, CGROUP_MEMORY),
		.no_namespaces = !p->clone_flags,
		.no_setgid = p->identity.idmapped || p->identity.uid == 0 || !p->workspace_shared,
		.no_truncate = !p->clone_flags && p->wall.abi < LL_ABI_TRUNCATE,
		.asks = p->asks,
		/* A tracer can make any program do anything: that is for boxes that run any
	           program. */
		.debug = p->spec->debug && p->clone_flags && p->runs_own,
		.renames = p->brokered,
		.checkouts = p->brokered && p->protect.served_count > 0,
		.own_ids = p->clone_flags != 0,
		.uid = p->identity.uid,
		.gid = p->identity.gid,
	};
	int r = p->filtered ? seccomp_compile(&options, &p->filter, err) : 0;

	return r < 0 ? error_wrap(err, "system call filter") : 0;
}

/* Those that do not fit are not named. */
static void find_ungranted(struct sandbox_plan *p)
{
	size_t used = 0;

	p->ungranted[0] = '\0';
	for (const char *const *path = p->spec->writable; path && *path; path++) {
		const char *asked = box_expand(p, *path);
		size_t n = strlen(*path) + (used > 0);
		struct stat st;

		if (!asked || box_real(p, asked, &st) || used + n >= sizeof(p->ungranted))
			continue;
		snprintf(p->ungranted + used, sizeof(p->ungranted) - used, "%s%s",
		         used > 0 ? "\n" : "", *path);
		used += n;
	}
}

const char *sandbox_plan_ungranted(const struct sandbox_plan *p)
{
	return p->ungranted;
}

/* The namespaces of a net have one user, who may be another one than this box's. */
static void choose_net(struct sandbox_plan *p)
{
	const struct sandbox_net *net = &p->net;

	p->joins = (p->spec->network == SANDBOX_NETWORK_NAMES ? net->named
	                                                      : p->room.path && !net->named) &&
	           p->loopback && net->user > 0 && net->net > 0 && net->uid == p->identity.uid &&
	           net->gid == p->identity.gid;
	if (!p->joins)
		return;
	p->clone_flags &= ~(uint64_t)CLONE_NEWNET;
	p->loopback = false;
}

void sandbox_plan_set_net(struct sandbox_plan *p, const struct sandbox_net *net)
{
	if (p->joins)
		return;
	p->net = *net;
	choose_net(p);
	if (p->joins && p->spec->network == SANDBOX_NETWORK_NAMES) {
		p->standing.layers |= SANDBOX_LAYER_NETWORK_NAMES;
		p->standing.missing &= ~(uint32_t)SANDBOX_LAYER_NETWORK_NAMES;
	}
}

void sandbox_plan_keep_nets_apart(struct sandbox_plan *p, const struct sandbox_ports *ports)
{
	if (p->joins || !p->loopback || p->spec->network != SANDBOX_NETWORK_NAMES)
		return;
	p->nets_apart = true;
	p->ports = *ports;
	p->standing.layers |= SANDBOX_LAYER_NETWORK_NAMES;
	p->standing.missing &= ~(uint32_t)SANDBOX_LAYER_NETWORK_NAMES;
}

bool sandbox_plan_nets_apart(const struct sandbox_plan *p)
{
	return p->nets_apart;
}

bool sandbox_plan_joins(const struct sandbox_plan *p)
{
	return p->joins;
}

int sandbox_plan_stay_apart(struct sandbox_plan *p)
{
	if (p->spec->require & SANDBOX_LAYER_NETWORK_NAMES)
		return -EOPNOTSUPP;
	p->standing.missing |= p->standing.layers & SANDBOX_LAYER_NETWORK_NAMES;
	p->standing.layers &= ~(uint32_t)SANDBOX_LAYER_NETWORK_NAMES;
	p->joins = false;
	p->loopback = true;
	p->clone_flags |= CLONE_NEWNET;
	p->net = SANDBOX_NET_NONE;
	return 0;
}

static int build(struct sandbox_plan *p, enum sandbox_tier tier, struct error *err)
{
	int r, abi = landlock_abi();

	p->standing.tier = tier;
	witness_add(p->witnesses, p->workspace, false);
	if (tier == SANDBOX_TIER_STRICT) {
		p->clone_flags = BOX_NAMESPACES;
		if (p->spec->network != SANDBOX_NETWORK_HOST) {
			p->clone_flags |= CLONE_NEWNET;
			p->loopback = true;
		}
	}
	if (tier != SANDBOX_TIER_STRICT)
		p->room.path = NULL;
	if (p->view && tier != SANDBOX_TIER_STRICT)
		box_view_give_up(p, -1, EOPNOTSUPP);
	r = box_identity_choose(p, err);
	if (r < 0)
		return r;
	choose_net(p);
	find_ungranted(p);
	if (tier == SANDBOX_TIER_STRICT)
		r = box_tree_plan(p, err);
	else
		r = plan_rules(p, abi, err);
	if (r < 0)
		return r;
	if (abi >= (p->clone_flags ? LANDLOCK_ABI_USEFUL : 1))
		p->wall = landlock_wall(abi, !p->clone_flags &&
		                                     p->spec->network != SANDBOX_NETWORK_HOST);
	/* The network namespace keeps others out, and calls of a session may talk to each other. */
	if (p->joins && p->room.path)
		p->wall.scoped &= ~(uint64_t)LL_SCOPE_ABSTRACT_SOCKET;
	/* The pid namespace has nobody else in it but stand-ins (process/standin.h). */
	if (p->clone_flags && sandbox_plan_has_room(p))
		p->wall.scoped &= ~(uint64_t)LL_SCOPE_SIGNAL;
	p->filtered = seccomp_available();
	p->asks = !p->clone_flags && abi < LL_ABI_SCOPE && p->filtered && seccomp_can_ask();
	p->brokered = p->clone_flags && !p->view &&
	              p->protect.offer_count + p->protect.served_count > 0 && p->filtered &&
	              seccomp_can_ask();
	r = steps_sort(p);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	r = box_standing_settle(p, err);
	return r < 0 ? r : plan_filter(p, err);
}

void sandbox_plan_end(struct sandbox_plan *p)
{
	for (size_t i = 0; i < p->fd_count; i++)
		fd_close(p->fds[i]);
	p->fd_count = 0;
	fd_close(take_fd(&p->rules_fd));
	box_identity_done(&p->identity);
	seccomp_program_done(&p->filter);
	cgroup_end(p->group);
}

/* Back to what was known before build(). */
static void box_forget(struct sandbox_plan *p)
{
	sandbox_plan_end(p);
	p->refusal = NULL;
	p->unknown = 0;
	p->ground_count = p->directory_count = 0;
	protect_reset(&p->protect);
	witnesses_reset(p->witnesses);
	p->steps.count = p->rules.count = 0;
	p->group = cgroup_free(p->group);
	p->join_count = 0;
	p->filtered = p->asks = p->brokered = p->joins = p->loopback = p->has_own =
		p->offers_which = p->programs_leak = false;
	p->mask_file = p->mask_directory = NULL;
	p->clone_flags = 0;
	p->wall = (struct landlock_wall){0};
	p->standing = (struct sandbox_standing){0};
}

int box_plan_begin(const struct sandbox_spec *spec, const struct sandbox_place *place,
                   struct sandbox_plan **ret_plan, struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = calloc(1, sizeof(*p));
	int r;

	if (p)
		p->arena = arena_new(PLAN_BYTES_MAX);
	if (p && p->arena && place->kept)
		p->witnesses = witnesses_new(p->arena);
	if (!p || !p->arena || (place->kept && !p->witnesses))
		return error_nomem(err);
	p->workspace_fd = p->workspace_tree = p->oom_fd = p->numbers_fd = p->rules_fd =
		p->identity.map_fd = -1;
	p->queues_fd = p->company_fd = p->listener = -1;
	p->keeps = place->kept;
	p->spec = spec;
	p->room = place->room;
	p->net = place->net;
	if (p->room.path)
		p->room.path = arena_strdup(p->arena, p->room.path);
	for (size_t i = 0; i < p->room.cache_count; i++)
		p->room.caches[i].name = arena_strdup(p->arena, p->room.caches[i].name);
	if (p->room.cache_count > 0)
		p->room.caches_path = arena_strdup(p->arena, p->room.caches_path);
	p->umask = umask(0);
	(void)umask(p->umask);
	p->runs_own = spec->exec == SANDBOX_EXEC_ANY && !spec->workspace_noexec;
	r = find_workspace(p, place->workspace, place->resolved, err);
	if (r == 0)
		r = box_above_find(p, place->root, err);
	if (r == 0)
		r = box_homes_find(p, place->home, err);
	if (r < 0)
		return r;
	r = keep_hidden(p, place->hidden);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "hidden paths: %s", strerrordesc_np(-r));
	if (place->view && !spec->workspace_readonly) {
		p->view = arena_strdup(p->arena, place->view);
		p->view_fd = place->view_fd;
		if (!p->view)
			return error_nomem(err);
	}
	if (place->tmp)
		p->tmp = arena_strdup(p->arena, place->tmp);
	box_protect_begin(p);
	r = box_above_check(p, err);
	if (r < 0)
		return r;
	*ret_plan = take_ptr(&p);
	return 0;
}

int sandbox_plan_new(const struct sandbox_spec *spec, const struct sandbox_place *place,
                     struct sandbox_plan **ret_plan, struct error *err)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *p = NULL;
	int r;

	if (spec->tier == SANDBOX_TIER_NONE || spec->tier == SANDBOX_TIER_CONTAINER)
		return error_set(err, ERROR_INPUT, EINVAL, "the spec wants no box");
	r = box_plan_begin(spec, place, &p, err);
	if (r == 0)
		r = build(p, spec->tier, err);
	if (r < 0)
		return r;
	*ret_plan = take_ptr(&p);
	return 0;
}

/* Whether a filter around us, or an old kernel, refuses the call whatever it is asked for: "/" is
 * always there, and to open it so takes no privilege. What is asked of the files of a command says
 * nothing, since commands change them. */
static bool lacks_open_tree(void)
{
	scoped(fd_closep) int fd = open_tree(AT_FDCWD, "/", OPEN_TREE_CLOEXEC);

	return fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES);
}

/* A process that was cloned into its namespaces, got its identity, root and file systems there, and
 * gave up its capabilities, was refused nothing: what fails behind that is a file that somebody has
 * changed meanwhile. And what is used up says nothing about what is allowed. */
static bool is_refusal(const struct sandbox_plan *p, int step, int sys)
{
	static const int allowed_later[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EINTR,
	                                    ENOENT, ENODEV, EBUSY,  EPIPE,  ESRCH};

	for (size_t i = 0; step == SANDBOX_STEP_CLONE && i < array_size(allowed_later); i++)
		if (sys == allowed_later[i])
			return false;
	if (step >= 0)
		return (size_t)step < p->steps.count &&
		       (p->steps.items[step].phase < BOX_GRANTS || lacks_open_tree());
	return step == SANDBOX_STEP_CLONE || step >= BOX_AT_CAPABILITIES;
}

/* Only files of the host that are bound can be others the next time. */
static bool is_worth_another(struct sandbox_plan *p, int step)
{
	return step >= 0 && !p->keeps && p->retries++ < RETRIES_MAX;
}

int sandbox_plan_retry(struct sandbox_plan **plan, int step, int sys, struct error *err)
{
	struct sandbox_plan *p = *plan;
	int r;

	if (p->standing.tier != SANDBOX_TIER_STRICT)
		return error_sys(err, sys, "sandbox");
	if (box_view_give_up(p, step, sys)) {
		box_forget(p);
		return build(p, SANDBOX_TIER_STRICT, err);
	}
	if (!is_refusal(p, step, sys)) {
		if (!is_worth_another(p, step)) /* the caller knows more about it */
			return -sys;
		box_forget(p);
		return build(p, SANDBOX_TIER_STRICT, err);
	}
	box_forget(p);
	r = build(p, SANDBOX_TIER_LANDLOCK, err);
	return r < 0 ? error_wrap(err, "namespaces cannot be had here") : 0;
}

struct sandbox_plan *sandbox_plan_free(struct sandbox_plan *p)
{
	if (!p)
		return NULL;
	box_forget(p);
	if (p->owns_tmp)
		remove_tree(AT_FDCWD, p->tmp);
	fd_close(p->workspace_fd);
	fd_close(p->company_fd);
	arena_free(p->arena);
	free(p);
	return NULL;
}

bool sandbox_plan_asks(const struct sandbox_plan *p)
{
	return (p->asks || p->brokered) && !p->sealed;
}

bool sandbox_plan_brokers(const struct sandbox_plan *p)
{
	return p->brokered;
}

uint64_t sandbox_plan_clone_flags(const struct sandbox_plan *p)
{
	return p->clone_flags;
}

int sandbox_plan_group_fd(const struct sandbox_plan *p)
{
	return p->group ? cgroup_clone_fd(p->group) : -1;
}

void sandbox_plan_group_later(struct sandbox_plan *p)
{
	p->group_later = true;
}

size_t sandbox_plan_fds(const struct sandbox_plan *p, const int **ret_fds)
{
	*ret_fds = p->fds;
	return p->fd_count;
}

bool sandbox_plan_waits(const struct sandbox_plan *p)
{
	return (p->identity.by_parent && !p->joins) || p->group_later;
}

const char *sandbox_plan_tmp(const struct sandbox_plan *p)
{
	return p->clone_flags ? NULL : p->tmp;
}

int sandbox_plan_admit(struct sandbox_plan *p, pid_t pid, struct error *err)
{
	int r = p->group_later ? cgroup_enter(p->group, pid, err) : 0;

	return r < 0 ? r : box_identity_write(p, pid, err);
}

const struct sandbox_standing *sandbox_plan_standing(const struct sandbox_plan *p)
{
	return &p->standing;
}

void sandbox_plan_user(const struct sandbox_plan *p, uid_t *ret_uid, gid_t *ret_gid)
{
	*ret_uid = p->identity.uid;
	*ret_gid = p->identity.gid;
}

int sandbox_plan_limits(const struct sandbox_plan *p, const struct limit_value **ret_limits)
{
	*ret_limits = p->limits;
	return p->limit_count;
}

void sandbox_plan_held(const struct sandbox_plan *p, bool *ret_memory, bool *ret_processes)
{
	*ret_memory = cgroup_limits(p->group, CGROUP_MEMORY);
	*ret_processes = cgroup_limits(p->group, CGROUP_PIDS);
}

bool sandbox_plan_is_current(struct sandbox_plan *p)
{
	return p->witnesses && witnesses_hold(p->witnesses) && box_room_holds(p);
}

uint64_t sandbox_nested_flags(const struct sandbox_plan *p)
{
	return p->clone_flags & (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC);
}

void sandbox_plan_explain(const struct sandbox_plan *p, int step, int sys, struct error *err)
{
	static const char *const doings[BOX_KIND_MAX] = {
		[BOX_DIRECTORY] = "directory",
		[BOX_FILE] = "file",
		[BOX_SYMLINK] = "link",
		[BOX_BIND] = "mount of",
		[BOX_TREE] = "mount of",
		[BOX_ATTACH] = "mount of",
		[BOX_ATTR] = "protection of",
		[BOX_MOUNT] = "file system at",
		[BOX_COVER] = "mask of",
		[BOX_HOLD] = "protection of",
		[BOX_PIN] = "protection of",
		[BOX_VIEW] = "view of",
		[BOX_UNMOUNT] = "layers of the view at",
	};
	static const char *const places[] = {
		"identity",     "loopback interface", "new root", "switch to the new root",
		"capabilities", "Landlock rules",     "privacy",  "system call filter",
		"control group"};

	if (step >= 0 && (size_t)step < p->steps.count)
		(void)error_sys(err, sys, "sandbox: %s /%.150s", doings[p->steps.items[step].kind],
		                p->steps.items[step].path);
	else if (step < 0 && step >= -(int)array_size(places))
		(void)error_sys(err, sys, "sandbox: %s", places[-step - 1]);
	else
		(void)error_sys(err, sys, "sandbox");
}
