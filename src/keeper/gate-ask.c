/*
 * Connections that wait for a person. There is one question for a name and a port, whoever else
 * comes joins it. It lies on the desk like any other, so it is answered like any other. A yes for
 * one command holds while its tasks run, one for the session as long as that: a program that tries
 * again gets through. Until somebody has said yes nothing leaves the machine.
 */
#include "keeper/gate-inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "approval/approval.h"
#include "approval/connection.h"
#include "approval/desk.h"
#include "audit/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define LOOK_MS     500 /* where the desk cannot be watched */

static bool is_about(const char *name, uint16_t port, const struct gateway_event *e)
{
	return port == e->port && strcmp(name, e->name) == 0;
}

static struct connection_asker asker(const struct gate *g)
{
	const struct gate_wish *w = g->wish;

	return (struct connection_asker){.profile = w->profile,
	                                 .state = w->state,
	                                 .principal = w->principal,
	                                 .session = w->session,
	                                 .door = w->door,
	                                 .workspace = w->workspace};
}

static void remember(struct gate *g, const char *name, uint16_t port, bool yes)
{
	struct gate_answer *a;

	if (g->answer_count == GATE_ANSWERS_MAX)
		return;
	a = &g->answers[g->answer_count++];
	*a = (struct gate_answer){.port = port, .yes = yes};
	snprintf(a->name, sizeof(a->name), "%s", name);
}

/* The notice of a refusal names the question, or says that it was a no. */
static void note_asked(struct gate *g, const char *what, const char *name, uint16_t port)
{
	struct gate_asked *a = g->asked;

	while (a < g->asked + GATE_QUESTIONS_MAX && (a->port != port || strcmp(a->name, name) != 0))
		a++;
	if (a == g->asked + GATE_QUESTIONS_MAX)
		a = &g->asked[g->asked_next++ % GATE_QUESTIONS_MAX];
	*a = (struct gate_asked){.port = port};
	snprintf(a->what, sizeof(a->what), "%s", what);
	snprintf(a->name, sizeof(a->name), "%s", name);
}

static void note_no(struct gate *g, const struct gate_question *q, const char *why)
{
	char what[GATEWAY_WHAT_SIZE];

	snprintf(what, sizeof(what), "no%s%s", why && *why ? ": " : "", why ? why : "");
	for (char *c = what; *c; c++) /* it becomes a field of a line */
		if ((unsigned char)*c < ' ')
			*c = ' ';
	note_asked(g, what, q->name, q->port);
}

/* Whoever waits for it; nobody does afterwards. */
static void answer(struct gate *g, struct gate_question *q, bool yes, enum network_reason reason)
{
	for (size_t i = 0; i < q->held_count; i++)
		gate_order(g, yes ? GATEWAY_GO : GATEWAY_STOP, q->held[i], reason);
	for (size_t i = 0; i < GATE_TASKS_MAX && yes && q->left && q->held_count == 0; i++)
		if (g->tasks[i].channel >= 0)
			snprintf(g->tasks[i].notice, sizeof(g->tasks[i].notice),
			         "network: %.120s:%u was allowed after the program had stopped "
			         "waiting: run it again",
			         q->name, q->port);
	free(q->held);
	*q = (struct gate_question){.port = 0};
	gate_tell_held(g);
}

/* How the question stands. True: it is settled. */
static bool settle(struct gate *g, struct gate_question *q)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_BYTES);
	struct approval a;

	if (!arena || desk_read(g->desk, q->id, arena, &a, NULL) < 0)
		return false;
	if (a.state == APPROVAL_GIVEN && a.answer == APPROVAL_ONCE &&
	    desk_spend(g->desk, q->id, a.principal, &a.object, arena, &a, NULL) < 0)
		return false;
	if (a.state == APPROVAL_GIVEN || a.state == APPROVAL_USED) {
		remember(g, q->name, q->port, true);
		answer(g, q, true, NETWORK_REASON_NONE);
		return true;
	}
	if (a.state == APPROVAL_REFUSED) {
		desk_tell(g->desk, &a);
		note_no(g, q, a.why);
		remember(g, q->name, q->port, false);
		answer(g, q, false, NETWORK_REASON_PERSON);
		return true;
	}
	return false;
}

void gate_ask_look(struct gate *g)
{
	int64_t now = clock_now_ms();

	desk_watch_drain(g->watch);
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++) {
		struct gate_question *q = &g->questions[i];

		if (!q->id[0] || settle(g, q) || now < q->until)
			continue;
		note_asked(g, q->id, q->name, q->port);
		answer(g, q, false, NETWORK_REASON_TIMEOUT);
	}
}

static int64_t longest_wait(const struct gate *g)
{
	int64_t most = 0;

	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		if (g->tasks[i].channel >= 0 && g->tasks[i].ask_ms > most)
			most = g->tasks[i].ask_ms;
	return most;
}

void gate_ask_give_up(struct gate *g)
{
	for (size_t i = 0; i < GATE_QUESTIONS_MAX && longest_wait(g) == 0; i++) {
		struct gate_question *q = &g->questions[i];

		if (!q->id[0] || settle(g, q))
			continue;
		note_asked(g, q->id, q->name, q->port);
		answer(g, q, false, NETWORK_REASON_PERSON);
	}
}

int64_t gate_ask_due(const struct gate *g)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		if (g->questions[i].id[0] && g->questions[i].until < due)
			due = g->questions[i].until;
	if (due != INT64_MAX && g->watch < 0 && clock_now_ms() + LOOK_MS < due)
		due = clock_now_ms() + LOOK_MS;
	return due;
}

void gate_ask_forget(struct gate *g)
{
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		if (g->questions[i].id[0]) {
			free(g->questions[i].held);
			g->questions[i] = (struct gate_question){.port = 0};
		}
	g->answer_count = 0;
}

static bool hold(struct gate_question *q, uint32_t id)
{
	if (q->held_count == q->held_size) {
		size_t size = q->held_size ? 2 * q->held_size : 8;
		uint32_t *held = reallocarray(q->held, size, sizeof(*held));

		if (!held)
			return false;
		q->held = held;
		q->held_size = size;
	}
	q->held[q->held_count++] = id;
	return true;
}

void gate_ask_left(struct gate *g, const struct gateway_event *e)
{
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++) {
		struct gate_question *q = &g->questions[i];

		for (size_t j = 0; q->id[0] && j < q->held_count; j++)
			if (q->held[j] == e->id) {
				q->held[j] = q->held[--q->held_count];
				q->left = true;
				gate_tell_held(g);
				return;
			}
	}
}

static int open_desk(struct gate *g)
{
	if (g->desk >= 0)
		return 0;
	if (!g->wish->state || !*g->wish->state)
		return -1;
	g->desk = desk_open(g->wish->state, true, NULL);
	if (g->desk < 0)
		return -1;
	g->watch = desk_watch(g->desk);
	return 0;
}

static void refuse(struct gate *g, const struct gateway_event *e, const char *id,
                   enum network_reason reason)
{
	if (id)
		note_asked(g, id, e->name, e->port);
	gate_order(g, GATEWAY_STOP, e->id, reason);
}

/* An answer of before, or the question at the desk. False: it was decided here. */
static bool put_question(struct gate *g, const struct gateway_event *e, struct arena *arena,
                         struct approval *a)
{
	struct approval found;

	if (desk_find(g->desk, a, arena, &found, NULL) == 0) {
		*a = found;
		return true;
	}
	if (desk_put(g->desk, a, NULL) < 0) {
		refuse(g, e, NULL, NETWORK_REASON_LIMIT);
		return false;
	}
	(void)gate_record(g, AUDIT_ASKED, e, a->id);
	return true;
}

static void wait_for(struct gate *g, const struct gateway_event *e, const char *id, int64_t wait_ms)
{
	struct gate_question *q = g->questions;

	while (q < g->questions + GATE_QUESTIONS_MAX && q->id[0])
		q++;
	if (q == g->questions + GATE_QUESTIONS_MAX || !hold(q, e->id)) {
		refuse(g, e, id, NETWORK_REASON_LIMIT);
		return;
	}
	memcpy(q->id, id, sizeof(q->id));
	memcpy(q->name, e->name, sizeof(q->name));
	q->port = e->port;
	q->left = false;
	q->number = ++g->question_count;
	q->until = clock_now_ms() + wait_ms;
	if (!settle(g, q)) /* it may have been answered meanwhile */
		gate_tell_held(g);
}

void gate_ask(struct gate *g, const struct gateway_event *e)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_BYTES);
	const struct connection to = {.name = e->name, .port = e->port, .rule = e->rule};
	struct connection_asker by = asker(g);
	int64_t wait_ms = longest_wait(g);
	struct approval a;

	for (size_t i = 0; i < g->answer_count; i++)
		if (is_about(g->answers[i].name, g->answers[i].port, e)) {
			gate_order(g, g->answers[i].yes ? GATEWAY_GO : GATEWAY_STOP, e->id,
			           NETWORK_REASON_PERSON);
			return;
		}
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		if (g->questions[i].id[0] &&
		    is_about(g->questions[i].name, g->questions[i].port, e)) {
			if (!hold(&g->questions[i], e->id))
				refuse(g, e, NULL, NETWORK_REASON_LIMIT);
			gate_tell_held(g);
			return;
		}
	if (arena && connection_is_granted(&by, &to, arena)) {
		gate_order(g, GATEWAY_GO, e->id, NETWORK_REASON_NONE);
		return;
	}
	if (!arena || g->wish->profile->ask.refused || open_desk(g) < 0 ||
	    connection_question(&by, &to, 1, arena, &a) < 0) {
		refuse(g, e, NULL, NETWORK_REASON_PERSON);
		return;
	}
	if (!put_question(g, e, arena, &a))
		return;
	/* One that was answered is settled at once. */
	if (wait_ms > 0 || a.state != APPROVAL_OPEN)
		wait_for(g, e, a.id, wait_ms);
	else
		refuse(g, e, a.id, NETWORK_REASON_PERSON);
}
