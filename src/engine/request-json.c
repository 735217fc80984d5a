#include "engine/request-json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "json/read.h"

#define REQUEST_BYTES_MAX ((size_t)1 << 20)

struct reader {
	struct arena *arena;
	struct request *request;
	struct error *err;
};

static int wrong(struct reader *r, const char *key, const char *wanted)
{
	return error_set(r->err, ERROR_INPUT, EINVAL, "'%s' must be %s", key, wanted);
}

static int no_memory(struct reader *r)
{
	return error_set(r->err, ERROR_SYSTEM, ENOMEM, "out of memory");
}

static int read_string(struct reader *r, const char *key, json_t *value, const char **ret_text)
{
	if (!json_is_string(value))
		return wrong(r, key, "a string");
	*ret_text = arena_strndup(r->arena, json_string_value(value), json_string_length(value));
	return *ret_text ? 0 : no_memory(r);
}

static int read_argv(struct reader *r, const char *key, json_t *value)
{
	size_t n = json_array_size(value);
	const char **argv;
	int code;

	if (!json_is_array(value) || n == 0)
		return wrong(r, key, "a list of at least one string");
	argv = arena_new_array(r->arena, const char *, n + 1);
	if (!argv)
		return no_memory(r);
	for (size_t i = 0; i < n; i++) {
		code = read_string(r, key, json_array_get(value, i), &argv[i]);
		if (code < 0)
			return code;
	}
	r->request->argv = argv;
	return 0;
}

static int read_env(struct reader *r, const char *key, json_t *value)
{
	const char **env, *name;
	size_t n = 0;
	json_t *v;

	if (!json_is_object(value))
		return wrong(r, key, "an object of strings");
	env = arena_new_array(r->arena, const char *, json_object_size(value) + 1);
	if (!env)
		return no_memory(r);
	json_object_foreach (value, name, v) {
		if (!json_is_string(v))
			return wrong(r, key, "an object of strings");
		if (strchr(name, '=')) /* it would set another variable than it names */
			return wrong(r, key, "an object whose names hold no '='");
		env[n] = arena_printf(r->arena, "%s=%s", name, json_string_value(v));
		if (!env[n++])
			return no_memory(r);
	}
	r->request->env = env;
	return 0;
}

static int read_member(struct reader *r, const char *key, json_t *value)
{
	struct request *rq = r->request;
	const char *mode = NULL;
	int code;

	if (strcmp(key, "command") == 0)
		return read_string(r, key, value, &rq->command);
	if (strcmp(key, "argv") == 0)
		return read_argv(r, key, value);
	if (strcmp(key, "cwd") == 0)
		return read_string(r, key, value, &rq->cwd);
	if (strcmp(key, "env") == 0)
		return read_env(r, key, value);
	if (strcmp(key, "description") == 0)
		return read_string(r, key, value, &rq->description);
	if (strcmp(key, "input") == 0) {
		code = read_string(r, key, value, &rq->input);
		rq->input_len = code < 0 ? 0 : strlen(rq->input);
		return code;
	}
	if (strcmp(key, "timeout_ms") == 0) {
		if (!json_is_integer(value) || json_integer_value(value) < 1)
			return wrong(r, key, "a whole number of milliseconds from 1 on");
		rq->timeout_ms = json_integer_value(value);
		return 0;
	}
	if (strcmp(key, "output_mode") == 0) {
		code = read_string(r, key, value, &mode);
		if (code < 0)
			return code;
		if (output_mode_parse(mode, &rq->output_mode) < 0)
			return wrong(r, key, "separate, merged, stdout or stderr");
		return 0;
	}
	return error_set(r->err, ERROR_INPUT, EINVAL, "unknown member '%.60s'", key);
}

/* The id comes back as it was: any JSON value. */
static int read_id(struct arena *arena, json_t *value, const char **ret_id)
{
	scoped(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	if (!text)
		return -ENOMEM;
	*ret_id = arena_strndup(arena, text, strlen(text));
	return *ret_id ? 0 : -ENOMEM;
}

int request_read_json(const char *text, size_t n, struct arena *arena, struct request *request,
                      const char **ret_id, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct reader r = {.arena = arena, .request = request, .err = err};
	const char *key;
	json_t *value;
	int code;

	*ret_id = NULL;
	code = json_read(text, n, REQUEST_BYTES_MAX, "request", &root, err);
	if (code < 0)
		return code;
	if (!json_is_object(root))
		return error_set(err, ERROR_INPUT, EINVAL, "a request must be an object");
	value = json_object_get(root, "id");
	if (value && read_id(arena, value, ret_id) < 0)
		return no_memory(&r);
	json_object_foreach (root, key, value) {
		if (strcmp(key, "id") == 0)
			continue;
		code = read_member(&r, key, value);
		if (code < 0)
			return code;
	}
	if (!request->argv == !request->command)
		return error_set(err, ERROR_INPUT, EINVAL, "give either 'argv' or 'command'");
	return 0;
}
