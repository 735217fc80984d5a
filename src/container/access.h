#pragma once
/*
 * Access: a command line that runs docker or podman reaches its engine. Before it runs the engine
 * is made ready, and the box gets the engine's socket.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "container/endpoint.h"
#include "container/ready.h"

struct arena;
struct docker_line;
struct docker_watch;
struct engine_spec;
struct error;
struct sandbox_spec;

/* For whom an engine is looked for. */
struct engine_need {
	const struct engine_spec *spec;
	const char *workspace;
	const char *state;                /* nacre's state directory; NULL: none */
	int64_t deadline;                 /* of the command, monotonic */
	const struct docker_watch *watch; /* while something is waited for; may be NULL */
	char notice[DOCKER_NOTICE_MAX];   /* what had to be done, for the report; may be empty */
};

/* Until the deadline; at least a moment. */
int64_t engine_time_left(const struct engine_need *n);
/* Where an engine is, as the operator's world says. */
int engine_find(const struct engine_need *n, enum docker_client client,
                struct docker_endpoint *ret_endpoint, struct error *err);
/* Waits for it, and starts it if the spec says how. */
int engine_ready(struct engine_need *n, const struct docker_endpoint *e, struct error *err);

struct access {
	struct engine_need *need;
	struct arena *arena;
	struct sandbox_spec *box; /* gets the sockets */
	const char *const *envp;  /* gets the addresses */
};

/* Readies the engines whose clients the line names, and gives the box access to all of them. */
int access_give(struct access *a, const bool named[DOCKER_CLIENT_MAX], struct error *err);

/* A client that was ended by force has left its containers to the engine: removes those of the
 * line, and says in NOTICE which others are there. */
void access_clean_up(const struct engine_need *n, enum docker_client client,
                     const struct docker_line *line, char *notice, size_t size);
