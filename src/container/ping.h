#pragma once
/*
 * Ping: whether an engine answers at a unix socket, and if not, why not.
 *
 * One connection, `GET /_ping`, one bounded wait. Docker and podman's service answer alike and say
 * who they are.
 */
#include <stddef.h>
#include <stdint.h>

enum docker_state {
	DOCKER_READY,
	DOCKER_STARTING,  /* it is there, and not yet able to answer */
	DOCKER_ABSENT,    /* there is no socket */
	DOCKER_STALE,     /* nobody listens at the socket any more */
	DOCKER_FORBIDDEN, /* this user may not connect */
	DOCKER_HUNG,      /* it takes the connection and says nothing */
	DOCKER_STRANGE,   /* something answers that is no engine */
	DOCKER_UNCHECKED, /* no unix socket: it was not tried */
	DOCKER_STATE_MAX,
};

struct docker_answer {
	enum docker_state state;
	char engine[48]; /* "Docker/20.10.24", "Libpod/4.3.1"; empty unless it answered */
	char api[16];    /* "1.41"; likewise */
};

/* An engine makes its socket some time before it answers: one that says nothing and whose socket is
 * not older than YOUNG_MS is starting, an older one hangs. */
void docker_ping(const char *path, int64_t timeout_ms, int64_t young_ms,
                 struct docker_answer *ret_answer);

/* What the bytes of an answer say: READY, STARTING (5xx, or nothing at all) or STRANGE. */
void docker_ping_read(const char *bytes, size_t n, struct docker_answer *ret_answer);

struct buffer;

/* One request to the engine, in the oldest form of HTTP: what it answers, headers and all, up to
 * the end of the connection. 0, or a negative errno; -ETIMEDOUT. */
int docker_request(const char *path, const char *method, const char *target, int64_t timeout_ms,
                   struct buffer *into);

/* "ready", "starting" ... */
const char *docker_state_name(enum docker_state state);
