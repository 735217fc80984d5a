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
#include "session/room.h"
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

static void put_json(struct wanted *x, const struct room_info *i, uint64_t bytes, uint64_t files)
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

static void put_text(struct wanted *x, const struct room_info *i, uint64_t bytes, uint64_t files)
{
	struct task_names t = {.wanted = x};
	char made[32];

	audit_time_print(i->made_ms, made);
	buffer_printf(&x->out, "%-16s  %-12s  %s  %s  ", i->session, *i->profile ? i->profile : "-",
	              made, i->id);
	cli_put_clean(i->workspace, &x->out);
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

	if (x->name && strcmp(x->name, info->session) != 0 && strcmp(x->name, info->id) != 0)
		return 0;
	x->found++;
	if (x->sizes)
		room_measure(x->state, info->id, &bytes, &files);
	if (x->end) {
		(void)room_tasks(x->state, info->id, stop_task, &t);
		if (t.failed == 0)
			t.failed = room_end(x->state, info->id);
		if (t.failed < 0 && t.failed != -ENOENT)
			return t.failed;
	}
	if (x->json)
		put_json(x, info, bytes, files);
	else
		put_text(x, info, bytes, files);
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
	else if (x->name && x->found == 0)
		cli_complain(
			"no session '%s' has files; 'nacre session list' shows those that have",
			x->name);
	if (r < 0 || (x->name && x->found == 0))
		return EXIT_NACRE_FAILED;
	return cli_print(&x->out);
}

struct session_options {
	bool json;
};

static int each(const struct session_options *o, int argc, char **argv, bool sizes, bool ends)
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
		r = work(&x);
		buffer_done(&x.out);
		code = code ? code : r;
	}
	store_done(&store);
	return code;
}

static int list(void *options, int argc, char **argv)
{
	return each(options, 0, argv, false, false);
}

static int show(void *options, int argc, char **argv)
{
	return each(options, argc, argv, true, false);
}

static int end(void *options, int argc, char **argv)
{
	return each(options, argc, argv, false, true);
}

static const struct cli_option rows[] = {
	{"json", NULL, "print one JSON object per room, one per line",
         CLI_FLAG(struct session_options, json)},
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
	.summary = "stop the tasks of sessions and remove their rooms",
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
