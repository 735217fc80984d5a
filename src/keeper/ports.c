#include "keeper/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/porter.h"

#define BACKLOG    128
#define LOOK_MS    200
#define STARTS_MAX 16 /* of porters; then there is something wrong with them */

static int open_one(uint16_t port)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
	                              .sin_port = htons(port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	scoped(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(&fd);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a = {.sin_port = 0};
	socklen_t n = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &n) == 0 ? ntohs(a.sin_port) : 0;
}

static void end_porter(struct ports *p)
{
	if (p->life < 0)
		return;
	(void)kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(take_fd(&p->life));
}

/* Opens what can be. True: there is another one than before. */
static bool look(struct ports *p)
{
	bool more = false;

	p->look_at = INT64_MAX;
	for (size_t i = 0; i < p->count; i++) {
		int fd;

		if (p->list[i].fd >= 0)
			continue;
		fd = open_one(p->list[i].host);
		if (fd >= 0) {
			p->list[i].fd = fd;
			p->list[i].at = port_of(fd);
			more = true;
			continue;
		}
		p->list[i].sys = -fd;
		p->list[i].asked |= doors_listens(p->diag, p->list[i].box);
		p->look_at = clock_now_ms() + LOOK_MS;
	}
	return more;
}

void ports_open(struct ports *p, const struct network_rules *rules, int user, int net,
                const struct sandbox_doors *doors)
{
	*p = PORTS_NONE;
	p->user = user;
	p->net = net;
	p->diag = doors->diag;
	for (size_t i = 0; i < rules->publish_count && i < NETWORK_PUBLISH_MAX; i++, p->count++) {
		p->list[i].host = rules->publish[i].host;
		p->list[i].box = rules->publish[i].box;
		p->list[i].fd = -1;
		p->list[i].sys = 0;
		p->list[i].asked = false;
	}
	(void)look(p);
}

void ports_close(struct ports *p)
{
	end_porter(p);
	for (size_t i = 0; i < p->count; i++)
		fd_close(p->list[i].fd);
	*p = PORTS_NONE;
}

size_t ports_watch(const struct ports *p, struct pollfd into[PORTS_FDS])
{
	size_t n = 0;

	if (p->life >= 0)
		into[n++] = (struct pollfd){.fd = p->life, .events = POLLIN};
	for (size_t i = 0; i < p->count && p->life < 0 && p->starts < STARTS_MAX; i++)
		if (p->list[i].fd >= 0)
			into[n++] = (struct pollfd){.fd = p->list[i].fd, .events = POLLIN};
	return n;
}

int64_t ports_due(const struct ports *p)
{
	return p->look_at;
}

static void start(struct ports *p)
{
	struct porter_port list[NETWORK_PUBLISH_MAX];
	int ends[2];
	struct porter_wish wish = {.ports = list, .user = p->user, .net = p->net};

	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].fd >= 0)
			list[wish.count++] = (struct porter_port){p->list[i].fd, p->list[i].box};
	p->starts++;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	p->pid = fork();
	if (p->pid == 0) {
		wish.owner = ends[1];
		porter_main(&wish);
	}
	fd_close(ends[1]);
	if (p->pid < 0)
		fd_close(ends[0]);
	else
		p->life = ends[0];
}

void ports_turn(struct ports *p, const struct pollfd *polled, size_t count)
{
	bool runs = p->life >= 0, ready = false;

	for (size_t i = 0; i < count; i++)
		ready |= polled[i].revents != 0;
	if (runs && ready)
		end_porter(p); /* it has ended, and is started when somebody comes */
	else if (ready)
		start(p);
	/* One that runs does not know of the new one. Nobody is sent away for that: it is a matter
	 * of the first moments, or of a port that another has held. */
	if (clock_now_ms() >= p->look_at && look(p))
		end_porter(p);
}

void ports_print(const struct ports *p, char *into, size_t size)
{
	size_t used = 0;

	into[0] = '\0';
	for (size_t i = 0; i < p->count && used + 16 < size; i++)
		if (p->list[i].fd >= 0)
			used += (size_t)snprintf(into + used, size - used, "%u %u\n", p->list[i].at,
			                         p->list[i].box);
}

void ports_notice(const struct ports *p, char *into, size_t size)
{
	into[0] = '\0';
	for (size_t i = 0; i < p->count; i++) {
		unsigned host = p->list[i].host, box = p->list[i].box;

		if (p->list[i].fd >= 0 || !p->list[i].asked)
			continue;
		if (p->list[i].sys == EADDRINUSE)
			snprintf(into, size,
			         "port %u is not published, because port %u of the host is in use. "
			         "End what uses it, or give another one: \"PORT:%u\" in "
			         "sandbox.network.publish.",
			         box, host, box);
		else if (p->list[i].sys == EACCES)
			snprintf(into, size,
			         "port %u is not published, because this user may not open port %u "
			         "of the host. Give one from 1024 on: \"PORT:%u\" in "
			         "sandbox.network.publish.",
			         box, host, box);
		else
			snprintf(into, size, "port %u is not published: port %u of the host: %s",
			         box, host, strerrordesc_np(p->list[i].sys));
		return;
	}
}
