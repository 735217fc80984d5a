/*
 * One packet per keeper: the key of its box and the order as text, the order in a memfd if it is
 * long, and as further descriptors the control socket, the command's input and the directory of all
 * tasks. The launcher answers nothing; a keeper that could not be started shows as a closed control
 * socket.
 */
#include "launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "audit/audit.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "task/order.h"
#include "process/clone.h"
#include "profile/profile.h"
#include "keeper/room.h"
#include "launch/inside.h"
#include "launch/shelf.h"
#include "launch/stay.h"
#include "profile/profile.h"
#include "sandbox/plan.h"

#define KEY_PARTS   9
#define NETS_MAX    64
#define NEW_MS      10000
#define SHELVES_MAX 8
#define CALM_MS     2      /* without a request: then there is time to make more stand by */
#define IDLE_MS     300000 /* a shelf that nobody asks for is given up */
#define LEAVE_MS    1000
#define FIRST_MS    5000 /* until a launcher that stays knows what it stays for */

/* The network of a room: it lives as long as somebody has its descriptors. */
struct net_hold {
	char id[ROOM_ID_SIZE];
	char *state;
	struct sandbox_net net;
	struct profile *profile; /* whose names it serves, if it does */
	int64_t used_at, noted;  /* when a network was made for the room, as far as we know */
};

struct launching {
	int socket;        /* of the server; -1: it stays without one */
	struct stay *stay; /* NULL: it has a server */
	int signals;
	struct net_hold nets[NETS_MAX];
	int net_count;
	int again[2]; /* keepers that stand by once more write their pid to the second */
	struct shelf *shelves[SHELVES_MAX];
	int shelf_count;
};

/* The parts of a key are strings one behind the other; a packet without them is none. How many
 * bytes they have, or 0. */
static size_t read_key(const char *text, size_t n, struct shelf_key *ret_key)
{
	const char *parts[KEY_PARTS];
	size_t at = 0;

	for (int i = 0; i < KEY_PARTS; i++) {
		size_t len = strnlen(text + at, n - at);

		if (at + len == n)
			return 0;
		parts[i] = text + at;
		at += len + 1;
	}
	*ret_key = (struct shelf_key){parts[0], parts[1], parts[2], parts[3], parts[4],
	                              parts[5], parts[6], parts[7], parts[8]};
	return at;
}

static void drop_shelf(struct launching *l, int i)
{
	shelf_free(l->shelves[i]);
	l->shelves[i] = l->shelves[--l->shelf_count];
}

static struct shelf *find_shelf(struct launching *l, const struct shelf_key *key, int64_t now)
{
	int oldest = 0;

	for (int i = 0; i < l->shelf_count; i++) {
		if (shelf_fits(l->shelves[i], key))
			return l->shelves[i];
		if (shelf_used_at(l->shelves[i]) < shelf_used_at(l->shelves[oldest]))
			oldest = i;
	}
	if (l->shelf_count == SHELVES_MAX)
		drop_shelf(l, oldest);
	l->shelves[l->shelf_count] = shelf_new(key, l->again[1], now);
	if (l->stay)
		stay_watch_rooms(l->stay, key->state);
	return l->shelves[l->shelf_count] ? l->shelves[l->shelf_count++] : NULL;
}

static void drop_net(struct launching *l, int i)
{
	sandbox_net_done(&l->nets[i].net);
	profile_free(l->nets[i].profile);
	free(l->nets[i].state);
	l->nets[i] = l->nets[--l->net_count];
}

/* A room that has ended has no record. */
static bool room_is_there(const char *state, const char *id)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/rooms/%s.json", state, id) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

/* The keeper of the first call may still be making it. */
static void drop_ended_nets(struct launching *l, int64_t now)
{
	for (int i = l->net_count; i-- > 0;)
		if (now - l->nets[i].used_at > NEW_MS &&
		    !room_is_there(l->nets[i].state, l->nets[i].id))
			drop_net(l, i);
}

static bool has_same_user(const struct sandbox_net *net, const char *workspace)
{
	uid_t uid;
	gid_t gid;

	sandbox_net_user(workspace, &uid, &gid);
	return net->uid == uid && net->gid == gid;
}

static struct keeper_net_wish wish_of(const struct net_hold *hold, const struct shelf_key *key)
{
	struct keeper_net_wish wish = {.state = key->state,
	                               .id = key->room,
	                               .workspace = key->workspace,
	                               .principal = *key->principal ? key->principal : NULL,
	                               .session = key->session};

	if (hold->profile->sandbox.network == SANDBOX_NETWORK_NAMES)
		wish.profile = hold->profile;
	return wish;
}

/* Another server, or a call without one, may have made a network for the same room while nothing
 * ran in ours. If a task runs in that, it is the room's. */
static void follow_room(struct net_hold *hold, const struct shelf_key *key)
{
	const struct keeper_net_wish wish = wish_of(hold, key);
	int64_t noted = room_net_noted(hold->state, hold->id);
	struct sandbox_net other = SANDBOX_NET_NONE;

	if (noted == hold->noted)
		return;
	hold->noted = noted;
	if (keeper_net_find(&wish, hold->net.net, &other) < 0)
		return;
	sandbox_net_done(&hold->net);
	hold->net = other;
}

static int take_net(struct net_hold *hold, const struct shelf_key *key)
{
	struct keeper_net_wish wish;

	hold->profile = shelf_profile(key);
	if (!hold->profile)
		return -ENOENT;
	wish = wish_of(hold, key);
	return keeper_net_take(&wish, NULL, &hold->net);
}

/* Of a room, from its first call on; NULL: it has none. */
static const struct sandbox_net *find_net(struct launching *l, const struct shelf_key *key,
                                          int64_t now)
{
	struct net_hold *hold;
	int oldest = 0;

	if (!room_id_is_valid(key->room))
		return NULL;
	for (int i = l->net_count; i-- > 0;) {
		hold = &l->nets[i];
		if (strcmp(hold->id, key->room) == 0) {
			if ((now - hold->used_at < NEW_MS ||
			     room_is_there(key->state, key->room)) &&
			    has_same_user(&hold->net, key->workspace) &&
			    (!hold->net.named || profile_is_current(hold->profile))) {
				hold->used_at = now;
				follow_room(hold, key);
				return &hold->net;
			}
			drop_net(l, i);
		}
	}
	for (int i = 0; i < l->net_count; i++)
		if (l->nets[i].used_at < l->nets[oldest].used_at)
			oldest = i;
	if (l->net_count == NETS_MAX)
		drop_net(l, oldest);
	hold = &l->nets[l->net_count];
	*hold = (struct net_hold){.used_at = now, .state = strdup(key->state)};
	memcpy(hold->id, key->room, sizeof(hold->id));
	if (!hold->state || take_net(hold, key) < 0) {
		profile_free(hold->profile);
		free(hold->state);
		return NULL;
	}
	hold->noted = room_net_noted(key->state, key->room);
	l->net_count++;
	return &hold->net;
}

/* The shelf for what is asked for, and the network of its room; NULL: there is none. */
static struct shelf *choose_shelf(struct launching *l, const struct shelf_key *key, int64_t now,
                                  const struct sandbox_net **ret_net)
{
	struct shelf *shelf;

	*ret_net = NULL;
	if (!*key->workspace) /* the key was too long: there is no box for it, only a keeper */
		return NULL;
	shelf = find_shelf(l, key, now);
	*ret_net = find_net(l, key, now);
	if (shelf && *ret_net)
		shelf_share_net(shelf, *ret_net);
	return shelf;
}

/* PACKET as it came, with the key in front of its text. */
static void start_keeper(struct launching *l, struct keeper_packet *packet)
{
	int64_t now = clock_now_ms();
	struct shelf *shelf;
	struct shelf_key key;
	size_t key_bytes = read_key(packet->text, packet->text_bytes, &key);
	int pidfd = -1;
	pid_t pid;

	if (key_bytes == 0)
		return;
	packet->text += key_bytes;
	packet->text_bytes -= key_bytes;
	shelf = choose_shelf(l, &key, now, &packet->net);
	if (shelf && shelf_hand_out(shelf, packet, 0, now))
		return;
	pid = process_clone(&pidfd);
	if (pid == 0)
		keeper_launched(packet);
	fd_close(pidfd);
	if (pid > 0 && shelf)
		shelf_started(shelf, pid, now);
}

/* False: the server is gone. */
static bool take_packet(struct launching *l)
{
	int fds[PACKET_FDS_MAX];
	char text[LAUNCHER_KEY_MAX + KEEPER_PACKET_MAX];
	struct keeper_packet packet = {.fds = fds, .text = text};
	ssize_t n = packet_receive(l->socket, text, sizeof(text), fds, &packet.count, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EBADMSG)
		return true;
	packet.text_bytes = n > 0 ? (size_t)n : 0;
	if (n > 0 && (packet.count == KEEPER_FD_TASKS || packet.count == KEEPER_FD_MAX))
		start_keeper(l, &packet);
	for (size_t i = 0; i < packet.count; i++)
		fd_close(fds[i]);
	return n > 0;
}

/* A guest gets a keeper that stands by, who will read the order from it. Without one it sees the
 * end of its connection, and starts its own. */
static void offer_keeper(struct launching *l, const char *text, size_t bytes, int guest,
                         uint64_t number)
{
	int64_t now = clock_now_ms();
	const struct sandbox_net *net;
	struct shelf *shelf = NULL;
	struct shelf_key key;

	if (read_key(text, bytes, &key) > 0)
		shelf = choose_shelf(l, &key, now, &net);
	if (!shelf)
		return;
	shelf_touch(shelf, now);
	if (guest >= 0)
		(void)shelf_hand_out(shelf,
		                     &(struct keeper_packet){.fds = &guest, .count = 1, .text = ""},
		                     number, now);
}

/* A call has begun: while it decides, we look whether its box is still valid. */
static void look_ahead(struct launching *l, const char *session, uint64_t number)
{
	int64_t now = clock_now_ms();

	for (int i = 0; i < l->shelf_count; i++)
		shelf_look(l->shelves[i], session, number, now);
}

/* Not one that serves names: whose rules they are is not asked for here. */
static void hand_out_net(const struct launching *l, const char *room, int guest)
{
	const struct standby_info info = {.pid = getpid()};

	for (int i = 0; i < l->net_count; i++)
		if (strcmp(l->nets[i].id, room) == 0 && !l->nets[i].net.named)
			(void)packet_send(guest, &info, sizeof(info), NULL, 0,
			                  (const int[]){l->nets[i].net.user, l->nets[i].net.net}, 2,
			                  MSG_DONTWAIT);
}

static void tell_of_room(const struct launching *l, const char *room, int guest)
{
	struct standby_info info = {.pid = getpid()};

	for (int i = 0; i < l->shelf_count; i++)
		if (shelf_is_of_room(l->shelves[i], room)) {
			shelf_count(l->shelves[i], &info.ready, &info.running);
			(void)packet_put(guest, &info, sizeof(info), MSG_DONTWAIT);
			return;
		}
}

static void take_guest(void *owner, const struct stay_packet *p)
{
	switch (p->kind) {
	case STANDBY_COME:
		look_ahead(owner, p->text, p->number);
		break;
	case STANDBY_KEEPER:
		offer_keeper(owner, p->text, p->bytes, p->guest, p->number);
		break;
	case STANDBY_ROOM:
		hand_out_net(owner, p->text, p->guest);
		break;
	case STANDBY_LOOK:
		tell_of_room(owner, p->text, p->guest);
		break;
	}
}

/* Whose keeper has ended gets a new one to stand by. False: we were asked to end. */
static bool reap(struct launching *l)
{
	struct signalfd_siginfo info;
	bool goes_on = true;
	pid_t pid;

	/* Signals are merged: the children are asked in any case. */
	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		goes_on = goes_on && info.ssi_signo == SIGCHLD;
	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		for (int i = 0; i < l->shelf_count; i++)
			if (shelf_ended(l->shelves[i], pid))
				break;
	return goes_on;
}

static void take_back(struct launching *l)
{
	pid_t pid;

	while (packet_get(l->again[0], &pid, sizeof(pid), MSG_DONTWAIT) == (ssize_t)sizeof(pid))
		for (int i = 0; i < l->shelf_count; i++)
			if (shelf_returned(l->shelves[i], pid))
				break;
}

/* Makes one keeper more stand by. False: there are enough. */
static bool fill(struct launching *l, bool calm)
{
	int64_t now = clock_now_ms();

	for (int i = 0; i < l->shelf_count; i++)
		if (shelf_fill(l->shelves[i], calm, now))
			return true;
	return false;
}

static int64_t idle_limit(const struct launching *l, const struct shelf *s)
{
	return l->stay ? shelf_stays_ms(s) : IDLE_MS;
}

/* When it is to be called again, in milliseconds; -1: after the next request. */
static int drop_idle(struct launching *l)
{
	int64_t now = clock_now_ms(), next = -1;

	drop_ended_nets(l, now);
	for (int i = l->shelf_count; i-- > 0;) {
		struct shelf *s = l->shelves[i];
		int64_t left = idle_limit(l, s) - (now - shelf_used_at(s));

		if (left < 0 || (l->stay && shelf_has_failed(s, now))) {
			drop_shelf(l, i);
			continue;
		}
		left = shelf_shrink(s, now) ? left + 1 : SHELF_CROWD_MS;
		if (next < 0 || left < next)
			next = left;
	}
	return next > IDLE_MS / 4 ? IDLE_MS / 4 : (int)next;
}

/* Those that waited for an order are ending. Not every host has a first process that reaps. */
static void reap_last(void)
{
	int64_t end = clock_now_ms() + LEAVE_MS;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) >= 0 && clock_now_ms() < end)
		if (pid == 0)
			(void)poll(NULL, 0, CALM_MS);
}

/* The keepers that run go on without us. */
static _Noreturn void leave(struct launching *l)
{
	if (l->stay)
		stay_close(l->stay);
	while (l->shelf_count > 0)
		drop_shelf(l, 0);
	if (l->stay) /* nobody waits for our end */
		reap_last();
	_exit(0);
}

/* Shelves of rooms that have ended: what is in their boxes was removed. */
static void drop_ended_shelves(struct launching *l)
{
	for (int i = l->shelf_count; i-- > 0;)
		if (shelf_room_has_ended(l->shelves[i]))
			drop_shelf(l, i);
}

static int watch_signals(bool ends)
{
	static const int ending[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, fallback = {.sa_handler = SIG_DFL};
	sigset_t set;

	for (int s = 1; s < 32; s++)
		if (s != SIGSEGV && s != SIGBUS && s != SIGABRT && s != SIGILL && s != SIGFPE)
			(void)sigaction(s, &ignore, NULL);
	(void)sigaction(SIGCHLD, &fallback, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; ends && i < array_size(ending); i++)
		sigaddset(&set, ending[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void settle(struct launching *l)
{
	int kept[1 + STAY_FDS] = {l->socket, -1, -1, -1};

	(void)prctl(PR_SET_NAME, "nacre-launcher", 0, 0, 0);
	(void)setsid();
	if (l->stay)
		stay_fds(l->stay, kept + 1);
	if (l->stay && chdir("/") < 0) { /* no file system is kept busy by us */
	}
	fd_close_except(kept, array_size(kept));
	audit_prepare();
	fd_null_standard(); /* a reader of nacre's output must not wait for us */
	l->signals = watch_signals(l->stay != NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, l->again) < 0)
		l->again[0] = l->again[1] = -1; /* then each keeper has one command only */
}

/* Whether there were any. */
static bool serve_guests(struct launching *l, const struct pollfd *polled)
{
	bool removed = false, asked = false;

	for (int i = 0; i < STAY_POLL_MAX; i++)
		asked |= polled[i].revents != 0;
	if (!asked && !stay_has_guests(l->stay))
		return false;
	if (!stay_serve(l->stay, polled, take_guest, l, &removed))
		leave(l);
	if (removed)
		drop_ended_shelves(l);
	return asked;
}

static _Noreturn void launcher_loop(struct launching *l)
{
	struct pollfd fds[3 + STAY_POLL_MAX];
	int n, next = l->stay ? CALM_MS : -1;
	bool asked;

	for (;;) {
		fds[0] = (struct pollfd){.fd = l->socket, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = l->signals, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = l->again[0], .events = POLLIN};
		if (l->stay)
			stay_watch(l->stay, fds + 3);
		n = poll(fds, l->stay ? array_size(fds) : 3, next);
		if (n < 0)
			continue;
		if (fds[2].revents)
			take_back(l);
		/* Then requests: somebody waits for them. */
		if (fds[0].revents && !take_packet(l))
			leave(l);
		asked = fds[0].revents != 0;
		if (l->stay)
			asked = serve_guests(l, fds + 3);
		if (fds[1].revents && !reap(l))
			leave(l);
		next = drop_idle(l);
		if (l->stay && l->shelf_count == 0 && !stay_has_guests(l->stay))
			leave(l);
		if (fill(l, n == 0) || asked || fds[1].revents)
			next = CALM_MS;
	}
}

static _Noreturn void launcher_main(int socket)
{
	struct launching l = {.socket = socket};

	settle(&l);
	launcher_loop(&l);
}

int launcher_serve(int socket, const char *version)
{
	int kept = fcntl(socket, F_DUPFD_CLOEXEC, 3);

	if (kept < 0)
		return -errno;
	/* Before a word of an order is read: another version may mean something else by it. */
	if (packet_send(kept, NACRE_VERSION, strlen(NACRE_VERSION), NULL, 0, NULL, 0,
	                MSG_NOSIGNAL) < 0 ||
	    strcmp(version, NACRE_VERSION) != 0)
		return -EPROTO;
	launcher_main(kept);
}

/* The name of our socket, and the key of the call that has left us behind. */
int launcher_stay(int socket, const char *version)
{
	struct launching l = {.socket = -1};
	struct pollfd first = {.fd = socket, .events = POLLIN};
	char text[STANDBY_NAME_MAX + 1 + LAUNCHER_KEY_MAX];
	int fds[PACKET_FDS_MAX], r;
	struct shelf_key key;
	struct stay stay;
	size_t count = 0, name;
	ssize_t n;

	if (strcmp(version, NACRE_VERSION) != 0)
		return -EPROTO;
	if (poll(&first, 1, FIRST_MS) <= 0)
		return -ETIMEDOUT;
	n = packet_receive(socket, text, sizeof(text), fds, &count, MSG_DONTWAIT);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	name = n > 0 ? strnlen(text, (size_t)n) + 1 : 0;
	if (n <= 0 || name >= (size_t)n || read_key(text + name, (size_t)n - name, &key) == 0)
		return -EPROTO;
	r = stay_open(&stay, key.state, text);
	if (r < 0)
		return r;
	l.stay = &stay;
	settle(&l);
	offer_keeper(&l, text + name, (size_t)n - name, -1, 0);
	launcher_loop(&l);
}

int launcher_start(struct launcher *ret_launcher, struct error *err)
{
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int theirs = -1;
	int sockets[2], pidfd = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_sys(err, errno, "socket pair for the launcher");
	ours = sockets[0];
	theirs = sockets[1];
	pid = process_clone(&pidfd);
	if (pid == 0)
		launcher_main(theirs);
	if (pid < 0)
		return error_sys(err, (int)-pid, "starting the launcher");
	*ret_launcher = (struct launcher){.socket = take_fd(&ours), .pid = pid, .pidfd = pidfd};
	return 0;
}

void launcher_done(struct launcher *l)
{
	struct pollfd end = {.fd = l->pidfd, .events = POLLIN};

	if (l->socket < 0)
		return;
	fd_close(take_fd(&l->socket)); /* end of file: it leaves */
	if (l->pid > 0)
		(void)waitpid(l->pid, NULL, 0);
	else if (poll(&end, 1, LEAVE_MS) > 0) /* a host that is a subreaper has got it as a child */
		(void)waitid(P_PIDFD, (id_t)l->pidfd, &(siginfo_t){0}, WEXITED | WNOHANG);
	fd_close(take_fd(&l->pidfd));
}

int launcher_key_write(const struct keeper_order *order, const struct profile *profile,
                       struct buffer *key)
{
	const struct keeper_request *rq = &order->request;
	struct room_key room = {order->principal, rq->session,     NULL,
	                        rq->agent,        rq->policy_file, rq->workspace};
	char id[ROOM_ID_SIZE] = "";
	const char *const parts[KEY_PARTS] = {rq->profile,   rq->agent,        rq->policy_file,
	                                      rq->workspace, rq->root,         rq->state,
	                                      rq->session,   order->principal, id};

	if (profile && keeper_room_wanted(profile, rq->state, rq->session) &&
	    keeper_net_wanted(profile)) {
		room.profile = profile->name;
		room_id(&room, id);
	}
	for (int i = 0; i < KEY_PARTS; i++) {
		buffer_puts(key, parts[i] ? parts[i] : "");
		buffer_putc(key, '\0');
	}
	/* A box that waits has the workspace itself, and no view of it. */
	if (buffer_error(key) == 0 && !order->dry_run && !order->undoable)
		return 0;
	/* Longer than a packet: there is no box for it, only a keeper. */
	buffer_done(key);
	*key = (struct buffer){.max = LAUNCHER_KEY_MAX};
	for (int i = 0; i < KEY_PARTS; i++)
		buffer_putc(key, '\0');
	return buffer_error(key);
}

/* The socket alone does not tell: what the launcher forked last holds the other end until it has
 * closed what it does not need, and an order sent in between would reach nobody. */
static bool ended(const struct launcher *l)
{
	struct pollfd end = {.fd = l->pidfd, .events = POLLIN};

	return l->socket < 0 || poll(&end, 1, 0) > 0;
}

int launcher_spawn(struct launcher *l, const struct keeper_fds *fds,
                   const struct keeper_order *order, const char *text, size_t text_bytes,
                   struct error *err)
{
	bool fits = text_bytes < KEEPER_PACKET_MAX; /* and the NUL behind it */
	scoped(fd_closep) int file = fits ? -1 : memfd_create("nacre-order", MFD_CLOEXEC);
	scoped(buffer_donep) struct buffer key = {.max = LAUNCHER_KEY_MAX};
	int wire[KEEPER_FD_MAX];
	size_t count = keeper_fds_list(fds, fits ? fds->input : file, wire);
	int r;

	if (!fits && (file < 0 || fd_write_all(file, text, text_bytes) < 0))
		return error_sys(err, errno, "memory for an order");
	if (!fits)
		text_bytes = 0;
	if (launcher_key_write(order, order->profile, &key) < 0)
		return error_nomem(err);
	/* Without one the last attempt to start one has failed. */
	r = ended(l) ? -EPIPE
	             : packet_send(l->socket, key.data, key.len, text, text_bytes, wire, count,
	                           MSG_NOSIGNAL);
	if (r == -EPIPE || r == -ECONNRESET) {
		/* Forking from here may be slow by now, but it is once. */
		launcher_done(l);
		r = l->program ? launcher_execute(l->program, l, err) : launcher_start(l, err);
		if (r < 0)
			return r;
		r = packet_send(l->socket, key.data, key.len, text, text_bytes, wire, count,
		                MSG_NOSIGNAL);
	}
	return r < 0 ? error_sys(err, -r, "the launcher does not answer") : 0;
}
