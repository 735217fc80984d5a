/*
 * The doors of a network by name, by each of the three ways: a connection to any address and port
 * ends at a listener that tells where it was going. Needs user and network namespaces.
 */
#include "base/test-support.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/doors.h"

#define ORIGINAL_TO 80 /* SO_ORIGINAL_DST */

static bool write_file(const char *path, const char *text)
{
	scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool enter(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (!write_file("/proc/self/uid_map", map))
		return false;
	(void)write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", map);
}

static int dial(const char *address, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		fd_close(fd);
		return -errno;
	}
	return fd;
}

/* 0: a listener got it and knows where it was going. */
static int reaches(const struct sandbox_doors *d, const char *address, uint16_t port)
{
	scoped(fd_closep) int client = dial(address, port);
	struct pollfd fds[SANDBOX_DOORS_TCP];
	struct sockaddr_in to = {0};
	socklen_t n = sizeof(to);
	char text[INET_ADDRSTRLEN];

	if (client < 0)
		return 1;
	for (size_t i = 0; i < d->tcp_count; i++)
		fds[i] = (struct pollfd){.fd = d->tcp[i], .events = POLLIN};
	if (poll(fds, d->tcp_count, TEST_PATIENCE_MS) < 1)
		return 2;
	for (size_t i = 0; i < d->tcp_count; i++) {
		scoped(fd_closep) int fd = -1;

		if (!fds[i].revents)
			continue;
		fd = accept4(d->tcp[i], NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return 3;
		if (d->way == SANDBOX_WAY_REDIRECT
		            ? getsockopt(fd, SOL_IP, ORIGINAL_TO, &to, &n) < 0
		            : getsockname(fd, (struct sockaddr *)&to, &n) < 0)
			return 4;
		inet_ntop(AF_INET, &to.sin_addr, text, sizeof(text));
		return strcmp(text, address) == 0 && ntohs(to.sin_port) == port ? 0 : 5;
	}
	return 6;
}

static int try_way(enum sandbox_way way)
{
	const struct sandbox_ports ports = {.items = {80, 443}, .count = 2};
	struct sandbox_doors d;

	if (!enter())
		return 77;
	if (doors_open(way, &ports, &d) < 0 || d.way != way)
		return 78;
	if (reaches(&d, "198.18.7.7", 443) || reaches(&d, "203.0.113.9", 80))
		return 10;
	if (way != SANDBOX_WAY_PORTS && reaches(&d, "198.18.7.7", 54321))
		return 11;
	/* Loopback is the box's own, and nobody listens there. */
	if (way != SANDBOX_WAY_PORTS && dial("127.0.0.1", 443) != -ECONNREFUSED)
		return 12;
	doors_close(&d);
	/* Without the listeners everything is refused: nothing leaks past the rule. */
	return dial("198.18.7.7", 443) == -ECONNREFUSED ? 0 : 13;
}

static void expect(enum sandbox_way way)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try_way(way));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 78)
		skip(); /* the kernel has no such namespaces, or not this way */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void tproxy_catches_every_port(void **state)
{
	(void)state;
	expect(SANDBOX_WAY_TPROXY);
}

static void redirect_catches_every_port(void **state)
{
	(void)state;
	expect(SANDBOX_WAY_REDIRECT);
}

static void listeners_catch_the_ports_of_the_policy(void **state)
{
	(void)state;
	expect(SANDBOX_WAY_PORTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tproxy_catches_every_port),
		cmocka_unit_test(redirect_catches_every_port),
		cmocka_unit_test(listeners_catch_the_ports_of_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
