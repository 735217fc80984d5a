/*
 * Talking to somebody outside: each attempt sends the word that the driver's listeners wait for,
 * and prints what they answer, which is a secret.
 */
#include "attack.h"
#include <arpa/inet.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HELLO "hello from the box"

static void talk(int fd, const char *what)
{
	struct pollfd p = {fd, POLLIN, 0};

	if (send(fd, HELLO, sizeof(HELLO) - 1, MSG_NOSIGNAL) < 0) {
		no(what);
		return;
	}
	if (poll(&p, 1, 300) > 0)
		show_fd(fd, what);
}

static struct sockaddr_in to4(const char *host, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	                        .sin_port = htons((uint16_t)world_number(port))};

	inet_pton(AF_INET, host, &a.sin_addr);
	return a;
}

static struct sockaddr_in6 to6(const char *host, const char *port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6,
	                         .sin6_port = htons((uint16_t)world_number(port))};

	inet_pton(AF_INET6, host, &a.sin6_addr);
	return a;
}

static void reach(int family, int type, int protocol, const void *to, size_t size, const char *what)
{
	int fd = socket(family, type | SOCK_NONBLOCK, protocol);
	struct pollfd p = {fd, POLLOUT, 0};
	int error = 0;
	socklen_t n = sizeof(error);

	if (fd < 0) {
		no(what);
		return;
	}
	if (connect(fd, to, (socklen_t)size) < 0 && errno != EINPROGRESS) {
		no(what);
	} else {
		poll(&p, 1, 300);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
		errno = error;
		if (error || !(p.revents & POLLOUT))
			no(what);
		else
			talk(fd, what);
	}
	close(fd);
}

static void tcp(void)
{
	struct sockaddr_in lo = to4("127.0.0.1", "tcp4"), host = to4(world("host_ip"), "tcp4");
	struct sockaddr_in any = to4("0.0.0.0", "tcp4"), other = to4("127.9.8.7", "tcp4");
	struct sockaddr_in6 lo6 = to6("::1", "tcp6"), mapped = to6("::ffff:127.0.0.1", "tcp4");

	reach(AF_INET, SOCK_STREAM, 0, &lo, sizeof(lo), "tcp loopback");
	reach(AF_INET, SOCK_STREAM, 0, &host, sizeof(host), "tcp host");
	reach(AF_INET, SOCK_STREAM, 0, &any, sizeof(any), "tcp 0.0.0.0");
	reach(AF_INET, SOCK_STREAM, 0, &other, sizeof(other), "tcp 127.9.8.7");
	reach(AF_INET6, SOCK_STREAM, 0, &lo6, sizeof(lo6), "tcp ::1");
	reach(AF_INET6, SOCK_STREAM, 0, &mapped, sizeof(mapped), "tcp mapped");
}

static void udp(void)
{
	struct sockaddr_in lo = to4("127.0.0.1", "udp4"), host = to4(world("host_ip"), "udp4");
	struct sockaddr_in6 lo6 = to6("::1", "udp6");
	int fd;

	reach(AF_INET, SOCK_DGRAM, 0, &lo, sizeof(lo), "udp loopback");
	reach(AF_INET, SOCK_DGRAM, 0, &host, sizeof(host), "udp host");
	reach(AF_INET6, SOCK_DGRAM, 0, &lo6, sizeof(lo6), "udp ::1");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || sendto(fd, HELLO, 5, 0, (void *)&lo, sizeof(lo)) < 0)
		no("sendto");
}

/* Ways to TCP that do not call connect on a TCP socket. */
static void tcp_sideways(void)
{
	struct sockaddr_in lo = to4("127.0.0.1", "tcp4");
	struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
	int fd;

	reach(AF_INET, SOCK_STREAM, 262, &lo, sizeof(lo), "mptcp");
	reach(AF_INET, SOCK_STREAM, 132, &lo, sizeof(lo), "sctp");
	reach(43, SOCK_STREAM, 0, &lo, sizeof(lo), "smc");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0) {
		no("socket");
		return;
	}
	if (sendto(fd, HELLO, sizeof(HELLO) - 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&lo,
	           sizeof(lo)) < 0)
		no("fast open");
	else
		talk(fd, "fast open");
	connect(fd, &unspecified, sizeof(unspecified));
	connect(fd, (void *)&lo, sizeof(lo));
	talk(fd, "after unspec");
}

/* Being reached is as good as reaching: the driver tries to connect to what is bound here. */
static void listen_outside(void)
{
	struct sockaddr_in any = to4("0.0.0.0", "listen_port");
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), peer;
	struct pollfd p = {fd, POLLIN, 0};

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0) {
		no("listen");
		return;
	}
	printf("listening\n");
	if (poll(&p, 1, 1500) > 0 && (peer = accept(fd, NULL, NULL)) >= 0)
		show_fd(peer, "accepted");
}

static void unix_try(const char *name, bool abstract, int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
	int fd = socket(AF_UNIX, type, 0);

	/* An abstract name begins with a NUL, a path ends with one: the length is the same. */
	snprintf(a.sun_path + (abstract ? 1 : 0), sizeof(a.sun_path) - 1, "%s", name);
	if (fd < 0 || connect(fd, (void *)&a, n) < 0) {
		no(name);
		if (fd >= 0 && type == SOCK_DGRAM &&
		    sendto(fd, HELLO, sizeof(HELLO) - 1, 0, (void *)&a, n) < 0)
			no("sendto");
	} else {
		talk(fd, name);
	}
	if (fd >= 0)
		close(fd);
}

/* One of two sockets that were made for each other can be sent, and led, elsewhere. */
static void unix_pair(const char *name, bool abstract, int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
	int pair[2];

	snprintf(a.sun_path + (abstract ? 1 : 0), sizeof(a.sun_path) - 1, "%s", name);
	if (socketpair(AF_UNIX, type, 0, pair) < 0) {
		no("pair");
		return;
	}
	if (sendto(pair[0], HELLO, sizeof(HELLO) - 1, 0, (void *)&a, n) < 0)
		no("sendto");
	if (connect(pair[0], (void *)&a, n) < 0 || write(pair[0], HELLO, sizeof(HELLO) - 1) < 0)
		no(name);
	close(pair[0]);
	close(pair[1]);
}

static void unix_path(void)
{
	char buf[512];

	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
		unix_pair(world("unix_path"), false, type);
		unix_pair(world("unix_dgram"), false, type);
	}
	unix_try(world("unix_path"), false, SOCK_STREAM);
	unix_try(world("unix_dgram"), false, SOCK_DGRAM);
	snprintf(buf, sizeof(buf), "/proc/self/root%s", world("unix_path"));
	unix_try(buf, false, SOCK_STREAM);
	unlink("s");
	if (symlink(world("unix_path"), "s") == 0)
		unix_try("s", false, SOCK_STREAM);
	unix_try("link-out/sock", false, SOCK_STREAM);
	unix_try("/run/docker.sock", false, SOCK_STREAM);
	unix_try("/run/dbus/system_bus_socket", false, SOCK_STREAM);
	unlink("s");
}

/* A socket that somebody outside bound inside the workspace is the workspace's own; not this one.
 */
static void unix_abstract(void)
{
	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
		unix_pair(world("unix_abstract"), true, type);
		unix_pair(world("unix_abstract_dgram"), true, type);
	}
	unix_try(world("unix_abstract"), true, SOCK_STREAM);
	unix_try(world("unix_abstract_dgram"), true, SOCK_DGRAM);
}

static void vsock(void)
{
	struct sockaddr_vm a = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 1};

	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
		if (type != SOCK_RAW && type != SOCK_RDM)
			told("vsock socket", socket(AF_VSOCK, type, 0));
	reach(AF_VSOCK, SOCK_STREAM, 0, &a, sizeof(a), "vsock");
}

static void crypto(void)
{
	told("AF_ALG", socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static void raw(void)
{
	static const int protocols[] = {IPPROTO_ICMP, IPPROTO_RAW, IPPROTO_TCP, IPPROTO_UDP};

	for (size_t i = 0; i < count_of(protocols); i++) {
		told("raw ip", socket(AF_INET, SOCK_RAW, protocols[i]));
		told("raw ipv6", socket(AF_INET6, SOCK_RAW, protocols[i]));
	}
}

static void packet(void)
{
	told("packet raw", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
	told("packet datagram", socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)));
	told("packet old", socket(AF_INET, SOCK_PACKET, htons(ETH_P_ALL)));
	told("xdp", socket(44, SOCK_RAW, 0));
}

/* Routing answers are harmless in a namespace of one's own; the other families are not needed. */
static void netlink(void)
{
	for (int family = 1; family < 23; family++) {
		int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);

		if (fd >= 0)
			got("netlink family %d", family);
		close(fd);
	}
}

static void other_families(void)
{
	for (int family = 3; family < 64; family++) {
		if (family == AF_INET6 || family == AF_NETLINK || family == AF_PACKET ||
		    family == AF_VSOCK || family == AF_ALG)
			continue;
		for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
			int fd = socket(family, type, 0);

			if (fd >= 0) {
				got("address family %d, type %d", family, type);
				close(fd);
			}
		}
	}
	for (int protocol = 0; protocol < 3; protocol++)
		if (socket(AF_INET, SOCK_SEQPACKET, protocol) >= 0)
			got("seqpacket");
	/* A pair goes through the same families by another call. */
	for (int family = 3; family < 64; family++) {
		int pair[2];

		if (socketpair(family, SOCK_STREAM, 0, pair) == 0)
			got("a pair of family %d", family);
	}
}

static void interfaces(void)
{
	char name[IF_NAMESIZE], line[512];
	FILE *list = fopen("/proc/net/dev", "re");

	for (unsigned i = 1; i < 64; i++)
		if (if_indextoname(i, name) && strcmp(name, "lo") != 0)
			got("sight of interface %s", name);
	/* One line for each, below two of titles. */
	for (int i = 0; list && fgets(line, sizeof(line), list); i++)
		if (i >= 2 && sscanf(line, " %15[^:]", name) == 1 && strcmp(name, "lo") != 0)
			got("sight of interface %s in /proc", name);
	if (list)
		fclose(list);
	show("/proc/net/tcp");
	show("/proc/net/unix");
}

/* Configuring the box's own loopback is no harm to others, but wants rights nobody should have. */
static void administer(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0) {
		no("socket");
		return;
	}
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		no("flags");
	else
		told("set flags", ioctl(fd, SIOCSIFFLAGS, &request));
}

static const struct attempt all[] = {
	{"tcp", tcp},
	{"udp", udp},
	{"tcp_sideways", tcp_sideways},
	{"listen_outside", listen_outside},
	{"unix_path", unix_path},
	{"unix_abstract", unix_abstract},
	{"vsock", vsock},
	{"crypto", crypto},
	{"raw", raw},
	{"packet", packet},
	{"netlink", netlink},
	{"other_families", other_families},
	{"interfaces", interfaces},
	{"administer", administer},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
