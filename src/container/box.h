#pragma once
/*
 * Box: a container that docker or podman makes as the box of one command.
 *
 * The engine's client takes the place of the command below init: its streams are the command's, and
 * a signal to it goes on to the container. The container itself lives elsewhere, so it has a name,
 * and is removed by that at every end: by its owner, else by its guard (removal.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/guard.h"
#include "container/container.h"
#include "container/endpoint.h"
#include "sandbox/limits.h"
#include "sandbox/plan.h"
#include "sandbox/spec.h"

struct arena;
struct container_spec;
struct engine_need;
struct error;

#define CONTAINER_MOUNTS_MAX 256
#define CONTAINER_NAME_MAX   128
#define CONTAINER_ENV_FILE   "env" /* in the home, while the container is made */

/* The command, as its keeper knows it. Lives as long as container_box_make() takes. */
struct container_command {
	const struct container_spec *spec;
	struct engine_need *need;
	const struct sandbox_spec *box;    /* network, limits, required layers */
	const struct sandbox_place *place; /* of the workspace */
	const char *task_id;
	const char *cwd;
	const char *const *argv, *const *envp;
	const char *const *own[2]; /* variables that the request and the profile set; may be NULL */
	bool terminal;
	/* A private directory for the file of variables: a descriptor that stays the owner's. */
	int (*open_home)(void *owner); /* negative: there is none */
	void *owner;
};

struct container_box {
	struct arena *arena;
	struct container_client client;
	struct docker_endpoint endpoint;
	const char *const *envp; /* of the client */
	char name[CONTAINER_NAME_MAX];
	char user[32];
	bool keep_id, unprivileged;
	struct container_mount mounts[CONTAINER_MOUNTS_MAX];
	size_t mount_count;
	struct sandbox_limits limits;
	struct sandbox_standing standing;
	struct sandbox_spec spec;  /* for the plan, which must not outlive it */
	struct sandbox_plan *plan; /* of the workspace: what is held and hidden in it */
	const char *state;
	const char *env_file;
	const char *const *start, *const *paths; /* the client, in place of the command */
	bool made;      /* or half made: there is something to be removed, perhaps */
	bool uncertain; /* its making was broken off: it may appear yet */
	struct guard guard;
};

struct container_box *container_box_new(struct arena *arena); /* NULL: no memory */
/* Readies the engine and makes the container. Whatever it returns, container_box_remove() and
 * container_box_done() have to follow. */
int container_box_make(struct container_box *b, const struct container_command *c,
                       struct error *err);

enum container_fate {
	CONTAINER_EXITED,
	CONTAINER_NOT_STARTED, /* its command could not be executed; or .why says what else */
	CONTAINER_LOST,        /* nobody knows how it ended; .why says what is known */
};

struct container_end {
	enum container_fate fate;
	int sys;            /* of NOT_STARTED: what the command lacked */
	int exit_code;      /* of EXITED */
	enum limit_hit hit; /* whatever the fate */
	bool perhaps_memory;
	char why[240];
};

/* How it ended, if it was made. CLIENT_STATUS is that of the client, as waitpid() gives it. */
void container_box_ask(const struct container_box *b, int client_status,
                       struct container_end *ret_end);
/* False: the engine refused, and the guard goes on trying. One whose making was broken off is left
 * to the guard. */
bool container_box_remove(struct container_box *b);
void container_box_done(struct container_box *b);
/* When the caller has its answer: containers of others that nobody removed. */
void container_box_sweep(const struct container_box *b);
