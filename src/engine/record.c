/*
 * Both records go with one write, and none is synced here: a command that was allowed is recorded
 * again by its keeper, behind these, and that record is synced before the command starts. What was
 * refused has no effect that could outrun its record, so a flood of refusals costs no disk; the
 * kernel writes it within its half a minute, or the next command's sync does.
 */
#include "engine/record.h"

#include <stdio.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "base/arena.h"
#include "base/error.h"
#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/inside.h"
#include "task/order.h"
#include "policy/policy.h"
#include "profile/profile.h"

static int open_log(struct engine *e, struct error *err)
{
	scoped(arena_freep) struct arena *arena = NULL;
	const char *state;

	if (e->audit)
		return 0;
	arena = arena_new((size_t)1 << 16);
	state = arena ? engine_state_of(arena, &e->store) : NULL;
	return audit_open(state, e->profile ? &e->profile->audit.log : NULL, &e->audit, err);
}

static struct audit_event requested(const struct engine *e, const struct engine_record *r)
{
	const struct request *rq = r->request;
	const struct keeper_order *o = r->order;

	return (struct audit_event){
		.kind = AUDIT_REQUESTED,
		.task = r->task,
		.principal = rq->principal,
		.door = rq->door,
		.profile = e->profile ? e->profile->name : e->wishes.profile,
		.agent = e->wishes.agent,
		.session = o->request.session ? o->request.session : rq->session,
		.workspace = o->request.workspace ? o->request.workspace : rq->workspace,
		.cwd = o->cwd ? o->cwd : rq->cwd,
		.description = rq->description,
		.command = rq->command,
		.argv = rq->argv,
		.env = rq->env,
	};
}

static struct audit_event decided(const struct engine *e, const struct engine_record *r)
{
	const struct policy_finding *f = r->finding;
	struct audit_event event = {
		.kind = f ? AUDIT_DECIDED : AUDIT_REFUSED,
		.task = r->task,
		.principal = r->request->principal,
		.door = r->request->door,
		.profile = e->profile ? e->profile->name : e->wishes.profile,
		.reason = r->refusal,
	};

	if (!f)
		return event;
	event.verdict = policy_verdict_name(f->verdict);
	event.rule = f->rule_id;
	event.rule_file = f->place.file;
	event.rule_line = f->place.line;
	event.reason = f->reason && *f->reason ? f->reason : NULL;
	event.executed = r->order->argv;
	return event;
}

int engine_record(struct engine *e, const struct engine_record *r,
                  char notice[ENGINE_RECORD_NOTICE_MAX], struct error *err)
{
	const struct audit_event events[] = {requested(e, r), decided(e, r)};
	struct error why = {0};
	uint64_t seq;
	int code;

	if (e->profile && e->profile->audit.off) {
		snprintf(notice, ENGINE_RECORD_NOTICE_MAX,
		         "this profile keeps no audit log (audit.mode: off)");
		return 0;
	}
	code = open_log(e, &why);
	if (code == 0)
		code = audit_append(e->audit, events, array_size(events), &seq, &why);
	if (code == 0)
		return 0;
	if (e->profile && e->profile->audit.optional) {
		snprintf(notice, ENGINE_RECORD_NOTICE_MAX,
		         "the request is not in the audit log: %.200s", why.text);
		return 0;
	}
	*err = why;
	return error_wrap(err, "this command cannot be recorded, so it is not run");
}

void engine_record_ask(struct engine *e, const struct keeper_order *order, const char *task,
                       const struct ask *a, bool asked)
{
	const struct audit_event event = {
		.kind = asked ? AUDIT_ASKED : AUDIT_REFUSED,
		.task = task,
		.principal = order->principal,
		.door = order->door,
		.profile = e->profile ? e->profile->name : NULL,
		.session = order->request.session,
		.approval = a->approval.id[0] ? a->approval.id : NULL,
		.by = a->by[0] ? a->by : NULL,
		.reason = a->words[0] ? a->words : NULL,
		.executed = order->argv,
	};
	uint64_t seq;

	/* What cannot be recorded is not started: its keeper sees to that. */
	if (e->profile && !e->profile->audit.off && open_log(e, NULL) == 0)
		(void)audit_append(e->audit, &event, 1, &seq, NULL);
}
