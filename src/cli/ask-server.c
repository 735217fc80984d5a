#include "cli/ask-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "json/read.h"
#include "task/store.h"

#define ANSWER_MAX ((size_t)16 << 20)
#define PATIENCE_S 30

static int default_place(struct server_place *ret, struct error *err)
{
	struct store store;
	char *end;
	int n;

	store_look(&store);
	end = strrchr(store.path, '/');
	n = snprintf(ret->path, sizeof(ret->path), "%.*s/nacre.sock",
	             end ? (int)(end - store.path) : 0, store.path);
	fd_close(take_fd(&store.tasks_fd));
	return end && n > 0 && (size_t)n < sizeof(ret->path)
	               ? 0
	               : error_set(err, ERROR_SYSTEM, ENOENT, "there is no state directory");
}

int server_place_read(const char *text, struct server_place *ret, struct error *err)
{
	const char *rest, *colon;
	uint64_t port;

	*ret = (struct server_place){.token = getenv("NACRE_TOKEN")};
	if (!text)
		return default_place(ret, err);
	if (strncmp(text, "http://", 7) != 0) {
		if (strstr(text, "://"))
			return error_set(
				err, ERROR_INPUT, EINVAL,
				"'%.100s': expected http://HOST:PORT or the path of a socket",
				text);
		if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s", text) >= sizeof(ret->path))
			return error_set(err, ERROR_INPUT, ENAMETOOLONG, "the path is too long");
		return 0;
	}
	rest = text + 7;
	colon = strrchr(rest, ':');
	if (!colon || (size_t)(colon - rest) >= sizeof(ret->host) || colon == rest)
		return error_set(err, ERROR_INPUT, EINVAL, "'%.100s': expected http://HOST:PORT",
		                 text);
	snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(colon - rest), rest);
	{
		char digits[8] = "";
		size_t n = strcspn(colon + 1, "/");

		if (n < sizeof(digits))
			snprintf(digits, sizeof(digits), "%.*s", (int)n, colon + 1);
		if (number_parse_u64(digits, &port) < 0 || port == 0 || port > 65535)
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "'%.100s': expected http://HOST:PORT", text);
	}
	ret->port = (unsigned)port;
	return 0;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return take_fd(&fd);
}

static int connect_tcp(const struct server_place *at)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)at->port)};
	const char *host = strcmp(at->host, "localhost") == 0 ? "127.0.0.1" : at->host;
	size_t n = strlen(host);
	char bare[INET6_ADDRSTRLEN] = "";
	bool is_v4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
	scoped(fd_closep) int fd = -1;

	if (!is_v4 && *host == '[' && n > 2 && n - 2 < sizeof(bare))
		snprintf(bare, sizeof(bare), "%.*s", (int)(n - 2), host + 1);
	if (!is_v4 && inet_pton(AF_INET6, bare, &v6.sin6_addr) != 1)
		return -EINVAL;
	fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
	            is_v4 ? sizeof(v4) : sizeof(v6)) < 0)
		return -errno;
	return take_fd(&fd);
}

static pid_t peer_of(int fd)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

static int exchange(const struct server_place *at, int fd, const char *method, const char *path,
                    const char *body, struct buffer *answer)
{
	scoped(buffer_donep) struct buffer request = {0};
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	buffer_printf(&request, "%s %s HTTP/1.1\r\nConnection: close\r\n", method, path);
	if (*at->path)
		buffer_puts(&request, "Host: localhost\r\n");
	else
		buffer_printf(&request, "Host: %s:%u\r\n", at->host, at->port);
	if (!*at->path && at->token)
		buffer_printf(&request, "Authorization: Bearer %s\r\n", at->token);
	if (body)
		buffer_printf(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		              strlen(body));
	buffer_printf(&request, "\r\n%s", body ? body : "");
	if (buffer_error(&request) < 0)
		return buffer_error(&request);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (send(fd, request.data, request.len, MSG_NOSIGNAL) != (ssize_t)request.len)
		return errno ? -errno : -EIO;
	return fd_read_all(fd, answer);
}

/* The status and the body; what is chunked is not for us: our answers have a length. */
static int read_answer(const struct buffer *answer, json_t **ret_json, struct error *err)
{
	const char *text = buffer_str(answer), *body = strstr(text, "\r\n\r\n"), *words;
	scoped(json_decrefp) json_t *root = NULL;
	long status = strncmp(text, "HTTP/1.1 ", 9) == 0 ? strtol(text + 9, NULL, 10) : 0;
	int r;

	if (status < 200 || !body)
		return error_set(err, ERROR_SYSTEM, EPROTO, "this is no answer of a nacre server");
	body += 4;
	r = json_read(body, answer->len - (size_t)(body - text), ANSWER_MAX, "the answer", &root,
	              err);
	if (r < 0)
		return r;
	words = json_string_value(json_object_get(json_object_get(root, "error"), "message"));
	if (status != 200)
		return error_set(err, ERROR_INPUT, EPROTO, "%.200s",
		                 words ? words : "it was refused");
	*ret_json = take_ptr(&root);
	return 0;
}

int server_ask(const struct server_place *at, const char *method, const char *path,
               const char *body, json_t **ret_json, pid_t *ret_pid, struct error *err)
{
	scoped(buffer_donep) struct buffer answer = {.max = ANSWER_MAX};
	scoped(fd_closep) int fd = *at->path ? connect_unix(at->path) : connect_tcp(at);
	int r;

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return error_set(err, ERROR_INPUT, ECONNREFUSED, "no server listens on %.150s%.80s",
		                 *at->path ? "" : "http://", *at->path ? at->path : at->host);
	if (fd < 0)
		return error_set(err, ERROR_SYSTEM, -fd, "the server cannot be reached: %s",
		                 strerrordesc_np(-fd));
	if (ret_pid)
		*ret_pid = *at->path ? peer_of(fd) : 0;
	r = exchange(at, fd, method, path, body, &answer);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "the server does not answer: %s",
		                 strerrordesc_np(-r));
	return read_answer(&answer, ret_json, err);
}
