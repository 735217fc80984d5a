#include "engine/ask.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "approval/desk.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "task/request.h"
#include "decide/consent.h"
#include "engine/ask-names.h"
#include "engine/look.h"
#include "task/order.h"
#include "policy/policy.h"
#include "profile/profile.h"

#define LOOK_BYTES (8 * APPROVAL_BYTES_MAX)

void ask_init(struct ask *a)
{
	*a = (struct ask){.desk = -1, .watch = -1};
}

void ask_done(struct ask *a)
{
	fd_close(take_fd(&a->desk));
	fd_close(take_fd(&a->watch));
}

static void __attribute__((format(printf, 2, 3))) refuse(struct ask *a, const char *format, ...)
{
	va_list args;

	a->state = ASK_REFUSED;
	va_start(args, format);
	vsnprintf(a->words, sizeof(a->words), format, args);
	va_end(args);
}

/* Nobody is there, or nobody has answered: how it can be approved all the same. The words follow
 * the reason, which says that it needs approval. */
static void refuse_open(struct ask *a, const char *why)
{
	refuse(a, "%sRun `nacre approve %s`, then retry.", why, a->approval.id);
}

static bool names(const char *entry, size_t n, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= n; i++)
		if (strncasecmp(entry + i, word, length) == 0)
			return true;
	return false;
}

/* Values that look like secrets are no business of whoever reads over a shoulder. */
static const char *shown_variable(struct arena *arena, const char *entry)
{
	static const char *const secret[] = {"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL"};
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < array_size(secret); i++)
		if (names(entry, n, secret[i]))
			return arena_printf(arena, "%.*s=***", (int)n, entry);
	return approval_escaped(arena, entry, false);
}

static int fill_env(struct arena *arena, const char *const *env, struct approval *a)
{
	const char **shown;
	size_t n = 0;

	while (env && env[n])
		n++;
	shown = arena_new_array(arena, const char *, n + 1);
	for (size_t i = 0; shown && i < n; i++) {
		shown[i] = shown_variable(arena, env[i]);
		if (!shown[i])
			return -ENOMEM;
	}
	a->env = shown;
	return shown ? 0 : -ENOMEM;
}

/* The beginning of a text, and that there is more; of a pipe only that it is one. */
static int fill_input(struct arena *arena, const struct ask_question *q, struct approval *a)
{
	scoped(buffer_donep) struct buffer b = {0};
	const struct request *rq = q->request;
	size_t shown = rq->input_len < APPROVAL_INPUT_MAX ? rq->input_len : APPROVAL_INPUT_MAX;

	if (!rq->input && rq->input_fd < 0)
		return 0;
	if (!rq->input)
		buffer_puts(&b, "[a pipe or a file, which nobody has looked at]");
	else
		approval_escape(rq->input, shown, true, &b);
	if (rq->input && shown < rq->input_len)
		buffer_printf(&b, "\n[%zu bytes of %zu]", shown, rq->input_len);
	if (buffer_error(&b) < 0)
		return -ENOMEM;
	a->input = arena_strndup(arena, buffer_str(&b), b.len);
	return a->input ? 0 : -ENOMEM;
}

/* What an answer for the session would give; nothing, where that must not be. */
static int fill_grants(struct arena *arena, const struct ask_question *q,
                       enum policy_grant_scope scope, struct approval_grants *ret)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct policy_question question;
	struct digest *digests;
	size_t n;

	if (!g)
		return -ENOMEM;
	if (!consent_is_grantable(q->question))
		return 0;
	check_question(q->question, &question);
	if (policy_grants_add(g, &question, &q->check->answer, scope, NULL) < 0)
		return 0;
	n = policy_grants_count(g);
	if (n > APPROVAL_GRANTS_MAX)
		return 0;
	digests = arena_new_array(arena, struct digest, n + 1);
	if (!digests)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		policy_grants_at(g, i, &digests[i]);
	*ret = (struct approval_grants){.digests = digests, .count = n};
	return 0;
}

/* How it is shown; what is not known of it is missing there, and nothing else. */
static int fill_look(struct arena *arena, const struct ask_question *q, struct approval *a)
{
	const struct look_subject subject = {.check = q->check,
	                                     .profile = q->question->profile,
	                                     .terminal = a->terminal,
	                                     .unseen_input = !q->request->input &&
	                                                     q->request->input_fd >= 0};
	struct look_box box;

	look_at_box(q->question->profile, arena, &box);
	a->sandbox = box.tier;
	a->network = box.network;
	a->engine = box.engine;
	a->look = look_make(arena, &subject);
	return a->look ? 0 : -ENOMEM;
}

/* All that the person will see, made harmless here, once and for every door. */
static int fill(struct arena *arena, const struct ask_question *q, struct approval *a)
{
	const struct policy_finding *f = &q->check->answer.line;
	const struct keeper_order *o = q->question->order;
	const struct profile *p = q->question->profile;
	int64_t now = clock_wall_ms();
	int r;

	a->principal = o->principal ? o->principal : ""; /* it is compared: escaped when shown */
	a->door = approval_escaped(arena, o->door, false);
	a->session = o->request.session;
	a->profile = approval_escaped(arena, p->name, false);
	a->created_ms = now;
	a->expires_ms = now + p->ask.keep_ms;
	a->command = approval_escaped(arena, q->check->canonical, true);
	a->description = approval_escaped(arena, o->description, false);
	a->workspace = approval_escaped(arena, o->request.workspace, false);
	a->cwd = approval_escaped(arena, o->cwd, false);
	a->rule_id = approval_escaped(arena, f->rule_id, false);
	a->rule_file = approval_escaped(arena, f->place.file, false);
	a->rule_line = f->place.line;
	a->audited = !p->audit.off;
	a->mask = p->audit.log.mask;
	a->reason = approval_escaped(arena, f->reason ? f->reason : "", false);
	a->terminal = o->terminal.rows > 0;
	if (!a->profile || !a->command || !a->workspace || !a->cwd || !a->reason)
		return -E2BIG;
	r = fill_look(arena, q, a);
	if (r < 0)
		return r;
	if (q->names->count > 0) {
		a->reaches = connection_list(q->names->to, q->names->count, arena);
		if (!a->reaches)
			return -ENOMEM;
	}
	r = consent_terms(arena, q->question, &a->terms);
	if (r == 0)
		r = fill_env(arena, o->request.env, a);
	if (r == 0)
		r = fill_input(arena, q, a);
	if (r == 0)
		r = fill_grants(arena, q, POLICY_GRANT_EXACT, &a->exact);
	if (r == 0)
		r = fill_grants(arena, q, POLICY_GRANT_SUB, &a->sub);
	return r;
}

static int fill_names(struct arena *arena, const struct ask_question *q, struct approval *a)
{
	struct connection_asker by = ask_names_asker(q->question);

	return connection_question(&by, q->names->to, q->names->count, arena, a);
}

/* The approval that was given before is used, the one that is open is joined. */
static int find_or_put(struct ask *a, struct arena *arena, const struct ask_question *q,
                       struct error *err)
{
	struct approval wanted = a->approval;
	int r;

	a->desk = desk_open(q->question->order->request.state, true, err);
	if (a->desk < 0)
		return take_fd(&a->desk);
	r = desk_find(a->desk, &wanted, arena, &a->approval, NULL);
	if (r == 0)
		return 0;
	a->approval = wanted;
	/* In this order: what happens from now on is heard of. */
	a->watch = q->request->can_ask ? desk_watch(a->desk) : -1;
	return desk_put(a->desk, &a->approval, err);
}

static void approved(struct ask *a, const struct approval *now)
{
	a->approval.state = now->state;
	a->approval.answer = now->answer;
	snprintf(a->by, sizeof(a->by), "%s", now->by);
	a->approval.by = a->by;
	a->state = ASK_APPROVED;
}

static void refuse_answered(struct ask *a, const struct approval *now)
{
	a->approval.state = now->state;
	snprintf(a->by, sizeof(a->by), "%s", now->by);
	a->approval.by = a->by;
	desk_tell(a->desk, now);
	if (now->state == APPROVAL_REFUSED)
		refuse(a, "A person said no (%s)%s%s. Do not retry it as it is.", a->by,
		       now->why ? ": " : "", now->why ? now->why : "");
	else if (now->state == APPROVAL_USED)
		refuse(a, "It was approved for one run, and another run of the same was first.");
	else
		refuse(a, "The time to approve it is over.");
}

int ask_begin(struct ask *a, struct arena *arena, const struct ask_question *q, struct error *err)
{
	const struct profile_ask *limits = &q->question->profile->ask;
	int64_t wait_ms = limits->timeout_ms;
	struct error why = {0};
	int r;

	if (limits->refused) {
		refuse(a, "This profile refuses what a person would be asked about.");
		return 0;
	}
	if (!q->question->order->request.state) {
		refuse(a, "Nobody can be asked: there is no state directory.");
		return 0;
	}
	if (q->passing && !q->request->can_ask) {
		refuse(a, "Nobody can be asked: the state directory cannot be used.");
		return 0;
	}
	r = q->only_names ? fill_names(arena, q, &a->approval) : fill(arena, q, &a->approval);
	if (r == -ENOMEM)
		return error_nomem(err);
	if (r < 0)
		error_set(&why, ERROR_LIMIT, E2BIG, "it is too long to be shown");
	if (r == 0 && !q->only_names)
		r = consent_object(arena, q->question, q->check, &a->approval.object, &why);
	if (r == 0)
		r = find_or_put(a, arena, q, &why);
	if (r < 0) {
		a->approval.id[0] = '\0';
		refuse(a, "Nobody can be asked: %s.", why.text);
		return 0;
	}
	if (a->approval.state == APPROVAL_GIVEN) {
		approved(a, &a->approval);
		return 0;
	}
	if (a->approval.state == APPROVAL_REFUSED) {
		refuse_answered(a, &a->approval); /* when nobody waited for it any more */
		return 0;
	}
	if (!q->request->can_ask) {
		refuse_open(a, *a->approval.reason ? "" : "It needs approval. ");
		return 0;
	}
	if (q->request->approval_timeout_ms > 0 && q->request->approval_timeout_ms < wait_ms)
		wait_ms = q->request->approval_timeout_ms;
	if (a->watch < 0)
		a->watch = desk_watch(a->desk);
	a->until_ms = clock_now_ms() + wait_ms;
	a->state = ASK_WAITING;
	return 0;
}

int ask_join(struct ask *a, struct arena *arena, const char *state, const char *id)
{
	int r;

	a->desk = desk_open(state, false, NULL);
	if (a->desk < 0)
		return take_fd(&a->desk);
	r = desk_read(a->desk, id, arena, &a->approval, NULL);
	if (r == 0 && a->approval.state != APPROVAL_OPEN)
		r = -ENOENT;
	if (r < 0)
		ask_done(a);
	else
		a->state = ASK_WAITING;
	return r;
}

void ask_look(struct ask *a)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct approval now;
	char text[32];
	int r;

	if (a->state != ASK_WAITING)
		return;
	desk_watch_drain(a->watch);
	arena = arena_new(LOOK_BYTES);
	r = arena ? desk_read(a->desk, a->approval.id, arena, &now, NULL) : -ENOMEM;
	if (r == 0 && now.state == APPROVAL_GIVEN) {
		approved(a, &now);
	} else if (r == 0 && now.state != APPROVAL_OPEN) {
		refuse_answered(a, &now);
	} else if (r < 0 && r != -ENOMEM) {
		refuse(a, "The question was taken away before anybody has answered.");
	} else if (clock_now_ms() >= a->until_ms) {
		number_format_duration(a->approval.expires_ms - clock_wall_ms(), text);
		refuse(a,
		       "Nobody has approved it in time. Run `nacre approve %s` within %s, then "
		       "retry.",
		       a->approval.id, text);
	}
}

int ask_answer(struct ask *a, enum approval_answer answer, const char *by, const char *why,
               struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(LOOK_BYTES);
	struct desk_answer given = {.answer = answer, .by = by, .why = why};
	struct approval now;

	if (a->state != ASK_WAITING)
		return error_set(err, ERROR_INPUT, EALREADY, "nobody is asked any more");
	if (!arena)
		return error_nomem(err);
	return desk_answer(a->desk, a->approval.id, NULL, &given, arena, &now, err);
}

void ask_give_up(struct ask *a)
{
	if (a->state == ASK_WAITING)
		refuse_open(a, "Nobody has answered here. ");
}
