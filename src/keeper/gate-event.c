#include "keeper/gate-inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "profile/profile.h"

#define RECORDS_MAX 1000 /* of a task; the rest is only counted */

struct gate_task *gate_first_task(struct gate *g, size_t *ret_count)
{
	struct gate_task *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		if (g->tasks[i].channel >= 0) {
			first = first ? first : &g->tasks[i];
			n++;
		}
	*ret_count = n;
	return first;
}

int gate_record(struct gate *g, enum audit_kind kind, const struct gateway_event *e,
                const char *approval)
{
	const struct profile *p = g->wish->profile;
	const struct network_rule *rule = network_rule_at(&p->network, e->rule);
	bool ended = kind == AUDIT_NETWORK_ENDED;
	char address[NETWORK_ADDRESS_SIZE] = "", text[DESTINATION_TEXT_SIZE];
	struct audit_connection c = {.name = e->name, .port = e->port, .waited_ms = e->waited_ms};
	struct audit_event a = {.kind = kind,
	                        .principal = g->wish->principal,
	                        .profile = p->name,
	                        .session = g->wish->session,
	                        .approval = approval,
	                        .connection = &c};
	size_t tasks;
	struct gate_task *t = gate_first_task(g, &tasks);
	uint64_t seq;
	int r = 0;

	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		g->tasks[i].questions += kind == AUDIT_ASKED;
	if (p->audit.off || !g->wish->state || !*g->wish->state)
		return 0;
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		g->tasks[i].records += g->tasks[i].channel >= 0;
	if (t && t->records > RECORDS_MAX)
		return 0;
	a.task = tasks == 1 ? t->id : NULL;
	if (e->address.family) {
		network_address_format(&e->address, address);
		c.address = address;
	}
	if (ended) {
		a.end = gateway_end_word(e->end);
		c.protocol = first_protocol_word(e->protocol);
		c.sent = e->sent;
		c.received = e->received;
		c.ms = e->ms;
		c.ech = e->ech;
	} else {
		a.verdict = kind == AUDIT_ASKED       ? "ask"
		            : e->kind == GATEWAY_DIAL ? "allow"
		                                      : "deny";
		a.reason = *network_reason_word(e->reason) ? network_reason_word(e->reason) : NULL;
	}
	if (rule && !ended) {
		destination_format(&rule->to, e->rule.list, text);
		a.rule = text;
		a.rule_file = rule->file;
		a.rule_line = rule->line;
	}
	if (!g->audit)
		r = audit_open(g->wish->state, &p->audit.log, &g->audit, NULL);
	return r == 0 ? audit_append(g->audit, &a, 1, &seq, NULL) : r;
}

static void add_item(struct gate_task *t, const struct gate *g, const struct gateway_event *e)
{
	const struct network_rule *rule = network_rule_at(&g->wish->profile->network, e->rule);
	char address[NETWORK_ADDRESS_SIZE];
	struct gate_item *i;

	t->refused++;
	for (i = t->items; i < t->items + t->item_count; i++)
		if (i->port == e->port && i->reason == e->reason && strcmp(i->name, e->name) == 0) {
			i->count++;
			return;
		}
	if (t->item_count == GATE_ITEMS_MAX)
		return;
	t->item_count++;
	*i = (struct gate_item){.port = e->port, .reason = e->reason, .count = 1};
	memcpy(i->name, e->name, sizeof(i->name));
	memcpy(i->what, e->what, sizeof(i->what));
	if (e->reason == NETWORK_REASON_PRIVATE && e->address.family) {
		network_address_format(&e->address, address);
		snprintf(i->what, sizeof(i->what), "%s (%.15s)", address, e->what);
	}
	for (size_t j = 0; j < GATE_QUESTIONS_MAX; j++)
		if ((e->reason == NETWORK_REASON_PERSON || e->reason == NETWORK_REASON_TIMEOUT) &&
		    g->asked[j].port == e->port && strcmp(g->asked[j].name, e->name) == 0)
			memcpy(i->what, g->asked[j].what, sizeof(i->what));
	if (rule)
		destination_format(&rule->to, e->rule.list, i->rule);
}

/* Whether some task has not heard of it yet. */
static bool is_new(const struct gate *g, const struct gateway_event *e)
{
	for (size_t i = 0; i < GATE_TASKS_MAX; i++) {
		const struct gate_task *t = &g->tasks[i];
		bool known = t->channel < 0;

		for (size_t j = 0; j < t->item_count && !known; j++)
			known = t->items[j].port == e->port &&
			        strcmp(t->items[j].name, e->name) == 0;
		if (!known)
			return true;
	}
	return false;
}

void gate_refused(struct gate *g, const struct gateway_event *e)
{
	/* One record for a name and a command: look-ups are cheap to make. */
	if (e->kind != GATEWAY_UNNAMED || is_new(g, e))
		(void)gate_record(g, AUDIT_NETWORK, e, NULL);
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		if (g->tasks[i].channel >= 0)
			add_item(&g->tasks[i], g, e);
}

static struct gate_open *find_open(struct gate *g, uint32_t id)
{
	for (size_t i = 0; i < g->open_count; i++)
		if (g->open[i].id == id)
			return &g->open[i];
	return NULL;
}

static struct gate_open *add_open(struct gate *g, const struct gateway_event *e)
{
	struct gate_open *o = find_open(g, e->id);

	if (o)
		return o;
	if (g->open_count == g->open_size) {
		size_t size = g->open_size ? 2 * g->open_size : 16;

		o = reallocarray(g->open, size, sizeof(*o));
		if (!o)
			return NULL;
		g->open = o;
		g->open_size = size;
	}
	o = &g->open[g->open_count++];
	*o = (struct gate_open){.id = e->id, .port = e->port};
	memcpy(o->name, e->name, sizeof(o->name));
	return o;
}

/* What cannot be recorded is not dialled. */
void gate_dial(struct gate *g, const struct gateway_event *e)
{
	struct gate_open *o = add_open(g, e);
	int r = o ? gate_record(g, AUDIT_NETWORK, e, NULL) : -ENOMEM;

	if (r < 0 && (!o || !g->wish->profile->audit.optional)) {
		gate_order(g, GATEWAY_STOP, e->id, NETWORK_REASON_LIMIT);
		return;
	}
	for (size_t i = 0; i < GATE_TASKS_MAX && !o->counted; i++)
		g->tasks[i].connections += g->tasks[i].channel >= 0;
	o->counted = true;
	gate_order(g, GATEWAY_GO, e->id, NETWORK_REASON_NONE);
}

void gate_ended(struct gate *g, const struct gateway_event *e)
{
	struct gate_open *o = find_open(g, e->id);

	(void)gate_record(g, AUDIT_NETWORK_ENDED, e, NULL);
	for (size_t i = 0; i < GATE_TASKS_MAX; i++) {
		g->tasks[i].sent += e->sent;
		g->tasks[i].received += e->received;
	}
	if (o)
		*o = g->open[--g->open_count];
}

/* The kernel has reset them. */
void gate_all_ended(struct gate *g)
{
	while (g->open_count > 0) {
		struct gate_open *o = &g->open[g->open_count - 1];
		struct gateway_event e = {.kind = GATEWAY_ENDED,
		                          .id = o->id,
		                          .port = o->port,
		                          .rule.index = -1,
		                          .end = GATEWAY_END_RESET};

		memcpy(e.name, o->name, sizeof(e.name));
		gate_ended(g, &e);
	}
}
