#include "engine/judge.h"

#include <errno.h>
#include <fcntl.h>
#include "approval/approval.h"
#include "audit/event.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "decide/consent.h"
#include "engine/ask-names.h"
#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/inside.h"
#include "session/place.h"
#include "session/use.h"
#include "task/order.h"

struct judging {
	struct engine *engine;
	const struct request *request;
	struct arena *arena;
	struct place place;
	struct session_use session;
	struct keeper_order order;
	struct question question;
	struct check check;
	int input; /* an empty one */
	bool asks;
};

static int prepare(struct judging *j, struct error *err)
{
	struct engine *e = j->engine;
	const struct request *rq = j->request;
	const char *state = engine_state_of(j->arena, &e->store);
	int r = session_use(j->arena, state, rq->session, &j->session, err);

	if (r == 0)
		r = engine_choose_place(e, rq, state, &j->session, &j->place, err);
	if (r < 0)
		return r;
	j->order.principal = rq->principal;
	j->order.door = rq->door;
	j->order.command = rq->command;
	j->order.description = rq->description;
	j->order.request = (struct keeper_request){
		.profile = e->profile->by_fallback ? e->wishes.fallback : e->wishes.profile,
		.agent = e->wishes.agent,
		.policy_file = e->wishes.policy_file,
		.state = state,
	};
	r = question_of(j->arena,
	                &(struct question_source){.request = rq,
	                                          .place = &j->place,
	                                          .session = &j->session,
	                                          .profile = e->profile,
	                                          .environment = e->environment},
	                &j->order, &j->question, err);
	if (r < 0)
		return r;
	/* What the client will give it is not known here; an approval is for no input. */
	j->question.input_fd = j->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (j->input < 0)
		return error_sys(err, errno, "standard input");
	return consent_check(j->arena, &j->question, &j->check, err);
}

static struct audit_event event_of(const struct judging *j, enum audit_kind kind)
{
	return (struct audit_event){
		.kind = kind,
		.principal = j->request->principal,
		.door = j->request->door,
		.profile =
			j->engine->profile ? j->engine->profile->name : j->engine->wishes.profile,
		.session = j->request->session,
	};
}

static int append(struct judging *j, const struct audit_event *events, size_t count,
                  struct error *err)
{
	struct engine *e = j->engine;
	struct error why = {0};
	uint64_t seq;
	int r = 0;

	if (e->profile && e->profile->audit.off)
		return 0;
	if (e->store.temporary) /* a log that goes with this process records nothing */
		r = error_set(&why, ERROR_SYSTEM, EACCES, "%.200s", e->store.notice);
	if (r == 0 && !e->audit)
		r = audit_open(engine_state_of(j->arena, &e->store),
		               e->profile ? &e->profile->audit.log : NULL, &e->audit, &why);
	if (r == 0)
		r = audit_append(e->audit, events, count, &seq, &why);
	if (r == 0 || (e->profile && e->profile->audit.optional))
		return 0;
	*err = why;
	return error_wrap(err, "this command cannot be recorded, so it is refused");
}

/* That it was requested, and what was decided; or, WHY, why nothing was. */
static int record(struct judging *j, const struct policy_finding *f, const char *why,
                  struct error *err)
{
	const struct request *rq = j->request;
	struct audit_event events[] = {event_of(j, AUDIT_REQUESTED),
	                               event_of(j, f ? AUDIT_DECIDED : AUDIT_REFUSED)};

	events[0].agent = j->engine->wishes.agent;
	events[0].workspace =
		j->order.request.workspace ? j->order.request.workspace : rq->workspace;
	events[0].cwd = j->order.cwd ? j->order.cwd : rq->cwd;
	events[0].description = rq->description;
	events[0].command = rq->command;
	events[0].env = rq->env;
	events[1].reason = why;
	if (f) {
		events[1].verdict = policy_verdict_name(f->verdict);
		events[1].rule = f->rule_id;
		events[1].rule_file = f->place.file;
		events[1].rule_line = f->place.line;
		events[1].reason = f->reason && *f->reason ? f->reason : NULL;
		events[1].executed = j->check.argv;
	}
	return append(j, events, array_size(events), err);
}

static int put_question(struct judging *j, struct judgement *ret, struct error *err)
{
	static const struct ask_names none = {.count = 0};
	struct audit_event event = event_of(j, AUDIT_ASKED);
	struct ask a;
	int r;

	ask_init(&a);
	r = ask_begin(&a, j->arena,
	              &(struct ask_question){.request = j->request,
	                                     .question = &j->question,
	                                     .check = &j->check,
	                                     .names = &none,
	                                     .passing = j->engine->store.temporary},
	              err);
	ask_done(&a);
	if (r < 0)
		return r;
	if (a.state == ASK_APPROVED) {
		ret->verdict = POLICY_VERDICT_ALLOW;
		return 0;
	}
	ret->open = a.approval.id[0] && a.approval.state == APPROVAL_OPEN;
	ret->verdict = ret->open ? POLICY_VERDICT_ASK : POLICY_VERDICT_DENY;
	ret->reason =
		arena_printf(j->arena, "%s%s%s", ret->reason, *ret->reason ? " " : "", a.words);
	if (!ret->reason)
		return error_nomem(err);
	if (!ret->open)
		event.kind = AUDIT_REFUSED;
	event.approval = a.approval.id[0] ? arena_strdup(j->arena, a.approval.id) : NULL;
	event.reason = a.words[0] ? a.words : NULL;
	event.executed = j->check.argv;
	return append(j, &event, 1, err);
}

static int judge(struct judging *j, struct judgement *ret, struct error *err)
{
	const struct policy_finding *f = &j->check.answer.line;
	struct error why = {0};
	int r = prepare(j, &why);

	if (r < 0) {
		(void)record(j, NULL, why.text, NULL);
		*err = why;
		return r;
	}
	r = record(j, f, NULL, err);
	if (r < 0)
		return r;

	*ret = (struct judgement){
		.verdict = f->verdict,
		.reason = arena_strdup(j->arena, f->reason ? f->reason : ""),
		.use = f->use,
		.rule = f->rule_id,
		.rule_file = f->place.file,
		.rule_line = f->place.line,
	};
	if (!ret->reason)
		return error_nomem(err);
	return f->verdict == POLICY_VERDICT_ASK && j->asks ? put_question(j, ret, err) : 0;
}

int engine_judge(struct engine *e, const struct request *rq, bool ask, struct arena *arena,
                 struct judgement *ret, struct error *err)
{
	struct judging j = {
		.engine = e,
		.request = rq,
		.arena = arena,
		.place = {.workspace_fd = -1, .cwd_fd = -1},
		.session = {.hold = -1},
		.input = -1,
		.asks = ask,
	};
	int r;

	if (!rq->command || !*rq->command)
		return error_set(err, ERROR_INPUT, EINVAL, "nothing to decide about");
	j.question.workspace_fd = -1;
	r = judge(&j, ret, err);
	fd_close(j.input);
	session_release(&j.session);
	place_done(&j.place);
	return r;
}
