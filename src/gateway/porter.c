/*
 * A connection is accepted, its other end is dialled on the loopback of the box (127.0.0.1, then
 * ::1: some servers listen on the latter alone), and both are joined. As in connect.c, descriptors
 * are watched for edges, and who has more to move is put on a list.
 */
#include "gateway/porter.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/loop.h"
#include "gateway/confine.h"
#include "gateway/relay.h"
#include "gateway/rules.h"

#define JOINTS_MAX       256
#define DESCRIPTORS_MORE 128 /* pipes, listeners */
#define EDGES            (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

struct porter;

struct port {
	struct loop_source source;
	struct porter *porter;
	int listener;
	uint16_t box;
	bool watched;
};

struct joint {
	struct porter *porter;
	struct joint *next_ready;
	bool ready, open, six;
	uint16_t port;
	struct loop_source outside, inside;
	int outside_fd, inside_fd;
	struct relay up, down;
};

struct porter {
	struct loop *loop;
	struct port ports[NETWORK_PUBLISH_MAX];
	size_t port_count, count;
	struct relay_pool pool;
	struct joint *ready;
	struct loop_timer again;
	struct loop_source owner;
};

static int on_listener(struct loop_source *s, uint32_t events);

/* Those that may not come yet wait in the kernel. */
static void watch_ports(struct porter *p)
{
	bool wanted = p->count < JOINTS_MAX;

	for (size_t i = 0; i < p->port_count; i++) {
		struct port *o = &p->ports[i];

		if (wanted && !o->watched)
			o->watched = loop_add(p->loop, &o->source, o->listener, EPOLLIN,
			                      on_listener, NULL) == 0;
		else if (!wanted && o->watched) {
			loop_remove(&o->source);
			o->watched = false;
		}
	}
}

static void close_end(struct loop_source *s, int fd, bool reset)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (reset && fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	loop_remove(s);
	fd_close(fd);
}

static void joint_end(struct joint *j, bool reset)
{
	struct porter *p = j->porter;

	for (struct joint **at = &p->ready; j->ready && *at; at = &(*at)->next_ready)
		if (*at == j) {
			*at = j->next_ready;
			break;
		}
	relay_stop(&j->up, &p->pool);
	relay_stop(&j->down, &p->pool);
	close_end(&j->outside, j->outside_fd, reset);
	close_end(&j->inside, j->inside_fd, reset);
	free(j);
	p->count--;
	watch_ports(p);
}

static int on_again(struct loop_timer *t);

static void move(struct joint *j)
{
	struct porter *p = j->porter;
	bool more = relay_move(&j->up, &p->pool);

	more |= relay_move(&j->down, &p->pool);
	if (j->up.broken || j->down.broken) {
		joint_end(j, true);
	} else if (j->up.done && j->down.done) {
		joint_end(j, false);
	} else if (more && !j->ready) {
		j->ready = true;
		j->next_ready = p->ready;
		p->ready = j;
		(void)loop_timer_set(p->loop, &p->again, loop_now(p->loop), on_again);
	}
}

static int on_again(struct loop_timer *t)
{
	struct porter *p = container_of(t, struct porter, again);
	struct joint *j = p->ready, *next;

	for (p->ready = NULL; j; j = next) { /* one that moves ends none but itself */
		next = j->next_ready;
		j->ready = false;
		move(j);
	}
	return 0;
}

static int on_inside(struct loop_source *s, uint32_t events);

/* False: it cannot be. */
static bool dial(struct joint *j)
{
	const struct sockaddr_in four = {.sin_family = AF_INET,
	                                 .sin_port = htons(j->port),
	                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
	                                 .sin6_port = htons(j->port),
	                                 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const int one = 1;

	j->inside_fd =
		socket(j->six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (j->inside_fd < 0)
		return false;
	(void)setsockopt(j->inside_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(j->inside_fd,
	            j->six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
	            j->six ? sizeof(six) : sizeof(four)) < 0 &&
	    errno != EINPROGRESS && errno != ECONNREFUSED)
		return false;
	return loop_add(j->porter->loop, &j->inside, j->inside_fd, EDGES, on_inside, NULL) == 0;
}

static void dialled(struct joint *j, uint32_t events)
{
	int sys = 0;
	socklen_t n = sizeof(sys);

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(j->inside_fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
		sys = errno;
	if (sys == 0 && !(events & (EPOLLERR | EPOLLHUP))) {
		j->open = true;
		j->up.from = j->down.to = j->outside_fd;
		j->up.to = j->down.from = j->inside_fd;
		move(j);
		return;
	}
	close_end(&j->inside, take_fd(&j->inside_fd), false);
	if (j->six) {
		joint_end(j, true);
		return;
	}
	j->six = true;
	if (!dial(j))
		joint_end(j, true);
}

static int on_inside(struct loop_source *s, uint32_t events)
{
	struct joint *j = container_of(s, struct joint, inside);

	if (j->open)
		move(j);
	else
		dialled(j, events);
	return 0;
}

static int on_outside(struct loop_source *s, uint32_t events)
{
	struct joint *j = container_of(s, struct joint, outside);

	if (j->open)
		move(j);
	else if (events & (EPOLLERR | EPOLLHUP))
		joint_end(j, true);
	return 0;
}

static int on_listener(struct loop_source *s, uint32_t events)
{
	struct port *o = container_of(s, struct port, source);
	struct porter *p = o->porter;
	int fd = accept4(o->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	const int one = 1;
	struct joint *j;

	(void)events;
	if (fd < 0)
		return 0;
	j = calloc(1, sizeof(*j));
	if (!j) {
		fd_close(fd);
		return 0;
	}
	*j = (struct joint){.porter = p,
	                    .port = o->box,
	                    .outside_fd = fd,
	                    .inside_fd = -1,
	                    .outside.fd = -1,
	                    .inside.fd = -1};
	p->count++;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (loop_add(p->loop, &j->outside, fd, EDGES, on_outside, NULL) < 0 || !dial(j))
		joint_end(j, true);
	else
		watch_ports(p);
	return 0;
}

static int on_owner(struct loop_source *s, uint32_t events)
{
	(void)s;
	(void)events;
	_exit(0); /* the kernel resets what is open */
}

static void detach(const struct porter_wish *w)
{
	int keep[NETWORK_PUBLISH_MAX + 3] = {w->owner, w->user, w->net};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	size_t n = 3;

	(void)prctl(PR_SET_NAME, "nacre-porter", 0, 0, 0);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	for (size_t i = 0; i < w->count; i++)
		keep[n++] = w->ports[i].listener;
	fd_null_standard();
	fd_close_except(keep, n);
}

_Noreturn void porter_main(const struct porter_wish *w)
{
	struct porter *p = calloc(1, sizeof(*p));

	detach(w);
	if (!p || w->count > NETWORK_PUBLISH_MAX || setns(w->user, CLONE_NEWUSER) < 0 ||
	    setns(w->net, CLONE_NEWNET) < 0)
		_exit(1);
	fd_close(w->user);
	fd_close(w->net);
	relay_pool_init(&p->pool);
	(void)gateway_descriptors(2 * JOINTS_MAX + NETWORK_PUBLISH_MAX + DESCRIPTORS_MORE);
	if (loop_new(&p->loop, NULL) < 0 || gateway_confine() < 0 ||
	    loop_add(p->loop, &p->owner, w->owner, EPOLLIN, on_owner, NULL) < 0)
		_exit(1);
	for (size_t i = 0; i < w->count; i++)
		p->ports[p->port_count++] = (struct port){.source.fd = -1,
		                                          .porter = p,
		                                          .listener = w->ports[i].listener,
		                                          .box = w->ports[i].box};
	watch_ports(p);
	(void)loop_run(p->loop);
	_exit(1);
}
