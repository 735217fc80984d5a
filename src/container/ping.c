#include "container/ping.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"

#define ANSWER_MAX 4096
#define RETRY_MS   20

static const char request[] = "GET /_ping HTTP/1.0\r\nHost: docker\r\nUser-Agent: nacre\r\n\r\n";

const char *docker_state_name(enum docker_state state)
{
	static const char *const names[DOCKER_STATE_MAX] = {
		[DOCKER_READY] = "ready",         [DOCKER_STARTING] = "starting",
		[DOCKER_ABSENT] = "absent",       [DOCKER_STALE] = "stale",
		[DOCKER_FORBIDDEN] = "forbidden", [DOCKER_HUNG] = "hung",
		[DOCKER_STRANGE] = "strange",     [DOCKER_UNCHECKED] = "unchecked",
	};

	return names[state];
}

/* The value of a header, as far as it is made of characters that a name and a version have. */
static void copy_header(const char *bytes, size_t n, const char *name, char *into, size_t size)
{
	size_t len = strlen(name), at = 0;

	for (const char *line = bytes, *end = bytes + n; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		const char *stop = next ? next : end;

		if ((size_t)(stop - line) > len && strncasecmp(line, name, len) == 0) {
			const char *c = line + len;

			while (c < stop && *c == ' ')
				c++;
			while (c < stop && at + 1 < size && *c > ' ' && *c < 0x7f)
				into[at++] = *c++;
			break;
		}
		if (!next || stop - line <= 1) /* the headers are over */
			break;
		line = next + 1;
	}
	into[at] = '\0';
}

void docker_ping_read(const char *bytes, size_t n, struct docker_answer *ret_answer)
{
	struct docker_answer a = {.state = DOCKER_STRANGE};
	/* "HTTP/1.x NNN" */
	bool is_http = n >= 12 && memcmp(bytes, "HTTP/1.", 7) == 0 && bytes[8] == ' ';

	if (n == 0)
		a.state = DOCKER_STARTING; /* it took the connection and let it go */
	if (is_http) {
		copy_header(bytes, n, "Server:", a.engine, sizeof(a.engine));
		copy_header(bytes, n, "Api-Version:", a.api, sizeof(a.api));
		if (memcmp(bytes + 9, "200", 3) == 0 && a.api[0])
			a.state = DOCKER_READY;
		else if (bytes[9] == '5')
			a.state = DOCKER_STARTING;
		else if (memcmp(bytes + 9, "403", 3) == 0)
			a.state = DOCKER_FORBIDDEN;
	}
	*ret_answer = a;
}

static enum docker_state state_of(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return DOCKER_ABSENT;
	case EACCES:
	case EPERM:
		return DOCKER_FORBIDDEN;
	case EAGAIN: /* more wait to be taken than it has room for */
	case EINPROGRESS:
		return DOCKER_HUNG;
	default: /* ECONNREFUSED; also where the path is no socket */
		return DOCKER_STALE;
	}
}

/* 0, or a negative errno; a full queue is tried again until the deadline. */
static int reach(int fd, const char *path, int64_t deadline)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENOENT;
	memcpy(address.sun_path, path, strlen(path) + 1);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == EISCONN)
			break;
		if ((errno != EAGAIN && errno != EINTR) || clock_now_ms() >= deadline)
			return -errno;
		(void)poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

/* Reads to the end, or as much as matters. False: the time is over. */
static bool listen_to(int fd, int64_t deadline, char *into, size_t *ret_n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left;
	ssize_t n;

	for (*ret_n = 0; *ret_n < ANSWER_MAX; *ret_n += (size_t)n) {
		left = deadline - clock_now_ms();
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return false;
		n = recv(fd, into + *ret_n, ANSWER_MAX - *ret_n, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			n = 0;
		else if (n <= 0)
			break;
		/* A peer that keeps the connection open has said all that matters here. */
		if (memmem(into, *ret_n + (size_t)n, "\r\n\r\n", 4)) {
			*ret_n += (size_t)n;
			break;
		}
	}
	return true;
}

static bool is_young(const char *path, int64_t young_ms)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	return clock_wall_ms() -
	               ((int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000) <
	       young_ms;
}

void docker_ping(const char *path, int64_t timeout_ms, int64_t young_ms,
                 struct docker_answer *ret_answer)
{
	int64_t deadline = clock_now_ms() + (timeout_ms < INT32_MAX ? timeout_ms : INT32_MAX);
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct docker_answer a = {.state = DOCKER_HUNG};
	char bytes[ANSWER_MAX];
	size_t n;
	int r = fd < 0 ? -errno : reach(fd, path, deadline);

	if (r < 0)
		a.state = state_of(-r);
	else if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		a.state = errno == EPIPE ? DOCKER_STARTING : DOCKER_HUNG;
	else if (listen_to(fd, deadline, bytes, &n))
		docker_ping_read(bytes, n, &a);
	if (a.state == DOCKER_HUNG && is_young(path, young_ms))
		a.state = DOCKER_STARTING;
	*ret_answer = a;
}

int docker_request(const char *path, const char *method, const char *target, int64_t timeout_ms,
                   struct buffer *into)
{
	int64_t deadline = clock_now_ms() + timeout_ms, left;
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[ANSWER_MAX];
	int n = snprintf(bytes, sizeof(bytes), "%s %s HTTP/1.0\r\nHost: docker\r\n\r\n", method,
	                 target);
	int r = fd < 0 ? -errno : reach(fd, path, deadline);
	ssize_t got;

	if (r == 0 && send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
		r = -EPIPE;
	while (r == 0) {
		left = deadline - clock_now_ms();
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -ETIMEDOUT;
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got == 0)
			break;
		if (got > 0)
			buffer_append(into, bytes, (size_t)got);
		else if (errno != EAGAIN && errno != EINTR)
			r = -errno;
		if (r == 0)
			r = buffer_error(into);
	}
	return r;
}
