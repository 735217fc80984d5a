#include "hook/call.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/buffer.h"
#include "hook/client.h"
#include "json/read.h"
#include "json/write.h"

#define TITLE(c) ((c)->title)

static const char *text_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_string(value) && *json_string_value(value) ? json_string_value(value) : NULL;
}

static int missing(const struct hook_client *client, const char *key, struct error *err)
{
	return error_set(err, ERROR_INPUT, EINVAL, "%s sent no '%s'", TITLE(client), key);
}

static int check_event(const struct hook_client *client, json_t *message, struct error *err)
{
	const char *event = text_of(message, "hook_event_name");

	if (!event && client->names_event)
		return missing(client, "hook_event_name", err);
	if (event && strcmp(event, client->event) != 0)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "unknown event '%.60s': nacre answers '%s' of %s", event,
		                 client->event, TITLE(client));
	return 0;
}

static int check_tool(const struct hook_client *client, json_t *message, struct error *err)
{
	const char *tool;

	if (!client->tool_key)
		return 0;
	tool = text_of(message, client->tool_key);
	if (!tool)
		return missing(client, client->tool_key, err);
	for (const char *const *known = client->tools; *known; known++)
		if (strcmp(*known, tool) == 0)
			return 0;
	return error_set(err, ERROR_INPUT, EINVAL,
	                 "unknown tool '%.60s': nacre judges '%s' of %s only", tool,
	                 client->tools[0], TITLE(client));
}

/* The arguments are an object, or the text of one. */
static int find_input(const struct hook_client *client, json_t *message, json_t **ret_input,
                      struct error *err)
{
	json_t *input = client->input_key ? json_object_get(message, client->input_key) : message;
	int r;

	if (json_is_string(input)) {
		r = json_read(json_string_value(input), json_string_length(input), HOOK_BYTES_MAX,
		              client->input_key, ret_input, err);
		if (r < 0)
			return r;
		input = *ret_input;
	} else {
		*ret_input = json_incref(input);
	}
	return json_is_object(input) ? 0 : missing(client, client->input_key, err);
}

static int find_cwd(const struct hook_client *client, json_t *message, struct arena *arena,
                    struct hook_call *call, struct error *err)
{
	const char *top = text_of(message, "cwd"), *own = NULL;

	if (client->directory_key)
		own = text_of(call->input, client->directory_key);
	if (own && *own == '/')
		top = own;
	else if (own && top)
		top = arena_printf(arena, "%s/%s", top, own);
	if (!top)
		return own || text_of(message, "cwd") ? error_nomem(err)
		                                      : missing(client, "cwd", err);
	if (*top != '/')
		return error_set(err, ERROR_INPUT, EINVAL, "'cwd' is not an absolute path");
	call->cwd = arena_strdup(arena, top);
	return call->cwd ? 0 : error_nomem(err);
}

static int read_message(const struct hook_client *client, json_t *message, struct arena *arena,
                        struct hook_call *call, struct error *err)
{
	const char *session, *mode = text_of(message, "permission_mode");
	int r = check_event(client, message, err);

	if (r == 0)
		r = check_tool(client, message, err);
	if (r == 0)
		r = find_input(client, message, &call->input, err);
	if (r == 0)
		r = find_cwd(client, message, arena, call, err);
	if (r < 0)
		return r;
	call->command = text_of(call->input, "command");
	if (!call->command)
		return missing(client, "command", err);
	session = text_of(message, client->session_key);
	if (!session)
		return missing(client, client->session_key, err);
	call->session = arena_strdup(arena, session);
	call->mode = mode ? arena_strdup(arena, mode) : NULL;
	return call->session && !mode == !call->mode ? 0 : error_nomem(err);
}

int hook_call_read(const struct hook_client *client, const char *bytes, size_t n,
                   struct arena *arena, struct hook_call *ret_call, struct error *err)
{
	scoped(json_decrefp) json_t *message = NULL;
	scoped(hook_call_done) struct hook_call call = {0};
	int r = json_read(bytes, n, HOOK_BYTES_MAX, "what the client sent", &message, err);

	if (r == 0 && !json_is_object(message))
		r = error_set(err, ERROR_INPUT, EINVAL, "what the client sent is not an object");
	if (r == 0)
		r = read_message(client, message, arena, &call, err);
	if (r < 0)
		return r;
	*ret_call = call;
	call.input = NULL;
	return 0;
}

void hook_call_done(struct hook_call *call)
{
	json_decref(call->input);
	call->input = NULL;
}

int hook_call_write(const struct hook_client *client, const struct hook_call *call,
                    struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_object_begin(&w);
	json_member_string(&w, client->session_key, call->session);
	json_member_string(&w, "cwd", call->cwd);
	if (client->names_event)
		json_member_string(&w, "hook_event_name", client->event);
	if (client->tool_key)
		json_member_string(&w, client->tool_key, client->tools[0]);
	if (client->input_key)
		json_member_object(&w, client->input_key);
	json_member_string(&w, "command", call->command);
	if (client->input_key)
		json_object_end(&w);
	json_object_end(&w);
	buffer_putc(into, '\n');
	return buffer_error(into);
}
