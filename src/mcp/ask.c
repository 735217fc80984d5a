/*
 * Only an "accept" that carries a decision to allow counts as approval. The form proposes "once",
 * so that a person only has to accept it; an answer without a decision is still none. Hosts without
 * a person answer by themselves, so any other answer leaves the question open for `nacre approve`.
 * A client is asked only if a person is known to use it: declaring the capability proves nothing.
 *
 * A form shows everything that would be approved, or it is not shown.
 */
#include "mcp/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/desk.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/result.h"
#include "mcp/content.h"
#include "mcp/memo.h"
#include "mcp/run-inside.h"
#include "mcp/state.h"
#include "mcp/task-put.h"

#define MESSAGE_MAX 1999
#define STATE_MS    600000
#define ARENA_MAX   ((size_t)8 << 20)
#define ANSWERER    "the person at the client"

static const struct {
	const char *name, *title;
	enum approval_answer answer;
} decisions[] = {
	{"deny", "Deny", APPROVAL_DENY},
	{"once", "Allow once", APPROVAL_ONCE},
	{"session", "Allow for this session", APPROVAL_SESSION},
};

#define DECISION_DEFAULT 1 /* once: who accepts the form as it is has read the line */

static size_t decision_count(const struct approval *a)
{
	return a->session && a->exact.count > 0 ? array_size(decisions) : array_size(decisions) - 1;
}

/* Names of the choices, apart from their values before there was oneOf. */
static void put_choices(struct json_writer *w, const struct approval *a, bool old)
{
	json_member_array(w, old ? "enum" : "oneOf");
	for (size_t i = 0; i < decision_count(a); i++) {
		if (old) {
			json_put_string(w, decisions[i].name);
			continue;
		}
		json_object_begin(w);
		json_member_string(w, "const", decisions[i].name);
		json_member_string(w, "title", decisions[i].title);
		json_object_end(w);
	}
	json_array_end(w);
	if (!old)
		return;
	json_member_array(w, "enumNames");
	for (size_t i = 0; i < decision_count(a); i++)
		json_put_string(w, decisions[i].title);
	json_array_end(w);
}

/* Members of the form; the caller has begun the object. */
static void put_form(struct json_writer *w, const struct approval *a, const char *message,
                     enum mcp_revision revision)
{
	if (revision >= MCP_2025_11_25)
		json_member_string(w, "mode", "form");
	json_member_string(w, "message", message);
	json_member_object(w, "requestedSchema");
	json_member_string(w, "type", "object");
	json_member_object(w, "properties");
	json_member_object(w, "decision");
	json_member_string(w, "type", "string");
	json_member_string(w, "title", "Decision");
	put_choices(w, a, revision < MCP_2025_11_25);
	json_member_string(w, "default", decisions[DECISION_DEFAULT].name);
	json_object_end(w);
	json_object_end(w);
	json_member_array(w, "required");
	json_put_string(w, "decision");
	json_array_end(w);
	json_object_end(w);
}

/* What the person reads; the words of the approval are harmless already. -E2BIG: it would not be
 * all. */
static int write_message(const struct approval *a, struct buffer *into)
{
	into->max = MESSAGE_MAX;
	if (approval_is_connection(a)) {
		buffer_printf(into, "Let a command in %s do this?\n", a->cwd);
	} else {
		buffer_printf(into, "Run in %s (sandbox ", a->cwd);
		approval_print_box(a, into);
		buffer_puts(into, ")?\n");
	}
	approval_print_lines(a->command, into);
	for (const char *const *e = a->env; *e; e++)
		buffer_printf(into, "With %s\n", *e);
	if (a->reaches && !approval_is_connection(a))
		buffer_printf(into, "Reaches: %s\n", a->reaches);
	if (a->input && *a->input) {
		buffer_puts(into, "With the input:\n");
		approval_print_lines(a->input, into);
	}
	if (a->terminal)
		buffer_puts(into, "Terminal: " APPROVAL_TERMINAL_TEXT "\n");
	if (*approval_names_text(a))
		buffer_printf(into, "Files: %s\n", approval_names_text(a));
	if (a->object.file_count > a->object.program_count) {
		buffer_puts(into, "With the files: ");
		approval_print_files(a, into);
		buffer_putc(into, '\n');
	}
	if (a->description && *a->description)
		buffer_printf(into, "Said to be for: %s\n", a->description);
	buffer_printf(into, "Rule: %s -> ask", a->rule_id ? a->rule_id : "default");
	if (a->reason && *a->reason)
		buffer_printf(into, " (%s)", a->reason);
	return buffer_error(into);
}

/* 1: the answer is there; 0: nobody has answered; -EINVAL: it is no answer at all. */
static int read_answer(json_t *reply, enum approval_answer *ret_answer)
{
	const char *action = json_string_value(json_object_get(reply, "action"));
	json_t *content = json_object_get(reply, "content");
	const char *decision = json_string_value(json_object_get(content, "decision"));

	if (!action || (content && !json_is_object(content)))
		return -EINVAL;
	if (strcmp(action, "decline") == 0) {
		*ret_answer = APPROVAL_DENY;
		return 1;
	}
	if (strcmp(action, "cancel") == 0) /* closed without a choice */
		return 0;
	if (strcmp(action, "accept") != 0)
		return -EINVAL;
	for (size_t i = 0; decision && i < array_size(decisions); i++)
		if (strcmp(decision, decisions[i].name) == 0) {
			*ret_answer = decisions[i].answer;
			return 1;
		}
	return -EINVAL;
}

/* The handshake era */

void mcp_ask_take(struct mcp_run *run, const struct rpc_message *m)
{
	enum approval_answer answer;
	int r = -EINVAL;

	if (m->result && !m->has_nul && read_answer(m->result, &answer) == 1)
		r = job_answer(run->job, answer, ANSWERER, NULL, NULL);
	if (r == -EPERM) /* not for a session: then this once, which is less */
		r = job_answer(run->job, APPROVAL_ONCE, ANSWERER, NULL, NULL);
	if (r < 0 && r != -EALREADY)
		job_give_up(run->job);
}

static void on_answered(struct mcp_call *c, const struct rpc_message *m)
{
	mcp_ask_take(c->work, m);
}

/* TASK is what the question belongs to; NULL: the call itself. */
static bool send_form(struct mcp_call *c, const struct approval *a, const char *task)
{
	scoped(buffer_donep) struct buffer message = {0};
	struct mcp_notice n;

	if (write_message(a, &message) < 0 || mcp_call_ask_begin(c, "elicitation/create", &n) < 0)
		return false;
	put_form(&n.w, a, buffer_str(&message), c->revision);
	if (task) {
		json_member_object(&n.w, "_meta");
		task_put_related(&n.w, task);
		json_object_end(&n.w);
	}
	notice_send(&n);
	return true;
}

bool mcp_ask_by(struct mcp_run *run, struct mcp_call *call)
{
	const struct approval *a = job_asks(run->job);

	return a && send_form(call, a, job_id(run->job));
}

/* The answer to a request for a task does not wait: the question does, for who wants the result. */
void mcp_ask(void *owner, struct job *j, const struct approval *a)
{
	scoped(buffer_donep) struct buffer message = {0};
	struct mcp_run *run = owner;
	struct mcp_call *c = run->call;

	if (run->as_task && !c->silent && write_message(a, &message) == 0 &&
	    mcp_memo_wait(run, job_id(j)) == 0)
		return;
	if (run->as_task || !send_form(c, a, NULL)) {
		job_give_up(j);
		return;
	}
	c->answered = on_answered;
	mcp_call_progress(c, "waiting for the approval of a person");
}

void mcp_ask_over(void *owner, struct job *j)
{
	struct mcp_run *run = owner;

	mcp_call_unask(run->call); /* somebody else has answered, or nobody in time */
}

/* The stateless one */

static int open_desk(struct mcp_run *run, struct arena *arena)
{
	const char *state = engine_state_of(arena, &run->engine->store);

	return state ? desk_open(state, false, NULL) : -ENOENT;
}

bool mcp_ask_again(struct mcp_run *run, const struct result *r)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(buffer_donep) struct buffer message = {0};
	scoped(fd_closep) int desk = -1;
	struct state state = {.expires_ms = clock_wall_ms() + STATE_MS, .call = run->digest};
	struct mcp_call *c = run->call;
	struct approval a = {0};
	char token[STATE_TEXT_MAX];
	struct mcp_answer answer;

	if (!run->form || r->ran || !r->approval_id[0])
		return false;
	arena = arena_new(ARENA_MAX);
	desk = arena ? open_desk(run, arena) : -1;
	if (desk < 0 || desk_read(desk, r->approval_id, arena, &a, NULL) < 0 ||
	    a.state != APPROVAL_OPEN || write_message(&a, &message) < 0)
		return false;
	memcpy(state.approval, a.id, sizeof(state.approval));
	if (state_write(&state, c->peer->server->options.key, token) < 0)
		return false;
	answer_begin(&answer, c, "input_required");
	json_member_object(&answer.w, "inputRequests");
	json_member_object(&answer.w, "approval");
	json_member_string(&answer.w, "method", "elicitation/create");
	json_member_object(&answer.w, "params");
	put_form(&answer.w, &a, buffer_str(&message), c->revision);
	json_object_end(&answer.w);
	json_object_end(&answer.w);
	json_object_end(&answer.w);
	json_member_string(&answer.w, "requestState", token);
	(void)answer_send(&answer);
	return true;
}

/* What was called, by whom and where. The keys of the arguments have no order. */
static int make_digest(struct mcp_run *run, const struct rpc_message *m, json_t *arguments)
{
	scoped(freep) char *text = json_dumps(arguments, JSON_SORT_KEYS | JSON_COMPACT);
	const struct engine_wishes *w = &run->engine->wishes;
	const char *parts[] = {m->method,
	                       dialect_tool(run->dialect),
	                       text,
	                       run->request.principal,
	                       run->request.session,
	                       w->workspace,
	                       w->profile,
	                       w->agent,
	                       w->policy_file};
	scoped(buffer_donep) struct buffer all = {0};

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < array_size(parts); i++) {
		buffer_puts(&all, parts[i] ? parts[i] : "");
		buffer_putc(&all, parts[i] ? '\0' : '\1');
	}
	digest_make(buffer_str(&all), all.len, &run->digest);
	return buffer_error(&all);
}

/* True: go on with the run; what it finds on the desk decides. */
static bool take_answer(struct mcp_run *run, const struct state *state, enum approval_answer answer)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(fd_closep) int desk = arena ? open_desk(run, arena) : -1;
	const char *principal = run->request.principal ? run->request.principal : "";
	struct desk_answer a = {.answer = answer, .by = ANSWERER};
	struct approval now;
	int r = desk < 0 ? desk
	                 : desk_answer(desk, state->approval, principal, &a, arena, &now, NULL);

	if (r == -EPERM) {
		a.answer = APPROVAL_ONCE; /* not for a session: then this once, which is less */
		(void)desk_answer(desk, state->approval, principal, &a, arena, &now, NULL);
	}
	if (answer != APPROVAL_DENY)
		return true;
	if (r == 0)
		desk_tell(desk, &now); /* in the next words */
	mcp_call_refuse(run->call, "A person said no. Do not retry it as it is.");
	return false;
}

bool mcp_ask_prepare(struct mcp_run *run, const struct rpc_message *m, json_t *arguments)
{
	json_t *text = rpc_param(m, "requestState"), *replies = rpc_param(m, "inputResponses");
	json_t *reply = json_object_get(replies, "approval");
	struct mcp_call *c = run->call;
	struct mcp_server *s = c->peer->server;
	enum approval_answer answer = APPROVAL_DENY;
	enum state_verdict verdict = STATE_BAD;
	struct state state;
	const char *problem = NULL;
	int r;

	if (!c->modern) {
		run->request.can_ask =
			c->peer->has_person && c->capabilities.form && c->peer->initialized;
		run->request.approval_timeout_ms = s->options.approval_timeout_ms;
		return true;
	}
	run->form = c->peer->has_person && c->capabilities.form;
	run->request.comes_back = run->form;
	if ((text && !json_is_string(text)) || (replies && !json_is_object(replies)))
		problem = "'requestState' must be a string and 'inputResponses' an object";
	else if (make_digest(run, m, arguments) < 0)
		problem = "out of memory";
	if (problem) {
		mcp_call_error(c, RPC_INVALID_PARAMS, problem, NULL);
		return false;
	}
	r = reply ? read_answer(reply, &answer) : 0;
	if (!text && r >= 0)
		return true; /* an answer without the question says nothing */
	if (text)
		verdict = state_read(json_string_value(text), s->options.key, &run->digest,
		                     clock_wall_ms(), &state);
	if (verdict == STATE_GOOD && reply && r >= 0 &&
	    !nonces_use(s->nonces, &state, clock_wall_ms()))
		verdict = STATE_BAD;
	if (verdict == STATE_BAD || r < 0) {
		mcp_call_error(c, RPC_INVALID_PARAMS,
		               r < 0 ? "the answer in 'inputResponses' is ill-formed"
		                     : "'requestState' does not belong to this call",
		               NULL);
		return false;
	}
	if (verdict == STATE_EXPIRED || !reply)
		return true; /* asked again */
	if (r == 0 || !c->peer->has_person) {
		run->form = false; /* nobody answers there: tell of the other way */
		return true;
	}
	return take_answer(run, &state, answer);
}
