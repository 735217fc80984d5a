#include "container/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/utf8.h"
#include "json/read.h"

#define ENV_LINE_MAX ((size_t)32 << 10) /* the client reads no longer ones */
#define STATE_MAX    ((size_t)64 << 10)
#define PODMAN_NPROC 32768 /* podman lowers its own limit to this, and cannot give more then */

/* Words in the arena. The first failure is kept. */
struct words {
	struct arena *arena;
	const char **items;
	size_t count, capacity;
	bool failed;
};

static void add(struct words *w, const char *word)
{
	const char **larger;

	if (w->count + 1 >= w->capacity) {
		w->capacity = w->capacity ? w->capacity * 2 : 64;
		larger = arena_new_array(w->arena, const char *, w->capacity);
		if (larger && w->count > 0)
			memcpy(larger, w->items, w->count * sizeof(*larger));
		w->items = larger;
	}
	if (!w->items || !word) {
		w->failed = true;
		w->count = 0;
		return;
	}
	w->items[w->count++] = word;
	w->items[w->count] = NULL;
}

static void add_all(struct words *w, const char *const *list)
{
	for (; list && *list && !w->failed; list++)
		add(w, *list);
}

static struct words begin(const struct container_client *c, struct arena *arena)
{
	struct words w = {.arena = arena};

	add(&w, c->program);
	if (c->endpoint) {
		add(&w, c->podman ? "--url" : "--host");
		add(&w, c->endpoint);
	}
	return w;
}

static int end(const struct words *w, const char *const **ret_argv)
{
	if (w->failed)
		return -ENOMEM;
	*ret_argv = w->items;
	return 0;
}

/* The engine's interface is JSON: bytes that are no UTF-8 would come out as others. */
static int check_text(const char *text, const char *what, struct error *err)
{
	size_t n = strlen(text);

	if (utf8_valid_prefix(text, n) == n)
		return 0;
	return error_set(err, ERROR_INPUT, EILSEQ,
	                 "%s is not UTF-8, and cannot be handed to a container unchanged", what);
}

/* Mounts are written as fields with commas between. */
static int check_path(const char *path, struct error *err)
{
	if (!strpbrk(path, ",\"\n\r"))
		return check_text(path, "a path of the workspace", err);
	return error_set(err, ERROR_INPUT, EINVAL,
	                 "'%.120s' cannot be given to a container: a comma, a quote or a line "
	                 "break is in its path",
	                 path);
}

static int check(const struct container_wish *w, struct error *err)
{
	int r = check_path(w->cwd, err);

	for (size_t i = 0; r == 0 && i < w->mount_count; i++)
		r = check_path(w->mounts[i].path, err);
	for (const char *const *a = w->argv; r == 0 && *a; a++)
		r = check_text(*a, "a word of the command", err);
	for (const char *const *e = w->envp; r == 0 && *e; e++)
		r = check_text(*e, "a variable of the environment", err);
	return r;
}

static void add_mount(struct words *w, const struct container_client *c,
                      const struct container_mount *m)
{
	const char *word = NULL;

	switch (m->kind) {
	case CONTAINER_MOUNT_WRITABLE:
		word = arena_printf(w->arena, "type=bind,source=%s,destination=%s", m->path,
		                    m->path);
		break;
	case CONTAINER_MOUNT_READONLY:
		word = arena_printf(w->arena, "type=bind,source=%s,destination=%s,readonly",
		                    m->path, m->path);
		break;
	case CONTAINER_MOUNT_HIDDEN_FILE:
		word = arena_printf(w->arena, "type=bind,source=/dev/null,destination=%s,readonly",
		                    m->path);
		break;
	case CONTAINER_MOUNT_HIDDEN_DIRECTORY:
		/* Unless told otherwise podman copies into it what it is to hide. */
		word = arena_printf(w->arena, "type=tmpfs,destination=%s,tmpfs-size=4096%s",
		                    m->path, c->podman ? ",notmpcopyup" : "");
		break;
	}
	add(w, "--mount");
	add(w, word);
}

static void add_ulimit(struct words *w, const char *name, int resource, uint64_t value)
{
	struct rlimit own;

	/* An engine without privileges gives no more than it has. */
	if (getrlimit((__rlimit_resource_t)resource, &own) == 0 && own.rlim_max < value)
		value = own.rlim_max;
	add(w, "--ulimit");
	add(w, arena_printf(w->arena, "%s=%" PRIu64 ":%" PRIu64, name, value, value));
}

static void add_limits(struct words *w, const struct container_client *c,
                       const struct container_limits *l)
{
	add_ulimit(w, "core", RLIMIT_CORE, 0);
	if (l->memory_bytes) {
		/* Both alike: no swap beside the memory. */
		add(w, "--memory");
		add(w, arena_printf(w->arena, "%" PRIu64, l->memory_bytes));
		add(w, "--memory-swap");
		add(w, arena_printf(w->arena, "%" PRIu64, l->memory_bytes));
	}
	add(w, "--pids-limit");
	add(w, l->processes ? arena_printf(w->arena, "%" PRIu64, l->processes) : "-1");
	if (l->cpu_seconds)
		add_ulimit(w, "cpu", RLIMIT_CPU, l->cpu_seconds);
	if (l->file_bytes)
		add_ulimit(w, "fsize", RLIMIT_FSIZE, l->file_bytes);
	if (l->open_files || c->podman)
		add_ulimit(w, "nofile", RLIMIT_NOFILE, l->open_files ? l->open_files : UINT64_MAX);
	if (c->podman)
		add_ulimit(w, "nproc", RLIMIT_NPROC, PODMAN_NPROC);
	add(w, "--tmpfs");
	add(w, l->tmp_bytes
	               ? arena_printf(w->arena, "/tmp:rw,exec,nosuid,nodev,mode=1777,size=%" PRIu64,
	                              l->tmp_bytes)
	               : "/tmp:rw,exec,nosuid,nodev,mode=1777");
}

static void add_identity(struct words *w, const struct container_wish *wish)
{
	add_all(w, (const char *const[]){"--name", wish->name, "--label", NULL});
	add(w, arena_printf(w->arena, "nacre.task=%s", wish->task));
	if (wish->state) {
		add(w, "--label");
		add(w, arena_printf(w->arena, "nacre.state=%s", wish->state));
	}
	add_all(w, (const char *const[]){"--user", wish->user, NULL});
	if (wish->keep_id)
		add(w, "--userns=keep-id");
}

int container_create_words(const struct container_client *c, const struct container_wish *wish,
                           struct arena *arena, const char *const **ret_argv, struct error *err)
{
	/* What an image brings along (its entry point, its health check) does not run. */
	static const char *const fixed[] = {"--pull",
	                                    "never",
	                                    "--init",
	                                    "--interactive",
	                                    "--read-only",
	                                    "--cap-drop",
	                                    "ALL",
	                                    "--security-opt",
	                                    "no-new-privileges",
	                                    "--log-driver",
	                                    "none",
	                                    "--no-healthcheck",
	                                    "--entrypoint",
	                                    "",
	                                    NULL};
	struct words w = begin(c, arena);
	int r = check(wish, err);

	if (r < 0)
		return r;
	add(&w, "create");
	add_identity(&w, wish);
	add_all(&w, fixed);
	if (c->podman) /* which gives its own proxies to the container otherwise */
		add(&w, "--http-proxy=false");
	add_all(&w, (const char *const[]){"--network", wish->network ? "host" : "none", NULL});
	if (wish->terminal)
		add(&w, "--tty");
	add_limits(&w, c, &wish->limits);
	for (size_t i = 0; i < wish->mount_count; i++)
		add_mount(&w, c, &wish->mounts[i]);
	add_all(&w, (const char *const[]){"--workdir", wish->cwd, NULL});
	if (wish->env_file)
		add_all(&w, (const char *const[]){"--env-file", wish->env_file, NULL});
	for (const char *const *e = wish->envp; *e; e++)
		add_all(&w, (const char *const[]){"--env", *e, NULL});
	add_all(&w, (const char *const[]){"--", wish->image, NULL});
	add_all(&w, wish->argv);
	return end(&w, ret_argv) < 0 ? error_nomem(err) : 0;
}

static int simple_words(const struct container_client *c, const char *const *list,
                        struct arena *arena, const char *const **ret_argv)
{
	struct words w = begin(c, arena);

	add_all(&w, list);
	return end(&w, ret_argv);
}

int container_start_words(const struct container_client *c, const char *name, struct arena *arena,
                          const char *const **ret_argv)
{
	return simple_words(c,
	                    (const char *const[]){"start", "--attach", "--interactive", name, NULL},
	                    arena, ret_argv);
}

int container_state_words(const struct container_client *c, const char *name, struct arena *arena,
                          const char *const **ret_argv)
{
	return simple_words(c,
	                    (const char *const[]){"container", "inspect", "--format",
	                                          "{{json .State}}", name, NULL},
	                    arena, ret_argv);
}

int container_remove_words(const struct container_client *c, const char *name, struct arena *arena,
                           const char *const **ret_argv)
{
	return simple_words(c, (const char *const[]){"rm", "--force", "--volumes", name, NULL},
	                    arena, ret_argv);
}

int container_image_words(const struct container_client *c, const char *image, struct arena *arena,
                          const char *const **ret_argv)
{
	return simple_words(
		c, (const char *const[]){"image", "inspect", "--format", "{{.Id}}", image, NULL},
		arena, ret_argv);
}

int container_list_words(const struct container_client *c, const char *state, struct arena *arena,
                         const char *const **ret_argv)
{
	const char *filter = arena_printf(arena, "label=nacre.state=%s", state);

	if (!filter)
		return -ENOMEM;
	return simple_words(c,
	                    (const char *const[]){"ps", "--all", "--filter", filter, "--format",
	                                          "{{.Names}}", NULL},
	                    arena, ret_argv);
}

bool container_env_fits_file(const char *entry)
{
	size_t n = strcspn(entry, "=");

	/* A line ends where it ends, '#' begins a comment, without '=' the client puts in a value
	 * of its own, quotes mean something to some versions, and what is no text is refused by
	 * check(). */
	return entry[n] == '=' && n > 0 && !strpbrk(entry, "\n\r\v\f#\"'\\") &&
	       strcspn(entry, " \t") > n && strlen(entry) <= ENV_LINE_MAX &&
	       utf8_valid_prefix(entry, strlen(entry)) == strlen(entry);
}

int container_state_read(const char *bytes, size_t n, struct container_state *ret_state,
                         struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	int running = 0, oom = 0, code = 0, r;
	const char *started = "", *failure = "";
	json_error_t e;

	r = json_read(bytes, n, STATE_MAX, "state of the container", &root, err);
	if (r < 0)
		return r;
	if (json_unpack_ex(root, &e, 0, "{s:b, s?b, s:i, s?s, s:s}", "Running", &running,
	                   "OOMKilled", &oom, "ExitCode", &code, "Error", &failure, "StartedAt",
	                   &started) < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "state of the container: %s", e.text);
	*ret_state = (struct container_state){
		.started = strncmp(started, "0001-", 5) != 0 && *started,
		.running = running,
		.oom_killed = oom,
		.exit_code = code,
	};
	snprintf(ret_state->error, sizeof(ret_state->error), "%s", failure);
	return 0;
}
