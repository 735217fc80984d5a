/*
 * `nacre diff`, `apply`, `discard` and `undo`: what a task has changed in its view of the
 * workspace, and what shall come of it. A command that nacre runs cannot do any of this: it would
 * decide about itself.
 */
#include "cli/changes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/desk.h"
#include "cli/run-options.h"
#include "engine/changes.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "json/write.h"
#include "profile/profile.h"

#define DIFF_MAX ((size_t)64 << 20)

struct changes_options {
	struct engine_wishes wishes;
	bool stat, json, force, last, list, dry_run, ask;
};

static struct task_changes_source source_of(const struct store *store,
                                            const struct engine_wishes *wishes)
{
	return (struct task_changes_source){.store = store, .wishes = wishes, .door = "cli"};
}

static int refuse_inside(void)
{
	if (!cli_is_inside())
		return 0;
	cli_complain("a command that nacre runs cannot apply or undo anything");
	return -EPERM;
}

static int complain(const struct error *err, int r)
{
	cli_complain("%s", err->text);
	return r == -EBUSY ? EXIT_CONFLICT : EXIT_NACRE_FAILED;
}

static int print_json(const struct task_changes *t, const struct change_list *l, size_t most)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	task_changes_put_all(&w, t, l, most);
	buffer_putc(&out, '\n');
	return cli_print(&out);
}

static void print_planted(const struct task_changes *t)
{
	for (const char *line = t->planted, *end; *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		cli_complain("%.*s is protected: it was not applied", (int)strcspn(line, "\t\n"),
		             line);
	}
}

static int print_list(const struct task_changes *t, const struct change_list *l)
{
	scoped(buffer_donep) struct buffer out = {0};

	buffer_printf(&out, "%s: %s; %llu added, %llu changed, %llu deleted\n", t->changes.task,
	              change_state_name(t->changes.state), (unsigned long long)l->added,
	              (unsigned long long)l->changed, (unsigned long long)l->deleted);
	cli_put_changes(l, SIZE_MAX, &out);
	return cli_print(&out);
}

static int show_conflicts(const struct change_list *l)
{
	scoped(buffer_donep) struct buffer out = {0};

	for (size_t i = 0; i < l->conflict_count && i < CHANGE_CONFLICTS_MAX; i++) {
		buffer_puts(&out, "  conflict: ");
		cli_put_clean(l->conflicts[i].path, &out);
		buffer_printf(&out, ": %s\n", l->conflicts[i].why);
	}
	return buffer_error(&out) == 0 && out.len > 0
	               ? fd_write_all(STDERR_FILENO, out.data, out.len)
	               : 0;
}

static int diff(void *options, int argc, char **argv)
{
	const struct changes_options *o = options;
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(buffer_donep) struct buffer text = {.max = DIFF_MAX}, out = {.max = 2 * DIFF_MAX};
	struct task_changes_source from;
	struct error err = {0};
	struct store store;
	int r;

	if (refuse_inside() < 0)
		return EXIT_NACRE_FAILED;
	store_look(&store);
	from = source_of(&store, &o->wishes);
	r = task_changes_open(&from, argv[0], &t, &err);
	if (r == 0)
		r = task_changes_list(&t, NULL, &l, &err);
	if (r == 0 && argc > 1)
		r = change_choose(l, (const char *const *)argv + 1, &err);
	if (r == 0 && !o->json && !o->stat)
		task_changes_put_diff(&t, l, &text);
	store_done(&store);
	if (r < 0)
		return complain(&err, r);
	if (o->json)
		return print_json(&t, l, SIZE_MAX);
	if (o->stat)
		return print_list(&t, l);
	cli_put_diff(buffer_str(&text), text.len, cli_has_colours(STDOUT_FILENO), &out);
	r = out.len > 0 ? cli_print(&out) : 0;
	return r ? r : text.len == 0 ? print_list(&t, l) : 0;
}

static int say_applied(const struct task_changes *t, const struct change_list *l,
                       const struct cli_apply *o)
{
	scoped(buffer_donep) struct buffer out = {0};

	print_planted(t);
	if (o->json)
		return print_json(t, l, TASK_CHANGES_LIST);
	if (o->quiet)
		return 0;
	buffer_printf(&out, "applied %s: %llu added, %llu changed, %llu deleted\n", t->changes.task,
	              (unsigned long long)l->added, (unsigned long long)l->changed,
	              (unsigned long long)l->deleted);
	return cli_print(&out);
}

int cli_apply_task(const struct store *store, const struct engine_wishes *wishes, const char *task,
                   const struct cli_apply *o)
{
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	scoped(change_list_freep) struct change_list *l = NULL;
	struct task_changes_source from = source_of(store, wishes);
	struct error err = {0};
	int r = task_changes_open(&from, task, &t, &err);

	if (r == 0)
		r = task_changes_list(&t, NULL, &l, &err);
	if (r < 0)
		return complain(&err, r);
	if (o->ask || t.profile->undo.asks) {
		r = cli_ask_apply(&t, l);
		if (r < 0) {
			cli_complain(
				"a person has to see these changes first: run `nacre apply %s` "
				"at a terminal",
				t.changes.task);
			return EXIT_NACRE_FAILED;
		}
		if (r == 0) {
			cli_complain("nothing was applied; `nacre apply %s` applies it, `nacre "
			             "discard %s` throws it away",
			             t.changes.task, t.changes.task);
			return 1;
		}
		t.from.person = true;
	}
	r = task_changes_apply(&t, l, o->force, &err);
	if (r < 0) {
		(void)show_conflicts(l);
		return complain(&err, r);
	}
	return say_applied(&t, l, o);
}

static int apply(void *options, int argc, char **argv)
{
	const struct changes_options *o = options;
	const struct cli_apply how = {.force = o->force, .json = o->json, .ask = o->ask};
	struct store store;
	int code;

	if (refuse_inside() < 0)
		return EXIT_NACRE_FAILED;
	store_look(&store);
	code = cli_apply_task(&store, &o->wishes, argv[0], &how);
	store_done(&store);
	return code;
}

int cli_discard_task(const struct store *store, const struct engine_wishes *wishes,
                     const char *task, bool json)
{
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	scoped(buffer_donep) struct buffer out = {0};
	struct task_changes_source from = source_of(store, wishes);
	struct json_writer w = {.out = &out};
	struct error err = {0};
	int r = task_changes_open(&from, task, &t, &err);

	if (r == 0)
		r = task_changes_discard(&t, &err);
	if (r < 0)
		return complain(&err, r);
	if (json) {
		json_object_begin(&w);
		json_member_string(&w, "task_id", t.changes.task);
		json_member_string(&w, "state", "discarded");
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		buffer_printf(&out, "discarded %s\n", t.changes.task);
	}
	return cli_print(&out);
}

static int discard(void *options, int argc, char **argv)
{
	const struct changes_options *o = options;
	struct store store;
	int code = 0;

	if (refuse_inside() < 0)
		return EXIT_NACRE_FAILED;
	store_look(&store);
	for (int i = 0; i < argc; i++) {
		int r = cli_discard_task(&store, &o->wishes, argv[i], o->json);

		code = code ? code : r;
	}
	store_done(&store);
	return code;
}

static int put_line(void *context, const struct changes *c, const struct changes_about *a)
{
	struct buffer *out = context;
	char age[32];

	number_format_duration((clock_wall_ms() - c->used_ms) / 1000 * 1000, age);
	buffer_printf(out, "%-22s %-8s %10s ago  ", c->task,
	              c->running ? "running" : change_state_name(c->state), age);
	cli_put_clean(a->command, out);
	buffer_putc(out, '\n');
	return 0;
}

static int list(const struct changes_options *o, const struct store *store)
{
	const struct task_changes_source from = source_of(store, &o->wishes);
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct error err = {0};
	int r = o->json ? task_changes_put_tasks(&from, &w, &err)
	                : task_changes_each(&from, put_line, &out, &err);

	if (r < 0)
		return complain(&err, r);
	if (o->json)
		buffer_putc(&out, '\n');
	else if (out.len == 0)
		buffer_puts(&out, "no changes are kept\n");
	return cli_print(&out);
}

static int undo_task(const struct changes_options *o, const struct store *store, const char *task,
                     const char *const *paths)
{
	scoped(task_changes_donep) struct task_changes t = TASK_CHANGES_NONE;
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(buffer_donep) struct buffer out = {0};
	const struct task_changes_source from = source_of(store, &o->wishes);
	struct error err = {0};
	int r = task_changes_open(&from, task, &t, &err);

	if (r == 0 && t.changes.state != CHANGE_APPLIED)
		r = error_set(&err, ERROR_INPUT, ENOENT, "nothing of task %s is applied",
		              t.changes.task);
	if (r == 0)
		r = task_changes_list(&t, paths, &l, &err);
	if (r < 0)
		return complain(&err, r);
	if (o->dry_run)
		return o->json ? print_json(&t, l, SIZE_MAX) : print_list(&t, l);
	r = task_changes_undo(&t, l, o->force, &err);
	if (r < 0) {
		(void)show_conflicts(l);
		return complain(&err, r);
	}
	if (o->json)
		return print_json(&t, l, TASK_CHANGES_LIST);
	buffer_printf(&out, "undone %s%s: ", t.changes.task, paths ? " in parts" : "");
	cli_put_clean(t.about.command, &out);
	buffer_putc(&out, '\n');
	return cli_print(&out);
}

static int undo(void *options, int argc, char **argv)
{
	const struct changes_options *o = options;
	int paths = o->last ? 0 : 1;
	struct store store;
	int code;

	if (refuse_inside() < 0)
		return EXIT_NACRE_FAILED;
	if (!o->list && argc < paths) {
		cli_complain("undo: name a task, or give --last or --list");
		return EXIT_NACRE_FAILED;
	}
	store_look(&store);
	code = o->list ? list(o, &store)
	               : undo_task(o, &store, o->last ? NULL : argv[0],
	                           argc > paths ? (const char *const *)argv + paths : NULL);
	store_done(&store);
	return code;
}

static void prepare(void *options)
{
	((struct changes_options *)options)->wishes = engine_wishes_default;
}

#define OF    struct changes_options
#define ABOUT "TASK is the id that 'nacre try' prints, or a unique beginning of it. "

static const struct cli_option diff_options[] = {
	{"stat", NULL, "list the files only", CLI_FLAG(OF, stat)},
	{"json", NULL, "print one JSON object", CLI_FLAG(OF, json)},
	CLI_WISHES(OF, wishes, "bash"),
	{0},
};

const struct cli_command cli_diff = {
	.name = "diff",
	.summary = "show what a tried or undoable command changes",
	.usage = "[OPTIONS] TASK [PATH...]",
	.about = "Shows the differences that a task makes, as text: what was tried and not applied "
		 "against the workspace as it is now, or what was applied against what was there "
		 "before. " ABOUT,
	.operand = "TASK",
	.options = diff_options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct changes_options),
	.prepare = prepare,
	.main = diff,
};

static const struct cli_option apply_options[] = {
	{"force", NULL, "apply it although others have changed the same files",
         CLI_FLAG(OF, force)},
	{"ask", NULL, "show the differences and ask at the terminal first", CLI_FLAG(OF, ask)},
	{"json", NULL, "print one JSON object", CLI_FLAG(OF, json)},
	CLI_WISHES(OF, wishes, "bash"),
	{0},
};

const struct cli_command cli_apply = {
	.name = "apply",
	.summary = "apply what a command changed when it was tried",
	.usage = "[OPTIONS] TASK",
	.about =
		"Applies what 'nacre try' has kept, all of it or nothing. What others have changed "
		"meanwhile is a conflict: nothing is applied then, and the exit code is 3. " ABOUT,
	.notes = "With --force the files of others go to where 'nacre undo' finds them.",
	.operand = "TASK",
	.options = apply_options,
	.least = 1,
	.most = 1,
	.size = sizeof(struct changes_options),
	.prepare = prepare,
	.main = apply,
};

static const struct cli_option discard_options[] = {
	{"json", NULL, "print one JSON object per task, one per line", CLI_FLAG(OF, json)},
	CLI_WISHES(OF, wishes, "bash"),
	{0},
};

const struct cli_command cli_discard = {
	.name = "discard",
	.summary = "throw away what a command changed when it was tried",
	.usage = "[OPTIONS] TASK...",
	.about = "Removes what 'nacre try' has kept, or what 'nacre undo' has taken back. " ABOUT,
	.operand = "TASK",
	.options = discard_options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct changes_options),
	.prepare = prepare,
	.main = discard,
};

static const struct cli_option undo_options[] = {
	{"last", NULL, "undo the last command that changed something; operands are paths",
         CLI_FLAG(OF, last)},
	{"list", NULL, "list the tasks whose changes are kept", CLI_FLAG(OF, list)},
	{"dry-run", NULL, "only show what would be undone, and what stands against it",
         CLI_FLAG(OF, dry_run)},
	{"force", NULL, "undo it although the same files were changed since", CLI_FLAG(OF, force)},
	{"json", NULL, "print one JSON object", CLI_FLAG(OF, json)},
	CLI_WISHES(OF, wishes, "bash"),
	{0},
};

const struct cli_command cli_undo = {
	.name = "undo",
	.summary = "take back what a command changed in the workspace",
	.usage = "[OPTIONS] TASK [PATH...]\n[OPTIONS] --last [PATH...]\n--list",
	.about = "Takes back what was applied: bytes, modes, times and links are as before. It "
		 "touches only what the command changed, and refuses (exit code 3) if any of that "
		 "was "
		 "changed since. Commands can be undone if the profile says 'undo: {mode: on}', or "
		 "if "
		 "they were tried and applied. " ABOUT,
	.notes = "With --force the newer files are kept: 'nacre apply TASK' brings them back.",
	.operand = "TASK",
	.options = undo_options,
	.most = -1,
	.size = sizeof(struct changes_options),
	.prepare = prepare,
	.main = undo,
};
