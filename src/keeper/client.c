#include "keeper/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/packet.h"
#include "container/left.h"
#include "decide/check.h"
#include "task/control.h"
#include "keeper/inside.h"
#include "profile/profile.h"

#define CLIENT_ARENA ((size_t)16 << 20)

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

/* Lets the starter and its orders be heard while something is waited for. When that is over the end
 * of the report says why. */
static const struct docker_watch *watch_starter(struct keeper *k)
{
	k->starter = (struct docker_watch){.fd = k->starter_gone ? -1 : k->fds.control,
	                                   .is_over = starter_ends_it,
	                                   .progress = tell_starter,
	                                   .owner = k};
	return &k->starter;
}

struct engine_need keeper_engine_need(struct keeper *k)
{
	return (struct engine_need){.spec = &k->profile->docker,
	                            .workspace = k->order.request.workspace,
	                            .state = k->order.request.state,
	                            .deadline = k->deadline,
	                            .watch = watch_starter(k)};
}

void keeper_note_engine(struct keeper *k, const char *notice)
{
	if (*notice)
		snprintf(k->report.engine, sizeof(k->report.engine), "%s", notice);
}

int keeper_ready_clients(struct keeper *k, struct arena *arena, struct error *err)
{
	bool named[DOCKER_CLIENT_MAX] = {false};
	struct engine_need need;
	struct access access = {
		.need = &need, .arena = arena, .box = &k->spec, .envp = k->order.envp};
	int r;

	if (!k->profile->docker.allow || k->spec.tier == SANDBOX_TIER_CONTAINER)
		return 0;
	for (int i = 0; i < DOCKER_CLIENT_MAX; i++)
		named[i] = check_names_client(k->facts, (enum docker_client)i);
	need = keeper_engine_need(k);
	r = access_give(&access, named, err);
	k->order.envp = access.envp;
	keeper_note_engine(k, need.notice);
	return r;
}

/* Every word of the line's docker commands that is known: images are among them. */
static const char *const *client_words(const struct keeper *k, struct arena *arena)
{
	const struct shell_facts *f = k->facts;
	const char **words;
	size_t n = 0, most = 1;

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

static void clean_up(struct keeper *k, struct arena *arena, enum docker_client client)
{
	const struct docker_line line = {.since_seconds = k->report.started_ms / 1000,
	                                 .words = client_words(k, arena)};
	const struct engine_need need = keeper_engine_need(k);

	access_clean_up(&need, client, &line, k->report.engine, sizeof(k->report.engine));
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
	bool failed = k->report.end == KEEPER_END_EXITED && k->report.status != 0;
	bool ended = k->report.end == KEEPER_END_TIMEOUT || k->report.end == KEEPER_END_IDLE ||
	             k->report.end == KEEPER_END_STOPPED || k->report.end == KEEPER_END_CROWDED;

	if (!k->profile || !k->process || k->container || !(failed || ended) ||
	    (!k->profile->docker.allow && (!failed || k->spec.tier == SANDBOX_TIER_NONE)))
		return;
	if (k->profile->docker.allow && failed)
		return;
	arena = arena_new(CLIENT_ARENA);
	for (int i = 0; arena && k->facts && i < DOCKER_CLIENT_MAX; i++) {
		if (!check_names_client(k->facts, (enum docker_client)i))
			continue;
		if (ended)
			clean_up(k, arena, (enum docker_client)i);
		else
			explain_lack(k);
	}
}
