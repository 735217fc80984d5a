#include "mcp/arguments.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/write.h"

static const struct {
	const char *name, *words;
} types[] = {
	[ARGUMENT_STRING] = {"string", "a string"},
	[ARGUMENT_NUMBER] = {"integer", "a whole number from 0 on, within its limit"},
	[ARGUMENT_BOOL] = {"boolean", "true or false"},
	[ARGUMENT_STRINGS] = {"array", "a list of at least one string"},
	[ARGUMENT_STRINGS_OR_NONE] = {"array", "a list of strings"},
};

static bool is_strings(json_t *value)
{
	json_t *item;
	size_t i;

	json_array_foreach (value, i, item)
		if (!json_is_string(item))
			return false;
	return json_is_array(value);
}

static bool read_one(const struct argument *a, json_t *value, struct argument_value *ret)
{
	json_int_t n = -1;

	*ret = (struct argument_value){.given = true};
	switch (a->type) {
	case ARGUMENT_STRING:
		ret->text = json_string_value(value);
		return ret->text;
	case ARGUMENT_NUMBER:
		if (!json_whole(value, &n) || n < 0)
			return false;
		ret->number = (uint64_t)n;
		return a->max == 0 || ret->number <= a->max;
	case ARGUMENT_BOOL:
		ret->flag = json_is_true(value);
		return json_is_boolean(value);
	case ARGUMENT_STRINGS:
		ret->list = value;
		return is_strings(value) && json_array_size(value) > 0;
	case ARGUMENT_STRINGS_OR_NONE:
		ret->list = value;
		return is_strings(value);
	}
	return false;
}

int arguments_read(const struct argument *table, size_t count, json_t *object,
                   struct argument_value *values, struct error *err)
{
	char near[SUGGEST_WORDS_MAX];
	const char *key;
	json_t *value;
	size_t i;

	memset(values, 0, count * sizeof(*values));
	json_object_foreach (object, key, value) {
		for (i = 0; i < count && strcmp(table[i].name, key) != 0; i++)
			;
		if (i == count)
			return error_set(
				err, ERROR_INPUT, EINVAL, "unknown argument '%.60s'%s", key,
				suggest_words(suggest_from(key, table, count, sizeof(*table)),
			                      near));
		if (!read_one(&table[i], value, &values[i]))
			return error_set(err, ERROR_INPUT, EINVAL, "'%s' must be %s", key,
			                 types[table[i].type].words);
	}
	for (i = 0; i < count; i++)
		if (table[i].required && !values[i].given)
			return error_set(err, ERROR_INPUT, EINVAL, "'%s' is missing",
			                 table[i].name);
	return 0;
}

static void put_property(const struct argument *a, struct json_writer *w)
{
	json_member_object(w, a->name);
	json_schema_type(w, types[a->type].name);
	if (a->type == ARGUMENT_STRINGS || a->type == ARGUMENT_STRINGS_OR_NONE) {
		json_member_object(w, "items");
		json_schema_type(w, "string");
		json_object_end(w);
	}
	if (a->type == ARGUMENT_STRINGS)
		json_member_int(w, "minItems", 1);
	if (a->type == ARGUMENT_NUMBER && a->max)
		json_member_uint(w, "maximum", a->max);
	json_member_string(w, "description", a->doc);
	json_object_end(w);
}

void arguments_put_schema(const struct argument *table, size_t count, struct json_writer *w)
{
	json_schema_begin(w);
	for (size_t i = 0; i < count; i++)
		put_property(&table[i], w);
	json_schema_required(w);
	for (size_t i = 0; i < count; i++)
		if (table[i].required)
			json_put_string(w, table[i].name);
	json_schema_end(w, false);
}
