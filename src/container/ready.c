#include "container/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "container/tool.h"

#define LOOK_MS     100
#define PROGRESS_MS 1000
#define LOG_TAIL    4096

struct attempt {
	const struct docker_wish *wish;
	int64_t begun, limit, said; /* monotonic */
	int end_fd;                 /* of the command that starts it; -1: none, or it has ended */
};

static const char *engine_of(const struct docker_endpoint *e)
{
	return e->client == DOCKER_CLIENT_PODMAN ? "podman service" : "Docker engine";
}

/* How a person starts it. */
static const char *start_hint(const struct docker_endpoint *e)
{
	if (e->client == DOCKER_CLIENT_DOCKER)
		return strncmp(e->path, "/run/user/", 10) == 0 ? "systemctl --user start docker"
		                                               : "systemctl start docker";
	return geteuid() == 0 ? "systemctl start podman.socket"
	                      : "systemctl --user start podman.socket";
}

int docker_explain(const struct docker_endpoint *e, enum docker_state state, struct error *err)
{
	const char *name = engine_of(e);

	switch (state) {
	case DOCKER_ABSENT:
		return error_set(err, ERROR_UNSUPPORTED, ENOENT,
		                 "the %s at %.100s is not running: start it with `%s`, or set "
		                 "docker.start in the profile",
		                 name, e->url, start_hint(e));
	case DOCKER_STALE:
		return error_set(err, ERROR_UNSUPPORTED, ECONNREFUSED,
		                 "the %s at %.100s has ended and left its socket: start it with "
		                 "`%s`, or set docker.start in the profile",
		                 name, e->url, start_hint(e));
	case DOCKER_FORBIDDEN:
		return error_set(err, ERROR_UNSUPPORTED, EACCES,
		                 "the %s at %.100s does not let this user in: join the group that "
		                 "owns the socket, or set docker.endpoint",
		                 name, e->url);
	case DOCKER_HUNG:
		return error_set(err, ERROR_UNSUPPORTED, ETIMEDOUT,
		                 "the %s at %.100s takes connections and does not answer: look at "
		                 "its log, and restart it",
		                 name, e->url);
	case DOCKER_STARTING:
		return error_set(err, ERROR_UNSUPPORTED, ETIMEDOUT,
		                 "the %s at %.100s is starting and was not ready in time: try "
		                 "again, or raise docker.start_timeout",
		                 name, e->url);
	case DOCKER_STRANGE:
		return error_set(err, ERROR_UNSUPPORTED, EPROTO,
		                 "what answers at %.100s (named by %.60s) is no container engine",
		                 e->url, e->source);
	case DOCKER_READY:
	case DOCKER_UNCHECKED:
	case DOCKER_STATE_MAX:
		break;
	}
	return 0;
}

static enum docker_state look(const struct attempt *a, struct docker_answer *ret_answer)
{
	const struct docker_wish *w = a->wish;

	docker_ping(w->endpoint->path, w->ping_timeout_ms, w->start_timeout_ms, ret_answer);
	return ret_answer->state;
}

static int pause_a_moment(struct attempt *a)
{
	const struct docker_watch *watch = a->wish->watch;
	int64_t now = clock_now_ms();
	char text[DOCKER_URL_MAX + 96], limit[32];

	if (watch && watch->progress && now - a->said >= PROGRESS_MS) {
		a->said = now;
		number_format_duration(a->limit - a->begun, limit);
		snprintf(text, sizeof(text), "waiting for the %s at %.120s (%llds of at most %s)",
		         engine_of(a->wish->endpoint), a->wish->endpoint->url,
		         (long long)(now - a->begun) / 1000, limit);
		watch->progress(watch->owner, text);
	}
	return docker_watch_pause(watch, LOOK_MS);
}

/* Until it answers, is no longer starting, or the time is over. */
static int await(struct attempt *a, struct docker_answer *answer, struct error *err)
{
	while (look(a, answer) == DOCKER_STARTING && clock_now_ms() < a->limit)
		if (pause_a_moment(a) < 0)
			return -ECANCELED;
	return answer->state == DOCKER_READY
	               ? 0
	               : docker_explain(a->wish->endpoint, answer->state, err);
}

/* One file of the state directory for each endpoint. */
static int open_file(const struct docker_wish *w, const char *suffix, int flags)
{
	uint64_t hash = 0xcbf29ce484222325;
	char path[PATH_MAX];

	if (!w->state)
		return -1;
	for (const char *c = w->endpoint->url; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	if ((size_t)snprintf(path, sizeof(path), "%s/engine-%016llx.%s", w->state,
	                     (unsigned long long)hash, suffix) >= sizeof(path))
		return -1;
	return open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The failure of an attempt that ended while we waited for it is ours, too. */
static bool shares_failure(const struct attempt *a, int lock_fd, struct error *err)
{
	char text[sizeof(err->text) + 32], *words;
	ssize_t n = pread(lock_fd, text, sizeof(text) - 1, 0);
	long long ended;

	if (n <= 0)
		return false;
	text[n] = '\0';
	ended = strtoll(text, &words, 10);
	if (words == text || *words != ' ' || !words[1] || ended < a->begun ||
	    ended > clock_now_ms())
		return false;
	(void)error_set(err, ERROR_UNSUPPORTED, ENOTCONN, "%s", words + 1);
	return true;
}

/* What cannot be written is not shared: the next one tries for itself. */
static void note_end(int lock_fd, const char *failure)
{
	char text[sizeof(((struct error *)NULL)->text) + 32];

	snprintf(text, sizeof(text), "%lld %s", (long long)clock_now_ms(), failure);
	if (lock_fd >= 0 && ftruncate(lock_fd, 0) == 0 && lseek(lock_fd, 0, SEEK_SET) == 0)
		(void)fd_write_all(lock_fd, text, strlen(text));
}

static int say_failed(const struct docker_wish *w, int status, int log_fd, struct error *err)
{
	char text[LOG_TAIL + 1] = "", line[100], how[48];
	off_t end = log_fd < 0 ? 0 : lseek(log_fd, 0, SEEK_END);
	ssize_t n =
		end <= 0 ? 0 : pread(log_fd, text, LOG_TAIL, end > LOG_TAIL ? end - LOG_TAIL : 0);

	text[n > 0 ? n : 0] = '\0';
	tool_last_line(text, line, sizeof(line));
	if (status < 0)
		snprintf(how, sizeof(how), "cannot be executed (%.24s)", strerrordesc_np(-status));
	else if (WIFEXITED(status))
		snprintf(how, sizeof(how), "ended with exit code %d", WEXITSTATUS(status));
	else
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
	return error_set(err, ERROR_UNSUPPORTED, ENOTCONN,
	                 "the %s could not be started: docker.start ('%.50s') %s%s%s",
	                 engine_of(w->endpoint), w->start[0], how, *line ? ": " : "", line);
}

/* 1: the command that starts it has failed; its status. */
static int starter_failed(struct attempt *a, int *ret_status)
{
	struct pollfd p = {.fd = a->end_fd, .events = POLLIN};
	int status;
	ssize_t n;

	if (a->end_fd < 0 || poll(&p, 1, 0) <= 0)
		return 0;
	n = read(a->end_fd, &status, sizeof(status));
	fd_close(take_fd(&a->end_fd));
	if (n != (ssize_t)sizeof(status) || status == 0)
		return 0;
	*ret_status = status;
	return 1;
}

static int start_and_await(struct attempt *a, struct docker_answer *answer, struct error *err)
{
	const struct docker_wish *w = a->wish;
	scoped(fd_closep) int log_fd = open_file(w, "log", O_RDWR | O_TRUNC | O_APPEND);
	int status = 0, r;

	r = tool_start_apart(w->start, w->envp, log_fd, &a->end_fd, err);
	if (r < 0)
		return r;
	for (;;) {
		/* Looked at before the ping: one that has ended well before is still in time. */
		bool failed = starter_failed(a, &status) == 1;

		if (look(a, answer) == DOCKER_READY)
			return 0;
		if (failed && answer->state != DOCKER_STARTING)
			return say_failed(w, status, log_fd, err);
		if (answer->state == DOCKER_FORBIDDEN)
			return docker_explain(w->endpoint, answer->state, err);
		if (clock_now_ms() >= a->limit)
			return error_set(err, ERROR_UNSUPPORTED, ETIMEDOUT,
			                 "the %s at %.100s was started (docker.start) and was not "
			                 "ready in time: it is %s",
			                 engine_of(w->endpoint), w->endpoint->url,
			                 docker_state_name(answer->state));
		if (pause_a_moment(a) < 0)
			return -ECANCELED;
	}
}

/* With the lock, or without where there is no state directory. */
static int start_once(struct attempt *a, int lock_fd, struct docker_answer *answer,
                      struct error *err)
{
	int r;

	if (look(a, answer) == DOCKER_READY)
		return 0;
	if (lock_fd >= 0 && shares_failure(a, lock_fd, err))
		return -ENOTCONN;
	r = start_and_await(a, answer, err);
	fd_close(take_fd(&a->end_fd));
	if (r != -ECANCELED)
		note_end(lock_fd, r < 0 ? err->text : "");
	return r;
}

static int start_with_others(struct attempt *a, struct docker_answer *answer, struct error *err)
{
	scoped(fd_closep) int lock_fd = open_file(a->wish, "lock", O_RDWR);
	struct error own = {0};
	int r;

	while (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (look(a, answer) == DOCKER_READY)
			return 0;
		if (clock_now_ms() >= a->limit)
			return docker_explain(a->wish->endpoint, DOCKER_STARTING, err);
		if (pause_a_moment(a) < 0)
			return -ECANCELED;
	}
	r = start_once(a, lock_fd, answer, &own);
	if (r < 0 && r != -ECANCELED)
		return error_set(err, own.kind, own.sys, "%s", own.text);
	return r;
}

int docker_make_ready(const struct docker_wish *wish, struct docker_answer *ret_answer,
                      char notice[DOCKER_NOTICE_MAX], struct error *err)
{
	int64_t most = wish->start_timeout_ms;
	struct attempt a = {.wish = wish, .begun = clock_now_ms(), .end_fd = -1};
	enum docker_state first;
	char took[32];
	int r;

	notice[0] = '\0';
	if (!wish->endpoint->path[0]) {
		*ret_answer = (struct docker_answer){.state = DOCKER_UNCHECKED};
		snprintf(notice, DOCKER_NOTICE_MAX,
		         "the engine at %.100s was not checked: only unix sockets are",
		         wish->endpoint->url);
		return 0;
	}
	if (wish->most_ms > 0 && wish->most_ms < most)
		most = wish->most_ms;
	a.limit = a.begun + most;
	a.said = a.begun;
	first = look(&a, ret_answer);
	if (first == DOCKER_READY)
		return 0;
	if (first == DOCKER_STARTING)
		r = await(&a, ret_answer, err);
	else if ((first == DOCKER_ABSENT || first == DOCKER_STALE) && wish->start)
		r = start_with_others(&a, ret_answer, err);
	else
		return docker_explain(wish->endpoint, first, err);
	if (r < 0)
		return r;
	number_format_duration(clock_now_ms() - a.begun, took);
	snprintf(notice, DOCKER_NOTICE_MAX, "the %s at %.80s was %s, and ready after %s",
	         engine_of(wish->endpoint), wish->endpoint->url,
	         first == DOCKER_STARTING ? "starting" : "not running: it was started", took);
	return 0;
}
