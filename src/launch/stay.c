/*
 * Whoever may connect may have a command started. So the socket lies in a private directory, which
 * no box has; the kernel says that the guest is the same user; and a guest who wants a keeper has
 * the same heritage as we have, by what /proc says about it. A process in a box of whatever kind
 * differs in its namespaces, its filter or no_new_privs.
 *
 * One lock, on the directory, is held while a socket is made or removed. A socket that nobody
 * listens on was left by SIGKILL, and goes when the next launcher begins.
 */
#include "launch/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/packet.h"
#include "launch/heritage.h"

#define LAUNCHERS_MAX 8
#define GUEST_MS      2000 /* to say what it wants */
#define PACKET_MAX    16384

struct census {
	const char *name;
	int others;
	bool taken;
};

/* One that is too busy to be connected to lives. */
static int count(void *context, int dir, const char *name)
{
	struct census *c = context;
	scoped(fd_closep) int fd = standby_connect(dir, name);

	if (fd < 0 && fd != -EAGAIN)
		(void)unlinkat(dir, name, 0);
	else if (strcmp(name, c->name) == 0)
		c->taken = true;
	else
		c->others++;
	return 0;
}

/* Under the lock. */
static int bind_socket(struct stay *s)
{
	scoped(fd_closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;

	if (fd < 0)
		return -errno;
	if (snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", s->dir, s->name) >=
	    (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	/* The new file has the mode of the socket: nobody else can connect, not even for a moment.
	 */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	if (listen(fd, STAY_GUESTS_MAX) < 0 ||
	    fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		int sys = errno;

		(void)unlinkat(s->dir, s->name, 0);
		return -sys;
	}
	s->inode = st.st_ino;
	s->socket = take_fd(&fd);
	return 0;
}

int stay_open(struct stay *s, const char *state, const char *name)
{
	struct census c = {.name = name};
	int r;

	*s = (struct stay){.dir = -1, .socket = -1, .watch = -1};
	for (int i = 0; i < STAY_GUESTS_MAX; i++)
		s->guests[i].fd = -1;
	if (strlen(name) > STANDBY_NAME_MAX || strchr(name, '/'))
		return -EINVAL;
	strcpy(s->name, name);
	r = heritage_read(0, &s->heritage);
	if (r < 0)
		return r;
	s->dir = standby_open(state, true);
	r = s->dir < 0 ? s->dir : fd_lock(s->dir);
	if (r < 0)
		return r;
	r = standby_each(s->dir, count, &c);
	if (r == 0 && c.taken)
		r = -EEXIST;
	if (r == 0 && c.others >= LAUNCHERS_MAX)
		r = -EBUSY;
	if (r == 0)
		r = bind_socket(s);
	(void)flock(s->dir, LOCK_UN);
	if (r < 0)
		return r;
	s->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->watch >= 0) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", s->dir);
		(void)inotify_add_watch(s->watch, path,
		                        IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_ONLYDIR);
	}
	return 0;
}

void stay_watch_rooms(struct stay *s, const char *state)
{
	static const char *const places[] = {"rooms", "caches"};
	char path[PATH_MAX];

	for (size_t i = 0; s->watch >= 0 && i < array_size(places); i++)
		if (snprintf(path, sizeof(path), "%s/%s", state, places[i]) < (int)sizeof(path))
			(void)inotify_add_watch(s->watch, path,
			                        IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
}

static bool is_found(const struct stay *s)
{
	struct stat st;

	return fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == s->inode;
}

void stay_close(struct stay *s)
{
	/* Another one may have taken the name; the lock keeps it from doing so in between. */
	if (fd_lock(s->dir) == 0 && is_found(s))
		(void)unlinkat(s->dir, s->name, 0);
	fd_close(take_fd(&s->socket));
	fd_close(take_fd(&s->dir));
	fd_close(take_fd(&s->watch));
	for (int i = 0; i < STAY_GUESTS_MAX; i++)
		fd_close(take_fd(&s->guests[i].fd));
}

void stay_fds(const struct stay *s, int into[STAY_FDS])
{
	into[0] = s->dir;
	into[1] = s->socket;
	into[2] = s->watch;
}

void stay_watch(const struct stay *s, struct pollfd *into)
{
	into[0] = (struct pollfd){.fd = s->socket, .events = POLLIN};
	into[1] = (struct pollfd){.fd = s->watch, .events = POLLIN};
	for (int i = 0; i < STAY_GUESTS_MAX; i++)
		into[2 + i] = (struct pollfd){.fd = s->guests[i].fd, .events = POLLIN};
}

bool stay_has_guests(const struct stay *s)
{
	for (int i = 0; i < STAY_GUESTS_MAX; i++)
		if (s->guests[i].fd >= 0)
			return true;
	return false;
}

static bool is_own_user(int guest, pid_t *ret_pid)
{
	socklen_t n = sizeof(struct ucred);
	struct ucred who;

	if (getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != geteuid())
		return false;
	*ret_pid = who.pid;
	return true;
}

/* A keeper starts what it is told to start: its order comes from a process that could as well start
 * it by itself. All else is only for the same user. */
static bool may_ask(const struct stay *s, struct stay_guest *g, enum standby_kind kind)
{
	struct digest heritage;
	pid_t pid;

	if (!is_own_user(g->fd, &pid))
		return false;
	if (kind == STANDBY_COME)
		g->known = pid > 0 && heritage_read(pid, &heritage) == 0 &&
		           memcmp(&heritage, &s->heritage, sizeof(heritage)) == 0;
	return g->known || kind == STANDBY_ROOM || kind == STANDBY_LOOK;
}

/* False: it will say more. */
static bool hear(const struct stay *s, struct stay_guest *g, stay_take *take, void *owner)
{
	char text[PACKET_MAX + 1];
	int fds[PACKET_FDS_MAX];
	uint32_t kind = 0;
	size_t more = 0;
	ssize_t n = packet_receive(g->fd, text, PACKET_MAX, fds, &more, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return false;
	for (size_t i = 0; i < more; i++) /* nobody sends any */
		fd_close(fds[i]);
	if (n >= (ssize_t)sizeof(kind))
		memcpy(&kind, text, sizeof(kind));
	if (n < (ssize_t)sizeof(kind) || more > 0 || !may_ask(s, g, (enum standby_kind)kind))
		return true;
	text[n] = '\0';
	take(owner, &(struct stay_packet){.kind = (enum standby_kind)kind,
	                                  .text = text + sizeof(kind),
	                                  .bytes = (size_t)n - sizeof(kind),
	                                  .guest = g->fd,
	                                  .number = g->number});
	return kind != STANDBY_COME;
}

/* All places taken: it sees the end of its connection, and goes without us. */
static void welcome(struct stay *s, stay_take *take, void *owner)
{
	scoped(fd_closep) int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = 0; fd >= 0 && i < STAY_GUESTS_MAX; i++) {
		struct stay_guest *g = &s->guests[i];

		if (g->fd >= 0)
			continue;
		*g = (struct stay_guest){.fd = take_fd(&fd),
		                         .until = clock_now_ms() + GUEST_MS,
		                         .number = ++s->guest_count};
		if (hear(s, g, take, owner))
			fd_close(take_fd(&g->fd));
	}
}

static void look_at_guests(struct stay *s, const struct pollfd *polled, stay_take *take,
                           void *owner)
{
	int64_t now = clock_now_ms();

	for (int i = 0; i < STAY_GUESTS_MAX; i++) {
		struct stay_guest *g = &s->guests[i];

		if (g->fd < 0)
			continue;
		if ((polled[i].fd == g->fd && polled[i].revents && hear(s, g, take, owner)) ||
		    now > g->until)
			fd_close(take_fd(&g->fd));
	}
}

bool stay_serve(struct stay *s, const struct pollfd *polled, stay_take *take, void *owner,
                bool *ret_removed)
{
	char events[4096];

	*ret_removed = polled[1].revents != 0;
	if (polled[1].revents)
		while (read(s->watch, events, sizeof(events)) > 0)
			;
	look_at_guests(s, polled + 2, take, owner);
	if (polled[0].revents)
		welcome(s, take, owner);
	return !*ret_removed || is_found(s);
}
