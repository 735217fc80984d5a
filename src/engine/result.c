#include "engine/result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "engine/engine.h"
#include "engine/hint.h"
#include "engine/hint-left.h"
#include "engine/network.h"
#include "engine/run.h"
#include "session/place.h"
#include "output/capture.h"
#include "policy/policy.h"
#include "process/spawn.h"
#include "sandbox/layers.h"
#include "profile/profile.h"
#include "protect/protect.h"
#include "launch/task.h"
#include "task/follow.h"
#include "task/find.h"

static const char *const stream_files[2] = {"out", "err"};

#define notice(...) result_notice_add(__VA_ARGS__)

void result_notice_add(struct result *r, const char *format, ...)
{
	va_list args;

	if (r->notice_count == RESULT_NOTICES_MAX)
		return;
	va_start(args, format);
	vsnprintf(r->notices[r->notice_count++], sizeof(r->notices[0]), format, args);
	va_end(args);
}

bool output_mode_shows(enum output_mode mode, int stream)
{
	switch (mode) {
	case OUTPUT_SEPARATE:
		return true;
	case OUTPUT_MERGED:
	case OUTPUT_STDOUT:
		return stream == 0;
	case OUTPUT_STDERR:
		return stream == 1;
	case OUTPUT_MODE_MAX:
		break;
	}
	return false;
}

bool result_shows(const struct result *r, int stream)
{
	return output_mode_shows(r->output_mode, stream);
}

/* Why a start failed, in the words of somebody who typed the command. */
static void explain_failure(struct result *r, const struct keeper_order *o, bool neutral)
{
	const char *name = o->argv[0];
	int sys = r->report.sys;

	if (neutral && r->report.step != CHILD_EXEC && !r->report.why_public) {
		r->exit_code = EXIT_NACRE_FAILED;
		snprintf(r->reason, sizeof(r->reason), "the command could not be started");
	} else if (r->report.why[0]) {
		r->exit_code = EXIT_NACRE_FAILED;
		snprintf(r->reason, sizeof(r->reason), "%s", r->report.why);
	} else if (r->report.step == CHILD_CWD) {
		r->exit_code = EXIT_NACRE_FAILED;
		snprintf(r->reason, sizeof(r->reason), "working directory '%.150s': %s", o->cwd,
		         strerrordesc_np(sys));
	} else if (r->report.step != CHILD_EXEC) {
		r->exit_code = EXIT_NACRE_FAILED;
		snprintf(r->reason, sizeof(r->reason), "cannot start the command: %s: %s",
		         process_step_text(r->report.step), strerrordesc_np(sys));
	} else if (sys == ENOENT) {
		r->exit_code = EXIT_NOT_FOUND;
		snprintf(r->reason, sizeof(r->reason),
		         strchr(name, '/') ? "%.150s: no such file, or its interpreter is missing"
		                           : "%.150s: command not found",
		         name);
	} else {
		r->exit_code = EXIT_NOT_EXECUTABLE;
		snprintf(r->reason, sizeof(r->reason), "%.150s: cannot be executed: %s", name,
		         sys == E2BIG ? "its arguments and environment are too long for the system"
		                      : strerrordesc_np(sys));
	}
}

/* A stage whose reader had enough (SIGPIPE) has not failed. */
static void fill_stages(struct result *r)
{
	bool failed = false;
	char *end;

	for (const char *p = r->report.stages; *p && r->stage_count < RESULT_STAGES_MAX; p = end) {
		int status = (int)strtol(p, &end, 10);

		if (end == p)
			break;
		r->stages[r->stage_count++] = status;
		failed |= *end && status != 0 && status != 128 + SIGPIPE;
	}
	if (!failed)
		r->stage_count = 0;
}

static void explain_end(struct result *r, const struct keeper_order *o, bool neutral)
{
	int status = r->report.status;
	char limit[32];

	r->ran = true;
	switch (r->report.end) {
	case KEEPER_END_EXITED:
		if (WIFSIGNALED(status))
			r->signal = WTERMSIG(status);
		r->exit_code = WIFSIGNALED(status) ? 128 + r->signal : WEXITSTATUS(status);
		r->success = r->exit_code == 0;
		fill_stages(r);
		break;
	case KEEPER_END_TIMEOUT:
		r->timed_out = true;
		r->exit_code = EXIT_TIMED_OUT;
		r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		number_format_duration(o->timeout_ms, limit);
		snprintf(r->reason, sizeof(r->reason), "timed out after %s%s%s", limit,
		         r->report.quiet[0] ? ", " : "", r->report.quiet);
		break;
	case KEEPER_END_IDLE:
		r->timed_out = true;
		r->exit_code = EXIT_TIMED_OUT;
		r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		number_format_duration(o->idle_timeout_ms, limit);
		snprintf(r->reason, sizeof(r->reason), "timed out after %s without output%s%s",
		         limit, r->report.quiet[0] ? ", " : "", r->report.quiet);
		break;
	case KEEPER_END_STOPPED:
		r->stopped = true;
		r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		r->exit_code = 128 + SIGTERM;
		snprintf(r->reason, sizeof(r->reason), "stopped");
		break;
	case KEEPER_END_CROWDED:
		r->signal = SIGKILL;
		r->exit_code = 128 + SIGKILL;
		if (o->max_processes > 0)
			snprintf(r->reason, sizeof(r->reason),
			         "killed: it had more than %llu processes",
			         (unsigned long long)o->max_processes);
		else
			snprintf(r->reason, sizeof(r->reason),
			         "killed: it had more processes than the profile allows");
		break;
	case KEEPER_END_FAILED:
		r->ran = false;
		explain_failure(r, o, neutral);
		break;
	case KEEPER_END_REFUSED:
		r->ran = false;
		r->verdict = policy_verdict_name(POLICY_VERDICT_DENY);
		r->exit_code = EXIT_REFUSED;
		snprintf(r->reason, sizeof(r->reason), "%s", r->report.why);
		break;
	case KEEPER_END_LOST:
		r->exit_code = EXIT_NACRE_FAILED;
		snprintf(r->reason, sizeof(r->reason),
		         "the command's init process was killed; the command was ended and its "
		         "status is "
		         "not known");
		break;
	case KEEPER_END_MAX:
		break;
	}
}

/* Where no captures came the files hold all that was read of the output. */
static void load_capture(struct task *t, int stream, const struct keeper_order *o)
{
	scoped(capture_freep) struct capture *c = NULL;
	scoped(fd_closep) int fd = -1;
	uint64_t left = o->spool_cap;
	char bytes[65536];
	ssize_t n;

	if (task_dir(t) >= 0)
		fd = fd_open_regular(t->dir_fd, stream_files[stream]);
	if (fd < 0 || capture_new(&o->kept, &c, NULL) < 0)
		return;
	/* Bounded: the command could have made the file longer than we did. */
	while (left > 0 && (n = read(fd, bytes, sizeof(bytes))) > 0) {
		capture_append(c, bytes, (size_t)n);
		left -= (uint64_t)n < left ? (uint64_t)n : left;
	}
	if (capture_copy(c, &t->captures[stream], NULL) == 0 && t->lost) {
		t->report.streams[stream].bytes = capture_counts(c)->bytes;
		t->report.streams[stream].file_bytes = capture_counts(c)->bytes;
	}
}

static void name_file(struct result *r, const struct run *f, int stream)
{
	char *name = r->output_files[stream];
	size_t size = sizeof(r->output_files[stream]);

	if (f->engine->wishes
	            .output_prefix) /* of two streams the name without one is that of both */
		snprintf(name, size, "%s%s%s%s", f->engine->wishes.output_prefix, f->task->id,
		         f->order.merged ? "" : "?stream=",
		         f->order.merged ? "" : follow_stream_name((enum follow_stream)stream));
	else
		snprintf(name, size, "%s/%s/%s", f->engine->store.path, f->task->id,
		         stream_files[stream]);
}

static struct hint_facts hint_facts_of(const struct result *r, const struct run *f);

/* The call that reads lines of this stream by their numbers, around the place of these. Of two
 * streams a tool numbers the lines together; the command line can choose one. */
static bool put_call(const struct result *r, const struct run *f, int stream, struct buffer *into)
{
	struct hint_facts facts = hint_facts_of(r, f);

	if (!f->order.merged && !facts.cli)
		return false;
	hint_put_tool(&facts, HINT_TOOL_LINES, into);
	if (!f->order.merged)
		buffer_printf(into, " --stream %s", follow_stream_name((enum follow_stream)stream));
	return buffer_error(into) == 0 && strchr(buffer_str(into), '@');
}

static void fill_view(struct result *r, const struct run *f, int stream)
{
	scoped(buffer_donep) struct buffer call = {0};
	const struct keeper_stream *s = &r->report.streams[stream];
	const struct capture_snapshot *snapshot = &f->task->captures[stream];
	struct view_file file = {.dropped_bytes = s->dropped_bytes, .lost_bytes = s->lost_bytes};
	struct view *v = &r->views[stream];

	if (s->file_bytes > 0)
		name_file(r, f, stream);
	if (r->output_files[stream][0])
		file.name = r->output_files[stream];
	else
		file.why_not = s->lost_errno ? strerrordesc_np(s->lost_errno) : NULL;
	if (f->view.style == VIEW_SALIENT && put_call(r, f, stream, &call)) {
		char *at = strchr(call.data, '@');

		*at = 0;
		file.call_before = call.data;
		file.call_behind = at + 1;
	}
	if (view_make(snapshot, &f->view, &file, v, NULL) < 0) {
		notice(r, "out of memory while preparing the output");
		r->output_kept = true;
	}
	if (s->bytes > 0 && !snapshot->data && result_shows(r, stream)) {
		notice(r, "the output of %llu bytes could not be handed over",
		       (unsigned long long)s->bytes);
		r->output_kept = true;
	}
	if (s->bytes > 0 &&
	    (v->truncated || v->binary || v->replaced > 0 || !result_shows(r, stream)))
		r->output_kept = true;
	if (s->lost_bytes > 0 && s->lost_errno)
		notice(r, "%llu bytes of %s could not be written to disk (%s)",
		       (unsigned long long)s->lost_bytes, stream ? "stderr" : "output",
		       strerrordesc_np(s->lost_errno));
	if (s->dropped_bytes > 0)
		notice(r,
		       "%llu bytes in the middle of %s were dropped from the file: its cap was "
		       "reached",
		       (unsigned long long)s->dropped_bytes, stream ? "stderr" : "the output");
}

/* Landlock takes nothing away from what it grants: a directory with something hidden below it is
 * granted entry by entry, and nothing new can be made in it. */
static bool state_is_in_the_way(const struct result *r, const struct keeper_request *rq)
{
	return r->report.sandbox.tier == SANDBOX_TIER_LANDLOCK && rq->state &&
	       place_is_inside(rq->state, rq->workspace);
}

/* What is missing in the log, and for whom that is, why. */
static void note_audit(struct result *r, const struct run *f, const char *text)
{
	size_t n = f->engine->wishes.output_prefix ? strcspn(text, ":") : strlen(text);

	notice(r, "%.*s", (int)n, text);
}

/* One line of the report: a protected path, and what came of it. */
static void note_planted(struct result *r, const struct run *f, const char *line, int n)
{
	const char *tab = memchr(line, '\t', (size_t)n);
	int path = tab ? (int)(tab - line) : n;

	if (!tab) {
		notice(r, "the command made %.*s, which is protected; it was moved to %s%s%s", path,
		       line, f->engine->wishes.output_prefix ? "" : f->engine->store.path,
		       f->engine->wishes.output_prefix ? "the directory of task " : "/",
		       r->task_id);
		r->output_kept = true;
	} else if (tab[1] == PROTECT_RENAMED) {
		notice(r, "the command made %.*s, which is protected; it was renamed to %.*s", path,
		       line, n - path - 2, tab + 2);
	} else if (tab[1] == PROTECT_CHANGED) {
		notice(r,
		       "the command changed %.*s, which is protected; nothing in this tier "
		       "prevents that: look at it",
		       path, line);
	} else {
		notice(r,
		       "the command made %.*s, which is protected; it could not be moved away: "
		       "remove it",
		       path, line);
	}
}

static bool has_repository(const struct run *f)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/.git", f->order.request.workspace) <
	               (int)sizeof(path) &&
	       lstat(path, &st) == 0;
}

/* The same of a path that the command wanted to be otherwise. */
static void note_held(struct result *r, const struct run *f, const char *line, int n)
{
	const char *tab = memchr(line, '\t', (size_t)n);
	int path = tab ? (int)(tab - line) : n;
	bool is_gits = strncmp(line, ".git/", 5) == 0;

	if (tab && tab[1] != PROTECT_STAYS)
		notice(r,
		       "%.*s is protected. What the command wrote there is held until a person "
		       "approves it: `nacre approve %.*s`%s",
		       path, line, n - path - 1, tab + 1,
		       !is_gits && has_repository(f)
		               ? ". Until then name files in `git commit`: with -a it would "
		                 "record the path as it is now"
		               : "");
	else if (!is_gits && strncmp(line, ".gitmodules", (size_t)path) != 0)
		notice(r,
		       "%.*s is protected and stays as it is. git may change it to what a person's "
		       "commits have there; a person has to do the rest",
		       path, line);
	else
		notice(r,
		       "%.*s is protected: the command could not replace it. git itself may write "
		       "harmless keys (`git config`, `git remote add`); a person has to do the "
		       "rest",
		       path, line);
}

static struct hint_facts hint_facts_of(const struct result *r, const struct run *f)
{
	const struct engine *e = f->engine;
	const struct keeper_order *o = &f->order;
	/* There may be another one by now. */
	const struct profile *p = f->profile_number == e->profile_number ? e->profile : NULL;

	return (struct hint_facts){
		.report = &r->report,
		.spec = p ? &p->sandbox : NULL,
		.command = o->command,
		.workspace = o->request.workspace,
		.root = o->request.root,
		.cwd = o->cwd,
		.home = getenv("HOME"),
		.exit_code = r->exit_code,
		.timeout_ms = o->timeout_ms,
		.timeout_asked = o->timeout_asked,
		.left_running = r->left_running,
		.scratch_stays = r->report.room.id[0] != '\0',
		.has_session = o->request.session != NULL,
		/* Of a profile with another mode it is not known any more. */
		.wants_room = p && (p->room.share != PROFILE_SHARE_NONE ||
	                            p->mode != PROFILE_MODE_STRICT),
		.task_id = r->task_id,
		.door = o->door,
		.tool = p ? p->tool : NULL,
		.timeout_max_ms = p ? p->timeout.max_ms : 0,
		.max_processes = o->max_processes,
		.cli = o->door && strcmp(o->door, "cli") == 0,
		.discreet = f->engine->wishes.output_prefix != NULL,
	};
}

/* Whether the same principal has another task that runs. */
static bool has_other_tasks(const struct result *r, const struct run *f)
{
	scoped(find_list_donep) struct find_list list = {0};
	const struct find_query q = {.principal = f->order.principal ? f->order.principal : "",
	                             .only_running = true,
	                             .limit = 2};
	struct store store = f->engine->store;

	if (find_tasks(&store, &q, &list, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].id, r->task_id) != 0)
			return true;
	return false;
}

static void give_hints(struct result *r, const struct run *f)
{
	struct hint_facts facts = hint_facts_of(r, f);
	char hints[HINTS_MAX][HINT_TEXT_MAX];
	int n;

	for (int i = 0; i < 2; i++) {
		const struct capture_snapshot *s = &f->task->captures[i];

		facts.streams[i] = (struct hint_stream){s->data, s->head_len + s->tail_len};
	}
	if (r->report.end == KEEPER_END_FAILED)
		facts.streams[2] = (struct hint_stream){r->reason, strlen(r->reason)};
	facts.other_tasks = hint_wants_tasks(&facts) && has_other_tasks(r, f);
	n = hint_find(&facts, hints);
	for (int i = 0; i < n; i++)
		notice(r, "%s", hints[i]);
}

static void note_network(struct result *r, const struct run *f)
{
	const char *at = r->report.network.list,
		   *profile = f->engine->profile ? f->engine->profile->name : "";
	struct network_refusal refusal;
	char text[HINT_TEXT_MAX];

	if (r->report.network.notice[0])
		notice(r, "%s", r->report.network.notice);
	while ((at = network_refusal_next(at, &refusal))) {
		network_refusal_text(&refusal, profile, text, sizeof(text));
		notice(r, "%s", text);
	}
}

/* Lists of a shipped profile alone: who never wrote any need not read with each command that they
 * are not in force. Lists of the operator are there to be used. */
static bool network_is_shipped(const struct profile *p)
{
	for (int list = 0; p && list < NETWORK_LIST_MAX; list++)
		for (size_t i = 0; i < p->network.lists[list].count; i++)
			if (strncmp(p->network.lists[list].rules[i].file, "built-in:", 9) != 0)
				return false;
	return true;
}

static void note_circumstances(struct result *r, const struct run *f)
{
	char asked[32], granted[32];

	if (f->engine->store.notice[0] && !f->engine->wishes.output_prefix)
		notice(r, "%s", f->engine->store.notice);
	if (f->timeout_asked_ms > 0) {
		number_format_duration(f->timeout_asked_ms, asked);
		number_format_duration(f->order.timeout_ms, granted);
		notice(r, "the time limit of %s was lowered to the maximum of %s", asked, granted);
	}
	if (f->session.notice[0])
		notice(r, "%s", f->session.notice);
	if (f->audit_notice[0])
		note_audit(r, f, f->audit_notice);
	if (r->report.audit[0])
		note_audit(r, f, r->report.audit);
	note_network(r, f);
	result_note_changes(r, f);
	if (r->report.room.notice[0])
		notice(r, "%s", r->report.room.notice);
	if (r->report.session[0])
		notice(r, "%s", r->report.session);
	if (r->report.engine[0])
		notice(r, "%s", r->report.engine);
	if (r->ran && r->report.sandbox.missing & SANDBOX_LAYER_NETWORK_NAMES &&
	    !network_is_shipped(f->engine->profile))
		notice(r, "the command had no network: %s",
		       sandbox_layer_remedy(SANDBOX_LAYER_NETWORK_NAMES));
	if (r->ran && state_is_in_the_way(r, &f->order.request))
		notice(r, "nacre's state directory lies in the workspace, so that here, without "
		          "namespaces, nothing new can be made beside it: set NACRE_STATE_DIR to a "
		          "place outside");
	if (f->task && !f->left)
		give_hints(r, f);
	for (const char *path = r->report.ungranted, *end; *path; path = end + (*end == '\n')) {
		end = strchrnul(path, '\n');
		notice(r,
		       "commands may write %.*s, which is not there: make it, and the next command "
		       "has it",
		       (int)(end - path), path);
	}
	for (const char *path = r->report.planted, *end; *path; path = end + (*end == '\n')) {
		end = strchrnul(path, '\n');
		note_planted(r, f, path, (int)(end - path));
	}
	for (const char *path = r->report.held, *end; *path; path = end + (*end == '\n')) {
		end = strchrnul(path, '\n');
		note_held(r, f, path, (int)(end - path));
	}
	for (const char *path = r->report.replaced, *end; *path; path = end + (*end == '\n')) {
		end = strchrnul(path, '\n');
		notice(r,
		       "%.*s, which is protected, was replaced from outside while the command "
		       "ran; from then on the command could change it: look at it",
		       (int)(end - path), path);
	}
	if (r->report.survivors > 0)
		notice(r, "%d process%s could not be killed", r->report.survivors,
		       r->report.survivors == 1 ? "" : "es");
}

static void fill_verdict(struct result *r, const struct policy_finding *f)
{
	r->verdict = policy_verdict_name(f->verdict);
	snprintf(r->rule_id, sizeof(r->rule_id), "%s", f->rule_id ? f->rule_id : "");
	snprintf(r->rule_file, sizeof(r->rule_file), "%s", f->place.file ? f->place.file : "");
	r->rule_line = f->place.line;
	r->left_to_sandbox = f->left_to_sandbox;
	for (size_t i = 0; f->use && f->use[i] && i < RESULT_RECOMMENDED_MAX; i++)
		snprintf(r->recommended[r->recommended_count++], sizeof(r->recommended[0]), "%s",
		         f->use[i]);
	if (f->verdict == POLICY_VERDICT_ALLOW)
		return;
	r->exit_code = f->rule_id && strcmp(f->rule_id, POLICY_NOT_FOUND) == 0 ? EXIT_NOT_FOUND
	                                                                       : EXIT_REFUSED;
	snprintf(r->reason, sizeof(r->reason), "%s", f->reason);
}

static void fill_approval(struct result *r, const struct ask *a)
{
	if (!a->approval.id[0])
		return;
	memcpy(r->approval_id, a->approval.id, sizeof(r->approval_id));
	r->approval_state = approval_state_name(a->approval.state);
	snprintf(r->approval_by, sizeof(r->approval_by), "%s", a->by);
}

/* Its files have what it has written so far, since it runs for longer than a moment. */
static void show_so_far(struct result *r, const struct run *f)
{
	for (int i = 0; i < (f->output_mode == OUTPUT_MERGED ? 1 : 2); i++) {
		load_capture(f->task, i, &f->order);
		r->report.streams[i].bytes = f->task->captures[i].counts.bytes;
		r->report.streams[i].file_bytes = r->report.streams[i].bytes;
		fill_view(r, f, i);
	}
}

/* A command that nobody waits for any more. Its files are being written. */
static void fill_task(struct result *r, const struct run *f)
{
	char limit[32];

	scoped(buffer_donep) struct buffer note = {.max = sizeof(r->note) - 1};
	struct hint_facts facts;

	r->background = r->success = r->ran = r->output_kept = true;
	r->exit_code = 0;
	if (!f->order.background)
		show_so_far(r, f);
	for (int i = 0; i < (f->order.merged ? 1 : 2); i++)
		name_file(r, f, i);
	if (f->order.background) {
		snprintf(r->note, sizeof(r->note), "running in the background as task %s",
		         r->task_id);
		return;
	}
	r->let_go = true;
	r->timed_out = f->timed_out;
	number_format_duration(f->order.timeout_ms, limit);
	buffer_printf(&note, "still running%s%s; it goes on in the background as task %s. ",
	              f->timed_out ? " after " : "", f->timed_out ? limit : "", r->task_id);
	facts = hint_facts_of(r, f);
	hint_put_tool(&facts, HINT_TOOL_OUTPUT, &note);
	buffer_puts(&note, " shows more of its output, ");
	hint_put_tool(&facts, HINT_TOOL_STOP, &note);
	buffer_puts(&note, " ends it.");
	snprintf(r->note, sizeof(r->note), "%s", buffer_str(&note));
}

/* A caller who sees nothing of this host must not find out what lies where on it, either. */
const char *result_neutral_words(const struct error *e)
{
	if (e->kind != ERROR_SYSTEM && e->sys != ENOENT && e->sys != EXDEV && e->sys != ENOTDIR &&
	    e->sys != EACCES && e->sys != ELOOP && e->sys != ENAMETOOLONG)
		return e->text;
	if (e->kind == ERROR_SYSTEM)
		return "the command could not be started";
	return "the workspace or the working directory is not there, or lies outside of what may "
	       "be "
	       "used";
}

void run_result(const struct run *f, struct result *r)
{
	*r = (struct result){.output_mode = f->output_mode, .exit_code = EXIT_NACRE_FAILED};
	if (f->decided)
		fill_verdict(r, &f->finding);
	if (f->ask.state != ASK_NONE)
		fill_approval(r, &f->ask);
	if (f->decided && f->finding.verdict != POLICY_VERDICT_ALLOW)
		return;
	if (!f->task) {
		snprintf(r->reason, sizeof(r->reason), "%s",
		         f->engine->wishes.output_prefix ? result_neutral_words(&f->refusal)
		                                         : f->refusal.text);
		note_circumstances(r, f);
		return;
	}
	memcpy(r->task_id, f->task->id, sizeof(r->task_id));
	r->undo_wanted = f->engine->profile && f->engine->profile->undo.on;
	if (f->left) {
		if (f->order.background)
			r->no_undo = "background";
		else if (f->order.undoable)
			r->no_undo = "running";
		fill_task(r, f);
		note_circumstances(r, f);
		return;
	}
	for (int i = 0; f->task->on_disk && i < 2; i++)
		load_capture(f->task, i, &f->order);
	r->report = f->task->report;
	if (f->task->lost) {
		snprintf(r->reason, sizeof(r->reason),
		         "the keeper of this command was killed; the command was ended with it");
		r->ran = true;
		r->output_kept = true;
	} else {
		explain_end(r, &f->order, f->engine->wishes.output_prefix != NULL);
	}
	if (f->task->goes_on) {
		r->left_running = r->output_kept = true;
		for (int i = 0; i < (f->order.merged ? 1 : 2); i++)
			name_file(r, f, i);
	}
	for (int i = 0; i < (f->output_mode == OUTPUT_MERGED ? 1 : 2); i++)
		fill_view(r, f, i);
	result_fill_changes(r, f);
	note_circumstances(r, f);
}

const char *result_notice(const struct result *r, int stream)
{
	const struct view *v = &r->views[stream];

	return v->notice && !(v->text && strstr(v->text, v->notice)) ? v->notice : NULL;
}

void result_done(struct result *r)
{
	view_done(&r->views[0]);
	view_done(&r->views[1]);
	r->changes = change_list_free(r->changes);
}
