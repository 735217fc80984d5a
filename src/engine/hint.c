/*
 * One table decides which hint a finished command earns. A row has conditions, all of which must
 * hold, and a text: what happened, then what to do. To change or add a hint, edit a row.
 *
 *	limit, end, holds   facts of the report and the profile
 *	walled, layers      what must have been in force
 *	words, with         words in one line of the last output, in lower case; one of each list
 *	path                a path of this kind in the same line
 *
 * A row without words states something that the keeper has seen. It is told even of a command that
 * succeeded, since something was lost. A row with words is told of failed commands only, and its
 * text claims nothing but the facts: the words may come from anywhere.
 *
 * The first rows are the surest. Each topic is told once, and HINTS_MAX topics in all.
 *
 * The output is cleaned as it would be for a reader, and compared in lower case. Each row goes
 * through it once, since a line that did not do is left at once.
 */
#include "engine/hint.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "engine/hint-path.h"
#include "engine/hint-texts.h"
#include "engine/hint-words.h"
#include "engine/hint-left.h"
#include "engine/hint-lost.h"
#include "task/report.h"
#include "output/clean.h"
#include "sandbox/limits.h"
#include "sandbox/spec.h"

enum topic {
	TOPIC_MEMORY = 1,
	TOPIC_PROCESSES,
	TOPIC_FILE,
	TOPIC_CPU,
	TOPIC_TMP,
	TOPIC_OPEN_FILES,
	TOPIC_TIME,
	TOPIC_LEFT,
	TOPIC_PTRACE,
	TOPIC_PRIVILEGES,
	TOPIC_NAMESPACES,
	TOPIC_NETWORK,
	TOPIC_PATH,
	TOPIC_PROGRAMS,
	TOPIC_TASKS,
	TOPIC_LOST,
};

typedef bool fact(const struct hint_facts *f);

#define WORDS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

struct row {
	enum topic topic;
	enum limit_hit limit; /* LIMIT_HIT_NONE: any */
	fact *holds;          /* NULL: nothing more is asked */
	bool (*finds)(const struct hint_facts *f, char path[HINT_PATH_MAX]); /* likewise */
	bool walled;              /* in force was a wall between the files inside and outside */
	uint32_t layers;          /* all of these were in force */
	uint32_t without;         /* none of these was */
	const char *const *words; /* NULL: the output does not matter */
	const char *const *with;  /* NULL: nothing more is asked */
	enum hint_path path;
	bool about_host; /* not for callers who must not learn what lies where */
	const char *text;
};

static uint32_t layers_of(const struct hint_facts *f)
{
	const struct sandbox_standing *s = &f->report->sandbox;

	return s->tier == SANDBOX_TIER_NONE ? SANDBOX_LAYER_NO_NEW_PRIVS : s->layers;
}

/* A container has the files of its image. */
static bool is_walled(const struct hint_facts *f)
{
	return f->report->sandbox.tier != SANDBOX_TIER_CONTAINER &&
	       (layers_of(f) & (SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_LANDLOCK));
}

static bool is_landlock(const struct hint_facts *f)
{
	return f->report->sandbox.tier == SANDBOX_TIER_LANDLOCK && is_walled(f);
}

/* Of one that somebody has stopped nobody asks why. */
static bool has_failed(const struct hint_facts *f)
{
	return f->exit_code != 0 && f->report->end != KEEPER_END_STOPPED;
}

static bool timed_out(const struct hint_facts *f)
{
	return f->report->end == KEEPER_END_TIMEOUT && f->timeout_ms < f->timeout_max_ms;
}

static bool timed_out_at_last(const struct hint_facts *f)
{
	return f->report->end == KEEPER_END_TIMEOUT && f->timeout_max_ms > 0 && !timed_out(f);
}

static bool was_silent(const struct hint_facts *f)
{
	return f->report->end == KEEPER_END_IDLE;
}

/* Else the command did not end by itself, and the caller knows why. */
static bool left_processes(const struct hint_facts *f)
{
	return f->report->end == KEEPER_END_EXITED && f->report->ended[0] &&
	       f->report->limit_hit != LIMIT_HIT_CPU; /* which ends them all */
}

static bool keeps_leftover(const struct hint_facts *f)
{
	return f->left_running;
}

static bool killed_processes(const struct hint_facts *f)
{
	return f->report->killed > 0;
}

static bool killed_what_was_left(const struct hint_facts *f)
{
	return killed_processes(f) && f->report->end == KEEPER_END_EXITED;
}

static bool caller_lowered_processes(const struct hint_facts *f)
{
	return f->cli && f->max_processes > 0 &&
	       (!f->spec || f->spec->limits.processes == 0 ||
	        f->max_processes < f->spec->limits.processes);
}

static bool has_memory_limit(const struct hint_facts *f)
{
	return f->spec && f->spec->limits.memory_bytes > 0;
}

static bool has_process_limit(const struct hint_facts *f)
{
	return f->spec && f->spec->limits.processes > 0;
}

static bool has_file_limit(const struct hint_facts *f)
{
	return f->spec && f->spec->limits.file_bytes > 0;
}

static bool has_open_files_limit(const struct hint_facts *f)
{
	return f->spec && f->spec->limits.open_files > 0;
}

static bool has_tmp_limit(const struct hint_facts *f)
{
	return f->spec && f->spec->limits.tmp_bytes > 0;
}

static bool has_readonly_workspace(const struct hint_facts *f)
{
	return f->spec && f->spec->workspace_readonly;
}

/* Else it is the session's. */
static bool has_own_tmp(const struct hint_facts *f)
{
	return !f->report->room.id[0];
}

static bool has_room(const struct hint_facts *f)
{
	return !has_own_tmp(f);
}

static bool has_noexec_workspace(const struct hint_facts *f)
{
	return f->spec && f->spec->workspace_noexec && f->exit_code == 126;
}

static bool has_program_list(const struct hint_facts *f)
{
	return f->spec && f->spec->exec == SANDBOX_EXEC_LISTED;
}

static bool has_debugging(const struct hint_facts *f)
{
	return f->spec && f->spec->debug && !has_program_list(f) && !f->spec->workspace_noexec &&
	       (layers_of(f) & SANDBOX_LAYER_NAMESPACES);
}

static bool has_no_debugging(const struct hint_facts *f)
{
	return !has_debugging(f);
}

static bool looks_for_tasks(const struct hint_facts *f)
{
	return f->other_tasks && hint_wants_tasks(f);
}

static bool looks_for_tasks_of_room(const struct hint_facts *f)
{
	return has_room(f) && looks_for_tasks(f);
}

/* {path} {bound} {names} {killed} {left} {list} {stop} {again} {max} {time} {background}: see
 * put_field().
 */
static const struct row rows[] = {
	{.topic = TOPIC_MEMORY,
         .limit = LIMIT_HIT_MEMORY,
         .text = "the limit on memory was reached{bound}. Work on less at a time, for example with "
                 "fewer parallel jobs, or raise sandbox.limits.memory."},
	{.topic = TOPIC_PROCESSES,
         .limit = LIMIT_HIT_PROCESSES,
         .holds = caller_lowered_processes,
         .text = "the limit on processes was reached{bound}. Start fewer at a time, or raise "
                 "--max-processes."},
	{.topic = TOPIC_PROCESSES,
         .limit = LIMIT_HIT_PROCESSES,
         .text = "the limit on processes was reached{bound}. Start fewer at a time, or raise "
                 "sandbox.limits.processes."},
	{.topic = TOPIC_FILE,
         .limit = LIMIT_HIT_FILE_SIZE,
         .text = "the limit on file size was reached{bound}. Write smaller files, or raise "
                 "sandbox.limits.file."},
	{.topic = TOPIC_CPU,
         .limit = LIMIT_HIT_CPU,
         .text = "the limit on processor time was reached{bound}. Split the work, or raise "
                 "sandbox.limits.cpu."},
	{.topic = TOPIC_TMP,
         .limit = LIMIT_HIT_TMP,
         .text = "the limit on temporary files was reached{bound}. /tmp, /dev/shm and home share "
                 "it. Write large files into the workspace, or raise sandbox.limits.tmp."},
	{.topic = TOPIC_TMP,
         .limit = LIMIT_HIT_ROOM,
         .text = "the limit on the files of a session was reached. /tmp, /dev/shm and home share "
                 "it. Delete what is not needed, write large files into the workspace, or raise "
                 "room.size or room.files."},
	{.topic = TOPIC_TMP,
         .limit = LIMIT_HIT_WORKSPACE,
         .text = "the limit on the files of the workspace was reached. Delete what is not needed, "
                 "or raise workspace.size."},
	{.topic = TOPIC_TIME,
         .holds = timed_out,
         .text = "Ask for a longer time limit ({time}at most {max}, timeout.max), or run the "
                 "command in the background{background}."},
	{.topic = TOPIC_TIME,
         .holds = timed_out_at_last,
         .text = "This was the longest time limit (timeout.max). Run the command in the "
                 "background{background}, or raise timeout.max."},
	{.topic = TOPIC_TIME,
         .holds = was_silent,
         .text = "Make the command print its progress, raise the limit on silence (timeout.idle), "
                 "or run it in the background{background}."},
	{.topic = TOPIC_LEFT, .holds = keeps_leftover, .text = "{left}"},
	{.topic = TOPIC_LEFT,
         .holds = killed_what_was_left,
         .text = "{killed} still alive at the end and had to be killed. Start what must go on as a "
                 "command of its own, in the background{background}."},
	{.topic = TOPIC_LEFT,
         .holds = killed_processes,
         .text = "{killed} still alive at the end and had to be killed"},
	{.topic = TOPIC_LEFT,
         .holds = left_processes,
         .text = "{names} still running at the end and ended with the command. Start what must go "
                 "on as a command of its own, in the background{background}."},
	{.topic = TOPIC_TASKS,
         .holds = looks_for_tasks_of_room,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .text = "A command sees the processes of other tasks of its session, but not their files, "
                 "sockets and ports. {list} lists the tasks that run, with their ports. {stop} "
                 "ends one; so does kill with its pid."},
	{.topic = TOPIC_TASKS,
         .holds = looks_for_tasks,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .text = "A command sees only its own processes, not those of other tasks. {list} lists "
                 "the tasks that run, {stop} ends one."},
	{.topic = TOPIC_LOST,
         .holds = hint_lost_room,
         .text = "Calls of a session share no /tmp, home or loopback interface here: rooms need "
                 "namespaces. Keep files in the workspace, and use a server in the command that "
                 "starts it."},
	{.topic = TOPIC_LOST,
         .holds = hint_lost_directory,
         .text = "The working directory is not kept for the next command. {again}"},
	{.topic = TOPIC_LOST,
         .finds = hint_lost_file,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .text = "{path} was of this command alone and is gone with it. Write into the workspace "
                 "what the next command needs."},
	{.topic = TOPIC_PTRACE,
         .layers = SANDBOX_LAYER_SECCOMP,
         .words = WORDS("leaksanitizer has encountered a fatal error",
                        "leaksanitizer does not work under ptrace"),
         .holds = has_no_debugging,
         .text = "LeakSanitizer needs ptrace, which the sandbox refuses. Run the program with "
                 "ASAN_OPTIONS=detect_leaks=0; the other checks work. The operator can allow "
                 "ptrace with sandbox.debug: true, which needs namespaces."},
	{.topic = TOPIC_PTRACE,
         .layers = SANDBOX_LAYER_SECCOMP,
         .words = WORDS("ptrace: operation not permitted", "ptrace(ptrace_", "ptrace_traceme",
                        "ptrace_seize", "ptrace_attach", "could not trace the inferior process",
                        "could not attach to process"),
         .holds = has_no_debugging,
         .text = "The sandbox refuses ptrace, so debuggers and tracers cannot work. Use the "
                 "program's own logs or sanitizers. The operator can allow ptrace with "
                 "sandbox.debug: true, which needs namespaces."},
	{.topic = TOPIC_PTRACE,
         .layers = SANDBOX_LAYER_SECCOMP,
         .holds = has_debugging,
         .words = WORDS("ptrace: operation not permitted", "ptrace_seize", "ptrace_attach",
                        "could not attach to process"),
         .text = "A debugger reaches the processes of its own command only. Start the program and "
                 "the debugger in one command, such as gdb --args ./program."},
	{.topic = TOPIC_PRIVILEGES,
         .layers = SANDBOX_LAYER_NO_NEW_PRIVS,
         .words = WORDS("no new privileges", "effective uid is not 0", "must be setuid root",
                        "have the setuid bit set", "are you root?", "you must be root",
                        "must be run as root", "requires superuser privilege",
                        "requires root privileges", "no valid sudoers sources"),
         .text = "A command cannot gain privileges (no_new_privs, in every sandbox.mode), so sudo "
                 "fails. Run it without sudo and install into the workspace, or ask the operator "
                 "to install what is missing."},
	{.topic = TOPIC_NAMESPACES,
         .layers = SANDBOX_LAYER_SECCOMP,
         .words = WORDS("unshare failed: operation not permitted", "no usable sandbox",
                        "failed to move to new namespace", "creating new namespace failed",
                        "no permissions to create new namespace",
                        "no permissions to create a new namespace"),
         .text = "A command cannot make a sandbox of its own inside of this one. Switch the "
                 "program's own off, for example with --no-sandbox. sandbox.mode: none would "
                 "allow it."},
	{.topic = TOPIC_NETWORK,
         .layers = SANDBOX_LAYER_NETWORK_NAMES,
         .words = WORDS("connection refused", "econnrefused"),
         .text = LOOPBACK_AND_NAMES},
	{.topic = TOPIC_NETWORK,
         .layers = SANDBOX_LAYER_NETWORK,
         .without = SANDBOX_LAYER_NETWORK_NAMES,
         .holds = hint_has_lost_names,
         .words = UNREACHED,
         .text = NO_NAMES},
	{.topic = TOPIC_NETWORK,
         .layers = SANDBOX_LAYER_NETWORK,
         .without = SANDBOX_LAYER_NETWORK_NAMES,
         .holds = hint_has_lost_names_silently,
         .text = NO_NAMES},
	{.topic = TOPIC_NETWORK,                 /* without a network nobody else can refuse */
         .without = SANDBOX_LAYER_NETWORK_NAMES, /* which says itself what it refuses */
         .layers = SANDBOX_LAYER_NETWORK | SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("connection refused", "econnrefused"),
         .text = OWN_LOOPBACK},
	{.topic = TOPIC_NETWORK,
         .without = SANDBOX_LAYER_NETWORK_NAMES,
         .layers = SANDBOX_LAYER_NETWORK | SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("couldn't connect", "failed to connect", "could not connect",
                        "can't connect"),
         .with = WORDS("localhost", "127.0.0.", "::1"),
         .text = OWN_LOOPBACK},
	{.topic = TOPIC_NETWORK,
         .without = SANDBOX_LAYER_NETWORK_NAMES,
         .layers = SANDBOX_LAYER_NETWORK,
         .words = UNREACHED,
         .text = NO_NETWORK},
	{.topic = TOPIC_NETWORK,
         .without = SANDBOX_LAYER_NETWORK_NAMES,
         .layers = SANDBOX_LAYER_NETWORK,
         .holds = hint_is_silent_client,
         .text = NO_NETWORK},
	{.topic = TOPIC_PATH,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("read-only file system", "device or resource busy", "permission denied",
                        "operation not permitted"),
         .path = HINT_PATH_PROTECTED,
         .text = PROTECTED},
	{.topic = TOPIC_PATH,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("no such file or directory"),
         .path = HINT_PATH_PROTECTED,
         .text = "{path} is protected (sandbox.protected). What a command writes there is held "
                 "until a person approves it: `nacre approvals` lists it, `nacre approve ID` puts "
                 "it in place."},
	{.topic = TOPIC_PATH,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("device or resource busy"),
         .path = HINT_PATH_AROUND,
         .text = PROTECTED},
	{.topic = TOPIC_PATH,
         .walled = true,
         .words =
                 WORDS("no such file or directory", "permission denied", "operation not permitted"),
         .path = HINT_PATH_SECRET,
         .about_host = true,
         .text = "{path} is hidden from commands (sandbox.secrets): it is where keys, passwords or "
                 "private data are kept. Do the work without it, or ask the operator."},
	{.topic = TOPIC_PATH,
         .holds = has_noexec_workspace,
         .walled = true,
         .words = WORDS("permission denied"),
         .path = HINT_PATH_WORKSPACE,
         .text = "Programs of the workspace do not run here (sandbox.workspace_exec: false). Use "
                 "an installed program, or a profile with sandbox.workspace_exec: true."},
	{.topic = TOPIC_PATH,
         .holds = has_readonly_workspace,
         .walled = true,
         .words = WORDS("read-only file system", "permission denied"),
         .path = HINT_PATH_WORKSPACE,
         .text = "The workspace is read-only here (sandbox.workspace: readonly). Write to /tmp, or "
                 "use a profile with sandbox.workspace: readwrite."},
	{.topic = TOPIC_PATH,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("read-only file system"),
         .path = HINT_PATH_OUTSIDE,
         .about_host = true,
         .text = NOT_WRITABLE},
	{.topic = TOPIC_PATH,
         .walled = true,
         .words = WORDS("no such file or directory", "permission denied"),
         .path = HINT_PATH_HIDDEN,
         .about_host = true,
         .text = "{path} is outside of the workspace, and the sandbox does not show it. Use files "
                 "of the workspace, or add the path to sandbox.readable or sandbox.writable."},
	{.topic = TOPIC_PATH,
         .holds = has_own_tmp,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("no such file or directory"),
         .path = HINT_PATH_TMP,
         .text = "Each command has a /tmp of its own, which is empty when it starts. Keep files "
                 "for later commands in the workspace. Files of the host's /tmp are there if "
                 "sandbox.readable or sandbox.writable lists them."},
	{.topic = TOPIC_PATH,
         .holds = has_room,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("no such file or directory"),
         .path = HINT_PATH_UNSHARED,
         .about_host = true,
         .text = "{path} is outside of the workspace. /tmp and home belong to the session, and the "
                 "host's files are not in them. Use files of the workspace, or ask the operator to "
                 "add the path to sandbox.readable or sandbox.writable."},
	{.topic = TOPIC_PATH,
         .holds = is_landlock,
         .words = WORDS("permission denied"),
         .path = HINT_PATH_OUTSIDE,
         .about_host = true,
         .text = NOT_WRITABLE},
	{.topic = TOPIC_PROCESSES,
         .holds = has_process_limit,
         .layers = SANDBOX_LAYER_PROCESSES,
         .words = WORDS("resource temporarily unavailable", "eagain", "can't start new thread",
                        "unable to create native thread", "cannot fork"),
         .with = WORDS("fork", "thread", "pthread_create", "clone", "spawn"),
         .text = "The sandbox limits the number of processes{bound}. If that was the cause, start "
                 "fewer at a time, or raise sandbox.limits.processes."},
	{.topic = TOPIC_OPEN_FILES,
         .holds = has_open_files_limit,
         .walled = true,
         .words = WORDS("too many open files", "emfile"),
         .text = "The sandbox limits the open files of a process{bound}. If that was the cause, "
                 "close files earlier, or raise sandbox.limits.open_files."},
	{.topic = TOPIC_FILE,
         .holds = has_file_limit,
         .walled = true,
         .words = WORDS("file size limit exceeded", "file too large", "efbig"),
         .text = "The sandbox limits the size of a file{bound}. If that was the cause, write "
                 "smaller files, or raise sandbox.limits.file."},
	{.topic = TOPIC_TMP,
         .holds = has_tmp_limit,
         .layers = SANDBOX_LAYER_NAMESPACES,
         .words = WORDS("no space left on device", "enospc"),
         .path = HINT_PATH_TEMPORARY,
         .text = "/tmp, /dev/shm and home are private and limited in size{bound}. If that was the "
                 "cause, write large files into the workspace, or raise sandbox.limits.tmp."},
	{.topic = TOPIC_MEMORY,
         .holds = has_memory_limit,
         .layers = SANDBOX_LAYER_MEMORY,
         .words = WORDS("reserveshadowmemoryrange failed", "addresssanitizer failed to allocate",
                        "memorysanitizer can not mmap", "threadsanitizer failed to allocate"),
         .text = "Sanitizers map terabytes, which the sandbox refuses where no control group "
                 "limits "
                 "memory (`nacre doctor` tells). Use valgrind or -fsanitize=undefined. The "
                 "operator "
                 "can start nacre in a unit with Delegate=yes, or set sandbox.limits.memory: 0."},
	{.topic = TOPIC_MEMORY,
         .holds = has_memory_limit,
         .layers = SANDBOX_LAYER_MEMORY,
         .words = WORDS("cannot allocate memory", "memoryerror", "bad_alloc", "enomem",
                        "virtual memory exhausted"),
         .text = "The sandbox limits memory{bound}. If that was the cause, work on less at a time, "
                 "or raise sandbox.limits.memory."},
	{.topic = TOPIC_PROGRAMS,
         .holds = has_program_list,
         .walled = true,
         .words = WORDS("command not found"),
         .text = "Only the programs of the allow list are in this sandbox (sandbox.exec: listed). "
                 "Use one of these, or a profile with sandbox.exec: any."},
};

/* What is looked at: cleaned, and again in lower case, letter under letter. */
struct look {
	struct buffer shown, lower;
};

static void look_done(struct look *l)
{
	buffer_done(&l->shown);
	buffer_done(&l->lower);
}

static void look_at(struct look *l, const struct hint_stream *s)
{
	size_t n = s->n < HINT_LOOK_MAX ? s->n : HINT_LOOK_MAX;
	const struct clean_options options = {.starts_mid = n < s->n};
	struct clean_facts facts;

	if (!s->bytes || n == 0)
		return;
	(void)clean_text(s->bytes + s->n - n, n, &options, &l->shown, &facts);
	buffer_putc(&l->shown, '\n');
}

static bool has_one_of(const char *line, size_t n, const char *const *words)
{
	for (; *words; words++)
		if (hint_has_word(line, n, *words))
			return true;
	return false;
}

/* Whether some line is as the row wants it. */
static bool is_in_output(const struct row *row, const struct hint_facts *f, const struct look *l,
                         char path[HINT_PATH_MAX])
{
	const char *lower = buffer_str(&l->lower), *end = lower + l->lower.len;

	for (const char *line = lower, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((newline ? newline : end) - line);

		next = newline ? newline + 1 : end;
		if (has_one_of(line, n, row->words) &&
		    (!row->with || has_one_of(line, n, row->with)) &&
		    (row->path == HINT_PATH_NONE ||
		     hint_path_find(f, row->path, buffer_str(&l->shown) + (line - lower), n, path)))
			return true;
	}
	return false;
}

static bool is_earned(const struct row *row, const struct hint_facts *f, const struct look *l,
                      char path[HINT_PATH_MAX])
{
	if (row->limit != LIMIT_HIT_NONE && row->limit != f->report->limit_hit)
		return false;
	if ((row->walled && !is_walled(f)) || (row->layers & ~layers_of(f)) ||
	    (row->without & layers_of(f)))
		return false;
	if ((row->about_host && f->discreet) || (row->holds && !row->holds(f)))
		return false;
	if (row->finds && !row->finds(f, path))
		return false;
	return !row->words || is_in_output(row, f, l, path);
}

/* The value of the limit that the row is about, in brackets. */
static void put_bound(enum topic topic, const struct hint_facts *f, struct buffer *into)
{
	struct sandbox_limits l = {0};
	uint64_t bytes = 0, count = 0;
	char text[32];

	if (f->spec)
		l = f->spec->limits;
	if (topic == TOPIC_MEMORY)
		bytes = l.memory_bytes;
	else if (topic == TOPIC_FILE)
		bytes = l.file_bytes;
	else if (topic == TOPIC_TMP)
		bytes = l.tmp_bytes;
	else if (topic == TOPIC_OPEN_FILES)
		count = l.open_files;
	else if (topic == TOPIC_PROCESSES)
		count = f->max_processes && (!l.processes || f->max_processes < l.processes)
		                ? f->max_processes
		                : l.processes;
	if (bytes) {
		number_format_bytes(bytes, text);
		buffer_printf(into, " (%s)", text);
	} else if (topic == TOPIC_CPU && l.cpu_seconds) {
		number_format_duration((int64_t)l.cpu_seconds * 1000, text);
		buffer_printf(into, " (%s)", text);
	} else if (count) {
		buffer_printf(into, " (%llu)", (unsigned long long)count);
	}
}

static void put_field(const char *name, size_t n, const struct row *row, const struct hint_facts *f,
                      const char *path, struct buffer *into)
{
	char text[32];

	if (strncmp(name, "path", n) == 0) {
		buffer_puts(into, path);
	} else if (strncmp(name, "bound", n) == 0) {
		put_bound(row->topic, f, into);
	} else if (strncmp(name, "names", n) == 0) {
		hint_put_names(f, into);
	} else if (strncmp(name, "killed", n) == 0) {
		buffer_printf(into, "%d process%s", f->report->killed,
		              f->report->killed == 1 ? " was" : "es were");
	} else if (strncmp(name, "left", n) == 0) {
		hint_put_left(f, into);
	} else if (strncmp(name, "list", n) == 0 || strncmp(name, "stop", n) == 0) {
		struct hint_facts any = *f;

		any.task_id = NULL; /* not this one */
		hint_put_tool(&any, *name == 'l' ? HINT_TOOL_LIST : HINT_TOOL_STOP, into);
	} else if (strncmp(name, "again", n) == 0) {
		buffer_puts(into,
		            f->cli ? "Name a session (--session ID), or the directory (--cwd)."
		                   : "Begin each line with cd, or name the directory with it.");
	} else if (strncmp(name, "max", n) == 0) {
		number_format_duration(f->timeout_max_ms, text);
		buffer_puts(into, text);
	} else if (f->cli) { /* "time", "background": the options for it */
		buffer_puts(into,
		            strncmp(name, "time", n) == 0 ? "--timeout, " : " (--background)");
	} else if (f->tool && strcmp(f->tool, "Bash") == 0 && f->door &&
	           strcmp(f->door, "mcp") == 0) {
		buffer_puts(into, strncmp(name, "time", n) == 0 ? "`timeout`, "
		                                                : " (`run_in_background`)");
	}
}

static void write_hint(const struct row *row, const struct hint_facts *f, const char *path,
                       char into[HINT_TEXT_MAX])
{
	scoped(buffer_donep) struct buffer text = {.max = HINT_TEXT_MAX - 1};
	const char *p = row->text;
	size_t n;

	while (*p) {
		n = strcspn(p, "{");
		buffer_append(&text, p, n);
		p += n;
		if (*p) {
			n = strcspn(p + 1, "}");
			put_field(p + 1, n, row, f, path, &text);
			p += n + 2;
		}
	}
	snprintf(into, HINT_TEXT_MAX, "%s", buffer_str(&text));
}

int hint_find(const struct hint_facts *f, char into[HINTS_MAX][HINT_TEXT_MAX])
{
	scoped(look_done) struct look l = {0};
	uint32_t told = 0;
	int count = 0;

	for (int i = 0; has_failed(f) && i < HINT_STREAMS; i++)
		look_at(&l, &f->streams[i]);
	for (size_t i = 0; i < l.shown.len; i++)
		buffer_putc(&l.lower, (char)tolower((unsigned char)l.shown.data[i]));
	if (buffer_error(&l.shown) < 0 || buffer_error(&l.lower) < 0)
		return 0; /* out of memory: hints are the least of it */
	for (size_t i = 0; count < HINTS_MAX && i < array_size(rows); i++) {
		char path[HINT_PATH_MAX] = "";

		if ((told & (1U << rows[i].topic)) || !is_earned(&rows[i], f, &l, path))
			continue;
		told |= 1U << rows[i].topic;
		write_hint(&rows[i], f, path, into[count++]);
	}
	return count;
}
