#include "keeper/container-parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "keeper/client.h"
#include "keeper/inside.h"
#include "keeper/search.h"
#include "process/spawn.h"
#include "profile/profile.h"
#include "sandbox/layers.h"
#include "sandbox/probe.h"

#define MAKE_MS 60000 /* an image on a slow disk */

static bool is_installed(struct arena *arena, const char *program, const char *const *envp)
{
	const char *const *paths;

	if (keeper_search_paths(arena, program, envp, &paths) < 0)
		return false;
	for (; *paths; paths++)
		if (access(*paths, X_OK) == 0)
			return true;
	return false;
}

/* nacre's own environment, where the address of the engine is told by words instead. The file of
 * docker's client has nothing else to say here: its proxies, with their passwords, would become
 * variables of the container. */
static int client_environment(struct keeper_container *c)
{
	const char *const *from = (const char *const *)environ;
	const char **to;
	size_t n = 0;

	while (from[n])
		n++;
	to = arena_new_array(c->arena, const char *, n + 2);
	if (!to)
		return -ENOMEM;
	n = 0;
	for (; *from; from++)
		if (strncmp(*from, "DOCKER_HOST=", 12) != 0 &&
		    strncmp(*from, "DOCKER_CONTEXT=", 15) != 0 &&
		    strncmp(*from, "DOCKER_CONFIG=", 14) != 0)
			to[n++] = *from;
	to[n] = "DOCKER_CONFIG=/nonexistent";
	c->envp = to;
	return 0;
}

static bool wants_podman(const struct keeper *k, struct keeper_container *c)
{
	const struct profile_docker *d = &k->profile->docker;
	struct docker_endpoint e;

	if (k->profile->in_container.engine != PROFILE_ENGINE_AUTO)
		return k->profile->in_container.engine == PROFILE_ENGINE_PODMAN;
	if (!is_installed(c->arena, "podman", c->envp))
		return false;
	return !is_installed(c->arena, "docker", c->envp) ||
	       (keeper_find_engine(k, DOCKER_CLIENT_DOCKER, &e, NULL) == 0 && e.path[0] &&
	        access(e.path, F_OK) < 0 && !(d->start && d->start[0]));
}

/* podman finds its own way: with its files, or with a service that CONTAINER_HOST names. */
static int choose_engine(struct keeper *k, struct keeper_container *c, struct error *err)
{
	bool podman = wants_podman(k, c);
	const char *program = podman ? "podman" : "docker";
	int r;

	c->client = (struct container_client){.program = program, .podman = podman};
	if (!is_installed(c->arena, program, c->envp))
		return error_set(err, ERROR_UNSUPPORTED, ENOENT,
		                 "this profile runs commands in a container, and '%s' is not "
		                 "installed",
		                 program);
	if (keeper_search_paths(c->arena, program, c->envp, &c->paths) < 0)
		return error_nomem(err);
	if (podman)
		return 0;
	r = keeper_find_engine(k, DOCKER_CLIENT_DOCKER, &c->endpoint, err);
	if (r == 0 && !c->endpoint.path[0])
		r = error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		              "the engine at %.100s is not on this machine: a container of nacre "
		              "needs a unix socket, since it mounts the workspace",
		              c->endpoint.url);
	if (r == 0)
		r = keeper_ready_engine(k, &c->endpoint, err);
	c->client.endpoint = c->endpoint.url;
	return r;
}

/* Who the command is: as in any box never more than the owner of the workspace. */
static int choose_user(const struct keeper *k, struct keeper_container *c, struct error *err)
{
	const char *set = k->profile->in_container.user;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct stat st;

	if (stat(k->order.request.workspace, &st) < 0)
		return error_sys(err, errno, "workspace");
	if (uid == 0) {
		uid = st.st_uid;
		gid = st.st_gid;
	}
	c->keep_id = c->client.podman && geteuid() != 0;
	c->unprivileged = uid != 0;
	/* The root of an engine that an ordinary user runs is that user. */
	if (!c->client.podman && geteuid() != 0 && stat(c->endpoint.path, &st) == 0 &&
	    st.st_uid == geteuid())
		uid = gid = 0;
	if (set && strchr(set, ':'))
		snprintf(c->user, sizeof(c->user), "%s", set);
	else if (set)
		snprintf(c->user, sizeof(c->user), "%s:%s", set, set);
	else
		snprintf(c->user, sizeof(c->user), "%u:%u", uid, gid);
	if (set)
		c->unprivileged = strtoul(set, NULL, 10) != 0 || geteuid() != 0;
	return 0;
}

/* Nothing runs behind a wall that has a hole where the profile wants none. */
static int judge_layers(struct keeper *k, const struct keeper_container *c, struct error *err)
{
	uint32_t have, wanted = sandbox_container_layers(&k->spec, &have), lacking;

	if (c->unprivileged)
		have |= SANDBOX_LAYER_UNPRIVILEGED;
	k->report.sandbox = (struct sandbox_standing){
		.tier = SANDBOX_TIER_CONTAINER, .layers = have & wanted, .missing = wanted & ~have};
	lacking = k->spec.require & ~have;
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (lacking & 1U << i)
			return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
			                 "the profile requires the sandbox layer '%s', which a "
			                 "container does not have",
			                 sandbox_layer_name((enum sandbox_layer)(1U << i)));
	if (k->spec.exec == SANDBOX_EXEC_LISTED)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 "'sandbox: {exec: listed}' cannot be enforced in a container, "
		                 "whose programs are those of its image");
	return 0;
}

int container_run(const struct keeper_container *c, const char *const *argv, int64_t timeout_ms,
                  struct keeper *stoppable, struct buffer *out, struct buffer *words,
                  struct error *err)
{
	const struct tool_command t = {
		.argv = argv,
		.envp = c->envp,
		.timeout_ms = timeout_ms,
		.watch = stoppable ? keeper_watch_starter(stoppable) : NULL,
	};
	int status = 0;
	int r = tool_run(&t, out, words, &status, err);

	return r < 0 ? r : status;
}

static int explain_make(const struct keeper *k, const struct keeper_container *c, const char *words,
                        struct error *err)
{
	const char *image = k->profile->in_container.image;
	const char *const *argv;
	char line[140];

	if (container_image_words(&c->client, image, c->arena, &argv) == 0 &&
	    container_run(c, argv, CONTAINER_ASK_MS, NULL, NULL, NULL, NULL) > 0)
		return error_set(
			err, ERROR_UNSUPPORTED, ENOENT,
			"the image '%.100s' is not there, and nothing is pulled by itself: "
			"get it with `%s pull %.100s`",
			image, c->client.program, image);
	tool_last_line(words, line, sizeof(line));
	return error_set(err, ERROR_UNSUPPORTED, EIO, "%s could not make the container: %s",
	                 c->client.program, line);
}

static int make(struct keeper *k, struct keeper_container *c, struct error *err)
{
	scoped(buffer_donep) struct buffer words = {.max = CONTAINER_WORDS_MAX};
	const struct sandbox_limits *l = &k->spec.limits;
	struct container_wish wish = {
		.name = c->name,
		.task = k->order.task_id,
		.state = k->order.request.state,
		.image = k->profile->in_container.image,
		.user = c->user,
		.keep_id = c->keep_id,
		.network = k->spec.network == SANDBOX_NETWORK_HOST,
		.terminal = k->order.terminal.rows > 0,
		.cwd = k->order.cwd,
		.mounts = c->mounts,
		.mount_count = c->mount_count,
		.limits = {.memory_bytes = l->memory_bytes,
	                   .processes = l->processes,
	                   .cpu_seconds = l->cpu_seconds,
	                   .file_bytes = l->file_bytes,
	                   .open_files = l->open_files,
	                   .tmp_bytes = l->tmp_bytes},
		.argv = k->order.argv,
	};
	int64_t time_ms = keeper_time_left(k) < MAKE_MS ? keeper_time_left(k) : MAKE_MS;
	const char *const *argv;
	int r;

	if (container_split_environment(k, c, &wish.envp) < 0)
		return error_nomem(err);
	wish.env_file = c->env_file;
	r = container_create_words(&c->client, &wish, c->arena, &argv, err);
	if (r < 0)
		return r;
	c->made = true;
	r = container_run(c, argv, time_ms, k, NULL, &words, err);
	if (c->env_file)
		(void)unlinkat(k->home.fd, CONTAINER_ENV_FILE, 0);
	c->uncertain = r < 0;
	if (r == -ETIMEDOUT)
		return error_set(err, ERROR_UNSUPPORTED, ETIMEDOUT,
		                 "%s did not make the container in time", c->client.program);
	if (r < 0)
		return r;
	return r == 0 ? 0 : explain_make(k, c, buffer_str(&words), err);
}

int keeper_container_make(struct keeper *k, struct arena *arena, struct error *err)
{
	struct keeper_container *c = arena_new_object(arena, struct keeper_container);
	int r;

	if (!c)
		return error_nomem(err);
	c->arena = arena;
	k->container = c;
	if (!k->profile->in_container.image)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "the profile runs commands in a container and names no image: set "
		                 "sandbox.container.image");
	if (client_environment(c) < 0)
		return error_nomem(err);
	snprintf(c->name, sizeof(c->name), "nacre-%s", k->order.task_id);
	r = choose_engine(k, c, err);
	if (r == 0)
		r = choose_user(k, c, err);
	if (r == 0)
		r = judge_layers(k, c, err);
	if (r == 0)
		r = container_plan_mounts(k, c, err);
	if (r == 0)
		r = removal_guard(&(struct removal_wish){.client = &c->client,
		                                         .envp = c->envp,
		                                         .name = c->name,
		                                         .state = k->order.request.state},
		                  &c->guard, err);
	if (r == 0)
		r = make(k, c, err);
	if (r == 0 && container_start_words(&c->client, c->name, arena, &c->start) < 0)
		r = error_nomem(err);
	return r;
}

void keeper_container_fill(const struct keeper *k, struct process_command *command)
{
	command->cwd = "/";
	command->paths = k->container->paths;
	command->argv = k->container->start;
	command->envp = k->container->envp;
	command->notes = false;
}
