#include "launch/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/packet.h"
#include "keeper/keeper.h"
#include "keeper/room.h"
#include "process/clone.h"
#include "process/held.h"
#include "profile/profile.h"
#include "sandbox/doors.h"
#include "sandbox/enter.h"
#include "sandbox/plan.h"
#include "task/changes.h"

#define READY_MAX   128
#define RUNNING_MAX 256
#define BOXES_MAX   32    /* where each keeper has a box of its own */
#define SPARE       3     /* ready beside as many as ran at the same time */
#define FAILED_MS   10000 /* how long after a failure no box is tried */
#define CALM_MS     2000  /* after this time the crowd of before is forgotten */
#define BOX_END_MS  500
#define BOX_AGE_MS  600000
#define LOOKED_MS   50     /* how long a look holds for the call that it was for */
#define STAYS_MS    600000 /* until its profile was read */

struct ready { /* a keeper that waits for an order */
	int socket;
	pid_t keeper;
};

struct running {
	pid_t keeper;
	bool inside; /* of the kept box; else it has one of its own */
	int socket;  /* for another order, if it comes back; -1: it does not */
};

struct shelf {
	char *profile_name, *agent, *policy_file, *workspace, *root, *state, *session, *principal;
	struct profile *profile;
	struct sandbox_plan *plan;
	struct room room; /* of the session; dir -1: none */
	struct sandbox_net net;
	struct held box; /* for all keepers; none where each has its own */
	int again;
	int64_t box_made_at, failed_at, used_at, peak_at, stays_ms;
	struct ready ready[READY_MAX]; /* the oldest first */
	int ready_count;
	struct running running[RUNNING_MAX];
	int running_count, inside_count, peak;
	uint64_t looked_for; /* the call that has begun last; 0: none */
	int64_t looked_at;
	bool had_room, ended; /* the room was there; it is not any more */
};

struct shelf *shelf_new(const struct shelf_key *key, int again, int64_t now_ms)
{
	struct shelf *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->box = (struct held){.pidfd = -1, .socket = -1};
	s->room = ROOM_NONE;
	s->net = SANDBOX_NET_NONE;
	s->profile_name = strdup(key->profile);
	s->agent = strdup(key->agent);
	s->policy_file = strdup(key->policy_file);
	s->workspace = strdup(key->workspace);
	s->root = strdup(key->root);
	s->state = strdup(key->state);
	s->session = strdup(key->session);
	s->principal = strdup(key->principal);
	s->again = again;
	s->failed_at = now_ms - FAILED_MS;
	s->used_at = now_ms;
	s->stays_ms = STAYS_MS;
	if (!s->profile_name || !s->agent || !s->policy_file || !s->workspace || !s->root ||
	    !s->state || !s->session || !s->principal)
		return shelf_free(s);
	return s;
}

/* The box goes when its last command has ended; waiting keepers see the end of their socket. */
static void take_down(struct shelf *s)
{
	for (int i = 0; i < s->ready_count; i++)
		fd_close(s->ready[i].socket);
	s->ready_count = 0;
	/* Its control group can be removed when nobody is in it; one that is still busy is removed
	 * by whoever comes next. */
	held_done(&s->box, s->running_count == 0 ? BOX_END_MS : 0);
	s->plan = sandbox_plan_free(s->plan);
	room_close(&s->room);
	s->profile = profile_free(s->profile);
	for (int i = 0; i < s->running_count; i++) {
		s->running[i].inside = false; /* of the next one */
		fd_close(take_fd(&s->running[i].socket));
	}
	s->inside_count = 0;
}

struct shelf *shelf_free(struct shelf *s)
{
	if (!s)
		return NULL;
	take_down(s);
	sandbox_net_done(&s->net);
	free(s->profile_name);
	free(s->agent);
	free(s->policy_file);
	free(s->workspace);
	free(s->root);
	free(s->state);
	free(s->session);
	free(s->principal);
	free(s);
	return NULL;
}

void shelf_share_net(struct shelf *s, const struct sandbox_net *net)
{
	struct stat have, given;

	if (s->net.net >= 0 && fstat(s->net.net, &have) == 0 && fstat(net->net, &given) == 0 &&
	    have.st_ino == given.st_ino)
		return;
	take_down(s); /* its box is in another one */
	sandbox_net_done(&s->net);
	s->net = *net;
	s->net.user = fcntl(net->user, F_DUPFD_CLOEXEC, 3);
	s->net.net = fcntl(net->net, F_DUPFD_CLOEXEC, 3);
	s->net.gate = net->gate < 0 ? -1 : fcntl(net->gate, F_DUPFD_CLOEXEC, 3);
}

bool shelf_fits(const struct shelf *s, const struct shelf_key *key)
{
	return strcmp(s->workspace, key->workspace) == 0 && strcmp(s->root, key->root) == 0 &&
	       strcmp(s->profile_name, key->profile) == 0 && strcmp(s->agent, key->agent) == 0 &&
	       strcmp(s->policy_file, key->policy_file) == 0 && strcmp(s->state, key->state) == 0 &&
	       strcmp(s->session, key->session) == 0 && strcmp(s->principal, key->principal) == 0;
}

int64_t shelf_used_at(const struct shelf *s)
{
	return s->used_at;
}

int64_t shelf_stays_ms(const struct shelf *s)
{
	return s->stays_ms;
}

bool shelf_has_failed(const struct shelf *s, int64_t now_ms)
{
	return s->ended || (!s->plan && now_ms - s->failed_at < FAILED_MS);
}

void shelf_count(const struct shelf *s, uint32_t *ret_ready, uint32_t *ret_running)
{
	*ret_ready = (uint32_t)s->ready_count;
	*ret_running = (uint32_t)s->running_count;
}

static bool is_current(const struct shelf *s, int64_t now_ms)
{
	return s->plan && now_ms - s->box_made_at < BOX_AGE_MS && profile_is_current(s->profile) &&
	       (s->room.dir < 0 || room_is_current(s->state, &s->room)) &&
	       sandbox_plan_is_current(s->plan);
}

/* Before there is one more that waits, or one more that runs: each has an init. */
static void make_room(const struct shelf *s, int waiting, int running)
{
	int commands = s->inside_count + running;

	if (s->plan)
		sandbox_plan_share(s->plan, (size_t)commands,
		                   (size_t)(SANDBOX_HOLDERS + s->ready_count + waiting + commands));
}

void shelf_touch(struct shelf *s, int64_t now_ms)
{
	s->used_at = now_ms;
	s->ended = false;
}

/* Takes SOCKET. */
static void started(struct shelf *s, pid_t keeper, int socket, int64_t now_ms)
{
	bool inside = socket >= 0;

	shelf_touch(s, now_ms);
	if (s->running_count < RUNNING_MAX) {
		s->running[s->running_count++] = (struct running){keeper, inside, socket};
		s->inside_count += inside;
	} else {
		fd_close(socket);
	}
	if (s->running_count >= s->peak || now_ms - s->peak_at > CALM_MS) {
		s->peak = s->running_count;
		s->peak_at = now_ms;
	}
}

void shelf_started(struct shelf *s, pid_t keeper, int64_t now_ms)
{
	started(s, keeper, -1, now_ms);
}

/* Takes one that runs out of the list. */
static bool take_running(struct shelf *s, pid_t keeper, struct running *ret_running)
{
	for (int i = 0; i < s->running_count; i++)
		if (s->running[i].keeper == keeper) {
			*ret_running = s->running[i];
			s->inside_count -= s->running[i].inside;
			s->running[i] = s->running[--s->running_count];
			return true;
		}
	return false;
}

/* In front: what it needs is in the processor's memory still. */
bool shelf_returned(struct shelf *s, pid_t keeper)
{
	struct running r;

	if (!take_running(s, keeper, &r))
		return false;
	if (r.socket < 0 || s->ready_count == READY_MAX) {
		fd_close(r.socket); /* nobody will ask it, and it leaves */
	} else {
		memmove(s->ready + 1, s->ready, (size_t)s->ready_count++ * sizeof(s->ready[0]));
		s->ready[0] = (struct ready){.socket = r.socket, .keeper = keeper};
	}
	make_room(s, 0, 0);
	return true;
}

bool shelf_ended(struct shelf *s, pid_t pid)
{
	struct running r;

	if (take_running(s, pid, &r)) {
		fd_close(r.socket);
		make_room(s, 0, 0);
		return true;
	}
	for (int i = 0; i < s->ready_count; i++)
		if (s->ready[i].keeper == pid) {
			fd_close(s->ready[i].socket);
			memmove(s->ready + i, s->ready + i + 1,
			        (size_t)(--s->ready_count - i) * sizeof(s->ready[0]));
			return true;
		}
	return false;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

struct profile *shelf_profile(const struct shelf_key *key)
{
	scoped(fd_closep) int workspace = open(key->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct profile *p = NULL;
	struct profile_request rq;
	char buffer[PATH_MAX];

	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.name = or_null(key->profile);
	rq.agent = or_null(key->agent);
	rq.policy_file = or_null(key->policy_file);
	rq.workspace_fd = workspace;
	rq.root = or_null(key->root);
	return workspace >= 0 && profile_load(&rq, &p, NULL) == 0 ? p : NULL;
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
	rq->root = or_null(s->root);
	r = profile_load(rq, &s->profile, NULL);
	/* With docker's socket in it a box depends on where that is now, and the keeper looks. */
	if (r == 0 && (s->profile->sandbox.tier != SANDBOX_TIER_STRICT || s->profile->docker.allow))
		r = -EOPNOTSUPP;
	return r;
}

static void own_room(const struct shelf *s, char into[ROOM_ID_SIZE])
{
	/* However the caller has named it; before it is loaded there is no room either. */
	const char *profile = s->profile ? s->profile->name : s->profile_name;
	const struct room_key key = {s->principal, s->session,     profile,
	                             s->agent,     s->policy_file, s->workspace};

	room_id(&key, into);
}

bool shelf_is_of_room(const struct shelf *s, const char *room)
{
	char id[ROOM_ID_SIZE];

	own_room(s, id);
	return strcmp(id, room) == 0;
}

/* Or another generation of it holds. */
bool shelf_room_has_ended(const struct shelf *s)
{
	return s->room.dir >= 0 && !room_is_current(s->state, &s->room);
}

/* A room that is not to be had is said to be missing by the keeper of each command. None is made
 * here: the session may have ended. */
static int open_room(struct shelf *s, struct sandbox_place *place)
{
	const struct room_key key = {or_null(s->principal),    or_null(s->session),
	                             or_null(s->profile_name), or_null(s->agent),
	                             or_null(s->policy_file),  s->workspace};
	int r;

	if (!keeper_room_wanted(s->profile, s->state, s->session))
		return 0;
	r = keeper_room_take(s->state, &key, s->profile, true, &s->room, NULL);
	s->ended = s->had_room && r == -ENOENT;
	s->had_room |= r == 0;
	if (r == 0)
		keeper_room_place(&s->room, &place->room);
	if (r == 0 && keeper_net_wanted(s->profile))
		place->net = s->net;
	return r;
}

/* Commands that publish ports have a box each: it is the keeper's network that has them. */
static bool is_shared(const struct shelf *s)
{
	return s->plan && sandbox_plan_is_shared(s->plan) && s->profile->network.publish_count == 0;
}

/* Only a box with namespaces is worth keeping: the other layers are per command anyway. */
static int make_box(struct shelf *s, int64_t now_ms)
{
	const char *hidden[5] = {0};
	char store[PATH_MAX];
	struct sandbox_place place = {.workspace = s->workspace,
	                              .root = or_null(s->root),
	                              .resolved = true,
	                              .home = getenv("HOME"),
	                              .hidden = hidden,
	                              .net = SANDBOX_NET_NONE,
	                              .kept = true};
	struct sandbox_ports ports;
	struct profile_request rq;
	char buffer[PATH_MAX];
	int r, n = 0;

	take_down(s);
	profile_request_init(&rq, buffer, sizeof(buffer));
	if (rq.user_dir)
		hidden[n++] = rq.user_dir;
	if (*s->state)
		hidden[n++] = s->state;
	if (*s->policy_file)
		hidden[n++] = s->policy_file;
	r = load_profile(s, &rq);
	if (r == 0 && changes_root(s->profile->undo.store, store))
		hidden[n++] = changes_root(s->profile->undo.store, store);
	if (r == 0)
		s->stays_ms = profile_stays_ms(s->profile);
	if (r == 0)
		r = open_room(s, &place);
	if (r == 0)
		r = sandbox_plan_new(&s->profile->sandbox, &place, &s->plan, NULL);
	if (r == 0 && sandbox_plan_clone_flags(s->plan) == 0)
		r = -EOPNOTSUPP;
	if (r == 0 && is_shared(s)) {
		keeper_network_ports(s->profile, &ports);
		sandbox_plan_keep_nets_apart(s->plan, &ports);
	}
	if (r == 0 && is_shared(s))
		r = held_start(s->plan, false, &s->box, NULL);
	s->box_made_at = now_ms;
	if (r < 0)
		take_down(s);
	return r;
}

/* A keeper and its init, both waiting. */
static int make_ready(struct shelf *s)
{
	bool shared = is_shared(s);
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
	make_room(s, 1, 0);
	r = shared ? held_prepare(&s->box, init_end) : 0;
	if (r < 0)
		return r;
	pid = process_clone(&pidfd);
	if (pid == 0)
		keeper_wait(&(struct keeper_ready){.orders = their_orders,
		                                   .again = s->again,
		                                   .init = keeper_end,
		                                   .their_init = shared ? -1 : init_end,
		                                   .workspace = s->workspace,
		                                   .profile = s->profile,
		                                   .plan = s->plan,
		                                   .room = &s->room,
		                                   .net = &s->net,
		                                   .state = s->state});
	if (pid < 0)
		return (int)pid;
	fd_close(pidfd);
	s->ready[s->ready_count++] = (struct ready){.socket = take_fd(&our_orders), .keeper = pid};
	return 0;
}

/* The one that has waited longest: the last may still be entering its box. */
static struct ready take_first(struct shelf *s)
{
	struct ready first = s->ready[0];

	memmove(s->ready, s->ready + 1, (size_t)--s->ready_count * sizeof(first));
	return first;
}

/* How many more may stand by. */
static int room(const struct shelf *s)
{
	bool shared = is_shared(s);
	int most = shared ? READY_MAX : BOXES_MAX - s->inside_count;

	return (most < READY_MAX ? most : READY_MAX) - s->ready_count;
}

/* A file of the profile or the workspace may have changed. */
static void look(struct shelf *s, int64_t now_ms)
{
	if (s->plan && !is_current(s, now_ms))
		take_down(s);
}

void shelf_look(struct shelf *s, const char *session, uint64_t number, int64_t now_ms)
{
	if (strcmp(s->session, session) != 0)
		return;
	look(s, now_ms);
	s->looked_for = number;
	s->looked_at = now_ms;
}

bool shelf_hand_out(struct shelf *s, const struct keeper_packet *packet, uint64_t number,
                    int64_t now_ms)
{
	if (number == 0 || s->looked_for != number || now_ms - s->looked_at > LOOKED_MS)
		look(s, now_ms);
	/* One that is not counted could have too many beside it. */
	if (s->running_count == RUNNING_MAX)
		return false;
	if (s->plan && s->ready_count == 0 && room(s) > 0)
		(void)make_ready(s); /* later than wanted, but not later than without */
	while (s->ready_count > 0) {
		struct ready first = take_first(s);
		int r;

		make_room(s, 0, 1);
		r = packet_send(first.socket, packet->text, packet->text_bytes, "", 1, packet->fds,
		                packet->count, MSG_DONTWAIT);
		if (r == 0) {
			started(s, first.keeper, first.socket, now_ms);
			return true;
		}
		fd_close(first.socket);
	}
	return false;
}

bool shelf_fill(struct shelf *s, bool calm, int64_t now_ms)
{
	/* Those that run come back, as a rule. */
	int wanted = s->peak + SPARE - s->inside_count, r;

	if (now_ms - s->failed_at < FAILED_MS)
		return false;
	if (s->ready_count >= wanted || room(s) <= 0 ||
	    (!calm && s->ready_count > s->running_count))
		return false;
	r = is_current(s, now_ms) ? 0 : make_box(s, now_ms);
	if (r == 0)
		r = make_ready(s);
	if (r == 0)
		return true;
	if (r != -ENOENT) /* else its first call is still to make the room */
		s->failed_at = now_ms;
	take_down(s);
	return false;
}

bool shelf_shrink(struct shelf *s, int64_t now_ms)
{
	if (s->ready_count <= SPARE)
		return true;
	if (now_ms - s->used_at < SHELF_CROWD_MS)
		return false;
	while (s->ready_count > SPARE)
		fd_close(s->ready[--s->ready_count].socket);
	s->peak = s->running_count;
	make_room(s, 0, 0);
	return true;
}
