#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"

#define BACKLOG         1024
#define INHERITED_FIRST 3
#define INHERITED_MAX   16

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

static int bad(const char *text, struct error *err)
{
	return error_set(err, ERROR_INPUT, EINVAL,
	                 "'%.60s': expected ADDRESS:PORT such as 127.0.0.1:7878 or [::1]:7878",
	                 text);
}

/* Numeric only: no resolver is asked, and a name is not what is listened on. */
static int parse(const char *text, union address *ret, socklen_t *ret_len, struct error *err)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	char host[64] = "127.0.0.1";
	uint64_t number;

	memset(ret, 0, sizeof(*ret));
	if (number_parse_u64(port, &number) < 0 || number > 65535)
		return bad(text, err);
	if (colon && (size_t)(colon - text) >= sizeof(host))
		return bad(text, err);
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "127.0.0.1");
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)number);
		*ret_len = sizeof(ret->v4);
		return 0;
	}
	if (host[0] != '[' || host[strlen(host) - 1] != ']')
		return bad(text, err);
	host[strlen(host) - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) != 1)
		return bad(text, err);
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons((uint16_t)number);
	*ret_len = sizeof(ret->v6);
	return 0;
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return (ntohl(a->v4.sin_addr.s_addr) >> 24) == 127;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static void format(const union address *a, char into[LISTEN_ADDRESS_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof(host));
		snprintf(into, LISTEN_ADDRESS_MAX, "%s:%u", host, ntohs(a->v4.sin_port));
	} else {
		(void)inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof(host));
		snprintf(into, LISTEN_ADDRESS_MAX, "[%s]:%u", host, ntohs(a->v6.sin6_port));
	}
}

int listen_tcp(const char *text, bool remote, char ret_address[LISTEN_ADDRESS_MAX],
               struct error *err)
{
	scoped(fd_closep) int fd = -1;
	union address a;
	socklen_t len = 0;
	int r, one = 1;

	r = parse(text, &a, &len, err);
	if (r < 0)
		return r;
	if (!is_loopback(&a) && !remote)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "'%.60s' can be reached from other machines, and there is no TLS; "
		                 "--allow-remote if something in front of nacre takes care of that",
		                 text);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return error_sys(err, errno, "%.60s", text);
	if (a.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &a.any, &len) < 0)
		return error_sys(err, errno, "%.60s", text);
	format(&a, ret_address);
	return take_fd(&fd);
}

int listen_unix(const char *path, int *ret_lock, struct error *err)
{
	union address a = {.path.sun_family = AF_UNIX};
	scoped(fd_closep) int fd = -1, held = -1;
	char lock[sizeof(a.path.sun_path) + 8];
	mode_t before;
	int r;

	if (strlen(path) >= sizeof(a.path.sun_path))
		return error_set(
			err, ERROR_INPUT, ENAMETOOLONG,
			"'%.150s' is too long for a socket; --unix PATH names a shorter one", path);
	strcpy(a.path.sun_path, path);
	/* Whoever has the lock may take the place; a socket that was left behind has no owner. */
	snprintf(lock, sizeof(lock), "%s.lock", path);
	held = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (held < 0)
		return error_sys(err, errno, "%.150s", lock);
	if (flock(held, LOCK_EX | LOCK_NB) < 0)
		return error_set(
			err, ERROR_INPUT, EADDRINUSE,
			"another server listens on '%.150s'; --unix PATH names another place",
			path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_sys(err, errno, "socket");
	if (unlink(path) < 0 && errno != ENOENT)
		return error_sys(err, errno, "%.150s", path);
	before = umask(0177);
	r = bind(fd, &a.any, sizeof(a.path)) < 0 ? -errno : 0;
	umask(before);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return error_sys(err, r < 0 ? -r : errno, "%.150s", path);
	*ret_lock = take_fd(&held);
	return take_fd(&fd);
}

int listen_inherited(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t n = 0, whose = 0;
	int found = 0;

	if (pid && count && number_parse_u64(pid, &whose) == 0 && whose == (uint64_t)getpid() &&
	    number_parse_u64(count, &n) == 0 && n <= INHERITED_MAX)
		found = (int)n;
	for (int fd = INHERITED_FIRST; fd < INHERITED_FIRST + found; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return found;
}

int listen_look(int fd, enum serve_door *ret_door, char ret_address[LISTEN_ADDRESS_MAX],
                struct error *err)
{
	int listens = 0;
	socklen_t size = sizeof(listens), len = sizeof(union address);
	union address a;

	memset(&a, 0, sizeof(a));
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens ||
	    getsockname(fd, &a.any, &len) < 0)
		return error_set(err, ERROR_INPUT, ENOTSOCK,
		                 "descriptor %d is no socket that listens", fd);
	*ret_door = a.any.sa_family == AF_UNIX ? SERVE_UNIX : SERVE_TCP;
	if (a.any.sa_family == AF_UNIX)
		snprintf(ret_address, LISTEN_ADDRESS_MAX, "%.100s", a.path.sun_path);
	else
		format(&a, ret_address);
	return fd_set_nonblocking(fd);
}

void listen_notify(const char *state)
{
	const char *where = getenv("NOTIFY_SOCKET");
	union address a = {.path.sun_family = AF_UNIX};
	scoped(fd_closep) int fd = -1;
	size_t n = where ? strlen(where) : 0;

	if (n < 2 || n >= sizeof(a.path.sun_path) || (*where != '/' && *where != '@'))
		return;
	memcpy(a.path.sun_path, where, n);
	if (*where == '@') /* in the abstract namespace */
		a.path.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, &a.any,
		             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}
