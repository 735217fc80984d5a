/*
 * What persons have approved for sessions, and how it is taken back. Who may approve sees all of
 * it; others what holds for their own sessions, and may give that up.
 */
#include <errno.h>
#include <string.h>
#include "approval/desk.h"
#include "approval/grants.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/write.h"
#include "serve/inside.h"

#define ARENA_MAX ((size_t)64 << 20)

static bool may_see(const struct call *c, const struct grant *g)
{
	return c->who.approve || strcmp(c->client->name, g->principal) == 0;
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
	scoped(buffer_donep) struct buffer clean = {0};

	if (text)
		approval_escape(text, strlen(text), true, &clean);
	json_member_bytes(w, key, buffer_str(&clean), clean.len);
}

static void put_grant(struct json_writer *w, const struct grant *g)
{
	json_object_begin(w);
	json_member_string(w, "id", g->approval);
	put_text(w, "session", g->session);
	put_text(w, "principal", g->principal);
	put_text(w, "profile", g->profile);
	put_text(w, "command", g->command);
	json_member_bool(w, "sub", g->sub);
	json_member_bool(w, "holds", g->holds);
	json_object_end(w);
}

void grants_show(struct call *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct grant *list = NULL;
	struct error err = {0};
	size_t count = 0;
	scoped(fd_closep) int desk = desk_open(c->serve->options.state, false, &err);
	int r = desk == -ENOENT ? 0
	        : desk < 0      ? desk
	        : !arena        ? -ENOMEM
	                        : grants_list(desk, arena, &list, &count, &err);

	if (r < 0) {
		answer_failure(c, &err);
		return;
	}
	json_object_begin(&w);
	json_member_array(&w, "grants");
	for (size_t i = 0; i < count; i++)
		if (may_see(c, &list[i]))
			put_grant(&w, &list[i]);
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

/* Whether there is one of this name that the caller may take back. */
static bool is_there(struct call *c, int desk, struct arena *arena)
{
	struct grant *list;
	size_t count = 0;

	if (desk < 0 || !arena || grants_list(desk, arena, &list, &count, NULL) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].approval, c->id) == 0 && may_see(c, &list[i]))
			return true;
	return false;
}

void grants_end(struct call *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(fd_closep) int desk = desk_open(c->serve->options.state, false, NULL);
	struct error err = {0};
	struct grant g;
	char by[160];

	if (!is_there(c, desk, arena)) {
		answer_error(c, 404, "input", "there is no such grant");
		return;
	}
	approvals_name_person(c, by, sizeof(by));
	if (grants_revoke(desk, c->id, by, arena, &g, &err) < 0 && err.sys != ENOENT) {
		answer_failure(c, &err);
		return;
	}
	grants_show(c);
}
