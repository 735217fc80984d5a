/*
 * What differs between the dialects is data, but for one small function each that writes the
 * result. A refusal has the same shape as any result: success is false, and `reason` says why;
 * where a dialect has no such member, stderr does.
 */
#include "engine/dialect.h"

#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/parameters.h"
#include "engine/result.h"
#include "json/write.h"

#define PARAMETER_BYTES_MAX ((size_t)1 << 20)
#define PARAMETERS_MAX      10

struct dialect {
	const char *tool, *alias;
	const char *profile;
	const char *description;
	bool discreet, keeps_session;
	struct parameter parameters[PARAMETERS_MAX]; /* up to the first without a name */
	void (*write)(struct json_writer *w, const struct result *r);
};

static void put_stream(struct json_writer *w, const char *key, const struct view *v)
{
	json_member_bytes(w, key, v->text ? v->text : "", v->len);
}

static bool truncated(const struct result *r)
{
	return (result_shows(r, 0) && r->views[0].truncated) ||
	       (result_shows(r, 1) && r->views[1].truncated);
}

static void put_streams(struct json_writer *w, const struct result *r)
{
	if (r->output_mode == OUTPUT_MERGED) {
		put_stream(w, "output", &r->views[0]);
		return;
	}
	if (result_shows(r, 0))
		put_stream(w, "stdout", &r->views[0]);
	if (result_shows(r, 1))
		put_stream(w, "stderr", &r->views[1]);
}

/* What every dialect adds when there is something to say: the reason, what to use instead, notices.
 */
static void put_remarks(struct json_writer *w, const struct result *r)
{
	if (r->reason[0])
		json_member_string(w, "reason", r->reason);
	if (r->recommended_count > 0) {
		json_member_array(w, "recommended");
		for (int i = 0; i < r->recommended_count; i++)
			json_put_string(w, r->recommended[i]);
		json_array_end(w);
	}
	if (r->notice_count > 0) {
		json_member_array(w, "notices");
		for (int i = 0; i < r->notice_count; i++)
			json_put_string(w, r->notices[i]);
		json_array_end(w);
	}
}

static void put_file(struct json_writer *w, const struct result *r)
{
	if (r->output_kept && r->output_files[0][0])
		json_member_string(w, "output_file", r->output_files[0]);
	/* What was not asked for, or not all of it shown, is found by its name. */
	if (r->output_kept && r->output_mode != OUTPUT_MERGED && r->output_files[1][0])
		json_member_string(w, "stderr_file", r->output_files[1]);
}

static void write_safe_shell(struct json_writer *w, const struct result *r)
{
	json_member_bool(w, "success", r->success);
	json_member_int(w, "exit_code", r->exit_code);
	put_streams(w, r);
	json_member_bool(w, "truncated", truncated(r));
	put_file(w, r);
	for (int i = 0; i < 2; i++)
		if (result_shows(r, i) && r->views[i].truncated && result_notice(r, i))
			json_member_string(w, i ? "stderr_warning" : "warning",
			                   result_notice(r, i));
	json_member_bool(w, "timed_out", r->timed_out);
	put_remarks(w, r);
}

static void write_run_command(struct json_writer *w, const struct result *r)
{
	json_member_bool(w, "success", r->success);
	json_member_int(w, "exit_code", r->exit_code);
	put_streams(w, r);
	json_member_bool(w, "truncated", truncated(r));
	json_member_bool(w, "timed_out", r->timed_out);
	json_member_int(w, "duration_ms", r->report.duration_ms);
	put_file(w, r);
	put_remarks(w, r);
}

static void write_shell(struct json_writer *w, const struct result *r)
{
	json_member_int(w, "exit_code", r->exit_code);
	put_streams(w, r);
	json_member_int(w, "stdout_bytes", (int64_t)r->report.streams[0].bytes);
	json_member_int(w, "stderr_bytes", (int64_t)r->report.streams[1].bytes);
	json_member_bool(w, "truncated", truncated(r));
	json_member_bool(w, "binary", r->views[0].binary || r->views[1].binary);
	json_member_bool(w, "timed_out", r->timed_out);
	json_member_int(w, "duration_ms", r->report.duration_ms);
	put_file(w, r);
	put_remarks(w, r);
}

/* Exactly four members; why it did not run, or not to its end, stands where a program would have
 * said it. */
static void write_run_shell(struct json_writer *w, const struct result *r)
{
	scoped(buffer_donep) struct buffer said = {0};

	if (r->views[1].text)
		buffer_append(&said, r->views[1].text, r->views[1].len);
	if (r->reason[0] && said.len > 0 && said.data[said.len - 1] != '\n')
		buffer_putc(&said, '\n');
	buffer_puts(&said, r->reason);
	json_member_bool(w, "success", r->success);
	if (r->background)
		json_member_string(w, "stdout", r->note);
	else
		put_stream(w, "stdout", &r->views[0]);
	json_member_bytes(w, "stderr", buffer_str(&said), said.len);
	json_member_int(w, "returncode", r->exit_code);
}

/* Nothing has ended yet: what there is to know is where it will be found. */
static void write_task(struct json_writer *w, const struct result *r)
{
	json_member_bool(w, "success", true);
	json_member_string(w, "stdout", r->note);
	json_member_string(w, "stderr", "");
	json_member_int(w, "exit_code", 0);
	json_member_int(w, "duration_ms", r->report.duration_ms);
	json_member_string(w, "task_id", r->task_id);
	json_member_string(w, "output_file", r->output_files[0]);
	if (r->timed_out)
		json_member_bool(w, "timed_out", true);
	put_remarks(w, r);
}

/* Why it did not run, or not to its end, stands in `stderr` too if nothing else does: that is where
 * clients of such a tool look. */
static void put_streams_or_reason(struct json_writer *w, const struct result *r)
{
	bool silent = r->output_mode == OUTPUT_SEPARATE && r->views[1].len == 0;

	if (!silent || !r->reason[0])
		return put_streams(w, r);
	put_stream(w, "stdout", &r->views[0]);
	json_member_string(w, "stderr", r->reason);
}

static void write_bash(struct json_writer *w, const struct result *r)
{
	json_member_bool(w, "success", r->success);
	put_streams_or_reason(w, r);
	json_member_int(w, "exit_code", r->exit_code);
	json_member_int(w, "duration_ms", r->report.duration_ms);
	if (truncated(r))
		json_member_bool(w, "truncated", true);
	if (r->timed_out)
		json_member_bool(w, "timed_out", true);
	if (r->task_id[0])
		json_member_string(w, "task_id", r->task_id);
	put_file(w, r);
	put_remarks(w, r);
}

static const struct dialect dialects[] = {
	{
		.tool = "safe_shell",
		.alias = "safe.shell",
		.profile = "verify",
		.description = "Run a shell command without a shell: one program with arguments, "
			       "such as a compiler, a test, or a program that was just built.",
		.parameters =
			{
				{"command", PARAMETER_NAME, true, 0,
                                 "the program: a bare name, or a relative path in the workspace"},
				{"args", PARAMETER_ARGS, false, 0, "its arguments, as they are"},
				{"input", PARAMETER_INPUT, false, 0, "text for standard input"},
				{"output_mode", PARAMETER_OUTPUT_MODE, false, 0,
                                 "which streams come back, and how (default merged)"},
				{"force", PARAMETER_FORCE, false, 0,
                                 "run it although another tool is advised; blocked programs stay "
                                 "blocked"},
				{"timeout_millis", PARAMETER_TIMEOUT, false, 1,
                                 "time limit in milliseconds (default 5000, at most 30000)"},
			},
		.write = write_safe_shell,
	},
	{
		.tool = "run_command",
		.profile = "universal",
		.description = "Run a shell command in the workspace: a bash line, with pipes, "
			       "redirections and globs.",
		.parameters =
			{
				{"command", PARAMETER_LINE, true, 0, "the line for bash"},
				{"working_dir", PARAMETER_CWD, false, 0,
                                 "directory inside the workspace (default: its root)"},
				{"timeout", PARAMETER_TIMEOUT, false, 1000,
                                 "time limit in seconds (default 120, at most 600)"},
				{"env", PARAMETER_ENV, false, 0, "further variables"},
				{"input", PARAMETER_INPUT, false, 0, "text for standard input"},
				{"description", PARAMETER_DESCRIPTION, false, 0,
                                 "what the command is for"},
				{"output_mode", PARAMETER_OUTPUT_MODE, false, 0,
                                 "which streams come back, and how (default separate)"},
				{"background", PARAMETER_BACKGROUND, false, 0,
                                 "start it as a task and return at once"},
				{"pty", PARAMETER_PTY, false, 0,
                                 "run it on a terminal: true, or its rows and columns"},
			},
		.write = write_run_command,
	},
	{
		.tool = "shell",
		.profile = "workspace",
		.description = "Run a shell command, a program with arguments, in the workspace. "
			       "What is neither allowed nor refused by rule is asked of a person.",
		.parameters =
			{
				{"command", PARAMETER_ARGV, true, 0,
                                 "the program and its arguments"},
				{"working_dir", PARAMETER_CWD, false, 0,
                                 "directory inside the workspace (default: its root)"},
				{"timeout_seconds", PARAMETER_TIMEOUT, false, 1000,
                                 "time limit in seconds"},
				{"pty", PARAMETER_PTY, false, 0,
                                 "run it on a terminal: true, or its rows and columns"},
			},
		.keeps_session = true,
		.write = write_shell,
	},
	{
		.tool = "run_shell",
		.profile = "readonly",
		.description = "Look at files with one read-only shell command, without a shell: "
			       "no pipes, redirections or variables.",
		.discreet = true,
		.parameters =
			{
				{"command", PARAMETER_LINE, true, 0, "the command and its words"},
				{"workspace", PARAMETER_WORKSPACE, false, 0,
                                 "the directory to work in"},
				{"timeout", PARAMETER_TIMEOUT, false, 1000,
                                 "time limit in seconds (default and at most 30)"},
			},
		.write = write_run_shell,
	},
	{
		.tool = "Bash",
		.profile = "bash",
		.description = "Run a shell command (a bash line) in the workspace. For what takes "
			       "long, use run_in_background, and TaskOutput to read it.",
		.parameters =
			{
				{"command", PARAMETER_FULL_LINE, true, 0, "the line for bash"},
				{"description", PARAMETER_DESCRIPTION, false, 0,
                                 "what the command is for"},
				{"timeout", PARAMETER_TIMEOUT_OR_0, false, 1,
                                 "time limit in milliseconds (default 120000, at most 600000)"},
				{"run_in_background", PARAMETER_BACKGROUND, false, 0,
                                 "return at once with its id"},
				{"cwd", PARAMETER_CWD, false, 0, "inside the workspace"},
				{"env", PARAMETER_ENV, false, 0, "further variables"},
				{"pty", PARAMETER_PTY, false, 0,
                                 "on a terminal; shell_input types on it"},
			},
		.keeps_session = true,
		.write = write_bash,
	},
};

const struct dialect *dialect_at(size_t i)
{
	return i < array_size(dialects) ? &dialects[i] : NULL;
}

const struct dialect *dialect_find(const char *tool)
{
	for (size_t i = 0; i < array_size(dialects); i++)
		if (strcmp(tool, dialects[i].tool) == 0 ||
		    (dialects[i].alias && strcmp(tool, dialects[i].alias) == 0))
			return &dialects[i];
	return NULL;
}

const char *dialect_tool(const struct dialect *d)
{
	return d->tool;
}

const char *dialect_profile(const struct dialect *d)
{
	return d->profile;
}

bool dialect_is_discreet(const struct dialect *d)
{
	return d->discreet;
}

bool dialect_keeps_session(const struct dialect *d)
{
	return d->keeps_session;
}

bool dialect_takes_name(const struct dialect *d)
{
	for (size_t i = 0; i < PARAMETERS_MAX && d->parameters[i].name; i++)
		if (d->parameters[i].field == PARAMETER_NAME)
			return true;
	return false;
}

static size_t parameter_count(const struct dialect *d)
{
	size_t n = 0;

	while (n < PARAMETERS_MAX && d->parameters[n].name)
		n++;
	return n;
}

void dialect_put_members(const struct dialect *d, const char *tool, const struct profile *profile,
                         const char *more, struct json_writer *w)
{
	scoped(buffer_donep) struct buffer text = {0};

	buffer_puts(&text, d->description);
	buffer_puts(&text, more);
	json_member_string(w, "name", tool ? tool : d->tool);
	json_member_string(w, "description",
	                   buffer_error(&text) == 0 ? buffer_str(&text) : d->description);
	json_put_key(w, "inputSchema");
	parameters_write_schema(d->parameters, parameter_count(d), profile, w);
}

void dialect_write_json(const struct dialect *d, struct json_writer *w)
{
	json_object_begin(w);
	dialect_put_members(d, NULL, NULL, "", w);
	json_object_end(w);
}

void dialect_write_function(const struct dialect *d, struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "type", "function");
	json_member_object(w, "function");
	json_member_string(w, "name", d->tool);
	json_member_string(w, "description", d->description);
	json_put_key(w, "parameters");
	parameters_write_schema(d->parameters, parameter_count(d), NULL, w);
	json_object_end(w);
	json_object_end(w);
}

int dialect_read_value(const struct dialect *d, json_t *object, struct arena *arena,
                       struct request *request, struct error *err)
{
	return parameters_read(d->parameters, parameter_count(d), NULL, object, arena, request,
	                       err);
}

int dialect_read(const struct dialect *d, const char *text, size_t n, struct arena *arena,
                 struct request *request, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	int r;

	r = json_read(text, n, PARAMETER_BYTES_MAX, "parameters", &root, err);
	if (r < 0)
		return r;
	return dialect_read_value(d, root, arena, request, err);
}

int dialect_write_result(const struct dialect *d, const struct result *r, struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_object_begin(&w);
	(r->background && d->write != write_run_shell ? write_task : d->write)(&w, r);
	json_object_end(&w);
	return buffer_error(into);
}
