#pragma once
/*
 * Container mode, as its files share it:
 *
 *	container.c        from the profile to a container that is made
 *	container-tree.c   what of the host it has, and the environment
 *	container-end.c    how it ended, and its removal
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/guard.h"
#include "container/container.h"
#include "container/endpoint.h"
#include "container/removal.h"
#include "keeper/container.h"
#include "sandbox/spec.h"

struct buffer;

#define CONTAINER_MOUNTS_MAX 256
#define CONTAINER_ASK_MS     5000 /* twice that is less than the starter waits for us */
#define CONTAINER_WORDS_MAX  ((size_t)64 << 10)
#define CONTAINER_NAME_MAX   128
#define CONTAINER_ENV_FILE   "env" /* in the task's directory, while the container is made */

struct keeper_container {
	struct arena *arena;
	struct container_client client;
	struct docker_endpoint endpoint;
	const char *const *envp; /* of the client */
	char name[CONTAINER_NAME_MAX];
	char user[32];
	bool keep_id, unprivileged;
	struct container_mount mounts[CONTAINER_MOUNTS_MAX];
	size_t mount_count;
	struct sandbox_spec spec;  /* for the plan, which must not outlive it */
	struct sandbox_plan *plan; /* of the workspace: what is held and hidden in it */
	const char *env_file;
	const char *const *start, *const *paths;
	bool made;      /* or half made: there is something to be removed, perhaps */
	bool uncertain; /* its making was broken off: it may appear yet */
	struct guard guard;
};

/* Runs the client: its status as waitpid() gives it, or a negative errno. With STOPPABLE the
 * starter can end it. OUT and WORDS may be NULL. */
int container_run(const struct keeper_container *c, const char *const *argv, int64_t timeout_ms,
                  struct keeper *stoppable, struct buffer *out, struct buffer *words,
                  struct error *err);

/* Fills the mounts, and the plan that they come from. */
int container_plan_mounts(struct keeper *k, struct keeper_container *c, struct error *err);

/* Writes what can go there into the file, and says what cannot. */
int container_split_environment(struct keeper *k, struct keeper_container *c,
                                const char *const **ret_rest);
