/*
 * The room of a command: found or made before its box is planned, looked at when the command has
 * ended. A command without a session has none. Where a room is not to be had the command runs as it
 * would without one, and the result says so.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "gateway/names.h"
#include "keeper/gate.h"
#include "keeper/room.h"
#include "profile/profile.h"
#include "sandbox/plan.h"
#include "session/caches.h"
#include "task/reach.h"
#include "task/standby.h"

bool keeper_room_wanted(const struct profile *profile, const char *state, const char *session)
{
	return session && *session && state && *state &&
	       profile->room.share != PROFILE_SHARE_NONE &&
	       profile->sandbox.tier == SANDBOX_TIER_STRICT;
}

int keeper_room_take(const char *state, const struct room_key *key, const struct profile *profile,
                     bool existing, struct room *ret_room, struct error *err)
{
	char digest[PROFILE_DIGEST_SIZE];
	struct room_wish wish = {.key = *key,
	                         .digest = digest,
	                         .home = getenv("HOME"),
	                         .audited = !profile->audit.off,
	                         .share_home = profile->room.share == PROFILE_SHARE_ALL,
	                         .existing = existing,
	                         .idle_ms = profile->room.idle_ms,
	                         .age_ms = profile->room.age_ms};
	struct stat st;
	int r;

	wish.key.profile = profile->name; /* however the caller has named it */
	profile_digest(profile, digest);
	if (stat(key->workspace, &st) < 0)
		return error_sys(err, errno, "workspace");
	wish.uid = st.st_uid;
	wish.gid = st.st_gid;
	r = room_open(state, &wish, ret_room, err);
	if (r < 0)
		return r;
	wish.key.profile = profile->name; /* who names it and who takes the default share them */
	r = caches_open(state, &wish, profile->room.caches, ret_room, err);
	if (r < 0)
		room_close(ret_room);
	return r;
}

void keeper_room_place(const struct room *r, struct sandbox_room *ret)
{
	const struct room_caches *c = &r->caches;

	*ret = (struct sandbox_room){.path = r->path,
	                             .tmp = r->tmp,
	                             .home = r->home,
	                             .shm = r->shm,
	                             .caches_path = c->path,
	                             .cache_count = c->count};
	for (size_t i = 0; i < c->count; i++)
		ret->caches[i] = (struct sandbox_cache){c->names[i], c->fds[i]};
}

bool keeper_net_wanted(const struct profile *profile)
{
	return profile->room.network && profile->sandbox.network != SANDBOX_NETWORK_HOST;
}

struct search {
	int tasks, known; /* the network that is not looked for; -1: any is */
	const struct profile *profile;
	struct sandbox_net found;
};

static bool is_same(int one, int other)
{
	struct stat a, b;

	return one >= 0 && other >= 0 && fstat(one, &a) == 0 && fstat(other, &b) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Where names are served, they are by the rules of this profile; without names there is no gate. */
static bool serves(const struct profile *profile, int gate)
{
	return profile ? gate >= 0 && gate_serves(gate, profile) : gate < 0;
}

/* Ends the search at a task of the network that is known. */
static int ask_task(void *context, const char *task)
{
	struct search *s = context;
	scoped(fd_closep) int dir =
		openat(s->tasks, task, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct sandbox_net net = SANDBOX_NET_NONE;
	int fds[3];

	if (dir < 0 || reach_room(dir, fds) < 0)
		return 0;
	net.user = fds[0];
	net.net = fds[1];
	net.gate = fds[2];
	net.named = fds[2] >= 0;
	if (is_same(net.net, s->known)) {
		sandbox_net_done(&s->found);
		sandbox_net_done(&net);
		return 1;
	}
	if (!serves(s->profile, net.gate)) {
		sandbox_net_done(&net);
		return 0;
	}
	sandbox_net_done(&s->found);
	s->found = net;
	return s->known < 0;
}

int keeper_net_find(const struct keeper_net_wish *w, int known, struct sandbox_net *ret_net)
{
	struct search s = {.known = known, .profile = w->profile, .found = SANDBOX_NET_NONE};
	scoped(fd_closep) int tasks = -1;
	char path[PATH_MAX];
	int fds[2];

	if (snprintf(path, sizeof(path), "%s/tasks", w->state) < (int)sizeof(path))
		s.tasks = tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks >= 0)
		(void)room_tasks(w->state, w->id, ask_task, &s);
	/* A launcher that stays hands out no gate. */
	if (s.found.net < 0 && known < 0 && !w->profile &&
	    standby_room(w->state, w->id, fds) == 0) {
		s.found.user = fds[0];
		s.found.net = fds[1];
	}
	if (s.found.net < 0)
		return -ENOENT;
	sandbox_net_user(w->workspace, &s.found.uid, &s.found.gid);
	*ret_net = s.found;
	return 0;
}

static int make_net(const struct keeper_net_wish *w, struct sandbox_net *ret_net)
{
	struct sandbox_doors doors = {.way = SANDBOX_WAY_NONE};
	struct sandbox_ports ports;
	struct gate_hold gate = GATE_NONE;
	struct gate_wish wish = {.profile = w->profile,
	                         .state = w->state,
	                         .principal = w->principal,
	                         .session = w->session,
	                         .workspace = w->workspace,
	                         .doors = &doors,
	                         .net = w->profile && w->profile->network.publish_count ? ret_net
	                                                                                : NULL};
	int r;

	if (!w->profile)
		return sandbox_net_make(w->workspace, NULL, ret_net, NULL);
	keeper_network_ports(w->profile, &ports);
	r = sandbox_net_make(w->workspace, &ports, ret_net, &doors);
	if (r < 0)
		return r;
	wish.names = names_new();
	r = wish.names ? gate_start(&wish, &gate) : -ENOMEM;
	doors_close(&doors); /* the gate has them */
	names_free(wish.names);
	if (r < 0)
		sandbox_net_done(ret_net);
	else
		ret_net->gate = gate.socket;
	return r;
}

int keeper_net_take(const struct keeper_net_wish *w, int *ret_lock, struct sandbox_net *ret_net)
{
	scoped(fd_closep) int lock = room_net_lock(w->state, w->id);
	int r = keeper_net_find(w, -1, ret_net);

	if (r == 0)
		return 0;
	r = make_net(w, ret_net);
	if (r < 0 || lock < 0)
		return r;
	room_net_note(lock);
	if (ret_lock)
		*ret_lock = take_fd(&lock);
	return 0;
}

/* The launcher's may be of a profile that has changed since. */
static void take_net(struct keeper *k)
{
	const struct keeper_request *rq = &k->order.request;
	bool named = k->profile->sandbox.network == SANDBOX_NETWORK_NAMES;

	if (k->net.user >= 0 && !serves(named ? k->profile : NULL, k->net.gate))
		sandbox_net_done(&k->net);
	if (k->net.user < 0)
		(void)keeper_net_take(
			&(struct keeper_net_wish){.state = rq->state,
		                                  .id = k->room.id,
		                                  .workspace = rq->workspace,
		                                  .profile = named ? k->profile : NULL,
		                                  .principal = k->order.principal,
		                                  .session = rq->session},
			&k->net_lock, &k->net);
}

void keeper_room_open(struct keeper *k)
{
	const struct keeper_request *rq = &k->order.request;
	const struct room_key key = {k->order.principal, rq->session,     rq->profile,
	                             rq->agent,          rq->policy_file, rq->workspace};
	struct error why = {0};

	if (k->room.dir >= 0 || !keeper_room_wanted(k->profile, rq->state, rq->session))
		return;
	k->owns_room = true;
	if (keeper_room_take(rq->state, &key, k->profile, false, &k->room, &why) < 0)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "this call shares no files with others of its session: %.150s", why.text);
	else if (keeper_net_wanted(k->profile))
		take_net(k);
}

bool keeper_room_look(struct keeper *k)
{
	char moved[ROOM_NOTICE_MAX];

	if (k->room.dir < 0)
		return false;
	room_hold_git(&k->room, moved);
	if (!*moved)
		return false;
	snprintf(k->report.room.notice, sizeof(k->report.room.notice),
	         "%.90s had keys that name programs, aliases or more files, which git would use "
	         "in later calls. They were taken out. Use `git -c KEY=VALUE` instead.",
	         moved);
	return true;
}

/* What is written into the workspace counts for the job, whoever wrote it and in which call. */
static void watch_job(struct keeper *k)
{
	uint64_t size = k->profile->workspace.size;

	if (size == 0)
		return;
	room_watch_begin_whole(&k->job_watch,
	                       open(k->order.request.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	                       size, clock_now_ms());
	if (k->job_watch.was_full)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the files of the workspace are more than workspace.size allows. Delete "
		         "some.");
}

int64_t keeper_room_wait_ms(const struct keeper *k, int64_t now_ms)
{
	const struct room_watch *watches[] = {&k->room_watch, &k->cache_watch, &k->job_watch};
	int64_t least = INT64_MAX, wait;

	for (size_t i = 0; i < array_size(watches); i++) {
		if (watches[i]->dir <= 0)
			continue; /* most calls have nothing to watch */
		wait = room_watch_wait_ms(watches[i], now_ms);
		least = wait < least ? wait : least;
	}
	return least;
}

bool keeper_room_is_full(struct keeper *k)
{
	struct room_watch *watches[] = {&k->room_watch, &k->cache_watch, &k->job_watch};
	int64_t now_ms = clock_now_ms();
	bool full = false;

	for (size_t i = 0; i < array_size(watches); i++) {
		if (watches[i]->dir > 0)
			room_watch_look(watches[i], now_ms);
		full |= watches[i]->full;
	}
	return full;
}

void keeper_room_begin(struct keeper *k)
{
	watch_job(k);
	if (k->room.dir < 0)
		return;
	if (k->plan && sandbox_plan_clone_flags(k->plan) == 0)
		return; /* the result says what that means for the session */
	if (k->plan && !sandbox_plan_has_room(k->plan)) {
		snprintf(
			k->report.room.notice, sizeof(k->report.room.notice),
			"this call shares no files with others of its session: the owners of files "
			"cannot be mapped in the state directory");
		return;
	}
	/* What runs in the background may have changed it since the last look. */
	keeper_room_look(k);
	snprintf(k->report.room.id, sizeof(k->report.room.id), "%s", k->room.id);
	k->report.room.generation = k->room.generation;
	snprintf(k->room_name, sizeof(k->room_name), "%s/%llu", k->room.id,
	         (unsigned long long)k->room.generation);
	k->report.room.fresh = room_claim(&k->room);
	room_touch(k->order.request.state, &k->room);
	room_watch_begin(&k->room_watch, k->room.dir, k->profile->room.size, k->profile->room.files,
	                 clock_now_ms());
	/* Caches that are too large are for nacre to empty, not for the command to clear up: only
	 * one that adds without end is stopped. */
	room_watch_begin(&k->cache_watch, k->room.caches.dir, 2 * k->profile->room.cache_size,
	                 2 * k->profile->room.cache_files, clock_now_ms());
	if (k->room_watch.was_full)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the files of this session are more than room.size or room.files allows. "
		         "Delete some in /tmp, /dev/shm or home.");
}

#define REQUIRED "the profile requires a room (sandbox.require)"

static bool is_required(const struct keeper *k)
{
	return k->profile && (k->profile->sandbox.require & SANDBOX_REQUIRE_ROOM);
}

int keeper_room_check(struct keeper *k, struct error *err)
{
	const struct keeper_request *rq = &k->order.request;

	if (!is_required(k) || k->report.room.id[0])
		return 0;
	if (k->profile->sandbox.tier != SANDBOX_TIER_STRICT)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 REQUIRED ", which only 'sandbox: {mode: strict}' has");
	if (k->profile->room.share == PROFILE_SHARE_NONE)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 REQUIRED " and shares nothing: set room.share");
	if (!rq->session || !*rq->session)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 REQUIRED ", and this call has no session. Name one (--session, "
		                          "NACRE_SESSION), then retry");
	return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
	                 REQUIRED ", which cannot be had: %.150s",
	                 k->report.room.notice[0] ? k->report.room.notice
	                                          : "run 'nacre doctor' for the reason");
}

/* A kernel that refuses the namespaces when the box is entered gets a box without them. */
int keeper_room_settle(struct keeper *k, struct error *err)
{
	if (k->report.room.id[0] && k->plan && !sandbox_plan_has_room(k->plan)) {
		room_unmark(&k->room, k->order.task_id);
		k->report.room = (struct keeper_room_report){0};
		k->room_name[0] = '\0';
	}
	if (is_required(k) && k->report.room.id[0] && keeper_net_wanted(k->profile) && k->plan &&
	    !sandbox_plan_joins(k->plan))
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 REQUIRED ", and the session's loopback interface could not be "
		                          "joined; run 'nacre doctor' for the reason");
	return keeper_room_check(k, err);
}

void keeper_room_mark(struct keeper *k)
{
	if (!k->report.room.id[0])
		return;
	if (k->plan && sandbox_plan_joins(k->plan)) {
		k->listen.room[0] = k->net.user;
		k->listen.room[1] = k->net.net;
		k->listen.room[2] = k->net.gate;
	}
	room_mark(&k->room, k->order.task_id);
	fd_close(take_fd(&k->net_lock)); /* others find it from now on */
}

/* Servers of other calls cannot be reached then, which looks like a fault of theirs. */
static void tell_of_own_network(struct keeper *k)
{
	if (!k->report.room.notice[0] && keeper_net_wanted(k->profile) && k->plan &&
	    !sandbox_plan_joins(k->plan))
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "this call had a loopback interface of its own, because that of its "
		         "session could not be joined; run `nacre doctor`");
}

/* Whether the next call begins with empty ones. */
static bool caches_end(struct keeper *k)
{
	const struct profile_room *room = &k->profile->room;
	bool too_large = room_watch_exceeds(&k->cache_watch, room->cache_size, room->cache_files);

	(void)room_watch_end(&k->cache_watch);
	if (too_large)
		caches_finish(&k->room);
	return too_large;
}

void keeper_room_end(struct keeper *k)
{
	bool swamped, held, emptied;

	if (!k->report.room.id[0])
		return;
	room_unmark(&k->room, k->order.task_id);
	emptied = caches_end(k);
	swamped = room_watch_end(&k->room_watch);
	held = keeper_room_look(k);
	room_touch(k->order.request.state, &k->room);
	room_end_last(k->order.request.state, &k->room);
	if (swamped) {
		(void)room_end(k->order.request.state, k->room.id, ROOM_END_SIZE);
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the files of this session were more than twice what room.size and "
		         "room.files allow. All of them were removed.");
	} else if (!held && emptied) {
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the caches in home (%.40s ...) had more than room.cache_size or "
		         "room.cache_files allows. They were emptied; later calls fill them again.",
		         k->profile->room.caches[0]);
	} else if (!held) {
		tell_of_own_network(k);
	}
}

void keeper_room_close(struct keeper *k)
{
	if (k->job_watch.dir > 0)
		fd_close(k->job_watch.dir);
	k->job_watch = (struct room_watch){0};
	fd_close(take_fd(&k->net_lock));
	if (k->owns_room)
		room_close(&k->room);
	if (k->owns_room)
		sandbox_net_done(&k->net);
}
