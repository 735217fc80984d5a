#include "container/box.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/strings.h"
#include "container/access.h"
#include "container/box-inside.h"
#include "container/removal.h"
#include "container/spec.h"
#include "container/tool.h"
#include "process/search.h"
#include "sandbox/layers.h"
#include "sandbox/probe.h"

#define MAKE_MS   60000 /* an image on a slow disk */
#define ASK_MS    5000  /* twice that is less than the starter waits for its keeper */
#define WORDS_MAX ((size_t)64 << 10)

static bool is_installed(struct arena *arena, const char *program, const char *const *envp)
{
	const char *const *paths;

	if (process_search_paths(arena, program, envp, &paths) < 0)
		return false;
	for (; *paths; paths++)
		if (access(*paths, X_OK) == 0)
			return true;
	return false;
}

/* nacre's own environment, where the address of the engine is told by words instead. The file of
 * docker's client has nothing else to say here: its proxies, with their passwords, would become
 * variables of the container. */
static int client_environment(struct container_box *b)
{
	const char *const *from = (const char *const *)environ;
	const char **to = arena_new_array(b->arena, const char *, strings_count(from) + 2);
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (; *from; from++)
		if (strncmp(*from, "DOCKER_HOST=", 12) != 0 &&
		    strncmp(*from, "DOCKER_CONTEXT=", 15) != 0 &&
		    strncmp(*from, "DOCKER_CONFIG=", 14) != 0)
			to[n++] = *from;
	to[n] = "DOCKER_CONFIG=/nonexistent";
	b->envp = to;
	return 0;
}

static bool wants_podman(const struct container_box *b, const struct container_command *c)
{
	const struct engine_spec *d = c->need->spec;
	struct docker_endpoint e;

	if (c->spec->engine != CONTAINER_ENGINE_AUTO)
		return c->spec->engine == CONTAINER_ENGINE_PODMAN;
	if (!is_installed(b->arena, "podman", b->envp))
		return false;
	return !is_installed(b->arena, "docker", b->envp) ||
	       (engine_find(c->need, DOCKER_CLIENT_DOCKER, &e, NULL) == 0 && e.path[0] &&
	        access(e.path, F_OK) < 0 && !(d->start && d->start[0]));
}

/* podman finds its own way: with its files, or with a service that CONTAINER_HOST names. */
static int choose_engine(struct container_box *b, const struct container_command *c,
                         struct error *err)
{
	bool podman = wants_podman(b, c);
	const char *program = podman ? "podman" : "docker";
	int r;

	b->client = (struct container_client){.program = program, .podman = podman};
	if (!is_installed(b->arena, program, b->envp))
		return error_set(err, ERROR_UNSUPPORTED, ENOENT,
		                 "this profile runs commands in a container, and '%s' is not "
		                 "installed",
		                 program);
	if (process_search_paths(b->arena, program, b->envp, &b->paths) < 0)
		return error_nomem(err);
	if (podman)
		return 0;
	r = engine_find(c->need, DOCKER_CLIENT_DOCKER, &b->endpoint, err);
	if (r == 0 && !b->endpoint.path[0])
		r = error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		              "the engine at %.100s is not on this machine: a container of nacre "
		              "needs a unix socket, since it mounts the workspace",
		              b->endpoint.url);
	if (r == 0)
		r = engine_ready(c->need, &b->endpoint, err);
	b->client.endpoint = b->endpoint.url;
	return r;
}

/* Who the command is: as in any box never more than the owner of the workspace. */
static int choose_user(struct container_box *b, const struct container_command *c,
                       struct error *err)
{
	const char *set = c->spec->user;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct stat st;

	if (stat(c->need->workspace, &st) < 0)
		return error_sys(err, errno, "workspace");
	if (uid == 0) {
		uid = st.st_uid;
		gid = st.st_gid;
	}
	b->keep_id = b->client.podman && geteuid() != 0;
	b->unprivileged = uid != 0;
	/* The root of an engine that an ordinary user runs is that user. */
	if (!b->client.podman && geteuid() != 0 && stat(b->endpoint.path, &st) == 0 &&
	    st.st_uid == geteuid())
		uid = gid = 0;
	if (set && strchr(set, ':'))
		snprintf(b->user, sizeof(b->user), "%s", set);
	else if (set)
		snprintf(b->user, sizeof(b->user), "%s:%s", set, set);
	else
		snprintf(b->user, sizeof(b->user), "%u:%u", uid, gid);
	if (set)
		b->unprivileged = strtoul(set, NULL, 10) != 0 || geteuid() != 0;
	return 0;
}

/* Nothing runs behind a wall that has a hole where the profile wants none. */
static int judge_layers(struct container_box *b, const struct sandbox_spec *spec, struct error *err)
{
	uint32_t have, wanted = sandbox_container_layers(spec, &have), lacking;

	if (b->unprivileged)
		have |= SANDBOX_LAYER_UNPRIVILEGED;
	b->standing = (struct sandbox_standing){
		.tier = SANDBOX_TIER_CONTAINER, .layers = have & wanted, .missing = wanted & ~have};
	lacking = spec->require & ~have;
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (lacking & 1U << i)
			return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
			                 "the profile requires the sandbox layer '%s', which a "
			                 "container does not have",
			                 sandbox_layer_name((enum sandbox_layer)(1U << i)));
	if (spec->exec == SANDBOX_EXEC_LISTED)
		return error_set(err, ERROR_UNSUPPORTED, EOPNOTSUPP,
		                 "'sandbox: {exec: listed}' cannot be enforced in a container, "
		                 "whose programs are those of its image");
	return 0;
}

/* Runs the client: its status as waitpid() gives it, or a negative errno. The watch may end it.
 * WATCH, OUT and WORDS may be NULL. */
static int run(const struct container_box *b, const char *const *argv, int64_t timeout_ms,
               const struct docker_watch *watch, struct buffer *out, struct buffer *words,
               struct error *err)
{
	const struct tool_command t = {
		.argv = argv, .envp = b->envp, .timeout_ms = timeout_ms, .watch = watch};
	int status = 0;
	int r = tool_run(&t, out, words, &status, err);

	return r < 0 ? r : status;
}

static int explain_make(const struct container_box *b, const char *image, const char *words,
                        struct error *err)
{
	const char *const *argv;
	char line[140];

	if (container_image_words(&b->client, image, b->arena, &argv) == 0 &&
	    run(b, argv, ASK_MS, NULL, NULL, NULL, NULL) > 0)
		return error_set(
			err, ERROR_UNSUPPORTED, ENOENT,
			"the image '%.100s' is not there, and nothing is pulled by itself: "
			"get it with `%s pull %.100s`",
			image, b->client.program, image);
	tool_last_line(words, line, sizeof(line));
	return error_set(err, ERROR_UNSUPPORTED, EIO, "%s could not make the container: %s",
	                 b->client.program, line);
}

static int make(struct container_box *b, const struct container_command *c, struct error *err)
{
	scoped(buffer_donep) struct buffer words = {.max = WORDS_MAX};
	const struct sandbox_limits *l = &b->limits;
	struct container_wish wish = {
		.name = b->name,
		.task = c->task_id,
		.state = b->state,
		.image = c->spec->image,
		.user = b->user,
		.keep_id = b->keep_id,
		.network = c->box->network == SANDBOX_NETWORK_HOST,
		.terminal = c->terminal,
		.cwd = c->cwd,
		.mounts = b->mounts,
		.mount_count = b->mount_count,
		.limits = {.memory_bytes = l->memory_bytes,
	                   .processes = l->processes,
	                   .cpu_seconds = l->cpu_seconds,
	                   .file_bytes = l->file_bytes,
	                   .open_files = l->open_files,
	                   .tmp_bytes = l->tmp_bytes},
		.argv = c->argv,
	};
	int64_t left = engine_time_left(c->need);
	const char *const *argv;
	int r;

	if (container_split_environment(b, c, &wish.envp) < 0)
		return error_nomem(err);
	wish.env_file = b->env_file;
	r = container_create_words(&b->client, &wish, b->arena, &argv, err);
	if (r < 0)
		return r;
	b->made = true;
	r = run(b, argv, left < MAKE_MS ? left : MAKE_MS, c->need->watch, NULL, &words, err);
	if (b->env_file)
		(void)unlinkat(c->open_home(c->owner), CONTAINER_ENV_FILE, 0);
	b->uncertain = r < 0;
	if (r == -ETIMEDOUT)
		return error_set(err, ERROR_UNSUPPORTED, ETIMEDOUT,
		                 "%s did not make the container in time", b->client.program);
	if (r < 0)
		return r;
	return r == 0 ? 0 : explain_make(b, c->spec->image, buffer_str(&words), err);
}

struct container_box *container_box_new(struct arena *arena)
{
	struct container_box *b = arena_new_object(arena, struct container_box);

	if (b)
		b->arena = arena;
	return b;
}

int container_box_make(struct container_box *b, const struct container_command *c,
                       struct error *err)
{
	int r;

	assert(!b->made && !b->plan);
	b->limits = c->box->limits;
	b->state = c->need->state;
	if (!c->spec->image)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "the profile runs commands in a container and names no image: set "
		                 "sandbox.container.image");
	if (client_environment(b) < 0)
		return error_nomem(err);
	snprintf(b->name, sizeof(b->name), "nacre-%s", c->task_id);
	r = choose_engine(b, c, err);
	if (r == 0)
		r = choose_user(b, c, err);
	if (r == 0)
		r = judge_layers(b, c->box, err);
	if (r == 0)
		r = container_plan_mounts(b, c, err);
	if (r == 0)
		r = removal_guard(&(struct removal_wish){.client = &b->client,
		                                         .envp = b->envp,
		                                         .name = b->name,
		                                         .state = b->state},
		                  &b->guard, err);
	if (r == 0)
		r = make(b, c, err);
	if (r == 0 && container_start_words(&b->client, b->name, b->arena, &b->start) < 0)
		r = error_nomem(err);
	return r;
}

/* A command that could not be executed has no status of its own. The client tells by its own, as a
 * shell would. */
static void judge_start(const struct container_box *b, const struct container_state *s,
                        int client_status, struct container_end *e)
{
	int code = WIFEXITED(client_status) ? WEXITSTATUS(client_status) : 0;

	e->fate = CONTAINER_NOT_STARTED;
	e->sys = code == 126 ? EACCES : ENOENT;
	if (code != 126 && code != 127)
		snprintf(e->why, sizeof(e->why), "%s could not start the container%s%s",
		         b->client.program,
		         s->error[0] ? ": " : "; its own words are in the output", s->error);
}

static void judge(const struct container_box *b, const struct container_state *s, int client_status,
                  struct container_end *e)
{
	if (s->oom_killed)
		e->hit = LIMIT_HIT_MEMORY;
	else if (s->exit_code == 128 + SIGXCPU && b->limits.cpu_seconds)
		e->hit = LIMIT_HIT_CPU;
	else if (s->exit_code == 128 + SIGXFSZ && b->limits.file_bytes)
		e->hit = LIMIT_HIT_FILE_SIZE;
	/* Neither engine always knows: docker forgets it when it hears of the end first. */
	e->perhaps_memory = s->exit_code == 128 + SIGKILL && !e->hit && b->limits.memory_bytes > 0;
	e->exit_code = s->exit_code & 0xff;
	if (!s->started) {
		judge_start(b, s, client_status, e);
	} else if (s->running) {
		e->fate = CONTAINER_LOST;
		snprintf(e->why, sizeof(e->why),
		         "%s lost its container while that was running; it was removed, and its "
		         "status is not known",
		         b->client.program);
	}
}

void container_box_ask(const struct container_box *b, int client_status,
                       struct container_end *ret_end)
{
	scoped(buffer_donep) struct buffer out = {.max = WORDS_MAX};
	struct container_state state;
	const char *const *argv;

	*ret_end = (struct container_end){.fate = CONTAINER_EXITED};
	if (container_state_words(&b->client, b->name, b->arena, &argv) == 0 &&
	    run(b, argv, ASK_MS, NULL, &out, NULL, NULL) == 0 &&
	    container_state_read(buffer_str(&out), out.len, &state, NULL) == 0) {
		judge(b, &state, client_status, ret_end);
		return;
	}
	ret_end->fate = CONTAINER_LOST;
	snprintf(ret_end->why, sizeof(ret_end->why),
	         "%s does not answer any more: how the command ended is not known",
	         b->client.program);
}

bool container_box_remove(struct container_box *b)
{
	const char *const *argv;

	if (!b->made ||
	    (!b->uncertain && container_remove_words(&b->client, b->name, b->arena, &argv) == 0 &&
	     run(b, argv, ASK_MS, NULL, NULL, NULL, NULL) == 0)) {
		guard_dismiss(&b->guard);
		return true;
	}
	guard_release(&b->guard);
	return b->uncertain;
}

void container_box_done(struct container_box *b)
{
	b->plan = sandbox_plan_free(b->plan);
}

void container_box_sweep(const struct container_box *b)
{
	if (b->made)
		removal_sweep(&(struct removal_wish){
			.client = &b->client, .envp = b->envp, .state = b->state});
}
