#include "engine/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "approval/desk.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "decide/check.h"
#include "decide/consent.h"
#include "decide/harmless.h"
#include "engine/engine.h"
#include "engine/inside.h"
#include "engine/result.h"
#include "launch/ahead.h"
#include "launch/launcher.h"
#include "launch/task.h"
#include "protect/refs.h"
#include "session/place.h"
#include "session/room.h"

/* The words with blanks between: for people, so an end is enough of a very long one. */
static const char *join(struct arena *arena, const char *const *argv)
{
	scoped(buffer_donep) struct buffer text = {.max = 4096};

	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buffer_putc(&text, ' ');
		buffer_puts(&text, argv[i]);
	}
	return arena_strndup(arena, buffer_str(&text), text.len);
}

static int open_input(const struct request *rq, struct error *err)
{
	scoped(fd_closep) int fd = -1;

	if (!rq->input) {
		fd = rq->input_fd >= 0 ? fcntl(rq->input_fd, F_DUPFD_CLOEXEC, 3)
		                       : open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd < 0 ? error_sys(err, errno, "standard input") : take_fd(&fd);
	}
	fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fd_write_all(fd, rq->input, rq->input_len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_sys(err, errno, "standard input");
	return take_fd(&fd);
}

#define ANSWER_BESIDE 600 /* bytes of an answer for how it ended, and notices */
#define ANSWER_LINES  12  /* likewise */
#define ANSWER_LEAST  400

/* A caller with one text may take less than the profile shows. What the operator says about that
 * counts instead of the profile's limit. */
static void choose_view(struct run *run)
{
	const struct engine_wishes *w = &run->engine->wishes;
	const struct profile *p = run->engine->profile;
	const struct request *rq = run->request;
	struct view_limits *v = &run->view;
	size_t bytes = rq->answer_bytes;
	bool given = rq->answer_given;

	*v = w->view_given ? w->view : p->output.view;
	v->keep_escapes = v->keep_escapes || w->keep_escapes;
	if (v->style == VIEW_AUTO)
		v->style = rq->one_text ? VIEW_SALIENT : VIEW_HALVES;
	if (rq->one_text && !given && p->output.answer > 0) {
		bytes = (size_t)p->output.answer;
		given = true;
	}
	if (bytes == 0 || v->style == VIEW_ALL)
		return;
	bytes = bytes > ANSWER_BESIDE + ANSWER_LEAST ? bytes - ANSWER_BESIDE : ANSWER_LEAST;
	if (run->output_mode == OUTPUT_SEPARATE)
		bytes /= 2;
	if (given || bytes < view_limit(v))
		v->limit = bytes;
	if (rq->answer_lines > ANSWER_LINES)
		v->lines = rq->answer_lines - ANSWER_LINES;
}

static int choose_limits(struct run *run)
{
	const struct engine_wishes *w = &run->engine->wishes;
	const struct profile *p = run->engine->profile;
	const struct request *rq = run->request;
	struct keeper_order *o = &run->order;

	if (p->require_description && (!rq->description || !*rq->description))
		return error_set(&run->refusal, ERROR_INPUT, EINVAL,
		                 "this profile wants a description of what the command is for");
	run->output_mode = rq->output_mode;
	if (!rq->output_mode_given)
		(void)output_mode_parse(p->output.mode, &run->output_mode);
	if (!rq->output_mode_given && rq->one_text && strcmp(p->output.mode, "auto") == 0)
		run->output_mode = OUTPUT_MERGED;
	/* One file then has all, in its true order. */
	if (rq->background && !rq->output_mode_given)
		run->output_mode = OUTPUT_MERGED;
	if (rq->rows) /* a terminal is one stream */
		run->output_mode = OUTPUT_MERGED;
	choose_view(run);
	*o = (struct keeper_order){
		.description = rq->description,
		.principal = rq->principal,
		.door = rq->door,
		.merged = run->output_mode == OUTPUT_MERGED,
		.terminal = {.rows = rq->rows, .cols = rq->cols},
		.relay = rq->relay != NULL,
		.relay_fds = rq->relay,
		.interactive = rq->interactive,
		.follow = rq->follow,
		.findable = rq->findable,
		.background = rq->background,
		.dry_run = rq->dry_run,
		.timeout_lets_go = p->timeout.act == PROFILE_TIMEOUT_BACKGROUND && !rq->background,
		.keep_leftover = !rq->end_leftover && !rq->dry_run,
		.timeout_asked = rq->timeout_ms > 0,
		.timeout_ms = rq->timeout_ms > 0 ? rq->timeout_ms : p->timeout.default_ms,
		.idle_timeout_ms = p->timeout.idle_ms,
		.grace_ms = w->grace_ms >= 0 ? w->grace_ms : p->timeout.grace_ms,
		.spool_cap = w->spool_cap != UINT64_MAX ? w->spool_cap : p->output.file_cap,
		.max_processes = w->max_processes,
		.kept = view_capture_limits(&run->view),
	};
	/* What is shown whole need not be on the disk, if nobody looks before it is shown. */
	if (!rq->follow && !rq->findable && run->output_mode != OUTPUT_STDOUT &&
	    run->output_mode != OUTPUT_STDERR)
		o->patience = view_surely_shown(&run->view);
	/* The limits are about how long a caller waits. Nobody waits for a task,
	 * and a person who sits before it ends it by a key. */
	if ((rq->background || rq->interactive) && rq->timeout_ms == 0)
		o->timeout_ms = 0;
	if (rq->background || rq->interactive) /* likewise */
		o->idle_timeout_ms = 0;
	if (rq->idle_timeout_ms > 0 &&
	    (o->idle_timeout_ms == 0 || rq->idle_timeout_ms < o->idle_timeout_ms))
		o->idle_timeout_ms = rq->idle_timeout_ms;
	/* A caller who cannot be told that a person is asked is not kept waiting, unless it wants
	 * that. */
	if (rq->can_ask && (rq->approval_timeout_ms > 0 || !(rq->background || rq->interactive)))
		o->ask_ms = p->ask.timeout_ms;
	if (rq->approval_timeout_ms > 0 && rq->approval_timeout_ms < o->ask_ms)
		o->ask_ms = rq->approval_timeout_ms;
	if (o->timeout_ms > p->timeout.max_ms) {
		run->timeout_asked_ms = o->timeout_ms;
		o->timeout_ms = p->timeout.max_ms;
	}
	return 0;
}

/* The profile may be loaded anew while the run goes on: what is said about it is copied. */
static int keep_finding(struct run *run, const struct policy_finding *f)
{
	const char **use = NULL;
	size_t n = 0;

	while (f->use && f->use[n])
		n++;
	run->finding = *f;
	run->finding.rule = NULL;
	run->finding.rule_id = arena_strdup(run->arena, f->rule_id);
	run->finding.place.file = arena_strdup(run->arena, f->place.file);
	run->finding.reason = arena_strdup(run->arena, f->reason ? f->reason : "");
	use = arena_new_array(run->arena, const char *, n + 1);
	for (size_t i = 0; use && i < n; i++)
		use[i] = arena_strdup(run->arena, f->use[i]);
	run->finding.use = use;
	run->decided = true;
	return use && run->finding.reason ? 0 : -ENOMEM;
}

/* With a yes to the question each of its names has one. Should that fail, the gate asks again. */
static void take_names(struct run *run)
{
	const struct approval *a = &run->ask.approval;
	bool each = a->reaches && (!run->only_names || strstr(a->reaches, ", "));
	scoped(fd_closep) int desk = a->reaches ? desk_open(run->asker.state, false, NULL) : -1;
	struct approval now;

	run->asker.profile = run->engine->profile; /* it may have been loaded anew */
	if (desk < 0 || !run->asker.profile)
		return;
	if (a->answer == APPROVAL_ONCE)
		run->reaches = a->reaches;
	if (each && (!run->only_names || a->answer == APPROVAL_ONCE))
		(void)connection_answer_each(desk, &run->asker, a, run->arena);
	if (each && run->only_names && a->answer == APPROVAL_ONCE)
		(void)desk_spend(desk, a->id, a->principal, &a->object, run->arena, &now, NULL);
}

/* A yes for this command alone ends with it. */
static void end_names(struct run *run)
{
	scoped(fd_closep) int desk = run->reaches ? desk_open(run->asker.state, false, NULL) : -1;

	run->asker.profile = run->engine->profile;
	if (desk >= 0 && run->asker.profile)
		connection_end_each(desk, &run->asker, run->reaches, run->arena);
}

/* What became of a question: 0: it may be started, by the approval; -EPERM: it is refused; -EAGAIN:
 * a person has not answered yet. */
static int take_answer(struct run *run)
{
	struct policy_finding *f = &run->finding;

	switch (run->ask.state) {
	case ASK_APPROVED:
		run->answered = true;
		f->verdict = POLICY_VERDICT_ALLOW;
		if (!run->only_names)
			run->order.request.approval = run->ask.approval.id;
		take_names(run);
		return 0;
	case ASK_REFUSED:
		run->answered = true;
		f->reason = arena_printf(run->arena, "%s%s%s", f->reason, *f->reason ? " " : "",
		                         run->ask.words);
		return f->reason ? -EPERM : error_nomem(&run->refusal);
	case ASK_WAITING:
	case ASK_NONE:
		break;
	}
	return -EAGAIN;
}

static int ask(struct run *run, const struct ask_question *q)
{
	int r = ask_begin(&run->ask, run->arena, q, &run->refusal);

	if (r < 0)
		return r;
	if (run->ask.state != ASK_WAITING)
		ask_done(&run->ask);
	if (run->ask.state != ASK_APPROVED)
		engine_record_ask(run, run->ask.approval.id[0] != '\0' &&
		                               run->ask.approval.state == APPROVAL_OPEN);
	return take_answer(run);
}

/* The rule for names decides about the command. */
static int find_names(struct run *run, const struct ask_names *names)
{
	const struct network_rule *rule =
		network_rule_at(&run->engine->profile->network, names->to[0].rule);
	const char *list = connection_list(names->to, names->count, run->arena);
	struct policy_finding *f = &run->finding;
	char text[DESTINATION_TEXT_SIZE] = "";

	if (rule)
		destination_format(&rule->to, names->to[0].rule.list, text);
	f->verdict = POLICY_VERDICT_ASK;
	f->rule_id = arena_strdup(run->arena, text);
	f->place.file = rule ? arena_strdup(run->arena, rule->file) : NULL;
	f->place.line = rule ? rule->line : 0;
	f->reason = list ? arena_printf(run->arena,
	                                "sandbox.network.ask: a person decides about %s.", list)
	                 : NULL;
	return f->rule_id && f->reason ? 0 : -ENOMEM;
}

static int decide(struct run *run, struct question *q)
{
	const struct engine *e = run->engine;
	struct keeper_order *o = &run->order;
	struct ask_names names;
	struct check answer;
	int r;

	r = consent_check(run->arena, q, &answer, &run->refusal);
	if (r < 0)
		return r;
	if (ask_names_find(run->arena, run->request, q, &answer, &names) < 0 ||
	    keep_finding(run, &answer.answer.line) < 0)
		return error_nomem(&run->refusal);
	run->asker = ask_names_asker(q);
	run->only_names = names.count > 0 && answer.answer.line.verdict == POLICY_VERDICT_ALLOW;
	if (run->only_names && find_names(run, &names) < 0)
		return error_nomem(&run->refusal);
	o->argv = answer.argv;
	/* Others have to see what a command in the background writes. */
	o->undoable = e->profile->undo.on && !o->background && !o->dry_run &&
	              !check_writes_nothing(answer.facts);
	if (o->undoable) {
		o->keep_leftover = false;
		ahead_drop(run->ahead);
		run->dropped = true;
	}
	r = engine_record(run);
	if (r < 0)
		return r;
	if (answer.answer.line.verdict == POLICY_VERDICT_ASK || run->only_names)
		return ask(run, &(struct ask_question){.request = run->request,
		                                       .question = q,
		                                       .check = &answer,
		                                       .names = &names,
		                                       .only_names = run->only_names,
		                                       .passing = e->store.temporary});
	if (answer.answer.line.verdict != POLICY_VERDICT_ALLOW)
		return -EPERM;
	o->profile = e->profile;
	return 0;
}

/* A launcher may have a box for this call. Before all else, so that it looks at that meanwhile. A
 * call that wants fewer processes than its profile has a box of its own. */
static void come_ahead(struct run *run, const char *state)
{
	const struct engine *e = run->engine;

	if (e->ahead && !e->launcher && run->session.id && state && !e->store.temporary &&
	    e->wishes.max_processes == 0)
		run->ahead = ahead_come(state, run->session.id, &run->leaves);
}

/* Whether the profile wants that. */
static bool may_stand_by(const struct run *run)
{
	const struct engine *e = run->engine;

	return e->profile->sandbox.tier == SANDBOX_TIER_STRICT && !e->profile->docker.allow &&
	       profile_stays_ms(e->profile) > 0;
}

/* Of the box everything is known before the verdict is. With the socket of a container engine in it
 * a box depends on where that is, and the keeper looks when it has its order. */
static void begin_ahead(struct run *run)
{
	const struct engine *e = run->engine;
	const struct keeper_order *o = &run->order;

	run->leaves = run->leaves && may_stand_by(run);
	/* Every other box has the workspace itself. */
	if (o->dry_run) {
		ahead_drop(run->ahead);
		run->dropped = true;
		return;
	}
	if (run->ahead && (!may_stand_by(run) || ahead_ask(run->ahead, o, e->profile) < 0))
		run->ahead = ahead_free(run->ahead);
	if (!run->ahead && e->ahead && !e->launcher &&
	    e->profile->sandbox.tier == SANDBOX_TIER_STRICT && !e->profile->docker.allow)
		run->ahead = ahead_new(&(struct keeper_ahead){.profile = e->profile,
		                                              .workspace = o->request.workspace,
		                                              .root = o->request.root,
		                                              .state = o->request.state,
		                                              .policy_file = e->wishes.policy_file,
		                                              .session = o->request.session,
		                                              .principal = o->principal,
		                                              .profile_name = o->request.profile,
		                                              .agent = o->request.agent,
		                                              .envp = o->envp,
		                                              .max_processes = o->max_processes});
}

static int prepare(struct run *run)
{
	const struct request *rq = run->request;
	struct engine *e = run->engine;
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	struct keeper_order *o = &run->order;
	struct error *err = &run->refusal;
	struct question q;
	const char *state;
	int r;

	if (rq->dry_run && rq->background)
		return error_set(
			err, ERROR_INPUT, EINVAL,
			"a dry run cannot go on in the background: its changes are shown at "
			"its end");
	if (!rq->argv == !rq->command || (rq->argv && !rq->argv[0]))
		return error_set(err, ERROR_INPUT, EINVAL, "nothing to run");
	state = engine_state_of(run->arena, &e->store);
	r = session_use(run->arena, state, rq->session, &run->session, err);
	if (r == 0 && rq->passing)
		run->session.state = (struct session){.workspace = run->session.state.workspace};
	if (r == 0)
		come_ahead(run, state);
	if (r == 0)
		r = engine_choose_place(e, rq, state, &run->session, &place, err);
	run->profile_number = e->profile_number;
	if (r == 0)
		r = choose_limits(run);
	if (r < 0)
		return r;
	o->command = rq->argv ? join(run->arena, rq->argv) : rq->command;
	if (!o->command)
		return error_nomem(err);
	o->request = (struct keeper_request){
		.profile = e->profile->by_fallback ? e->wishes.fallback : e->wishes.profile,
		.agent = e->wishes.agent,
		.policy_file = e->wishes.policy_file,
		.state = state,
	};
	r = question_of(run->arena,
	                &(struct question_source){.request = rq,
	                                          .place = &place,
	                                          .session = &run->session,
	                                          .profile = e->profile,
	                                          .environment = e->environment},
	                o, &q, err);
	if (r < 0)
		return r;
	q.to_run = true;
	begin_ahead(run);
	run->input = q.input_fd = open_input(rq, err);
	return run->input < 0 ? run->input : decide(run, &q);
}

void run_hold(struct run *run, const char *id)
{
	const char *state = run->order.request.state;

	ask_done(&run->held);
	ask_init(&run->held);
	arena_free(take_ptr(&run->held_arena));
	if (!*id || !state)
		return;
	run->held_arena = arena_new(ORDER_BYTES_MAX);
	if (run->held_arena)
		(void)ask_join(&run->held, run->held_arena, state, id);
}

static void run_free(struct run *run)
{
	if (run) {
		fd_close(run->input);
		ask_done(&run->ask);
		run_hold(run, "");
		ahead_free(run->ahead);
		session_release(&run->session);
		arena_free(run->arena);
	}
	free(run);
}
DEFINE_CLEANUP(struct run *, run_free);

/* What did not get as far as a decision is remembered, too; its own reason is what is told. */
static void record_refusal(struct run *run)
{
	struct error why = run->refusal;

	if (engine_record(run) < 0)
		snprintf(run->audit_notice, sizeof(run->audit_notice),
		         "the request is not in the audit log: %.200s", run->refusal.text);
	run->refusal = why;
}

static void start_task(struct run *run)
{
	struct engine *e = run->engine;
	int r = -ENOENT;

	run->order.task_id = run->task_id;
	if (run->ahead && !run->dropped) {
		r = ahead_start(run->ahead, &e->store, &run->order, run->input, &run->task, NULL);
		if (r < 0)
			ahead_drop(run->ahead);
	}
	if (r < 0) {
		run->order.task_id = run->task_id;
		(void)task_start(&e->store, e->launcher, &run->order, run->input, &run->task,
		                 &run->refusal);
	}
	fd_close(take_fd(&run->input));
}

int run_new(struct engine *e, struct run **ret_run, struct error *err)
{
	scoped(run_freep) struct run *run = calloc(1, sizeof(*run));

	if (run) {
		run->engine = e;
		run->input = run->session.hold = -1;
		ask_init(&run->ask);
		ask_init(&run->held);
		run->arena = arena_new(4 * ORDER_BYTES_MAX);
	}
	if (!run || !run->arena)
		return error_nomem(err);
	if (id_new("bash-", run->task_id, sizeof(run->task_id)) < 0)
		return error_set(err, ERROR_SYSTEM, EIO, "no random numbers for a task id");
	*ret_run = take_ptr(&run);
	return 0;
}

void run_start(struct run *run, const struct request *rq)
{
	run->request = rq;
	if (prepare(run) == 0) {
		start_task(run);
		return;
	}
	if (!run->decided)
		record_refusal(run);
	ahead_drop(run->ahead); /* refused, or a person is asked: the box is not waited with */
	run->dropped = true;
}

bool run_asked(struct run *run)
{
	int r;

	if (run->ask.state == ASK_WAITING)
		ask_look(&run->ask);
	if (run->ask.state == ASK_WAITING)
		return false;
	if (run->answered || run->ask.state == ASK_NONE)
		return true;
	run->order.profile = NULL; /* it may have been loaded anew meanwhile */
	if (run->ask.state == ASK_REFUSED)
		engine_record_ask(run, false);
	r = take_answer(run);
	if (r == 0)
		start_task(run);
	return true;
}

/* A keeper ends its command, then waits for stragglers, kills and drains: all of it bounded. */
#define KEEPER_PATIENCE_MS 15000

int64_t run_patience_ms(const struct run *run)
{
	if (run->order.timeout_ms == 0)
		return INT64_MAX / 4;
	return run->order.timeout_ms + run->order.ask_ms + run->order.grace_ms + KEEPER_PATIENCE_MS;
}

static void sweep(struct engine *e, struct arena *arena)
{
	const char *state = engine_state_of(arena, &e->store);

	(void)store_sweep(&e->store, e->wishes.state_cap, e->wishes.state_age_ms);
	if (state)
		(void)session_sweep(state, SESSION_AGE_MS);
	if (state)
		(void)room_sweep(state);
	if (state)
		refs_sweep(state);
}

/* The next call of the session finds a box that is ready. At the end of this call, when what it
 * leaves running can be found: the launcher takes the network of the room from that. */
static void leave_launcher(const struct run *run)
{
	const struct task *t = run->task;

	if (run->leaves && t &&
	    (run->left || (!t->lost && t->report.sandbox.tier == SANDBOX_TIER_STRICT)))
		(void)launcher_leave(&run->order, run->engine->profile, NULL);
}

void run_done(struct run *run, bool keep)
{
	struct engine *e = run->engine;

	leave_launcher(run);
	if (!run->left && !(run->task && run->task->goes_on))
		end_names(run);
	if (run->left || (run->task && run->task->goes_on))
		task_leave(run->task);
	else
		task_done(run->task, &e->store, keep);
	if ((keep || run->left) && (e->wishes.state_cap != engine_wishes_default.state_cap ||
	                            store_sweep_is_due(&e->store)))
		sweep(e, run->arena);
	run_free(run);
}
