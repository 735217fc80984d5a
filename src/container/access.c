#include "container/access.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "container/left.h"
#include "container/spec.h"
#include "sandbox/spec.h"

#define LEFT_MS 4000

static const char *const host_names[DOCKER_CLIENT_MAX] = {
	[DOCKER_CLIENT_DOCKER] = "DOCKER_HOST",
	[DOCKER_CLIENT_PODMAN] = "CONTAINER_HOST",
};

int64_t engine_time_left(const struct engine_need *n)
{
	int64_t left = n->deadline - clock_now_ms();

	return left > 0 ? left : 1;
}

int engine_find(const struct engine_need *n, enum docker_client client,
                struct docker_endpoint *ret_endpoint, struct error *err)
{
	const struct docker_place place = {
		.configured = n->spec->endpoint,
		.environment = (const char *const *)environ,
		.workspace = n->workspace,
	};

	return docker_endpoint_find(client, &place, ret_endpoint, err);
}

int engine_ready(struct engine_need *n, const struct docker_endpoint *e, struct error *err)
{
	const struct docker_wish wish = {
		.endpoint = e,
		.start = n->spec->start && n->spec->start[0] ? n->spec->start : NULL,
		.envp = (const char *const *)environ,
		.start_timeout_ms = n->spec->start_timeout_ms,
		.ping_timeout_ms = n->spec->ping_timeout_ms,
		.most_ms = engine_time_left(n),
		.state = n->state,
		.watch = n->watch,
	};
	char notice[DOCKER_NOTICE_MAX];
	struct docker_answer answer;
	int r;

	/* Nobody tells how long the start may take: the least time of all that wait counts. */
	r = docker_make_ready(&wish, &answer, notice, err);
	if (r == 0 && notice[0])
		memcpy(n->notice, notice, sizeof(notice));
	return r;
}

static int set_address(struct access *a, enum docker_client client, const char *url)
{
	const char *const *envp = env_with(a->arena, a->envp, host_names[client], url);

	if (!envp)
		return -ENOMEM;
	a->envp = envp;
	return 0;
}

static int add_socket(struct access *a, const char *path)
{
	const char *const *sockets =
		strings_with(a->arena, a->box->sockets, arena_strdup(a->arena, path));

	if (!sockets)
		return -ENOMEM;
	a->box->sockets = sockets;
	return 0;
}

/* The socket by its real name: the box has no links to it. In the workspace links are the agent's,
 * and lead wherever it likes; what lies there is in the box anyway. */
static int grant(struct access *a, const struct docker_endpoint *e)
{
	size_t n = strlen(a->need->workspace);
	char real[PATH_MAX], url[PATH_MAX + 8];
	struct stat st;

	if (!e->path[0] || (strncmp(e->path, a->need->workspace, n) == 0 && e->path[n] == '/'))
		return set_address(a, e->client, e->url);
	if (!realpath(e->path, real) || stat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0; /* it is not there, and the line did not name its client */
	snprintf(url, sizeof(url), "unix://%s", real);
	if (set_address(a, e->client, url) < 0)
		return -ENOMEM;
	return add_socket(a, real);
}

/* As root nacre can connect, but the box runs as the owner of the workspace. */
static int check_owner(const struct access *a, const char *path, struct error *err)
{
	struct stat owner, st;

	if (geteuid() != 0 || a->box->tier == SANDBOX_TIER_NONE ||
	    stat(a->need->workspace, &owner) < 0 || stat(path, &st) < 0 || owner.st_uid == 0 ||
	    st.st_mode & 0002 || (st.st_mode & 0200 && st.st_uid == owner.st_uid) ||
	    (st.st_mode & 0020 && st.st_gid == owner.st_gid))
		return 0;
	return error_set(err, ERROR_UNSUPPORTED, EACCES,
	                 "the box runs as the owner of the workspace (uid %u), who may not connect "
	                 "to %.100s: run nacre as a user who may",
	                 owner.st_uid, path);
}

/* podman needs no service where it may make namespaces of its own. */
static bool can_do_without(const struct access *a, const struct docker_endpoint *e)
{
	struct docker_answer answer;

	if (e->client != DOCKER_CLIENT_PODMAN || a->box->tier != SANDBOX_TIER_NONE || !e->path[0])
		return false;
	docker_ping(e->path, a->need->spec->ping_timeout_ms, 0, &answer);
	return answer.state == DOCKER_ABSENT || answer.state == DOCKER_STALE;
}

static int ready_client(struct access *a, enum docker_client client, bool named, struct error *err)
{
	bool boxed = a->box->tier != SANDBOX_TIER_NONE;
	struct docker_endpoint e;
	int r = engine_find(a->need, client, &e, named ? err : NULL);

	if (r < 0 || (named && can_do_without(a, &e)))
		return named && r < 0 ? r : 0;
	if (named && boxed && !e.path[0] && a->box->network != SANDBOX_NETWORK_HOST)
		return error_set(
			err, ERROR_UNSUPPORTED, ENETUNREACH,
			"the engine at %.100s cannot be reached from the box, which has no "
			"network: use a unix socket, or 'sandbox: {network: host}'",
			e.url);
	r = named ? engine_ready(a->need, &e, err) : 0;
	if (r == 0 && named && e.path[0])
		r = check_owner(a, e.path, err);
	if (r < 0)
		return r;
	return grant(a, &e) < 0 ? error_nomem(err) : 0;
}

int access_give(struct access *a, const bool named[DOCKER_CLIENT_MAX], struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < DOCKER_CLIENT_MAX; i++)
		r = ready_client(a, (enum docker_client)i, named[i], err);
	return r;
}

void access_clean_up(const struct engine_need *n, enum docker_client client,
                     const struct docker_line *line, char *notice, size_t size)
{
	char ids[DOCKER_LEFT_SHOWN * 13 + 1] = "";
	struct docker_endpoint e;
	struct docker_left left;
	size_t gone;

	if (engine_find(n, client, &e, NULL) < 0 || !e.path[0] ||
	    docker_left_find(e.path, line, LEFT_MS, &left, NULL) < 0)
		return;
	gone = docker_left_remove(e.path, &left, LEFT_MS);
	if (gone > 0)
		snprintf(
			notice, size,
			"%zu container%s of the command went on without its client, and %s removed",
			gone, gone == 1 ? "" : "s", gone == 1 ? "was" : "were");
	if (left.count == 0)
		return;
	for (size_t i = 0; i < left.count && i < DOCKER_LEFT_SHOWN; i++)
		snprintf(ids + 13 * i, sizeof(ids) - 13 * i, " %s", left.ids[i]);
	snprintf(notice, size,
	         "%zu container%s made since the start of the command, and still there; if %s, "
	         "remove with `%s rm -f%s%s`",
	         left.count, left.count == 1 ? " was" : "s were",
	         left.count == 1 ? "it is its own" : "they are its own", docker_client_name(client),
	         ids, left.count > DOCKER_LEFT_SHOWN ? " ..." : "");
}
