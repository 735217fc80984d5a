#include "engine/request-json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "engine/parameters.h"
#include "json/read.h"

#define REQUEST_BYTES_MAX ((size_t)1 << 20)

static const struct parameter table[] = {
	{.name = "argv", .field = PARAMETER_ARGV},
	{.name = "command", .field = PARAMETER_LINE},
	{.name = "cwd", .field = PARAMETER_CWD},
	{.name = "env", .field = PARAMETER_ENV},
	{.name = "description", .field = PARAMETER_DESCRIPTION},
	{.name = "input", .field = PARAMETER_INPUT},
	{.name = "timeout_ms", .field = PARAMETER_TIMEOUT, .unit_ms = 1},
	{.name = "output_mode", .field = PARAMETER_OUTPUT_MODE},
	{.name = "force", .field = PARAMETER_FORCE},
	{.name = "session", .field = PARAMETER_SESSION},
	{.name = "idle_timeout_ms", .field = PARAMETER_IDLE_TIMEOUT, .unit_ms = 1},
	{.name = "approval_timeout_ms", .field = PARAMETER_APPROVAL_TIMEOUT, .unit_ms = 1},
	{.name = "background", .field = PARAMETER_BACKGROUND},
	{.name = "pty", .field = PARAMETER_PTY},
};

/* The id comes back as it was: any JSON value. */
static int read_id(struct arena *arena, json_t *value, const char **ret_id)
{
	scoped(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	if (!text)
		return -ENOMEM;
	*ret_id = arena_strdup(arena, text);
	return *ret_id ? 0 : -ENOMEM;
}

int request_read_json(const char *text, size_t n, struct arena *arena, struct request *request,
                      const char **ret_id, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	json_t *id;
	int code;

	*ret_id = NULL;
	code = json_read(text, n, REQUEST_BYTES_MAX, "request", &root, err);
	if (code < 0)
		return code;
	id = json_object_get(root, "id");
	if (id && read_id(arena, id, ret_id) < 0)
		return error_nomem(err);
	code = parameters_read(table, array_size(table), "id", root, arena, request, err);
	if (code < 0)
		return code;
	if (!request->argv == !request->command)
		return error_set(err, ERROR_INPUT, EINVAL, "give either 'argv' or 'command'");
	return 0;
}
