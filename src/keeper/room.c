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
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "keeper/room.h"
#include "profile/profile.h"
#include "sandbox/plan.h"
#include "task/reach.h"

bool keeper_room_wanted(const struct profile *profile, const char *state, const char *session)
{
	return session && *session && state && *state &&
	       profile->room.share != PROFILE_SHARE_NONE &&
	       profile->sandbox.tier == SANDBOX_TIER_STRICT;
}

int keeper_room_take(const char *state, const struct room_key *key, const struct profile *profile,
                     struct room *ret_room, struct error *err)
{
	char digest[PROFILE_DIGEST_SIZE];
	struct room_wish wish = {.key = *key,
	                         .digest = digest,
	                         .home = getenv("HOME"),
	                         .share_home = profile->room.share == PROFILE_SHARE_ALL,
	                         .idle_ms = profile->room.idle_ms,
	                         .age_ms = profile->room.age_ms};
	struct stat st;

	profile_digest(profile, digest);
	if (stat(key->workspace, &st) < 0)
		return error_sys(err, errno, "workspace");
	wish.uid = st.st_uid;
	wish.gid = st.st_gid;
	return room_open(state, &wish, ret_room, err);
}

bool keeper_net_wanted(const struct profile *profile)
{
	return profile->room.network && profile->sandbox.network == SANDBOX_NETWORK_NONE;
}

struct search {
	int tasks;
	struct sandbox_net *net;
};

static int ask_task(void *context, const char *task)
{
	const struct search *s = context;
	scoped(fd_closep) int dir =
		openat(s->tasks, task, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fds[2];

	if (dir < 0 || reach_room(dir, fds) < 0)
		return 0;
	s->net->user = fds[0];
	s->net->net = fds[1];
	return 1;
}

int keeper_net_take(const char *state, const char *id, const char *workspace,
                    struct sandbox_net *ret_net)
{
	struct sandbox_net net = SANDBOX_NET_NONE;
	scoped(fd_closep) int tasks = -1;
	struct search s = {.net = &net};
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/tasks", state) < (int)sizeof(path))
		s.tasks = tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks < 0 || room_tasks(state, id, ask_task, &s) == 0)
		return sandbox_net_make(workspace, ret_net);
	sandbox_net_user(workspace, &net.uid, &net.gid);
	*ret_net = net;
	return 0;
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
	if (keeper_room_take(rq->state, &key, k->profile, &k->room, &why) < 0)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "this call shares no files with others of its session: %.150s", why.text);
	else if (k->net.user < 0 && keeper_net_wanted(k->profile))
		(void)keeper_net_take(rq->state, k->room.id, rq->workspace, &k->net);
}

void keeper_room_begin(struct keeper *k)
{
	char notice[ROOM_NOTICE_MAX];

	if (k->room.dir < 0)
		return;
	if (k->plan && !sandbox_plan_has_room(k->plan)) {
		snprintf(
			k->report.room.notice, sizeof(k->report.room.notice),
			"this call shares no files with others of its session: the owners of files "
			"cannot be mapped in the state directory");
		return;
	}
	/* What runs in the background may have changed it since the last look. */
	room_hold_git(&k->room, notice);
	snprintf(k->report.room.id, sizeof(k->report.room.id), "%s", k->room.id);
	k->report.room.generation = k->room.generation;
	k->report.room.fresh = room_claim(&k->room);
	room_touch(k->order.request.state, &k->room);
	room_watch_begin(&k->room_watch, &k->room, k->profile->room.size, k->profile->room.files,
	                 clock_now_ms());
	if (k->room_watch.was_full)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the files of this session are more than room.size or room.files allows. "
		         "Delete some in /tmp, /dev/shm or home.");
}

void keeper_room_mark(struct keeper *k)
{
	if (!k->report.room.id[0])
		return;
	if (k->plan && sandbox_plan_joins(k->plan)) {
		k->listen.room[0] = k->net.user;
		k->listen.room[1] = k->net.net;
	}
	room_mark(&k->room, k->order.task_id);
}

void keeper_room_end(struct keeper *k)
{
	char moved[ROOM_NOTICE_MAX];
	bool swamped;

	if (!k->report.room.id[0])
		return;
	room_unmark(&k->room, k->order.task_id);
	swamped = room_watch_end(&k->room_watch);
	room_hold_git(&k->room, moved);
	room_touch(k->order.request.state, &k->room);
	if (swamped) {
		(void)room_end(k->order.request.state, k->room.id);
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "the files of this session were more than twice what room.size and "
		         "room.files allow. All of them were removed.");
	} else if (*moved)
		snprintf(k->report.room.notice, sizeof(k->report.room.notice),
		         "%.90s had keys that name programs, aliases or more files, which git "
		         "would use "
		         "in later calls. They were taken out. Use `git -c KEY=VALUE` instead.",
		         moved);
}

void keeper_room_close(struct keeper *k)
{
	if (k->owns_room)
		room_close(&k->room);
	if (k->owns_room)
		sandbox_net_done(&k->net);
}
