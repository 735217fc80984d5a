/*
 * Approvals over HTTP: who asked sees what is theirs, and who has the right to approve sees and
 * answers all. The right belongs to a principal, so the token of an agent has none of it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "approval/desk.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "http/text.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/write.h"
#include "serve/inside.h"

#define ARENA_MAX ((size_t)64 << 20)

/* Where the rules lie is nothing for who asks, only for who answers. */
void approvals_put(struct call *c, struct json_writer *w, const struct approval *a)
{
	struct approval shown = *a;
	const char *slash = a->rule_file ? strrchr(a->rule_file, '/') : NULL;

	if (!c->who.approve && slash)
		shown.rule_file = slash + 1;
	approval_put_json(w, &shown);
}

static void put_one(struct call *c, struct json_writer *w, const struct approval *a)
{
	json_object_begin(w);
	approvals_put(c, w, a);
	json_object_end(w);
}

void approvals_list(struct call *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	const char *whose = c->who.approve ? NULL : c->client->name;
	struct approval *list = NULL;
	struct error err = {0};
	char text[8] = "0";
	size_t count = 0;
	int r;

	r = http_query_get(http_query(c->x), "all", text, sizeof(text));
	if (r < 0 && r != -ENOENT) {
		answer_error(c, 400, "input", "'all' must be 0 or 1");
		return;
	}
	scoped(fd_closep) int desk = desk_open(c->serve->options.state, false, &err);

	r = desk == -ENOENT ? 0
	    : desk < 0 || !arena
	            ? -ENOMEM
	            : desk_list(desk, whose, strcmp(text, "0") != 0, arena, &list, &count, &err);
	if (r < 0) {
		answer_failure(c, &err);
		return;
	}
	json_object_begin(&w);
	json_member_array(&w, "approvals");
	for (size_t i = 0; i < count; i++)
		put_one(c, &w, &list[i]);
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

void approvals_one(struct call *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct error err = {0};
	struct approval a;
	scoped(fd_closep) int desk = desk_open(c->serve->options.state, false, &err);

	if (desk < 0 || !arena || desk_read(desk, c->id, arena, &a, &err) < 0 ||
	    (!c->who.approve && strcmp(c->client->name, a.principal) != 0)) {
		answer_error(c, 404, "input", "there is no such approval");
		return;
	}
	put_one(c, &w, &a);
	answer_json(c, 200, &json);
}

void approvals_name_person(const struct call *c, char *into, size_t size)
{
	const char *name = c->client->name[0] ? c->client->name : "the user";

	if (c->login[0])
		snprintf(into, size, "%s, by the console (%s)", name, c->login);
	else
		snprintf(into, size, "%s%s", name, c->client->name[0] ? "" : ", by HTTP");
}

static bool read_answer(struct call *c, json_t **ret_root, struct desk_answer *ret)
{
	struct error err = {0};
	const char *answer, *why = NULL;
	size_t n;
	const char *body = http_body(c->x, &n);

	if (json_read(body, n, (size_t)1 << 20, "the body", ret_root, &err) < 0) {
		answer_failure(c, &err);
		return false;
	}
	if (json_unpack(*ret_root, "{s:s, s?s !}", "answer", &answer, "reason", &why) < 0 ||
	    approval_answer_read(answer, &ret->answer) < 0) {
		answer_error(c, 400, "input",
		             "'answer' must be once, session, sub or deny, 'reason' a string");
		return false;
	}
	ret->why = why;
	ret->door = c->login[0] ? "console" : NULL;
	return true;
}

static int status_of(int code)
{
	switch (code) {
	case -EALREADY:
	case -ETIME:
		return 409;
	case -ENOENT:
		return 404;
	case -EPERM:
		return 400;
	default:
		return 500;
	}
}

void approvals_answer(struct call *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(json_decrefp) json_t *root = NULL;
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct desk_answer answer = {.by = NULL};
	struct error err = {0};
	struct approval a = {0};
	char by[160];
	int r;

	if (!c->who.approve) {
		answer_error(c, 403, "scope", "this token has no right to approve");
		return;
	}
	if (!arena || !read_answer(c, &root, &answer))
		return;
	approvals_name_person(c, by, sizeof(by));
	answer.by = by;
	scoped(fd_closep) int desk = desk_open(c->serve->options.state, false, &err);

	r = desk < 0 ? desk : desk_answer(desk, c->id, NULL, &answer, arena, &a, &err);
	if (r < 0) {
		if (status_of(r) == 500)
			answer_failure(c, &err);
		else
			answer_error(c, status_of(r), "input",
			             r == -ENOENT ? "there is no such approval" : err.text);
		return;
	}
	put_one(c, &w, &a);
	answer_json(c, 200, &json);
}

void approvals_put_schema(struct json_writer *w)
{
	json_schema_begin(w);
	json_member_object(w, "answer");
	json_schema_type(w, "string");
	json_member_array(w, "enum");
	for (int i = 0; i < APPROVAL_ANSWER_MAX; i++)
		json_put_string(w, approval_answer_name((enum approval_answer)i));
	json_array_end(w);
	json_object_end(w);
	json_member_object(w, "reason");
	json_schema_type(w, "string");
	json_object_end(w);
	json_schema_required(w);
	json_put_string(w, "answer");
	json_schema_end(w, false);
}
