/*
 * Intent before act: a crash leaves a record without an effect, never the reverse. The record is
 * appended; while the command is made ready, up to the last step before execve, it is synced
 * together with those of everybody who starts a command at this moment; the engine's records of the
 * same request stand before it in the log, so the one sync covers them, too. The end is appended
 * and not synced: the next command's sync, or the kernel, takes it to the disk, and one that is
 * lost with the machine shows as a start without an end.
 */
#include "keeper/record.h"

#include <stdio.h>
#include <sys/wait.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "keeper/inside.h"
#include "process/living.h"
#include "profile/profile.h"
#include "sandbox/layers.h"
#include "sandbox/plan.h"
#include "task/changes.h"

void keeper_record_prepare(struct keeper *k, const char *state, const struct profile *profile)
{
	/* What goes wrong here goes wrong again when it matters. */
	if (!profile->audit.off && state && *state)
		(void)audit_open(state, &profile->audit.log, &k->audit, NULL);
}

static int open_log(struct keeper *k, struct error *err)
{
	return k->audit
	               ? 0
	               : audit_open(k->order.request.state, &k->profile->audit.log, &k->audit, err);
}

/* Words of what the event has in common with every other one of this command. */
static struct audit_event event_of(const struct keeper *k, enum audit_kind kind)
{
	return (struct audit_event){
		.kind = kind,
		.task = k->order.task_id,
		.principal = k->order.principal,
		.door = k->order.door,
		.profile = k->profile ? k->profile->name : k->order.request.profile,
		.room = k->room_name[0] ? k->room_name : NULL,
	};
}

static int write_start(struct keeper *k, struct error *err)
{
	const struct keeper_request *rq = &k->order.request;
	scoped(buffer_donep) struct buffer layers = {0};
	scoped(buffer_donep) struct buffer missing = {0};
	struct audit_event e = event_of(k, AUDIT_STARTED);
	const struct sandbox_standing *standing;
	int r = open_log(k, err);

	if (r < 0)
		return r;
	e.agent = rq->agent;
	e.session = rq->session;
	e.workspace = rq->workspace;
	e.cwd = k->order.cwd;
	e.executed = k->order.argv;
	e.approval = rq->approval;
	standing = k->plan ? sandbox_plan_standing(k->plan) : NULL;
	e.tier = sandbox_tier_name(standing ? standing->tier : SANDBOX_TIER_NONE);
	if (standing) {
		sandbox_layers_print(standing->layers, &layers);
		sandbox_layers_print(standing->missing, &missing);
	}
	e.layers = buffer_str(&layers);
	e.missing = buffer_str(&missing);
	return audit_append(k->audit, &e, 1, &k->started_seq, err);
}

/* What went wrong with the record of the start: whether the command may run all the same. */
static int judge_start(struct keeper *k, int r, const struct error *why, struct error *err)
{
	if (r == 0)
		return 0;
	k->started_seq = 0;
	if (!k->profile->audit.optional) {
		*err = *why;
		return error_wrap(err, "this command cannot be recorded, so it is not run");
	}
	snprintf(k->report.audit, sizeof(k->report.audit),
	         "the start is not in the audit log: %.200s", why->text);
	return 0;
}

int keeper_record_start(struct keeper *k, struct error *err)
{
	struct error why = {0};

	k->started_seq = 0;
	if (k->profile->audit.off)
		return 0;
	return judge_start(k, write_start(k, &why), &why, err);
}

int keeper_record_sync(struct keeper *k, struct error *err)
{
	uint64_t seq = k->started_seq;
	struct error why = {0};

	if (seq == 0) /* there is none, and that was decided before */
		return 0;
	return judge_start(k, audit_sync(k->audit, seq, &why), &why, err);
}

/* What went wrong with the record of keys: whether they may be typed all the same. */
static int judge_input(struct keeper *k, int r, const struct error *why)
{
	if (r == 0)
		return 0;
	snprintf(k->report.audit, sizeof(k->report.audit),
	         k->profile->audit.optional
	                 ? "what was typed is not in the audit log: %.200s"
	                 : "what was typed could not be recorded, so it was not typed: %.180s",
	         why->text);
	return k->profile->audit.optional ? 0 : r;
}

int keeper_record_input(struct keeper *k, const char *bytes, size_t n, uint64_t *ret_seq)
{
	struct audit_event e = event_of(k, AUDIT_TYPED);
	struct error why = {0};
	uint64_t seq = 0;
	int r;

	if (n == 0 || k->profile->audit.off)
		return 0;
	e.door = NULL; /* whoever may give orders types, by whichever door */
	e.session = k->order.request.session;
	e.approval = k->order.request.approval;
	e.input = bytes;
	e.input_len = n;
	r = open_log(k, &why);
	if (r == 0)
		r = audit_append(k->audit, &e, 1, &seq, &why);
	if (r == 0)
		*ret_seq = seq;
	return judge_input(k, r, &why);
}

int keeper_record_input_sync(struct keeper *k, uint64_t seq)
{
	struct error why = {0};

	return seq == 0 ? 0 : judge_input(k, audit_sync(k->audit, seq, &why), &why);
}

static void fill_end(const struct keeper *k, struct audit_event *e)
{
	const struct keeper_report *r = &k->report;

	e->end = keeper_end_name(r->end);
	e->reason = r->why[0] ? r->why : NULL;
	e->ended = true;
	e->exit_code =
		r->end == KEEPER_END_EXITED && WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
	e->signal = k->process && WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
	e->bytes[0] = r->streams[0].bytes;
	e->bytes[1] = r->streams[1].bytes;
	e->duration_ms = k->started_at > 0 ? clock_now_ms() - k->started_at : 0;
}

void keeper_record_left(struct keeper *k)
{
	scoped(buffer_donep) struct buffer names = {0};
	struct audit_event e = event_of(k, AUDIT_LEFT);
	struct living_process p;
	struct error err = {0};
	uint64_t seq;
	int r;

	if (k->profile->audit.off)
		return;
	for (const char *line = k->report.left; (line = living_parse(line, &p));)
		buffer_printf(&names, "%s%s", names.len > 0 ? ", " : "", p.name);
	fill_end(k, &e);
	e.left = buffer_str(&names);
	r = open_log(k, &err);
	if (r == 0)
		r = audit_append(k->audit, &e, 1, &seq, &err);
	if (r < 0 && !k->report.audit[0])
		snprintf(k->report.audit, sizeof(k->report.audit),
		         "what was left running is not in the audit log: %.180s", err.text);
}

/* Nobody knows which connections were open; those of this command that have no end had it now. */
void keeper_record_network_lost(struct keeper *k)
{
	struct audit_event e = event_of(k, AUDIT_NETWORK_ENDED);
	struct error err = {0};
	uint64_t seq;

	if (k->profile->audit.off)
		return;
	e.session = k->order.request.session;
	e.end = "lost";
	if (open_log(k, &err) == 0)
		(void)audit_append(k->audit, &e, 1, &seq, &err);
}

void keeper_record_changes(struct keeper *k, const struct change_list *l)
{
	struct audit_changes changes;
	struct audit_event e = event_of(k, AUDIT_APPLIED);
	struct error err = {0};
	uint64_t seq;
	int r;

	if (k->profile->audit.off)
		return;
	changes_for_audit(l, &changes);
	e.session = k->order.request.session;
	e.workspace = k->order.request.workspace;
	e.changes = &changes;
	e.end = k->report.changes.state;
	e.reason = k->report.changes.why[0] ? k->report.changes.why : NULL;
	r = open_log(k, &err);
	if (r == 0)
		r = audit_append(k->audit, &e, 1, &seq, &err);
	if (r < 0 && !k->report.audit[0])
		snprintf(k->report.audit, sizeof(k->report.audit),
		         "what was applied is not in the audit log: %.200s", err.text);
}

void keeper_record_end(struct keeper *k)
{
	bool refused = k->report.end == KEEPER_END_REFUSED;
	struct audit_event e = event_of(k, refused ? AUDIT_REFUSED : AUDIT_ENDED);
	struct error err = {0};
	uint64_t seq;
	int r;

	/* Without a profile there was no start either; who wrote the order knows why. */
	if (!k->profile || k->profile->audit.off || !k->order.task_id)
		return;
	if (refused) {
		e.verdict = "deny";
		e.reason = k->report.why;
		e.command = k->order.request.command;
		e.argv = k->order.request.argv;
	} else {
		fill_end(k, &e);
	}
	r = open_log(k, &err);
	if (r == 0)
		r = audit_append(k->audit, &e, 1, &seq, &err);
	if (r < 0 && !k->report.audit[0])
		snprintf(k->report.audit, sizeof(k->report.audit),
		         "the end is not in the audit log: %.200s", err.text);
}
