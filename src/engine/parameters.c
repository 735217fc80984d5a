#include "engine/parameters.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/suggest.h"
#include "json/schema.h"
#include "json/write.h"
#include "process/pty.h"
#include "profile/profile.h"

struct reader {
	struct arena *arena;
	struct request *request;
	struct error *err;
};

static int wrong(struct reader *r, const char *key, const char *wanted)
{
	return error_set(r->err, ERROR_INPUT, EINVAL, "'%s' must be %s", key, wanted);
}

static int read_string(struct reader *r, const char *key, json_t *value, const char **ret_text)
{
	if (!json_is_string(value))
		return wrong(r, key, "a string");
	*ret_text = arena_strndup(r->arena, json_string_value(value), json_string_length(value));
	return *ret_text ? 0 : error_nomem(r->err);
}

/* The first place of *ret_strings is left free for a name if NAMED. */
static int read_strings(struct reader *r, const char *key, json_t *value, bool named,
                        const char *const **ret_strings)
{
	size_t n = json_array_size(value);
	const char **strings;
	int code;

	if (!json_is_array(value) || (n == 0 && !named))
		return wrong(r, key, named ? "a list of strings" : "a list of at least one string");
	strings = arena_new_array(r->arena, const char *, n + 2);
	if (!strings)
		return error_nomem(r->err);
	for (size_t i = 0; i < n; i++) {
		code = read_string(r, key, json_array_get(value, i), &strings[i + named]);
		if (code < 0)
			return code;
	}
	*ret_strings = strings;
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
		return error_nomem(r->err);
	json_object_foreach (value, name, v) {
		if (!json_is_string(v))
			return wrong(r, key, "an object of strings");
		if (strchr(name, '=')) /* it would set another variable than it names */
			return wrong(r, key, "an object whose names hold no '='");
		env[n] = arena_printf(r->arena, "%s=%s", name, json_string_value(v));
		if (!env[n++])
			return error_nomem(r->err);
	}
	r->request->env = env;
	return 0;
}

static int least_of(const struct parameter *p)
{
	return p->field != PARAMETER_TIMEOUT_OR_0 && p->field != PARAMETER_APPROVAL_TIMEOUT;
}

static int read_timeout(struct reader *r, const struct parameter *p, json_t *value)
{
	json_int_t n, least = least_of(p);

	if (!json_whole(value, &n) || n < least || n > INT64_MAX / 2 / p->unit_ms)
		return error_set(r->err, ERROR_INPUT, EINVAL,
		                 "'%s' must be a whole number of %s from %d on", p->name,
		                 p->unit_ms == 1 ? "milliseconds" : "seconds", (int)least);
	n *= p->unit_ms;
	if (p->field == PARAMETER_IDLE_TIMEOUT) {
		r->request->idle_timeout_ms = n;
	} else if (p->field == PARAMETER_APPROVAL_TIMEOUT) {
		r->request->approval_timeout_ms = n;
		r->request->can_ask = n > 0;
	} else {
		r->request->timeout_ms = n;
	}
	return 0;
}

static int read_mode(struct reader *r, const char *key, json_t *value)
{
	if (!json_is_string(value) ||
	    output_mode_parse(json_string_value(value), &r->request->output_mode) < 0)
		return wrong(r, key, "separate, merged, stdout or stderr");
	r->request->output_mode_given = true;
	return 0;
}

static int read_pty(struct reader *r, const char *key, json_t *value)
{
	json_int_t rows = PTY_ROWS_DEFAULT, cols = PTY_COLS_DEFAULT;

	if (json_is_false(value))
		return 0;
	if (!json_is_true(value) &&
	    (json_object_size(value) != 2 || !json_whole(json_object_get(value, "rows"), &rows) ||
	     !json_whole(json_object_get(value, "cols"), &cols) || !pty_size_is_valid(rows, cols)))
		return wrong(r, key, "true, false, or {\"rows\": N, \"cols\": N} with 1 to 1000");
	r->request->rows = (uint16_t)rows;
	r->request->cols = (uint16_t)cols;
	return 0;
}

static int read_one(struct reader *r, const struct parameter *p, json_t *value,
                    const char *const **args, const char **name)
{
	struct request *rq = r->request;
	int code;

	switch (p->field) {
	case PARAMETER_FULL_LINE:
		if (json_string_length(value) == 0)
			return wrong(r, p->name, "a string that is not empty");
		return read_string(r, p->name, value, &rq->command);
	case PARAMETER_LINE:
		return read_string(r, p->name, value, &rq->command);
	case PARAMETER_ARGV:
		return read_strings(r, p->name, value, false, &rq->argv);
	case PARAMETER_NAME:
		return read_string(r, p->name, value, name);
	case PARAMETER_ARGS:
		return read_strings(r, p->name, value, true, args);
	case PARAMETER_CWD:
		return read_string(r, p->name, value, &rq->cwd);
	case PARAMETER_WORKSPACE:
		return read_string(r, p->name, value, &rq->workspace);
	case PARAMETER_ENV:
		return read_env(r, p->name, value);
	case PARAMETER_DESCRIPTION:
		return read_string(r, p->name, value, &rq->description);
	case PARAMETER_INPUT:
		code = read_string(r, p->name, value, &rq->input);
		rq->input_len = code < 0 ? 0 : strlen(rq->input);
		return code;
	case PARAMETER_OUTPUT_MODE:
		return read_mode(r, p->name, value);
	case PARAMETER_TIMEOUT:
	case PARAMETER_TIMEOUT_OR_0:
	case PARAMETER_IDLE_TIMEOUT:
	case PARAMETER_APPROVAL_TIMEOUT:
		return read_timeout(r, p, value);
	case PARAMETER_SESSION:
		return read_string(r, p->name, value, &rq->session);
	case PARAMETER_FORCE:
		if (!json_is_boolean(value))
			return wrong(r, p->name, "true or false");
		rq->force = json_is_true(value);
		return 0;
	case PARAMETER_BACKGROUND:
		if (!json_is_boolean(value))
			return wrong(r, p->name, "true or false");
		rq->background = json_is_true(value);
		return 0;
	case PARAMETER_PTY:
		return read_pty(r, p->name, value);
	case PARAMETER_OWN:
		return json_is_string(value) ? 0 : wrong(r, p->name, "a string");
	case PARAMETER_FIELD_MAX:
		break;
	}
	return -EINVAL;
}

/* A name and its arguments make an argv, in whatever order they came. */
static int join_argv(struct reader *r, const char *name, const char *const *args)
{
	const char **argv;
	size_t n = 1;

	while (args && args[n])
		n++;
	argv = arena_new_array(r->arena, const char *, n + 1);
	if (!argv)
		return error_nomem(r->err);
	argv[0] = name;
	for (size_t i = 1; i < n; i++)
		argv[i] = args[i];
	r->request->argv = argv;
	return 0;
}

int parameters_read(const struct parameter *table, size_t count, const char *skip, json_t *object,
                    struct arena *arena, struct request *request, struct error *err)
{
	struct reader r = {.arena = arena, .request = request, .err = err};
	const char *const *args = NULL;
	const char *key, *name = NULL;
	char near[SUGGEST_WORDS_MAX];
	const struct parameter *p;
	json_t *value;
	int code;

	if (!json_is_object(object))
		return error_set(err, ERROR_INPUT, EINVAL, "a request must be an object");
	json_object_foreach (object, key, value) {
		if (skip && strcmp(key, skip) == 0)
			continue;
		for (p = table; p < table + count && strcmp(p->name, key) != 0; p++)
			;
		if (p == table + count)
			return error_set(
				err, ERROR_INPUT, EINVAL, "unknown member '%.60s'%s", key,
				suggest_words(suggest_from(key, table, count, sizeof(*table)),
			                      near));
		code = read_one(&r, p, value, &args, &name);
		if (code < 0)
			return code;
	}
	for (p = table; p < table + count; p++)
		if (p->required && !json_object_get(object, p->name))
			return error_set(err, ERROR_INPUT, EINVAL, "'%s' is missing", p->name);
	return name ? join_argv(&r, name, args) : 0;
}

static void put_strings_of(struct json_writer *w, const char *key)
{
	json_member_object(w, key);
	json_schema_type(w, "string");
	json_object_end(w);
}

static void put_side(struct json_writer *w, const char *key)
{
	json_member_object(w, key);
	json_schema_type(w, "integer");
	json_member_int(w, "minimum", 1);
	json_member_int(w, "maximum", PTY_SIDE_MAX);
	json_object_end(w);
}

static void put_pty_schema(struct json_writer *w)
{
	json_member_array(w, "anyOf");
	json_object_begin(w);
	json_schema_type(w, "boolean");
	json_object_end(w);
	json_schema_begin(w);
	put_side(w, "rows");
	put_side(w, "cols");
	json_schema_required(w);
	json_put_string(w, "rows");
	json_put_string(w, "cols");
	json_schema_end(w, false);
	json_array_end(w);
}

/* In the unit of the parameter, where that tells them exactly. */
static void put_times(const struct parameter *p, const struct profile *profile,
                      struct json_writer *w)
{
	const struct profile_timeout *t = &profile->timeout;
	scoped(buffer_donep) struct buffer text = {0};
	size_t n = strcspn(p->doc, "(");

	while (n > 0 && p->doc[n - 1] == ' ')
		n--;
	buffer_append(&text, p->doc, n);
	if (t->default_ms % p->unit_ms == 0 && t->max_ms % p->unit_ms == 0)
		buffer_printf(&text, " (default %lld, at most %lld)",
		              (long long)(t->default_ms / p->unit_ms),
		              (long long)(t->max_ms / p->unit_ms));
	json_member_string(w, "description", buffer_error(&text) < 0 ? p->doc : buffer_str(&text));
}

static void put_schema(const struct parameter *p, const struct profile *profile,
                       struct json_writer *w)
{
	json_object_begin(w);
	switch (p->field) {
	case PARAMETER_ARGV:
	case PARAMETER_ARGS:
		json_schema_type(w, "array");
		put_strings_of(w, "items");
		if (p->field == PARAMETER_ARGV)
			json_member_int(w, "minItems", 1);
		break;
	case PARAMETER_ENV:
		json_schema_type(w, "object");
		put_strings_of(w, "additionalProperties");
		break;
	case PARAMETER_OUTPUT_MODE:
		json_schema_type(w, "string");
		json_member_array(w, "enum");
		for (int i = 0; i < OUTPUT_MODE_MAX; i++)
			json_put_string(w, output_mode_name((enum output_mode)i));
		json_array_end(w);
		break;
	case PARAMETER_TIMEOUT:
	case PARAMETER_TIMEOUT_OR_0:
	case PARAMETER_IDLE_TIMEOUT:
	case PARAMETER_APPROVAL_TIMEOUT:
		json_schema_type(w, "integer");
		json_member_int(w, "minimum", least_of(p));
		break;
	case PARAMETER_PTY:
		put_pty_schema(w);
		break;
	case PARAMETER_FORCE:
	case PARAMETER_BACKGROUND:
		json_schema_type(w, "boolean");
		break;
	case PARAMETER_FULL_LINE:
		json_schema_type(w, "string");
		json_member_int(w, "minLength", 1);
		break;
	case PARAMETER_LINE:
	case PARAMETER_NAME:
	case PARAMETER_CWD:
	case PARAMETER_WORKSPACE:
	case PARAMETER_INPUT:
	case PARAMETER_DESCRIPTION:
	case PARAMETER_SESSION:
	case PARAMETER_OWN:
	case PARAMETER_FIELD_MAX:
		json_schema_type(w, "string");
		break;
	}
	if (profile && (p->field == PARAMETER_TIMEOUT || p->field == PARAMETER_TIMEOUT_OR_0))
		put_times(p, profile, w);
	else
		json_member_string(w, "description", p->doc);
	json_object_end(w);
}

void parameters_write_schema(const struct parameter *table, size_t count,
                             const struct profile *profile, struct json_writer *w)
{
	json_schema_begin(w);
	for (size_t i = 0; i < count; i++) {
		json_put_key(w, table[i].name);
		put_schema(&table[i], profile, w);
	}
	json_schema_required(w);
	for (size_t i = 0; i < count; i++)
		if (table[i].required || (profile && profile->require_description &&
		                          table[i].field == PARAMETER_DESCRIPTION))
			json_put_string(w, table[i].name);
	json_schema_end(w, false);
}
