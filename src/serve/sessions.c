/*
 * Sessions over HTTP: the rooms of the caller, and their end. A session that a request names is
 * another one for each principal, so that name, or the id of a room, is all that is taken here.
 */
#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "json/write.h"
#include "serve/inside.h"
#include "session/room.h"
#include "session/session.h"
#include "task/find.h"

#define ARENA_MAX ((size_t)1 << 20)

struct look {
	struct call *call;
	const char *session; /* as rooms know it; NULL: all */
	bool sizes, end;
	size_t found, busy;
	struct json_writer *w;
};

static int put_task(void *context, const char *task)
{
	json_put_string(context, task);
	return 0;
}

static int count_task(void *context, const char *task)
{
	size_t *count = context;

	(*count)++;
	return 0;
}

/* What its calls have left for the next one. Values of variables may be secrets: names only. */
static void put_kept(const struct look *l, const struct room_info *i)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct session kept = {.workspace = NULL};

	if (!arena ||
	    session_load(l->call->serve->options.state, i->session, arena, &kept, NULL) < 0)
		kept = (struct session){.workspace = NULL};
	json_member_string(l->w, "cwd", kept.away ? kept.away : kept.cwd);
	json_member_array(l->w, "variables");
	for (const char *const *v = kept.set; v && *v; v++)
		json_put_bytes(l->w, *v, strcspn(*v, "="));
	json_array_end(l->w);
}

static int put_task_ports(void *context, const char *task)
{
	const struct look *l = context;
	struct find_entry e;
	struct store *store;

	if (bench_store(l->call->serve, &store, NULL) == 0) {
		scoped(fd_closep) int fd = find_open(store, task, NULL);

		if (fd < 0)
			return 0;
		find_look(fd, task, &e);
		for (int k = 0; k < e.port_count; k++)
			json_put_int(l->w, e.ports[k]);
	}
	return 0;
}

static void put_ports(struct look *l, const struct room_info *i)
{
	json_member_array(l->w, "ports");
	(void)room_tasks(l->call->serve->options.state, i->id, put_task_ports, l);
	json_array_end(l->w);
}

static void put_room(struct look *l, const struct room_info *i)
{
	const char *state = l->call->serve->options.state;
	uint64_t bytes, files;

	json_object_begin(l->w);
	json_member_string(l->w, "room", i->id);
	json_member_string(l->w, "session", i->session);
	json_member_string(l->w, "principal", i->principal);
	json_member_text(l->w, "profile", i->profile);
	json_member_text(l->w, "workspace", i->workspace);
	put_kept(l, i);
	json_member_uint(l->w, "generation", i->generation);
	json_member_int(l->w, "made_ms", i->made_ms);
	json_member_int(l->w, "used_ms", i->used_ms);
	json_member_bool(l->w, "in_use", i->in_use);
	if (l->sizes) {
		room_measure(state, i->id, &bytes, &files);
		json_member_uint(l->w, "bytes", bytes);
		json_member_uint(l->w, "files", files);
	}
	json_member_array(l->w, "tasks");
	(void)room_tasks(state, i->id, put_task, l->w);
	json_array_end(l->w);
	put_ports(l, i);
	json_object_end(l->w);
}

static int visit(void *context, const struct room_info *info)
{
	struct look *l = context;
	const char *state = l->call->serve->options.state;
	size_t tasks = 0;

	if (l->call->client->name[0] && strcmp(info->principal, l->call->client->name) != 0)
		return 0;
	if (l->session && strcmp(info->session, l->session) != 0 &&
	    strcmp(info->id, l->call->id) != 0)
		return 0;
	l->found++;
	if (l->end)
		(void)room_tasks(state, info->id, count_task, &tasks);
	l->busy += tasks;
	put_room(l, info);
	if (l->end && tasks == 0 && room_end(state, info->id, ROOM_END_ASKED) == 0)
		(void)session_forget(state, info->session);
	return 0;
}

static void look(struct call *c, bool one, bool end)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct look l = {.call = c, .w = &w, .sizes = one && !end, .end = end};

	if (one)
		l.session = c->id;
	if (!arena || (one && bench_session(c, arena, &l.session) < 0)) {
		answer_error(c, 500, "system", "out of memory");
		return;
	}
	json_object_begin(&w);
	json_member_array(&w, "sessions");
	if (c->serve->options.state)
		(void)room_list(c->serve->options.state, visit, &l);
	json_array_end(&w);
	json_object_end(&w);
	if (one && l.found == 0)
		answer_error(c, 404, "input", "there is no such session");
	else if (l.busy > 0)
		answer_error(c, 409, "input",
		             "tasks run in this session. Stop them (POST /v1/tasks/ID/stop), then "
		             "retry.");
	else
		answer_json(c, 200, &json);
}

void sessions_list(struct call *c)
{
	look(c, false, false);
}

void sessions_one(struct call *c)
{
	look(c, true, false);
}

void sessions_end(struct call *c)
{
	look(c, true, true);
}
