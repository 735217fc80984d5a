/*
 * Resources: the output of runs that is longer than an answer, the policy that decides, the
 * session.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "decide/check.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"
#include "mcp/task-text.h"
#include "mcp/tasks.h"
#include "mcp/uri.h"
#include "profile/show.h"
#include "shell/facts.h"

#define LISTED_MAX 50
#define LOOKED_AT  1000 /* tasks of the client, for those that have printed something */
#define READ_MAX   ((size_t)1 << 20)

static void put_output(struct json_writer *w, const struct mcp_call *c, const struct find_entry *e)
{
	char uri[64];

	snprintf(uri, sizeof(uri), "nacre://output/%s", e->id);
	json_object_begin(w);
	json_member_string(w, "uri", uri);
	json_member_string(w, "name", e->id);
	if (c->revision >= MCP_2025_06_18)
		json_member_string(w, "title",
		                   e->description[0] ? e->description : "output of a command");
	json_member_string(w, "description", e->command);
	json_member_string(w, "mimeType", "text/plain");
	json_member_uint(w, "size", e->bytes[0] + e->bytes[1]);
	json_object_end(w);
}

/* Those that are always there. */
static void put_fixed(struct json_writer *w, const struct mcp_call *c)
{
	static const struct {
		const char *uri, *name, *title, *description, *type;
	} all[] = {
		{"nacre://policy", "policy", "Effective policy",
	         "What decides about commands: rules, limits, sandbox.", "text/plain"},
		{"nacre://session", "session", "This session",
	         "What commands of this session share: room, size, tasks, caches.",
	         "application/json"},
	};

	for (size_t i = 0; i < array_size(all); i++) {
		json_object_begin(w);
		json_member_string(w, "uri", all[i].uri);
		json_member_string(w, "name", all[i].name);
		if (c->revision >= MCP_2025_06_18)
			json_member_string(w, "title", all[i].title);
		json_member_string(w, "description", all[i].description);
		json_member_string(w, "mimeType", all[i].type);
		json_object_end(w);
	}
}

void method_resources_list(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(find_list_donep) struct find_list list = {0};
	json_t *cursor = rpc_param(m, "cursor");
	struct mcp_answer a;
	size_t i = 0;

	if (!mcp_tasks_find(c, cursor, LOOKED_AT, &list))
		return;
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "resources");
	if (!cursor) {
		put_fixed(&a.w, c);
		mcp_fixture_put_resources(&a.w, false);
	}
	for (size_t shown = 0; i < list.count && shown < LISTED_MAX; i++) {
		const struct find_entry *e = &list.entries[i];

		if (e->bytes[0] + e->bytes[1] == 0)
			continue;
		put_output(&a.w, c, e);
		shown++;
	}
	json_array_end(&a.w);
	if (i > 0 && (i < list.count || list.more))
		json_member_string(&a.w, "nextCursor", list.entries[i - 1].cursor);
	answer_cacheable(&a, 0, false);
	(void)answer_send(&a);
}

void method_resource_templates(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_answer a;

	if (rpc_param(m, "cursor"))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such cursor", NULL);
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "resourceTemplates");
	json_object_begin(&a.w);
	json_member_string(&a.w, "uriTemplate", "nacre://output/{id}{?offset,length,stream}");
	json_member_string(&a.w, "name", "output");
	if (c->revision >= MCP_2025_06_18)
		json_member_string(&a.w, "title", "Output of a command");
	json_member_string(
		&a.w, "description",
		"All that a command has printed, or a part: offset and length in bytes, stream "
		"'out' or 'err'. At most 1 MiB a read.");
	json_member_string(&a.w, "mimeType", "text/plain");
	json_object_end(&a.w);
	mcp_fixture_put_resources(&a.w, true);
	json_array_end(&a.w);
	answer_cacheable(&a, 3600000, true);
	(void)answer_send(&a);
}

void mcp_no_resource(struct mcp_call *c, const char *uri)
{
	scoped(buffer_donep) struct buffer data = {0};
	struct json_writer w = {.out = &data};

	json_object_begin(&w);
	json_member_string(&w, "uri", uri);
	json_object_end(&w);
	mcp_call_error(c, c->modern ? RPC_INVALID_PARAMS : MCP_NO_RESOURCE,
	               "there is no such resource", buffer_str(&data));
}

static void put_bytes(struct json_writer *w, const char *uri, const struct buffer *bytes)
{
	scoped(buffer_donep) struct buffer blob = {0};
	bool text = utf8_valid_prefix(buffer_str(bytes), bytes->len) == bytes->len;

	json_object_begin(w);
	json_member_string(w, "uri", uri);
	json_member_string(w, "mimeType", text ? "text/plain" : "application/octet-stream");
	json_put_key(w, text ? "text" : "blob");
	if (text) {
		json_put_bytes(w, buffer_str(bytes), bytes->len);
	} else {
		base64_encode(buffer_str(bytes), bytes->len, &blob);
		json_put_bytes(w, buffer_str(&blob), blob.len);
	}
	json_object_end(w);
}

/* Where to go on is said where a model reads it, and in its own place for programs. */
static void put_rest(struct mcp_answer *a, const struct uri *u, uint64_t next)
{
	char uri[128];
	bool both = u->stream == FOLLOW_BOTH;

	snprintf(uri, sizeof(uri), "nacre://output/%s?offset=%" PRIu64 "%s%s", u->id, next,
	         both ? "" : "&stream=", both ? "" : follow_stream_name(u->stream));
	json_object_begin(&a->w);
	json_member_string(&a->w, "uri", uri);
	json_member_string(&a->w, "mimeType", "text/plain");
	json_member_string(&a->w, "text", "[the output goes on: read this resource next]");
	json_object_end(&a->w);
	json_member_string(&a->meta, "dev.nacre/next", uri);
}

static void read_output(struct mcp_call *c, const char *text, const struct uri *u)
{
	scoped(buffer_donep) struct buffer bytes = {0};
	scoped(fd_closep) int fd = -1;
	struct task_part part = {.stream = u->stream, .since = u->offset, .raw = true};
	struct find_entry e;
	struct mcp_answer a;
	uint64_t total;

	fd = mcp_task_open(c->peer, u->id, &e);
	if (fd < 0)
		return mcp_no_resource(c, text);
	total = u->stream < 0 ? e.bytes[0] + e.bytes[1] : e.bytes[u->stream];
	part.max = u->length > 0 && u->length < READ_MAX ? (size_t)u->length : READ_MAX;
	if (task_text_read(fd, &part, &bytes) < 0)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "the output cannot be read", NULL);
	/* Text is not cut inside of a character. */
	for (size_t back = 1; back < 4 && back < bytes.len && part.next < total; back++)
		if (utf8_is_cut(bytes.data + bytes.len - back, back)) {
			bytes.len -= back;
			part.next -= back;
			break;
		}
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "contents");
	put_bytes(&a.w, text, &bytes);
	if (part.next < total && u->length == 0)
		put_rest(&a, u, part.next);
	json_array_end(&a.w);
	answer_cacheable(&a, e.state == FIND_RUNNING ? 0 : 60000, false);
	(void)answer_send(&a);
}

/* The profile is loaded as for a command; deciding about one is how that is done. */
static void put_profile(const struct mcp_offer *o, struct buffer *into)
{
	static const char *const argv[] = {"true", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	struct request rq = {.input_fd = -1, .argv = argv};
	struct check check;

	buffer_printf(into, "# tool %s\n", o->tool);
	if (arena && engine_explain(o->engine, &rq, arena, &check, NULL) == 0 && o->engine->profile)
		profile_print(o->engine->profile, true, into);
	else
		buffer_puts(into, "the profile cannot be loaded\n");
}

static void read_policy(struct mcp_call *c, const char *text)
{
	scoped(buffer_donep) struct buffer policy = {0};
	struct mcp_answer a;

	for (size_t i = 0; i < c->peer->offer_count; i++)
		put_profile(&c->peer->offers[i], &policy);
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "contents");
	put_bytes(&a.w, text, &policy);
	json_array_end(&a.w);
	answer_cacheable(&a, 0, false);
	(void)answer_send(&a);
}

static void read_session(struct mcp_call *c, const char *text)
{
	scoped(buffer_donep) struct buffer session = {0};
	struct mcp_answer a;

	mcp_put_session(c, &session);
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "contents");
	json_object_begin(&a.w);
	json_member_string(&a.w, "uri", text);
	json_member_string(&a.w, "mimeType", "application/json");
	json_member_string(&a.w, "text", buffer_str(&session));
	json_object_end(&a.w);
	json_array_end(&a.w);
	answer_cacheable(&a, 0, false);
	(void)answer_send(&a);
}

void method_resources_read(struct mcp_call *c, const struct rpc_message *m)
{
	const char *text = mcp_call_need_string(c, m, "uri");
	struct uri uri;

	if (!text || mcp_fixture_read(c, text))
		return;
	uri_read(text, &uri);
	switch (uri.kind) {
	case URI_POLICY:
		return read_policy(c, text);
	case URI_SESSION:
		return read_session(c, text);
	case URI_OUTPUT:
		return read_output(c, text, &uri);
	case URI_NONE:
		return mcp_no_resource(c, text);
	}
}
