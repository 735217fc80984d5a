/*
 * From the order to a running command. The order of the steps is what this file is about:
 *
 *	check      decide again from the raw request, with a profile that is loaded here
 *	ready      container engines that the line needs
 *	plan       the box, or the container
 *	consent    an approval for one run is used up only now
 *	record     "started" is written
 *	start      init enters the box and waits
 *	let run    the record is on the disk; the command is executed
 *
 * Each step may fail, and then nothing runs.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "decide/check.h"
#include "keeper/client.h"
#include "keeper/container.h"
#include "keeper/record.h"
#include "keeper/room.h"
#include "process/search.h"
#include "base/strings.h"
#include "process/message.h"
#include "process/spawn.h"
#include "profile/profile.h"
#include "sandbox/pids.h"
#include "sandbox/plan.h"
#include "task/changes.h"

static int streams_open(struct keeper *k, struct error *err)
{
	static const char *const names[2] = {"out", "err"};
	int r;

	index_init(&k->index, k->order.merged ? NULL : &k->home.fd);
	for (int i = 0; i < 2; i++) {
		k->streams[i].name = names[i];
		k->streams[i].home = &k->home;
		k->streams[i].other = &k->streams[!i];
		k->streams[i].patience = k->order.patience;
		k->streams[i].spool_cap = k->order.spool_cap;
		k->streams[i].index = &k->index;
		k->streams[i].number = (unsigned)i;
		r = stream_open(&k->streams[i], take_fd(&k->process->output[i]), &k->order.kept,
		                err);
		if (r < 0)
			return r;
	}
	if (k->order.background)
		stream_begin_file(&k->streams[0]);
	return 0;
}

/* A box has limits of its own; only what they leave open is watched here. */
static int fill_from_box(struct keeper *k, struct process_command *c)
{
	const char *tmp = sandbox_plan_tmp(k->plan);
	const struct limit_value *limits;
	bool memory_held, processes_held;

	sandbox_plan_held(k->plan, &memory_held, &processes_held);
	c->limit_count = sandbox_plan_limits(k->plan, &limits);
	k->report.sandbox = *sandbox_plan_standing(k->plan);
	k->report.processes_bounded = (k->report.sandbox.layers & SANDBOX_LAYER_PROCESSES) != 0;
	memcpy(c->limits, limits, (size_t)c->limit_count * sizeof(*limits));
	watch_init(&k->watch, &k->spec.limits, memory_held, processes_held, k->init_pidfd);
	/* Where /tmp is not private, temporary files have a directory of their own. */
	if (tmp)
		c->envp = env_with(k->arena, k->order.envp, "TMPDIR", tmp);
	if (!c->envp)
		return -ENOMEM;
	k->order.envp = c->envp;
	return 0;
}

static void fill_limits(struct keeper *k, struct process_command *c)
{
	const struct {
		int resource;
		rlim_t value;
	} wishes[] = {{RLIMIT_CORE, 0}, {RLIMIT_NPROC, pids_rlimit(k->order.max_processes)}};
	struct rlimit now;

	for (size_t i = 0; i < array_size(wishes); i++) {
		if (getrlimit((__rlimit_resource_t)wishes[i].resource, &now) < 0 ||
		    wishes[i].value >=
		            now.rlim_max) /* only ever lowered; RLIM_INFINITY is the largest */
			continue;
		c->limits[c->limit_count++] = (struct limit_value){
			.resource = wishes[i].resource,
			.value = {.rlim_cur = wishes[i].value, .rlim_max = wishes[i].value}};
	}
	k->report.processes_bounded = wishes[1].value != RLIM_INFINITY;
}

/* Where no limit of the kernel holds: a line in the number of all tasks from which on ours are
 * counted. */
static void watch_crowd(struct keeper *k)
{
	uint64_t tasks;

	k->crowd_line = 0;
	if (!k->report.processes_bounded && k->order.max_processes > 0) {
		tasks = pids_now();
		k->crowd_line = tasks > 0 ? tasks + k->order.max_processes : 0;
	}
}

static int start(struct keeper *k, struct error *err)
{
	struct process_command c = {
		.cwd = k->order.cwd,
		.paths = k->paths,
		.argv = k->order.argv,
		.envp = k->order.envp,
		.stdin_fd = k->fds.input,
		.terminal = k->order.terminal,
		.merged = k->order.merged,
		.tells_start = k->order.background,
		.waits = true,
		.notes = check_tells(&k->order.request) && !k->order.background,
		.sandbox = k->plan,
	};
	int r;

	if (k->plan) {
		if (fill_from_box(k, &c) < 0)
			return error_nomem(err);
	} else if (k->container) {
		keeper_container_fill(k, &c);
		k->report.processes_bounded = true; /* by the engine; the client is our own */
	} else {
		fill_limits(k, &c);
	}
	watch_crowd(k);
	if (k->begun) {
		c.tells_start = true;
		k->process = take_ptr(&k->begun);
		r = process_give(k->process, &c, err);
	} else if (k->init_socket >= 0) {
		r = process_adopt(&c, take_fd(&k->init_socket), take_fd(&k->init_pidfd),
		                  &k->process, err);
		if (r == 0)
			k->process->asks = take_fd(&k->init_asks);
		if (r == 0)
			k->process->space = take_fd(&k->init_space);
	} else {
		r = process_spawn(&c, &k->process, err);
	}
	if (r < 0)
		return r;
	/* Else a second try, or a terminal that is made later, may need it. */
	if (k->process->init_pid == 0 || (!k->plan && !k->order.terminal.rows))
		fd_close(take_fd(&k->fds.input));
	return streams_open(k, err);
}

/* The record of the start, and all of the start but its last step. */
static int start_recorded(struct keeper *k, struct error *err)
{
	int r = keeper_room_settle(k, err);

	if (r == 0)
		r = keeper_record_start(k, err);
	return r < 0 ? r : start(k, err);
}

/* Nothing runs of which it is not known on the disk that it will, and in which box. */
static int let_run(struct keeper *k, struct error *err)
{
	int r = keeper_room_settle(k, err);

	if (r == 0)
		r = keeper_view_settle(k, err);
	if (r == 0)
		r = keeper_record_sync(k, err);
	if (r == 0)
		keeper_beside_begin(k);
	if (r == 0)
		process_go(k->process);
	return r;
}

int keeper_start_again(struct keeper *k)
{
	struct error err = {0};
	int r;

	k->refused = false;
	r = sandbox_plan_retry(&k->plan, k->detail, k->report.sys, &err);
	if (r < 0 && err.kind == ERROR_UNSUPPORTED && err.text[0]) {
		k->report.why_public = true;
		snprintf(k->report.why, sizeof(k->report.why), "%s", err.text);
	}
	if (r < 0)
		return r;
	k->process = process_free(k->process);
	for (int i = 0; i < 2; i++) {
		struct relay relay = k->streams[i].relay;

		k->streams[i].relay = RELAY_NONE;
		stream_done(&k->streams[i]);
		k->streams[i].relay = relay;
	}
	r = start_recorded(k, &err);
	if (r == 0)
		r = let_run(k, &err);
	if (r < 0 && k->process) /* it waits, and must not wait for ever */
		(void)process_take_over(k->process, &k->report.survivors);
	if (r < 0)
		return r;
	k->report.end = KEEPER_END_EXITED;
	k->report.step = (enum child_step)0;
	k->report.sys = 0;
	k->report.why[0] = '\0';
	return 0;
}

void keeper_fill_place(const struct keeper *k, struct keeper_place *ret)
{
	const struct keeper_request *rq = &k->order.request;
	struct profile_request files;
	int n = 0;

	*ret = (struct keeper_place){
		.place = {.workspace = rq->workspace,
	                  .root = rq->root,
	                  .resolved = true,
	                  /* Of nacre, not of the command: a request can say what HOME is, and would
	                   * so choose which of the operator's directories are granted and which are
	                   * secret. */
	                  .home = getenv("HOME"),
	                  .hidden = ret->hidden,
	                  .net = k->net.named           ? k->net
	                         : k->network.net.named ? k->network.net
	                                                : k->net},
	};
	if (k->view.store >= 0) {
		ret->place.view = k->view.path;
		ret->place.view_fd = k->view.store;
	}
	if (k->room.dir >= 0)
		keeper_room_place(&k->room, &ret->place.room);
	profile_request_init(&files, ret->buffer, sizeof(ret->buffer));
	if (files.user_dir)
		ret->hidden[n++] = files.user_dir;
	if (rq->state)
		ret->hidden[n++] = rq->state;
	if (rq->policy_file)
		ret->hidden[n++] = rq->policy_file;
	if (k->profile && changes_root(k->profile->undo.store, ret->store))
		ret->hidden[n++] = changes_root(k->profile->undo.store, ret->store);
}

int keeper_box_plan(struct keeper *k, const struct sandbox_spec *spec,
                    struct sandbox_plan **ret_plan, struct error *err)
{
	struct keeper_place at;

	keeper_room_open(k);
	keeper_view_open(k);
	keeper_network_open(k, k->order.request.workspace);
	keeper_fill_place(k, &at);
	return sandbox_plan_new(spec, &at.place, ret_plan, err);
}

/* Where there is no plan, which looks at it itself. */
static int check_place(struct keeper *k, struct error *err)
{
	struct keeper_place at;

	if (k->spec.tier != SANDBOX_TIER_NONE)
		return 0;
	keeper_fill_place(k, &at);
	return sandbox_place_check(&k->spec, &at.place, err);
}

void keeper_choose_spec(struct keeper *k)
{
	uint64_t *processes = &k->spec.limits.processes;

	k->spec = k->profile->sandbox;
	/* The person who runs nacre may want fewer. */
	if (k->order.max_processes > 0 && (*processes == 0 || k->order.max_processes < *processes))
		*processes = k->order.max_processes;
	k->order.max_processes = *processes;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A box that was made before the order came was made from the same request. */
static bool box_is_for(const struct keeper_ahead *box, const struct keeper_order *o)
{
	return !box ||
	       (same_text(box->workspace, o->request.workspace) &&
	        same_text(box->root, o->request.root) && same_text(box->state, o->request.state) &&
	        same_text(box->policy_file, o->request.policy_file) &&
	        same_text(box->session, o->request.session) &&
	        same_text(box->principal, o->principal) &&
	        same_text(box->profile_name, o->request.profile) &&
	        same_text(box->agent, o->request.agent) &&
	        same_text(env_value(box->envp, "HOME"), env_value(o->envp, "HOME")) &&
	        box->max_processes == o->max_processes);
}

/* Decides once more, from the raw request, and learns from the profile what the box is like. */
static int check(struct keeper *k, struct arena *arena, struct error *err)
{
	int r;

	if (!box_is_for(k->ahead, &k->order))
		return error_set(err, ERROR_SYSTEM, EINVAL, "the box is not that of the order");

	r = k->profile ? 0 : check_load_profile(&k->order.request, &k->profile, err);
	if (r == 0)
		r = check_again(arena, &(struct check_order){&k->order, k->profile, k->fds.input},
		                &k->facts, err);
	if (r < 0 || !k->profile) {
		k->report.end = KEEPER_END_REFUSED;
		return r;
	}
	keeper_choose_spec(k);
	if (k->spec.tier != SANDBOX_TIER_NONE && k->spec.tier != SANDBOX_TIER_CONTAINER)
		k->order.sandbox = &k->spec;
	r = check_place(k, err);
	if (r < 0)
		k->report.end = KEEPER_END_REFUSED;
	return r;
}

/* A person's consent is for one run: it is used up when nothing but the start is left to do, an
 * engine of containers is there and the box is planned. ASKED is the order as it came. */
static int spend_consent(struct keeper *k, const struct keeper_order *asked, struct arena *arena,
                         struct error *err)
{
	const struct check_order order = {asked, k->profile, k->fds.input};
	int r;

	if (!asked->request.approval)
		return 0;
	r = check_spend(arena, &order, k->facts, err);
	if (r < 0)
		k->report.end = KEEPER_END_REFUSED;
	return r;
}

/* Where and why. A box that was made ahead of its command may have failed before there was one: its
 * last words tell. */
static bool failed_to_enter(struct keeper *k, int *ret_step, int *ret_sys, int r)
{
	struct init_message m;

	*ret_sys = -r;
	if (!k->process)
		return true;
	if (r != -EPIPE || process_receive(k->process, &m) != 1 || m.event != INIT_FAILED ||
	    m.step != CHILD_SANDBOX)
		return false;
	process_reap(k->process);
	k->process = process_free(k->process);
	*ret_step = m.detail;
	*ret_sys = m.sys;
	return true;
}

int keeper_launch(struct keeper *k, struct error *err)
{
	const struct keeper_order asked = k->order;
	struct arena *arena = k->arena;
	int r, step = SANDBOX_STEP_CLONE, sys = 0;

	r = check(k, arena, err);
	if (r < 0)
		return r;
	r = process_search_paths(arena, k->order.argv[0], k->order.envp, &k->paths);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	k->report.started_ms = clock_wall_ms();
	k->started_at = clock_now_ms();
	k->last_output = k->started_at;
	keeper_heard(k);
	k->deadline = k->order.timeout_ms > 0 ? k->started_at + k->order.timeout_ms
	                                      : KEEPER_DEADLINE_NONE;
	r = keeper_ready_clients(k, arena, err);
	if (r < 0)
		return r;
	if (k->order.sandbox && !k->plan) {
		k->owns_plan = true;
		r = keeper_box_plan(k, k->order.sandbox, &k->plan, err);
		if (r < 0)
			return r;
	}
	r = k->spec.tier == SANDBOX_TIER_CONTAINER ? keeper_container_make(k, arena, err) : 0;
	if (r < 0)
		return r;
	keeper_room_begin(k);
	keeper_network_begin(k);
	keeper_heard(k); /* what was waited for was not the command's silence */
	r = keeper_room_check(k, err);
	if (r == 0)
		r = spend_consent(k, &asked, arena, err);
	if (r == 0)
		r = keeper_record_start(k, err);
	if (r < 0)
		return r;
	r = start(k, err);
	if (r < 0 && k->plan && failed_to_enter(k, &step, &sys, r) &&
	    sandbox_plan_retry(&k->plan, step, sys, err) == 0)
		r = start_recorded(k, err);
	if (r == 0)
		keeper_refs_begin(k); /* while the child is made ready, before it may run */
	return r < 0 ? r : let_run(k, err);
}
