#pragma once
/*
 * Endpoint: where the container engine listens, as its own clients would find it.
 *
 * It is looked for in the operator's world alone: the profile, nacre's own environment, the files
 * of the user who runs nacre. Nothing that a request says takes part, since the socket that is
 * found is bound into the box.
 */
#include <stddef.h>

struct error;

enum docker_client {
	DOCKER_CLIENT_DOCKER,
	DOCKER_CLIENT_PODMAN,
	DOCKER_CLIENT_MAX,
};

#define DOCKER_PATH_MAX 108 /* what fits into an address, with its NUL */
#define DOCKER_URL_MAX  256

struct docker_endpoint {
	enum docker_client client;
	char url[DOCKER_URL_MAX];   /* "unix:///var/run/docker.sock", "tcp://..." */
	char path[DOCKER_PATH_MAX]; /* of a unix socket; empty: it is none */
	char source[96];            /* what named it: "DOCKER_HOST", "context 'x'" ... */
};

struct docker_place {
	const char *configured;         /* by the profile; NULL: nothing */
	const char *const *environment; /* nacre's own */
	const char *workspace; /* files in it are the agent's and name nothing; NULL: none */
};

/* Where nothing names an endpoint it is the first default socket that is there, else the usual one.
 * Fails for a context that is chosen and cannot be read, and for a socket with too long a name. */
int docker_endpoint_find(enum docker_client client, const struct docker_place *place,
                         struct docker_endpoint *ret_endpoint, struct error *err);

/* "docker", "podman". */
const char *docker_client_name(enum docker_client client);

/* Which client a program of this name is, a directory in front or not; DOCKER_CLIENT_MAX: none. */
enum docker_client docker_client_of(const char *program, size_t n);
