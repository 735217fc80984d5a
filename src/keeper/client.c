#include "keeper/client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/packet.h"
#include "container/left.h"
#include "container/ready.h"
#include "decide/check.h"
#include "task/control.h"
#include "keeper/inside.h"
#include "session/variables.h"
#include "profile/profile.h"

#define CLIENT_ARENA ((size_t)16 << 20)
#define LEFT_MS      4000

static const char *const host_names[DOCKER_CLIENT_MAX] = {
	[DOCKER_CLIENT_DOCKER] = "DOCKER_HOST",
	[DOCKER_CLIENT_PODMAN] = "CONTAINER_HOST",
};

/* An order to stop ends the wait; other orders have no meaning yet. A starter that is gone is not
 * listened to any more, and ends what only it could end. */
static bool starter_ends_it(void *owner)
{
	struct keeper *k = owner;
	char bytes[sizeof(uint32_t) + LISTEN_ORDER_MAX];
	ssize_t n = packet_get(k->fds.control, bytes, sizeof(bytes), MSG_DONTWAIT);
	uint32_t kind;
	bool stop = false;

	if (n >= (ssize_t)sizeof(kind)) {
		memcpy(&kind, bytes, sizeof(kind));
		stop = kind == CONTROL_STOP || kind == CONTROL_STOP_NOW;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		k->starter_gone = true;
		k->starter.fd = -1;
		stop = k->order.interactive;
	}
	if (stop)
		k->report.end = KEEPER_END_STOPPED;
	return stop;
}

static void tell_starter(void *owner, const char *text)
{
	struct keeper *k = owner;

	if (!k->starter_gone)
		(void)control_send(k->fds.control, CONTROL_NOTE, text, strlen(text), -1);
}

const struct docker_watch *keeper_watch_starter(struct keeper *k)
{
	k->starter = (struct docker_watch){.fd = k->starter_gone ? -1 : k->fds.control,
	                                   .is_over = starter_ends_it,
	                                   .progress = tell_starter,
	                                   .owner = k};
	return &k->starter;
}

int64_t keeper_time_left(const struct keeper *k)
{
	int64_t left = k->deadline - clock_now_ms();

	return left > 0 ? left : 1;
}

int keeper_find_engine(const struct keeper *k, enum docker_client client,
                       struct docker_endpoint *ret_endpoint, struct error *err)
{
	const struct docker_place place = {
		.configured = k->profile->docker.endpoint,
		.environment = (const char *const *)environ,
		.workspace = k->order.request.workspace,
	};

	return docker_endpoint_find(client, &place, ret_endpoint, err);
}

int keeper_ready_engine(struct keeper *k, const struct docker_endpoint *e, struct error *err)
{
	const struct profile_docker *d = &k->profile->docker;
	const struct docker_wish wish = {
		.endpoint = e,
		.start = d->start && d->start[0] ? d->start : NULL,
		.envp = (const char *const *)environ,
		.start_timeout_ms = d->start_timeout_ms,
		.ping_timeout_ms = d->ping_timeout_ms,
		.most_ms = keeper_time_left(k),
		.state = k->order.request.state,
		.watch = keeper_watch_starter(k),
	};
	char notice[DOCKER_NOTICE_MAX];
	struct docker_answer answer;
	int r;

	/* Nobody tells how long the start may take: the least time of all that wait counts. */
	r = docker_make_ready(&wish, &answer, notice, err);
	if (r == 0 && notice[0])
		snprintf(k->report.engine, sizeof(k->report.engine), "%s", notice);
	return r;
}

/* Which clients the line runs, in any of its commands. */
static int find_clients(const struct keeper *k, struct arena *arena,
                        bool ret_clients[DOCKER_CLIENT_MAX])
{
	const struct keeper_request *rq = &k->order.request;
	const struct shell_facts *f;
	int r = check_read_facts(arena, k->profile, rq->command, rq->argv, &f);

	for (int i = 0; r == 0 && i < DOCKER_CLIENT_MAX; i++)
		ret_clients[i] = check_names_client(f, (enum docker_client)i);
	return r;
}

/* NAME=VALUE in place of what was there. */
static int set_variable(struct keeper *k, struct arena *arena, const char *name, const char *value)
{
	size_t n = 0, len = strlen(name);
	const char **envp;

	for (const char *const *e = k->order.envp; *e; e++)
		n++;
	envp = arena_new_array(arena, const char *, n + 2);
	if (!envp)
		return -ENOMEM;
	n = 0;
	for (const char *const *e = k->order.envp; *e; e++)
		if (strncmp(*e, name, len) != 0 || (*e)[len] != '=')
			envp[n++] = *e;
	envp[n] = arena_printf(arena, "%s=%s", name, value);
	if (!envp[n])
		return -ENOMEM;
	k->order.envp = envp;
	return 0;
}

static int add_socket(struct keeper *k, struct arena *arena, const char *path)
{
	const char **sockets;
	size_t n = 0;

	while (k->spec.sockets && k->spec.sockets[n])
		n++;
	sockets = arena_new_array(arena, const char *, n + 2);
	if (!sockets)
		return -ENOMEM;
	if (n > 0)
		memcpy(sockets, k->spec.sockets, n * sizeof(*sockets));
	sockets[n] = arena_strdup(arena, path);
	k->spec.sockets = sockets;
	return sockets[n] ? 0 : -ENOMEM;
}

/* The socket by its real name: the box has no links to it. In the workspace links are the agent's,
 * and lead wherever it likes; what lies there is in the box anyway. */
static int grant(struct keeper *k, struct arena *arena, const struct docker_endpoint *e)
{
	size_t n = strlen(k->order.request.workspace);
	char real[PATH_MAX], url[PATH_MAX + 8];
	struct stat st;

	if (!e->path[0] ||
	    (strncmp(e->path, k->order.request.workspace, n) == 0 && e->path[n] == '/'))
		return set_variable(k, arena, host_names[e->client], e->url);
	if (!realpath(e->path, real) || stat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0; /* it is not there, and the line did not name its client */
	snprintf(url, sizeof(url), "unix://%s", real);
	if (set_variable(k, arena, host_names[e->client], url) < 0)
		return -ENOMEM;
	return add_socket(k, arena, real);
}

/* As root nacre can connect, but the box runs as the owner of the workspace. */
static int check_owner(const struct keeper *k, const char *path, struct error *err)
{
	struct stat owner, st;

	if (geteuid() != 0 || k->spec.tier == SANDBOX_TIER_NONE ||
	    stat(k->order.request.workspace, &owner) < 0 || stat(path, &st) < 0 ||
	    owner.st_uid == 0 || st.st_mode & 0002 ||
	    (st.st_mode & 0200 && st.st_uid == owner.st_uid) ||
	    (st.st_mode & 0020 && st.st_gid == owner.st_gid))
		return 0;
	return error_set(err, ERROR_UNSUPPORTED, EACCES,
	                 "the box runs as the owner of the workspace (uid %u), who may not connect "
	                 "to %.100s: run nacre as a user who may",
	                 owner.st_uid, path);
}

/* podman needs no service where it may make namespaces of its own. */
static bool can_do_without(const struct keeper *k, const struct docker_endpoint *e)
{
	struct docker_answer answer;

	if (e->client != DOCKER_CLIENT_PODMAN || k->spec.tier != SANDBOX_TIER_NONE || !e->path[0])
		return false;
	docker_ping(e->path, k->profile->docker.ping_timeout_ms, 0, &answer);
	return answer.state == DOCKER_ABSENT || answer.state == DOCKER_STALE;
}

static int ready_client(struct keeper *k, struct arena *arena, enum docker_client client,
                        bool named, struct error *err)
{
	bool boxed = k->spec.tier != SANDBOX_TIER_NONE;
	struct docker_endpoint e;
	int r = keeper_find_engine(k, client, &e, named ? err : NULL);

	if (r < 0 || (named && can_do_without(k, &e)))
		return named && r < 0 ? r : 0;
	if (named && boxed && !e.path[0] && k->spec.network == SANDBOX_NETWORK_NONE)
		return error_set(
			err, ERROR_UNSUPPORTED, ENETUNREACH,
			"the engine at %.100s cannot be reached from the box, which has no "
			"network: use a unix socket, or 'sandbox: {network: host}'",
			e.url);
	r = named ? keeper_ready_engine(k, &e, err) : 0;
	if (r == 0 && named && e.path[0])
		r = check_owner(k, e.path, err);
	if (r < 0)
		return r;
	return grant(k, arena, &e) < 0 ? error_nomem(err) : 0;
}

int keeper_ready_clients(struct keeper *k, struct arena *arena, struct error *err)
{
	bool named[DOCKER_CLIENT_MAX] = {false};
	int r;

	if (!k->profile->docker.allow || k->spec.tier == SANDBOX_TIER_CONTAINER)
		return 0;
	r = find_clients(k, arena, named);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	for (int i = 0; r == 0 && i < DOCKER_CLIENT_MAX; i++)
		r = ready_client(k, arena, (enum docker_client)i, named[i], err);
	return r;
}

/* Every word of the line's docker commands that is known: images are among them. */
static const char *const *client_words(const struct keeper *k, struct arena *arena)
{
	const struct keeper_request *rq = &k->order.request;
	const struct shell_facts *f;
	const char **words;
	size_t n = 0, most = 1;

	if (check_read_facts(arena, k->profile, rq->command, rq->argv, &f) < 0)
		return NULL;
	for (size_t i = 0; i < f->command_count; i++)
		most += f->commands[i].word_count;
	words = arena_new_array(arena, const char *, most);
	for (size_t i = 0; words && i < f->command_count; i++) {
		const struct shell_fact_command *c = &f->commands[i];

		if (!check_is_client(c))
			continue;
		for (size_t w = 1; w < c->word_count; w++)
			if (c->words[w].kind == SHELL_VALUE_KNOWN &&
			    (words[n] = arena_strndup(arena, c->words[w].text.bytes,
			                              c->words[w].text.len)))
				n++;
	}
	return words;
}

/* A client that was ended by force has left its container to the engine. */
static void clean_up(struct keeper *k, struct arena *arena, enum docker_client client)
{
	const struct docker_line line = {.since_seconds = k->report.started_ms / 1000,
	                                 .words = client_words(k, arena)};
	char ids[DOCKER_LEFT_SHOWN * 13 + 1] = "";
	struct docker_endpoint e;
	struct docker_left left;
	size_t gone;

	if (keeper_find_engine(k, client, &e, NULL) < 0 || !e.path[0] ||
	    docker_left_find(e.path, &line, LEFT_MS, &left, NULL) < 0)
		return;
	gone = docker_left_remove(e.path, &left, LEFT_MS);
	if (gone > 0)
		snprintf(
			k->report.engine, sizeof(k->report.engine),
			"%zu container%s of the command went on without its client, and %s removed",
			gone, gone == 1 ? "" : "s", gone == 1 ? "was" : "were");
	if (left.count == 0)
		return;
	for (size_t i = 0; i < left.count && i < DOCKER_LEFT_SHOWN; i++)
		snprintf(ids + 13 * i, sizeof(ids) - 13 * i, " %s", left.ids[i]);
	snprintf(k->report.engine, sizeof(k->report.engine),
	         "%zu container%s made since the start of the command, and still there; if %s, "
	         "remove with `%s rm -f%s%s`",
	         left.count, left.count == 1 ? " was" : "s were",
	         left.count == 1 ? "it is its own" : "they are its own", docker_client_name(client),
	         ids, left.count > DOCKER_LEFT_SHOWN ? " ..." : "");
}

/* What a client that failed may have lacked. */
static void explain_lack(struct keeper *k)
{
	snprintf(k->report.engine, sizeof(k->report.engine),
	         "this profile does not let commands reach the container engine, which is outside "
	         "of the box: 'docker: {allow: true}' would, in a policy file of the operator");
}

void keeper_explain_client(struct keeper *k)
{
	scoped(arena_freep) struct arena *arena = NULL;
	bool named[DOCKER_CLIENT_MAX] = {false};
	bool failed = k->report.end == KEEPER_END_EXITED && k->report.status != 0;
	bool ended = k->report.end == KEEPER_END_TIMEOUT || k->report.end == KEEPER_END_IDLE ||
	             k->report.end == KEEPER_END_STOPPED || k->report.end == KEEPER_END_CROWDED;

	if (!k->profile || !k->process || k->container || !(failed || ended) ||
	    (!k->profile->docker.allow && (!failed || k->spec.tier == SANDBOX_TIER_NONE)))
		return;
	if (k->profile->docker.allow && failed)
		return;
	arena = arena_new(CLIENT_ARENA);
	if (!arena || find_clients(k, arena, named) < 0)
		return;
	for (int i = 0; i < DOCKER_CLIENT_MAX; i++) {
		if (named[i] && ended)
			clean_up(k, arena, (enum docker_client)i);
		else if (named[i])
			explain_lack(k);
	}
}
