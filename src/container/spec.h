#pragma once
/*
 * Spec: what a profile says about container engines, as plain data. Nothing in a request fills it.
 */
#include <stdbool.h>
#include <stdint.h>

/* Commands that are clients of a container engine, and how an engine is made ready. */
struct engine_spec {
	bool allow;               /* they get its socket, which reaches outside of the box */
	const char *endpoint;     /* unix:///PATH or a path; NULL: as the client itself finds it */
	const char *const *start; /* words of a command that starts it; NULL: it is not started */
	int64_t start_timeout_ms, ping_timeout_ms;
};

enum container_engine {
	CONTAINER_ENGINE_AUTO, /* docker if its socket is there, else podman */
	CONTAINER_ENGINE_DOCKER,
	CONTAINER_ENGINE_PODMAN,
	CONTAINER_ENGINE_MAX,
};

/* A container as the box of a command. */
struct container_spec {
	enum container_engine engine;
	const char *image; /* NULL: nothing runs */
	const char *user;  /* UID or UID:GID; NULL: the owner of the workspace */
};
