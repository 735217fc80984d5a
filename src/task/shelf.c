#include "task/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/packet.h"
#include "keeper/keeper.h"
#include "process/clone.h"
#include "process/held.h"
#include "profile/profile.h"
#include "sandbox/plan.h"
#include "sandbox/enter.h"

#define READY_MAX   32
#define RUNNING_MAX 256
#define FAILED_MS   10000 /* how long after a failure no box is tried */
#define CALM_MS     2000  /* after this time the crowd of before is forgotten */
#define BOX_END_MS  500
#define BOX_AGE_MS  600000

struct shelf {
	char *profile_name, *agent, *policy_file, *workspace, *state, *session;
	struct profile *profile;
	struct sandbox_plan *plan;
	struct held box;
	int64_t box_made_at, failed_at, used_at, peak_at;
	int ready[READY_MAX]; /* sockets of keepers that wait */
	pid_t ready_pids[READY_MAX];
	int ready_count;
	pid_t running[RUNNING_MAX];
	int running_count, peak;
};

struct shelf *shelf_new(const struct shelf_key *key, int64_t now_ms)
{
	struct shelf *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->box = (struct held){.pidfd = -1, .socket = -1};
	s->profile_name = strdup(key->profile);
	s->agent = strdup(key->agent);
	s->policy_file = strdup(key->policy_file);
	s->workspace = strdup(key->workspace);
	s->state = strdup(key->state);
	s->session = strdup(key->session);
	s->failed_at = now_ms - FAILED_MS;
	s->used_at = now_ms;
	if (!s->profile_name || !s->agent || !s->policy_file || !s->workspace || !s->state ||
	    !s->session)
		return shelf_free(s);
	return s;
}

/* The box goes when its last command has ended; waiting keepers see the end of their socket. */
static void take_down(struct shelf *s)
{
	for (int i = 0; i < s->ready_count; i++)
		fd_close(s->ready[i]);
	s->ready_count = 0;
	/* Its control group can be removed when nobody is in it; one that is still busy is removed
	 * by whoever comes next. */
	held_done(&s->box, s->running_count == 0 ? BOX_END_MS : 0);
	s->plan = sandbox_plan_free(s->plan);
	s->profile = profile_free(s->profile);
}

struct shelf *shelf_free(struct shelf *s)
{
	if (!s)
		return NULL;
	take_down(s);
	free(s->profile_name);
	free(s->agent);
	free(s->policy_file);
	free(s->workspace);
	free(s->state);
	free(s->session);
	free(s);
	return NULL;
}

bool shelf_fits(const struct shelf *s, const struct shelf_key *key)
{
	return strcmp(s->workspace, key->workspace) == 0 &&
	       strcmp(s->profile_name, key->profile) == 0 && strcmp(s->agent, key->agent) == 0 &&
	       strcmp(s->policy_file, key->policy_file) == 0 && strcmp(s->state, key->state) == 0 &&
	       strcmp(s->session, key->session) == 0;
}

int64_t shelf_used_at(const struct shelf *s)
{
	return s->used_at;
}

static bool is_current(const struct shelf *s, int64_t now_ms)
{
	return s->box.socket >= 0 && now_ms - s->box_made_at < BOX_AGE_MS &&
	       profile_is_current(s->profile) && sandbox_plan_is_current(s->plan);
}

void shelf_started(struct shelf *s, pid_t keeper, int64_t now_ms)
{
	s->used_at = now_ms;
	if (s->running_count < RUNNING_MAX)
		s->running[s->running_count++] = keeper;
	if (s->running_count >= s->peak || now_ms - s->peak_at > CALM_MS) {
		s->peak = s->running_count;
		s->peak_at = now_ms;
	}
}

bool shelf_hand_out(struct shelf *s, const int *fds, size_t count, int64_t now_ms)
{
	if (s->ready_count > 0 && !is_current(s, now_ms))
		take_down(s); /* a file of the profile or the workspace has changed */
	while (s->ready_count > 0) {
		int socket = s->ready[--s->ready_count];
		int r = packet_send(socket, "", 1, NULL, 0, fds, count, MSG_DONTWAIT);

		fd_close(socket);
		if (r == 0) {
			shelf_started(s, s->ready_pids[s->ready_count], now_ms);
			return true;
		}
	}
	return false;
}

bool shelf_ended(struct shelf *s, pid_t pid)
{
	for (int i = 0; i < s->running_count; i++)
		if (s->running[i] == pid) {
			s->running[i] = s->running[--s->running_count];
			return true;
		}
	for (int i = 0; i < s->ready_count; i++)
		if (s->ready_pids[i] == pid) {
			fd_close(s->ready[i]);
			s->ready[i] = s->ready[--s->ready_count];
			s->ready_pids[i] = s->ready_pids[s->ready_count];
			return true;
		}
	return false;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static int load_profile(struct shelf *s, struct profile_request *rq)
{
	scoped(fd_closep) int workspace = open(s->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (workspace < 0)
		return -errno;
	rq->name = or_null(s->profile_name);
	rq->agent = or_null(s->agent);
	rq->policy_file = or_null(s->policy_file);
	rq->workspace_fd = workspace;
	r = profile_load(rq, &s->profile, NULL);
	if (r == 0 && s->profile->sandbox.tier != SANDBOX_TIER_FULL)
		r = -EOPNOTSUPP;
	return r;
}

/* Only a box with namespaces is worth keeping: the other layers are per command anyway. */
static int make_box(struct shelf *s, int64_t now_ms)
{
	const char *hidden[3] = {0};
	struct sandbox_place place = {
		.workspace = s->workspace, .home = getenv("HOME"), .hidden = hidden, .kept = true};
	struct profile_request rq;
	char buffer[PATH_MAX];
	int r, n = 0;

	take_down(s);
	profile_request_init(&rq, buffer, sizeof(buffer));
	if (rq.user_dir)
		hidden[n++] = rq.user_dir;
	if (*s->state)
		hidden[n++] = s->state;
	r = load_profile(s, &rq);
	if (r == 0)
		r = sandbox_plan_new(&s->profile->sandbox, &place, &s->plan, NULL);
	if (r == 0 && sandbox_plan_clone_flags(s->plan) == 0)
		r = -EOPNOTSUPP;
	if (r == 0)
		r = held_start(s->plan, &s->box, NULL);
	s->box_made_at = now_ms;
	if (r < 0) {
		s->failed_at = now_ms;
		take_down(s);
	}
	return r;
}

/* A keeper and its init, both waiting. */
static int make_ready(struct shelf *s)
{
	scoped(fd_closep) int our_orders = -1;
	scoped(fd_closep) int their_orders = -1;
	scoped(fd_closep) int keeper_end = -1;
	scoped(fd_closep) int init_end = -1;
	int orders[2], ends[2], pidfd = -1, r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) < 0)
		return -errno;
	our_orders = orders[0];
	their_orders = orders[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	keeper_end = ends[0];
	init_end = ends[1];
	r = held_prepare(&s->box, init_end);
	if (r < 0)
		return r;
	pid = process_clone(&pidfd);
	if (pid == 0)
		keeper_wait(&(struct keeper_ready){.orders = their_orders,
		                                   .init = keeper_end,
		                                   .profile = s->profile,
		                                   .plan = s->plan});
	if (pid < 0)
		return (int)pid;
	fd_close(pidfd);
	s->ready[s->ready_count] = take_fd(&our_orders);
	s->ready_pids[s->ready_count++] = pid;
	return 0;
}

void shelf_fill(struct shelf *s, int64_t now_ms)
{
	int wanted = s->peak + 1 - s->running_count;

	if (now_ms - s->failed_at < FAILED_MS)
		return;
	if (wanted > READY_MAX)
		wanted = READY_MAX;
	if (!is_current(s, now_ms) && make_box(s, now_ms) < 0)
		return;
	while (s->ready_count < wanted)
		if (make_ready(s) < 0) {
			s->failed_at = now_ms;
			take_down(s);
			return;
		}
}
