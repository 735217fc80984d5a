/*
 * The resource nacre://session: what the commands of this client share, and what they have left
 * there. It is read from the state directory for each request; nothing of it is the client's to
 * name.
 */
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "engine/engine.h"
#include "json/write.h"
#include "mcp/inside.h"
#include "session/caches.h"

#define ARENA_MAX ((size_t)64 << 10)

struct look {
	const struct mcp_peer *peer;
	const char *state;
	struct json_writer *w;
};

static int put_task(void *context, const char *task)
{
	json_put_string(context, task);
	return 0;
}

static bool is_principals(const struct look *l, const struct room_info *i)
{
	return strcmp(i->principal, l->peer->principal ? l->peer->principal : "") == 0;
}

static void put_size(struct json_writer *w, uint64_t bytes, uint64_t files)
{
	json_member_uint(w, "bytes", bytes);
	json_member_uint(w, "files", files);
}

static int put_room(void *context, const struct room_info *i)
{
	const struct look *l = context;
	uint64_t bytes, files;

	if (!l->peer->session || strcmp(i->session, l->peer->session) != 0 || !is_principals(l, i))
		return 0;
	room_measure(l->state, i->id, &bytes, &files);
	json_object_begin(l->w);
	json_member_string(l->w, "room", i->id);
	json_member_uint(l->w, "generation", i->generation);
	json_member_bool(l->w, "fresh", i->fresh);
	json_member_text(l->w, "profile", i->profile);
	json_member_string(l->w, "workspace", i->workspace);
	json_member_int(l->w, "made_ms", i->made_ms);
	json_member_int(l->w, "used_ms", i->used_ms);
	put_size(l->w, bytes, files);
	json_member_array(l->w, "tasks");
	(void)room_tasks(l->state, i->id, put_task, l->w);
	json_array_end(l->w);
	json_object_end(l->w);
	return 0;
}

/* Whether some command of this client could have them. */
static bool is_in_reach(const struct look *l, const struct room_info *i)
{
	for (size_t k = 0; k < l->peer->offer_count; k++) {
		const struct engine *e = l->peer->offers[k].engine;

		if (e->profile && strlen(e->profile->name) == strcspn(i->profile, "/") &&
		    strncmp(e->profile->name, i->profile, strcspn(i->profile, "/")) == 0)
			return true;
	}
	return false;
}

struct places {
	const struct look *look;
	const struct room_info *caches;
};

static int is_room_there(void *context, const struct room_info *room)
{
	const struct places *p = context;

	return p->look->peer->session && strcmp(room->session, p->look->peer->session) == 0 &&
	       is_principals(p->look, room) && strcmp(room->workspace, p->caches->workspace) == 0;
}

static int put_caches(void *context, const struct room_info *i)
{
	const struct look *l = context;
	struct places places = {l, i};
	uint64_t bytes, files;

	if (!is_principals(l, i) || !is_in_reach(l, i) ||
	    room_list(l->state, is_room_there, &places) != 1)
		return 0;
	caches_measure(l->state, i->id, &bytes, &files);
	json_object_begin(l->w);
	json_member_string(l->w, "caches", i->id);
	json_member_string(l->w, "profile", i->profile);
	json_member_string(l->w, "workspace", i->workspace);
	json_member_int(l->w, "used_ms", i->used_ms);
	put_size(l->w, bytes, files);
	json_object_end(l->w);
	return 0;
}

void mcp_put_session(const struct mcp_call *c, struct buffer *into)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct json_writer w = {.out = into};
	struct look l = {.peer = c->peer, .w = &w};

	if (arena && c->peer->offer_count > 0)
		l.state = engine_state_of(arena, &c->peer->offers[0].engine->store);
	json_object_begin(&w);
	json_member_text(&w, "session", c->peer->session ? c->peer->session : "");
	json_member_array(&w, "rooms");
	if (l.state)
		(void)room_list(l.state, put_room, &l);
	json_array_end(&w);
	json_member_array(&w, "caches");
	if (l.state)
		(void)caches_list(l.state, put_caches, &l);
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(into, '\n');
}
