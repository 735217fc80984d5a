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
#include "base/error.h"
#include "engine/engine.h"
#include "engine/run.h"
#include "task/order.h"
#include "policy/policy.h"
#include "profile/profile.h"

static int open_log(struct run *run, struct error *err)
{
	struct engine *e = run->engine;

	if (e->audit)
		return 0;
	return audit_open(engine_state_of(run->arena, &e->store),
	                  e->profile ? &e->profile->audit.log : NULL, &e->audit, err);
}

static struct audit_event event_of(const struct run *run, enum audit_kind kind)
{
	const struct engine *e = run->engine;

	return (struct audit_event){
		.kind = kind,
		.task = run->task_id,
		.principal = run->request->principal,
		.door = run->request->door,
		.profile = e->profile ? e->profile->name : e->wishes.profile,
	};
}

/* As far as it is known. */
static struct audit_event requested(const struct run *run)
{
	const struct request *rq = run->request;
	const struct keeper_order *o = &run->order;
	struct audit_event event = event_of(run, AUDIT_REQUESTED);

	event.agent = run->engine->wishes.agent;
	event.session = o->request.session ? o->request.session : rq->session;
	event.workspace = o->request.workspace ? o->request.workspace : rq->workspace;
	event.cwd = o->cwd ? o->cwd : rq->cwd;
	event.description = rq->description;
	event.command = o->request.command ? o->request.command : rq->command;
	event.argv = rq->argv;
	event.env = rq->env;
	return event;
}

static struct audit_event decided(const struct run *run)
{
	const struct policy_finding *f = &run->finding;
	struct audit_event event = event_of(run, run->decided ? AUDIT_DECIDED : AUDIT_REFUSED);

	event.reason = run->refusal.text;
	if (!run->decided)
		return event;
	event.verdict = policy_verdict_name(f->verdict);
	event.rule = f->rule_id;
	event.rule_file = f->place.file;
	event.rule_line = f->place.line;
	event.reason = f->reason && *f->reason ? f->reason : NULL;
	event.executed = run->order.argv;
	return event;
}

int engine_record(struct run *run)
{
	const struct audit_event events[] = {requested(run), decided(run)};
	struct engine *e = run->engine;
	struct error why = {0};
	uint64_t seq;
	int code;

	if (e->profile && e->profile->audit.off) {
		snprintf(run->audit_notice, sizeof(run->audit_notice),
		         "this profile keeps no audit log (audit.mode: off)");
		return 0;
	}
	code = open_log(run, &why);
	if (code == 0)
		code = audit_append(e->audit, events, array_size(events), &seq, &why);
	if (code == 0)
		return 0;
	if (e->profile && e->profile->audit.optional) {
		snprintf(run->audit_notice, sizeof(run->audit_notice),
		         "the request is not in the audit log: %.200s", why.text);
		return 0;
	}
	run->refusal = why;
	return error_wrap(&run->refusal, "this command cannot be recorded, so it is not run");
}

void engine_record_ask(struct run *run, bool asked)
{
	struct engine *e = run->engine;
	const struct ask *a = &run->ask;
	struct audit_event event = event_of(run, asked ? AUDIT_ASKED : AUDIT_REFUSED);
	uint64_t seq;

	event.session = run->order.request.session;
	event.approval = a->approval.id[0] ? a->approval.id : NULL;
	event.by = a->by[0] ? a->by : NULL;
	event.reason = a->words[0] ? a->words : NULL;
	event.executed = run->order.argv;
	/* What cannot be recorded is not started: its keeper sees to that. */
	if (e->profile && !e->profile->audit.off && open_log(run, NULL) == 0)
		(void)audit_append(e->audit, &event, 1, &seq, NULL);
}
