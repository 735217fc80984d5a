#pragma once
/*
 * The container engines of this machine, for `nacre doctor`: for docker's clients in a box, and for
 * boxes that are containers.
 */
#include <stdbool.h>
#include "container/endpoint.h"
#include "container/ping.h"

struct buffer;
struct json_writer;

struct doctor_engine {
	bool installed; /* the client */
	bool found;     /* there is an endpoint; else why */
	struct docker_endpoint endpoint;
	struct docker_answer answer;
	char why[248];
};

/* One for each client; asks each engine once, for two seconds at most. */
void doctor_engines_read(struct doctor_engine ret_engines[DOCKER_CLIENT_MAX]);
/* An array. */
void doctor_engines_put(const struct doctor_engine engines[DOCKER_CLIENT_MAX],
                        struct json_writer *w);
void doctor_engines_print(const struct doctor_engine engines[DOCKER_CLIENT_MAX],
                          struct buffer *out);
