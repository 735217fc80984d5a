/*
 * Commands. A request becomes a job of an engine, and its result the answer.
 *
 * A client that leaves takes its command with it, unless that was to be a background task: nobody
 * would see what comes of it. As a stream the output is read from the task's files at the pace of
 * the client; if the command has ended before all was taken, its directory is kept until then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "approval/approval.h"
#include "base/arena.h"
#include "base/error.h"
#include "engine/dialect.h"
#include "engine/explain-tree.h"
#include "engine/explain.h"
#include "engine/job.h"
#include "engine/parameters.h"
#include "engine/result.h"
#include "task/tasks.h"
#include "http/text.h"
#include "json/write.h"
#include "decide/check.h"
#include "serve/inside.h"
#include "serve/tail.h"
#include "task/find.h"

#define BODY_MAX  ((size_t)1 << 20)
#define ARENA_MAX (8 * BODY_MAX)

#define SHELL_TOOL "run_shell" /* its dialect and profile are those of POST /shell */

static const struct parameter run_parameters[] = {
	{"profile", PARAMETER_OWN, false, 0,
         "the profile that decides (default: the first that is offered)"},
	{"command", PARAMETER_LINE, false, 0,
         "one string: a line for bash, or words, as the profile says"},
	{"argv", PARAMETER_ARGV, false, 0, "or a list of words, executed directly"},
	{"workspace", PARAMETER_WORKSPACE, false, 0, "the directory to work in, below a root"},
	{"cwd", PARAMETER_CWD, false, 0, "directory inside the workspace"},
	{"env", PARAMETER_ENV, false, 0, "further variables"},
	{"input", PARAMETER_INPUT, false, 0, "text for standard input"},
	{"timeout_ms", PARAMETER_TIMEOUT, false, 1, "time limit in milliseconds"},
	{"idle_timeout_ms", PARAMETER_IDLE_TIMEOUT, false, 1, "how long it may print nothing"},
	{"approval_timeout_ms", PARAMETER_APPROVAL_TIMEOUT, false, 1,
         "how long to wait for a person if one must approve (default: do not wait)"},
	{"description", PARAMETER_DESCRIPTION, false, 0, "what the command is for"},
	{"output_mode", PARAMETER_OUTPUT_MODE, false, 0, "which streams come back, and how"},
	{"background", PARAMETER_BACKGROUND, false, 0, "start it as a task and answer at once"},
	{"pty", PARAMETER_PTY, false, 0, "run it on a terminal"},
	{"force", PARAMETER_FORCE, false, 0, "override a nudge, never a refusal"},
	{"session", PARAMETER_SESSION, false, 0,
         "calls of one session share directory and variables"},
};

static const struct parameter shell_parameters[] = {
	{"command", PARAMETER_LINE, true, 0, "the command and its words"},
	{"workspace", PARAMETER_WORKSPACE, false, 0, "the directory to work in"},
	{"timeout", PARAMETER_TIMEOUT, false, 1000, "time limit in seconds, at most 30"},
};

void run_put_schema(struct json_writer *w)
{
	parameters_write_schema(run_parameters, array_size(run_parameters), NULL, w);
}

void run_put_shell_schema(struct json_writer *w)
{
	parameters_write_schema(shell_parameters, array_size(shell_parameters), NULL, w);
}

void run_put_shell_failure(struct json_writer *w, const char *message)
{
	json_member_bool(w, "success", false);
	json_member_string(w, "stdout", "");
	json_member_string(w, "stderr", message);
	json_member_int(w, "returncode", EXIT_NACRE_FAILED);
}

static void fail(struct call *c, const struct error *err)
{
	if (err->sys == EACCES && err->kind == ERROR_INPUT)
		answer_error(c, 403, "scope", err->text);
	else if (err->sys == ENOENT && err->kind == ERROR_INPUT)
		answer_error(c, 404, "input", err->text);
	else
		answer_failure(c, err);
}

/* The request of the body, in the call's arena. *ret_profile is borrowed from *ret_root. */
static int read_request(struct call *c, json_t **ret_root, const char **ret_profile,
                        struct error *err)
{
	size_t n;
	const char *body = http_body(c->x, &n);
	int r;

	c->arena = arena_new(ARENA_MAX);
	c->request = c->arena ? arena_new_object(c->arena, struct request) : NULL;
	if (!c->request)
		return error_nomem(err);
	c->request->input_fd = -1;
	r = json_read(body, n, BODY_MAX, "the body", ret_root, err);
	if (r < 0)
		return r;
	r = c->shell ? parameters_read(shell_parameters, array_size(shell_parameters), NULL,
	                               *ret_root, c->arena, c->request, err)
	             : parameters_read(run_parameters, array_size(run_parameters), NULL, *ret_root,
	                               c->arena, c->request, err);
	if (r < 0)
		return r;
	if (!c->request->argv == !c->request->command)
		return error_set(err, ERROR_INPUT, EINVAL, "give either 'argv' or 'command'");
	*ret_profile = c->shell ? dialect_profile(dialect_find(SHELL_TOOL))
	                        : json_string_value(json_object_get(*ret_root, "profile"));
	return 0;
}

static int prepare(struct call *c, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	const char *profile = NULL;
	int r;

	r = read_request(c, &root, &profile, err);
	if (r < 0 || !c->request)
		return r < 0 ? r : -ENOMEM;
	r = bench_find(c, profile, c->request->workspace, &c->bench, err);
	/* Who asks for a place that is not theirs is refused by an engine, too, which remembers it.
	 */
	c->lost = r == -ENOENT && err->kind == ERROR_INPUT;
	if (c->lost)
		r = bench_find(c, profile, NULL, &c->bench, err);
	if (r < 0)
		return r;
	c->request->principal = NULL;
	c->request->door = "http";
	if (c->client->name[0]) {
		c->request->principal = arena_strdup(c->arena, c->client->name);
		if (!c->request->principal)
			return error_nomem(err);
	}
	if (bench_session(c, c->arena, &c->request->session) < 0)
		return error_nomem(err);
	return 0;
}

/* The place of a rule is told without the directory of its file. */
static void hide_path(char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		memmove(path, slash + 1, strlen(slash));
}

static int write_result(struct call *c, struct result *r, struct buffer *into)
{
	hide_path(r->rule_file);
	return c->shell ? dialect_write_result(dialect_find(SHELL_TOOL), r, into)
	                : result_write_json(r, into);
}

static void finish_stream(struct call *c)
{
	if (!c->x || c->result.len == 0)
		return;
	(void)http_stream_event(c->x, NULL, "result", c->result.data, c->result.len);
	http_stream_end(c->x);
}

static int on_timer(struct loop_timer *t)
{
	run_pump(container_of(t, struct call, timer));
	return 0;
}

static void send_end(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct find_entry e;

	tail_look(c->tail, &e);
	json_object_begin(&w);
	tasks_put_member(&w, tail_dir(c->tail), &e);
	json_object_end(&w);
	if (buffer_error(&json) == 0)
		(void)http_stream_event(c->x, NULL, "end", json.data, json.len);
	http_stream_end(c->x);
}

void run_pump(struct call *c)
{
	if (!c->x || !c->streams)
		return;
	if (c->tail) {
		enum tail_state state = tail_pump(c->tail);

		if (c->left && state != TAIL_DONE && tail_is_past(c->tail, c->left_bytes)) {
			tail_end(c->tail);
			state = TAIL_DONE;
		}
		switch (state) {
		case TAIL_WAITS:
			return;
		case TAIL_MORE:
			(void)loop_timer_set(c->serve->loop, &c->timer, loop_now(c->serve->loop),
			                     on_timer);
			return;
		case TAIL_DONE:
			break;
		}
		if (!c->route->takes_body) { /* it was only followed */
			send_end(c);
			c->tail = tail_free(c->tail);
			return;
		}
	}
	finish_stream(c);
}

static void on_wake(void *owner)
{
	run_pump(owner);
}

static void ensure_tail(struct call *c)
{
	const char *id = c->job ? job_task_id(c->job) : NULL;
	struct tasks_query q = {.id = id, .stream = FOLLOW_BOTH};
	struct error err = {0};

	if (c->tail || !id || !c->x || !c->streams || job_task_dir(c->job) < 0)
		return;
	if (tail_new(&c->bench->engine.store, c->serve->watch, &q, c->x, on_wake, c, &c->tail,
	             &err) < 0)
		serve_log(c->serve, "following a task: %s", err.text);
}

static void on_output(void *owner, struct job *j)
{
	struct call *c = owner;

	ensure_tail(c);
	run_pump(c);
}

/* The output that has not been taken yet is still there, and goes first. */
static bool end_stream(struct call *c, struct result *r)
{
	ensure_tail(c);
	memcpy(c->result_id, r->task_id, sizeof(c->result_id));
	c->keep = r->output_kept;
	if (write_result(c, r, &c->result) < 0) {
		buffer_done(&c->result);
		buffer_puts(&c->result, "{}");
	}
	c->left = r->left_running;
	c->left_bytes = r->report.streams[0].bytes + r->report.streams[1].bytes;
	if (r->background) {
		c->tail = tail_free(c->tail);
		c->keep = true;
	}
	c->job = NULL;
	run_pump(c);
	return !c->tail;
}

/* The shape of a door's answers holds for what is wrong with the workspace, too. */
static void answer_lost(struct call *c)
{
	struct result r = {.exit_code = EXIT_NACRE_FAILED, .reason = "Workspace not found"};
	scoped(buffer_donep) struct buffer json = {0};

	if (!c->shell) {
		answer_error(c, 404, "input", r.reason);
		return;
	}
	(void)write_result(c, &r, &json);
	answer_json(c, 200, &json);
}

static bool on_ended(void *owner, struct job *j, struct result *r)
{
	scoped(buffer_donep) struct buffer json = {.max = (size_t)64 << 20};
	struct call *c = owner;
	bool delivered = true;

	metrics_count(&c->serve->metrics, c->bench->profile, r);
	if (c->x && c->streams) {
		delivered = end_stream(c, r);
	} else {
		c->job = NULL;
		if (c->x && c->lost && !r->ran && !r->verdict) {
			answer_lost(c);
		} else if (c->x) {
			(void)write_result(c, r, &json);
			answer_json(c, 200, &json);
		} else {
			call_free(c);
		}
	}
	return delivered;
}

/* Who follows learns that a person is asked, and by which name that can be answered. */
static void on_asked(void *owner, struct job *j, const struct approval *a)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct call *c = owner;

	if (!c->x || !c->streams)
		return;
	json_object_begin(&w);
	approvals_put(c, &w, a);
	json_object_end(&w);
	if (buffer_error(&json) == 0)
		(void)http_stream_event(c->x, NULL, "asked", json.data, json.len);
}

/* It has its permit. */
static void on_permitted(void *owner, struct job *j)
{
	struct call *c = owner;

	if (c->streams)
		answer_stream(c);
}

static const struct job_ops ops = {
	.permitted = on_permitted, .output = on_output, .asked = on_asked, .ended = on_ended};

/* To count means to look at every task, so it is done once in a while: what has ended meanwhile is
 * noticed then. */
bool run_may_begin_task(struct serve *s, struct client *c)
{
	scoped(find_list_donep) struct find_list list = {0};
	struct find_query q = {.principal = c->name, .only_running = true};
	struct store *store;

	if (!c->name[0])
		return true;
	if (c->background_room == 0) {
		if (bench_store(s, &store, NULL) < 0 || find_tasks(store, &q, &list, NULL) < 0)
			return false;
		if (list.count < s->options.background_each)
			c->background_room = s->options.background_each - list.count;
	}
	if (c->background_room == 0)
		return false;
	c->background_room--;
	return true;
}

static void submit(struct call *c)
{
	struct error err = {0};
	int r;

	if (c->request->background && !run_may_begin_task(c->serve, c->client)) {
		answer_error(c, 503, "limit", "too many tasks run in the background");
		return;
	}
	/* What it leaves running would be a task as well. */
	if (!c->request->background)
		c->request->end_leftover = !run_may_begin_task(c->serve, c->client);
	c->request->follow = c->request->findable = c->streams;
	c->request->share = &c->client->share;
	r = job_start(&c->bench->engine, c->serve->loop, c->request, c->arena, &ops, c, &c->job,
	              &err);
	if (r == 0) {
		c->arena = NULL;
		if (!job_waits(c->job))
			on_permitted(c, c->job);
		return;
	}
	c->streams = false;
	if (r == -EBUSY)
		answer_error(c, 503, "limit", "too many commands are waiting");
	else
		answer_failure(c, &err);
}

void run_shell(struct call *c)
{
	struct error err = {0};

	c->shell = true;
	if (prepare(c, &err) < 0)
		fail(c, &err);
	else
		submit(c);
}

void run_any(struct call *c)
{
	struct error err = {0};

	c->streams = http_accepts(http_header(c->x, "Accept"), "text/event-stream", false);
	if (prepare(c, &err) < 0) {
		c->streams = false;
		fail(c, &err);
	} else {
		c->streams = c->streams && !c->lost; /* it ends before it begins */
		submit(c);
	}
}

void run_explain(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct error err = {0};
	struct check answer = {0};
	int r;

	r = prepare(c, &err);
	if (r == 0)
		r = engine_explain(&c->bench->engine, c->request, c->arena, &answer, &err);
	if (r < 0) {
		if (err.kind == ERROR_INPUT && err.sys == ENOENT)
			error_set(&err, ERROR_INPUT, ENOENT, "Workspace or directory not found");
		fail(c, &err);
		return;
	}
	explain_hide_places(&answer);
	json_object_begin(&w);
	explain_put_json(&answer, &w);
	explain_put_tree(&answer, &w);
	explain_put_box(c->bench->engine.profile,
	                c->request->workspace ? c->request->workspace : c->bench->root, &w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

void run_client_gone(struct call *c)
{
	c->tail = tail_free(c->tail);
	if (c->errand || c->mcp)
		return;
	if (c->job && job_waits(c->job)) {
		job_leave(take_ptr(&c->job));
	} else if (c->job) {
		if (!c->request->background)
			job_stop(c->job, false);
		return;
	}
	if (c->result_id[0] && !c->keep)
		store_task_remove(&c->bench->engine.store, c->result_id);
	call_free(c);
}
