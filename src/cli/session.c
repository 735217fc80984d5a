/*
 * `nacre session`: the rooms of sessions, which calls share files in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "audit/event.h"
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "json/write.h"
#include "session/caches.h"
#include "session/room.h"
#include "session/session.h"
#include "task/standby.h"
#include "task/tasks.h"

struct wanted {
	struct store *store;
	char state[PATH_MAX];
	const char *name; /* of the session, or the id of a room; NULL: all */
	bool json, sizes, end;
	size_t found;
	struct buffer out;
};

struct task_names {
	struct wanted *wanted;
	struct json_writer *w;
	int count, failed;
};

static int put_task(void *context, const char *task)
{
	struct task_names *t = context;

	t->count++;
	if (t->w)
		json_put_string(t->w, task);
	else if (t->wanted->sizes)
		buffer_printf(&t->wanted->out, "  task %s\n", task);
	return 0;
}

static int stop_task(void *context, const char *task)
{
	struct task_names *t = context;
	struct find_entry e = {0};
	struct error err = {0};
	int r = tasks_stop(t->wanted->store, task, false, &e, &err);

	if (r < 0 && r != -ESRCH && r != -ENOENT) {
		cli_complain("%s: %s", task, err.text);
		t->failed = r;
	}
	return 0;
}

static void put_launcher(struct json_writer *w, const struct standby_info *launcher)
{
	if (!launcher) {
		json_member_string(w, "launcher", NULL);
		return;
	}
	json_member_object(w, "launcher");
	json_member_int(w, "pid", launcher->pid);
	json_member_uint(w, "ready", launcher->ready);
	json_member_uint(w, "running", launcher->running);
	json_object_end(w);
}

static void put_json(struct wanted *x, const struct room_info *i, uint64_t bytes, uint64_t files,
                     const struct standby_info *launcher)
{
	struct json_writer w = {.out = &x->out};
	struct task_names t = {.wanted = x, .w = &w};

	json_object_begin(&w);
	json_member_string(&w, "room", i->id);
	json_member_string(&w, "session", i->session);
	json_member_text(&w, "principal", i->principal);
	json_member_text(&w, "profile", i->profile);
	json_member_string(&w, "workspace", i->workspace);
	json_member_uint(&w, "generation", i->generation);
	json_member_int(&w, "made_ms", i->made_ms);
	json_member_int(&w, "used_ms", i->used_ms);
	json_member_bool(&w, "in_use", i->in_use);
	put_launcher(&w, launcher);
	if (x->sizes) {
		json_member_uint(&w, "bytes", bytes);
		json_member_uint(&w, "files", files);
	}
	json_member_array(&w, "tasks");
	(void)room_tasks(x->state, i->id, put_task, &t);
	json_array_end(&w);
	if (x->end)
		json_member_bool(&w, "ended", true);
	json_object_end(&w);
	buffer_putc(&x->out, '\n');
}

static void put_text(struct wanted *x, const struct room_info *i, uint64_t bytes, uint64_t files,
                     const struct standby_info *launcher)
{
	struct task_names t = {.wanted = x};
	char made[32];

	audit_time_print(i->made_ms, made);
	buffer_printf(&x->out, "%-16s  %-12s  %s  %s  ", i->session, *i->profile ? i->profile : "-",
	              made, i->id);
	cli_put_clean(i->workspace, &x->out);
	if (launcher)
		buffer_printf(&x->out, "  launcher %d", (int)launcher->pid);
	buffer_puts(&x->out, x->end ? "  ended\n" : "\n");
	if (x->sizes)
		buffer_printf(&x->out, "  %llu bytes in %llu files, generation %llu%s\n",
		              (unsigned long long)bytes, (unsigned long long)files,
		              (unsigned long long)i->generation, i->in_use ? ", in use" : "");
	(void)room_tasks(x->state, i->id, put_task, &t);
}

static int visit(void *context, const struct room_info *info)
{
	struct wanted *x = context;
	uint64_t bytes = 0, files = 0;
	struct task_names t = {.wanted = x};
	struct standby_info launcher;
	bool stays;

	if (x->name && strcmp(x->name, info->session) != 0 && strcmp(x->name, info->id) != 0)
		return 0;
	x->found++;
	if (x->sizes)
		room_measure(x->state, info->id, &bytes, &files);
	if (x->end) {
		(void)room_tasks(x->state, info->id, stop_task, &t);
		if (t.failed == 0)
			t.failed = room_end(x->state, info->id, ROOM_END_ASKED);
		if (t.failed < 0 && t.failed != -ENOENT)
			return t.failed;
		(void)session_forget(x->state, info->session);
	}
	stays = !x->end && standby_look(x->state, info->id, &launcher) == 0;
	if (x->json)
		put_json(x, info, bytes, files, stays ? &launcher : NULL);
	else
		put_text(x, info, bytes, files, stays ? &launcher : NULL);
	return 0;
}

static int work(struct wanted *x)
{
	int r;

	if (!x->json && !x->name)
		buffer_printf(&x->out, "%-16s  %-12s  %-24s  %-32s  %s\n", "SESSION", "PROFILE",
		              "SINCE", "ROOM", "WORKSPACE");
	r = room_list(x->state, visit, x);
	if (r < 0)
		cli_complain("session: %s", strerrordesc_np(-r));
	else if (x->name && x->found == 0 && x->end && session_forget(x->state, x->name) == 0)
		x->found++; /* it had variables or a directory only */
	else if (x->name && x->found == 0)
		cli_complain(
			"no session '%s' has files; 'nacre session list' shows those that have",
			x->name);
	if (r < 0 || (x->name && x->found == 0))
		return EXIT_NACRE_FAILED;
	return cli_print(&x->out);
}

struct session_options {
	bool json, remove;
};

/* Caches */

static void put_caches_json(struct wanted *x, const struct room_info *i, uint64_t bytes,
                            uint64_t files)
{
	struct json_writer w = {.out = &x->out};

	json_object_begin(&w);
	json_member_string(&w, "caches", i->id);
	json_member_text(&w, "principal", i->principal);
	json_member_text(&w, "profile", i->profile);
	json_member_string(&w, "workspace", i->workspace);
	json_member_uint(&w, "generation", i->generation);
	json_member_int(&w, "made_ms", i->made_ms);
	json_member_int(&w, "used_ms", i->used_ms);
	json_member_bool(&w, "in_use", i->in_use);
	json_member_uint(&w, "bytes", bytes);
	json_member_uint(&w, "files", files);
	if (x->end)
		json_member_bool(&w, "removed", true);
	json_object_end(&w);
	buffer_putc(&x->out, '\n');
}

static int visit_caches(void *context, const struct room_info *info)
{
	struct wanted *x = context;
	uint64_t bytes, files;
	char used[32];
	int r;

	if (x->name && strcmp(x->name, info->id) != 0)
		return 0;
	x->found++;
	caches_measure(x->state, info->id, &bytes, &files);
	r = x->end ? caches_remove(x->state, info->id) : 0;
	if (r < 0 && r != -ENOENT)
		return r;
	if (x->json) {
		put_caches_json(x, info, bytes, files);
		return 0;
	}
	audit_time_print(info->used_ms, used);
	buffer_printf(&x->out, "%-12s  %s  %12llu  %9llu  %s  ",
	              *info->profile ? info->profile : "-", used, (unsigned long long)bytes,
	              (unsigned long long)files, info->id);
	cli_put_clean(info->workspace, &x->out);
	buffer_puts(&x->out, !x->end        ? "\n"
	                     : info->in_use ? "  removed when its last user has ended\n"
	                                    : "  removed\n");
	return 0;
}

static int work_caches(struct wanted *x)
{
	int r;

	if (!x->json && !x->name)
		buffer_printf(&x->out, "%-12s  %-24s  %12s  %9s  %-32s  %s\n", "PROFILE", "USED",
		              "BYTES", "FILES", "CACHES", "WORKSPACE");
	r = caches_list(x->state, visit_caches, x);
	if (r < 0)
		cli_complain("session: %s", strerrordesc_np(-r));
	else if (x->name && x->found == 0)
		cli_complain("there are no caches '%s'; 'nacre session caches' shows all", x->name);
	if (r < 0 || (x->name && x->found == 0))
		return EXIT_NACRE_FAILED;
	return cli_print(&x->out);
}

typedef int work_with(struct wanted *x);

static int each(const struct session_options *o, work_with *with, int argc, char **argv, bool sizes,
                bool ends)
{
	struct store store;
	int code = 0;

	store_look(&store);
	for (int i = 0; i < argc || i == 0; i++) {
		struct wanted x = {.store = &store,
		                   .name = argc > 0 ? argv[i] : NULL,
		                   .json = o->json,
		                   .sizes = sizes,
		                   .end = ends};
		int r;

		if (store.tasks_fd >= 0)
			snprintf(x.state, sizeof(x.state), "%.*s",
			         (int)(strrchr(store.path, '/') - store.path), store.path);
		r = with(&x);
		buffer_done(&x.out);
		code = code ? code : r;
	}
	store_done(&store);
	return code;
}

static int list(void *options, int argc, char **argv)
{
	return each(options, work, 0, argv, false, false);
}

static int show(void *options, int argc, char **argv)
{
	return each(options, work, argc, argv, true, false);
}

static int end(void *options, int argc, char **argv)
{
	return each(options, work, argc, argv, false, true);
}

static int caches(void *options, int argc, char **argv)
{
	struct session_options *o = options;

	return each(o, work_caches, argc, argv, true, o->remove);
}

static const struct cli_option rows[] = {
	{"json", NULL, "print one JSON object per room, one per line",
         CLI_FLAG(struct session_options, json)},
	{0},
};

static const struct cli_option cache_rows[] = {
	{"json", NULL, "print one JSON object per workspace, one per line",
         CLI_FLAG(struct session_options, json)},
	{"remove", NULL, "remove them, if a command uses them as soon as it has ended",
         CLI_FLAG(struct session_options, remove)},
	{0},
};

const struct cli_command cli_session = {
	.name = "session",
	.summary = "list, show and end what the calls of sessions share",
	.about = "Calls of one session share /tmp, /dev/shm and, by most profiles, home. These "
		 "files "
		 "are its room. A session has one for each profile and workspace.",
};

const struct cli_command cli_session_list = {
	.name = "session list",
	.summary = "list all rooms, with the session that each belongs to",
	.usage = "[OPTIONS]",
	.options = rows,
	.size = sizeof(struct session_options),
	.main = list,
};

const struct cli_command cli_session_show = {
	.name = "session show",
	.summary = "show the rooms of sessions, with their size and the tasks in them",
	.usage = "[OPTIONS] SESSION...",
	.about = "SESSION is the id of a session, or of one room.",
	.options = rows,
	.least = 1,
	.most = -1,
	.size = sizeof(struct session_options),
	.main = show,
};

const struct cli_command cli_session_end = {
	.name = "session end",
	.summary = "stop the tasks of sessions, remove their rooms and variables",
	.usage = "[OPTIONS] SESSION...",
	.about =
		"SESSION is the id of a session, or of one room. A room ends by itself when nobody "
		"used it for room.idle, or at the age room.age.",
	.options = rows,
	.least = 1,
	.most = -1,
	.size = sizeof(struct session_options),
	.main = end,
};

const struct cli_command cli_session_caches = {
	.name = "session caches",
	.summary = "list or remove the caches that persist across sessions",
	.usage = "[OPTIONS] [CACHES...]",
	.about = "A profile with room.caches keeps directories such as ~/.npm across sessions, for "
		 "one principal, profile and workspace. CACHES is an id of the list; without one "
		 "all are meant. They go by themselves when nobody used them for 30 days.",
	.options = cache_rows,
	.most = -1,
	.size = sizeof(struct session_options),
	.main = caches,
};
