/*
 * Both outputs walk the table of keys (keys.c) and know nothing about single keys. For the schema
 * each type of key has one form; kinds of rules are definitions that several keys refer to. The
 * reference page prints the same entries as a list.
 */
#include "profile/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "json/write.h"
#include "policy/rules.h"
#include "profile/bind.h"
#include "profile/keys.h"
#include "profile/value.h"

#define DURATION "^[0-9]+(\\.[0-9]+)?(ms|s|m|min|h|d)$"
#define SIZE     "^[0-9]+([KMGT](iB)?)?$"

static const char *check_pattern(const struct key *key)
{
	switch (key->check) {
	case KEY_CHECK_NAME:
		return "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$";
	case KEY_CHECK_ABSOLUTE:
		return key->tighten == KEY_REDUCE ? "^(/|~/|~$|@inherited$)" : "^(/|~/|~$)";
	case KEY_CHECK_RELATIVE:
		return "^[^/~]";
	case KEY_CHECK_VARIABLE:
		return "^([A-Za-z_][A-Za-z0-9_]*\\*?|@inherited)$";
	case KEY_CHECK_IMAGE:
		return "^[A-Za-z0-9_./:@][A-Za-z0-9_./:@-]*$";
	case KEY_CHECK_OWNER:
		return "^[0-9]{1,10}(:[0-9]{1,10})?$";
	case KEY_CHECK_CACHE:
		return "^(~/[^/]|@inherited$)";
	case KEY_CHECK_NONE:
	case KEY_CHECK_REGEX:
	case KEY_CHECK_SETS:
		break;
	}
	return NULL;
}

static void put_text(const struct key *key, struct json_writer *w)
{
	json_member_string(w, "type", "string");
	json_member_uint(w, "minLength", 1);
	if (key->max && key->type == KEY_TEXT)
		json_member_uint(w, "maxLength", key->max);
	if (check_pattern(key))
		json_member_string(w, "pattern", check_pattern(key));
}

static void put_choices(const struct key *key, struct json_writer *w)
{
	json_member_array(w, "enum");
	for (const struct key_choice *c = key->choices; c->name; c++)
		json_put_string(w, c->name);
	json_array_end(w);
}

static void put_integer(const struct key *key, uint64_t unit, struct json_writer *w)
{
	json_member_string(w, "type", "integer");
	json_member_uint(w, "minimum", (key->min + unit - 1) / unit);
	json_member_uint(w, "maximum", key->max / unit);
}

/* A number, or a text of this form. */
static void put_number_or(const struct key *key, uint64_t unit, const char *pattern,
                          struct json_writer *w)
{
	json_member_array(w, "anyOf");
	json_object_begin(w);
	if (unit)
		put_integer(key, unit, w);
	else
		json_put_key(w, "const"), json_put_uint(w, 0);
	json_object_end(w);
	json_object_begin(w);
	json_member_string(w, "type", "string");
	json_member_string(w, "pattern", pattern);
	json_object_end(w);
	json_array_end(w);
}

static void put_items(const struct key *key, struct json_writer *w)
{
	json_member_string(w, "type", "array");
	json_member_object(w, "items");
	if (key->choices)
		put_choices(key, w);
	else
		put_text(key, w);
	json_object_end(w);
}

static void put_reference(const char *name, struct json_writer *w)
{
	char text[64];

	snprintf(text, sizeof(text), "#/$defs/%s", name);
	json_member_string(w, "$ref", text);
}

static void put_table(const struct key *table, enum policy_list list, struct json_writer *w);

static const char *const rule_names[POLICY_LIST_MAX] = {
	[POLICY_NEVER] = "refusing", [POLICY_DENY] = "refusing", [POLICY_DANGER] = "danger",
	[POLICY_NUDGE] = "nudge",    [POLICY_ASK] = "asking",    [POLICY_ALLOW] = "allowing",
};

static void put_array_of(const char *name, struct json_writer *w)
{
	json_member_string(w, "type", "array");
	json_member_object(w, "items");
	put_reference(name, w);
	json_object_end(w);
}

static void put_map_of_texts(const struct key *key, struct json_writer *w)
{
	json_member_string(w, "type", "object");
	json_member_object(w, "propertyNames");
	json_member_string(w, "pattern",
	                   key->type == KEY_SETS ? "^[a-z0-9_-]+$" : "^[A-Za-z_][A-Za-z0-9_]*$");
	json_object_end(w);
	json_member_object(w, "additionalProperties");
	if (key->type == KEY_SETS)
		put_items(key, w);
	else
		json_member_string(w, "type", "string");
	json_object_end(w);
}

/* 8080, or "8080:80". */
static void put_ports(struct json_writer *w)
{
	json_member_string(w, "type", "array");
	json_member_object(w, "items");
	json_member_array(w, "anyOf");
	json_object_begin(w);
	json_member_string(w, "type", "integer");
	json_member_uint(w, "minimum", 1);
	json_member_uint(w, "maximum", 65535);
	json_object_end(w);
	json_object_begin(w);
	json_member_string(w, "type", "string");
	json_member_string(w, "pattern", "^([0-9]{1,5}(:[0-9]{1,5})?|@inherited)$");
	json_object_end(w);
	json_array_end(w);
	json_object_end(w);
}

static void put_type(const struct key *key, struct json_writer *w)
{
	switch (key->type) {
	case KEY_TEXT:
		put_text(key, w);
		return;
	case KEY_BOOL:
		json_member_string(w, "type", "boolean");
		return;
	case KEY_CHOICE:
	case KEY_WORD:
		put_choices(key, w);
		return;
	case KEY_COUNT:
		put_integer(key, 1, w);
		return;
	case KEY_SIZE:
		put_number_or(key, 1, SIZE, w);
		return;
	case KEY_DURATION:
		put_number_or(key, 0, DURATION, w);
		return;
	case KEY_SECONDS:
		put_number_or(key, 1000, DURATION, w);
		return;
	case KEY_TEXTS:
	case KEY_WORDS:
	case KEY_FLAGS:
	case KEY_REMOVE:
		put_items(key, w);
		return;
	case KEY_PAIRS:
	case KEY_SETS:
		put_map_of_texts(key, w);
		return;
	case KEY_RULES:
		if (!key->sub) {
			put_array_of(rule_names[key->min], w);
			return;
		}
		json_member_array(w, "anyOf");
		json_object_begin(w);
		put_array_of(rule_names[key->min], w);
		json_object_end(w);
		json_object_begin(w);
		put_table(key->sub, POLICY_LIST_MAX, w);
		json_object_end(w);
		json_array_end(w);
		return;
	case KEY_EXAMPLES:
		put_array_of("example", w);
		return;
	case KEY_GROUP:
		put_table(key->sub, POLICY_LIST_MAX, w);
		return;
	case KEY_DESTINATIONS:
		put_items(key, w);
		return;
	case KEY_VIA:
		json_member_string(w, "type", "string");
		json_member_string(w, "pattern", "^(environment|http://[^/@]+:[0-9]+/?)$");
		return;
	case KEY_PUBLISH:
		put_ports(w);
		return;
	case KEY_NETWORK:
	case KEY_CHOICE_OR_GROUP:
		json_member_array(w, "anyOf");
		json_object_begin(w);
		put_choices(key, w);
		json_object_end(w);
		json_object_begin(w);
		put_table(key->sub, POLICY_LIST_MAX, w);
		json_object_end(w);
		json_array_end(w);
		return;
	}
}

/* The keys of a table; of the keys of a rule those that have a meaning in the list. */
static void put_table(const struct key *table, enum policy_list list, struct json_writer *w)
{
	json_member_string(w, "type", "object");
	json_member_bool(w, "additionalProperties", false);
	json_member_object(w, "properties");
	for (const struct key *k = table; k->name; k++) {
		if (list < POLICY_LIST_MAX && k->lists && !(k->lists & 1U << list))
			continue;
		json_member_object(w, k->name);
		json_member_string(w, "description", k->doc);
		put_type(k, w);
		json_object_end(w);
	}
	json_object_end(w);
}

static void put_required(const char *a, const char *b, struct json_writer *w)
{
	json_member_array(w, "required");
	json_put_string(w, a);
	if (b)
		json_put_string(w, b);
	json_array_end(w);
}

static void put_rule(enum policy_list list, struct json_writer *w)
{
	json_member_object(w, rule_names[list]);
	json_member_array(w, "anyOf");
	json_object_begin(w);
	json_member_string(w, "type", "string");
	json_member_string(w, "pattern", "^[^|;&<>$`\\n]*[^ \\t|;&<>$`\\n][^|;&<>$`\\n]*$");
	json_object_end(w);
	json_object_begin(w);
	put_table(rule_keys, list, w);
	json_member_uint(w, "minProperties", 1);
	if (list == POLICY_ALLOW)
		put_required("commands", NULL, w);
	json_object_end(w);
	json_array_end(w);
	json_object_end(w);
}

static void put_example(struct json_writer *w)
{
	json_member_object(w, "example");
	put_table(example_keys, POLICY_LIST_MAX, w);
	put_required("verdict", NULL, w);
	json_member_array(w, "oneOf");
	json_object_begin(w);
	put_required("command", NULL, w);
	json_object_end(w);
	json_object_begin(w);
	put_required("argv", NULL, w);
	json_object_end(w);
	json_array_end(w);
	json_object_end(w);
}

void profile_schema_write(struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_member_string(w, "title", "A profile of nacre");
	json_member_string(
		w, "description",
		"Rules, limits and sandbox of the commands of an agent; see docs/policy.md");
	put_table(profile_keys, POLICY_LIST_MAX, w);
	json_member_object(w, "$defs");
	put_rule(POLICY_DENY, w);
	put_rule(POLICY_DANGER, w);
	put_rule(POLICY_NUDGE, w);
	put_rule(POLICY_ASK, w);
	put_rule(POLICY_ALLOW, w);
	put_example(w);
	json_object_end(w);
	json_object_end(w);
}

static const char *type_words(const struct key *key)
{
	static const char *const words[] = {
		[KEY_TEXT] = "text",
		[KEY_BOOL] = "true or false",
		[KEY_CHOICE] = "word",
		[KEY_WORD] = "word",
		[KEY_COUNT] = "number",
		[KEY_SIZE] = "size",
		[KEY_DURATION] = "time",
		[KEY_SECONDS] = "seconds or time",
		[KEY_TEXTS] = "list",
		[KEY_WORDS] = "list of words",
		[KEY_FLAGS] = "list of words",
		[KEY_PAIRS] = "map",
		[KEY_RULES] = "list of rules",
		[KEY_SETS] = "map of lists",
		[KEY_REMOVE] = "list of ids",
		[KEY_EXAMPLES] = "list of examples",
		[KEY_GROUP] = "map",
		[KEY_CHOICE_OR_GROUP] = "word, or map",
		[KEY_NETWORK] = "word, or map",
		[KEY_DESTINATIONS] = "list of destinations",
		[KEY_VIA] = "text",
		[KEY_PUBLISH] = "list of ports",
	};

	return words[key->type];
}

static const char *project_words(const struct key *key)
{
	static const char *const words[] = {
		[KEY_FREE] = "sets",
		[KEY_NOBODY] = "-",
		[KEY_LOWER] = "lowers",
		[KEY_LIMIT] = "lowers",
		[KEY_USUAL] = "lowers",
		[KEY_TRUE] = "`true`",
		[KEY_FALSE] = "`false`",
		[KEY_BY_RANK] = "tighter",
		[KEY_ADD] = "adds",
		[KEY_REDUCE] = "shortens",
		[KEY_TURN] = "turns allow into ask",
		[KEY_RULE] = "adds",
	};

	if (key->type == KEY_RULES && key->min == POLICY_ALLOW)
		return "shortens";
	return words[key->tighten];
}

static void doc_values(const struct key *key, struct buffer *out)
{
	char low[32], high[32];
	uint64_t unit = key->divisor ? key->divisor : 1;

	if (key->choices) {
		for (const struct key_choice *c = key->choices; c->name; c++)
			buffer_printf(out, "%s`%s`", c == key->choices ? ": " : ", ", c->name);
	} else if (key->max && key->type != KEY_TEXT) {
		value_format_number(key, key->min / unit, low);
		value_format_number(key, key->max / unit, high);
		buffer_printf(out, ": %s to %s", low, high);
	}
}

static void doc_table(const struct key *table, const char *path, struct buffer *out)
{
	char name[128];

	for (const struct key *k = table; k->name; k++) {
		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "." : "", k->name);
		buffer_printf(out, "| `%s` | %s", name, type_words(k));
		doc_values(k, out);
		buffer_printf(
			out, " | %s%s%s | %s | %s |\n", k->fallback && *k->fallback ? "`" : "",
			k->fallback ? k->fallback : "", k->fallback && *k->fallback ? "`" : "",
			k->type == KEY_GROUP ? "" : project_words(k), k->doc);
		if (k->sub && strcmp(k->name, "coding") != 0)
			doc_table(k->sub, name, out);
	}
}

static void doc_small(const struct key *table, struct buffer *out)
{
	buffer_puts(out, "| key | type | meaning |\n|---|---|---|\n");
	for (const struct key *k = table; k->name; k++) {
		buffer_printf(out, "| `%s` | %s", k->name, type_words(k));
		doc_values(k, out);
		buffer_printf(out, " | %s |\n", k->doc);
		for (const struct key *s = k->sub; s && s->name; s++)
			buffer_printf(out, "| `%s.%s` | %s | %s |\n", k->name, s->name,
			              type_words(s), s->doc);
	}
}

void profile_reference_write(struct buffer *out)
{
	buffer_puts(out, "### Keys of a profile\n\n"
	                 "The fourth column tells what the file of a project may do with a key.\n\n"
	                 "| key | type | default | project | meaning |\n|---|---|---|---|---|\n");
	doc_table(profile_keys, "", out);
	buffer_puts(out, "\n### Keys of a rule\n\n");
	doc_small(rule_keys, out);
	buffer_puts(out, "\n### Keys of an example\n\n");
	doc_small(example_keys, out);
	buffer_puts(out, "\n### Built-in sets\n\n| set | members |\n|---|---|\n");
	for (size_t i = 0; bind_set_builtin(i); i++) {
		buffer_printf(out, "| `@%s` |", bind_set_builtin(i));
		for (const char *const *m = bind_set_find(NULL, bind_set_builtin(i)); *m; m++)
			buffer_printf(out, " `%s`", *m);
		buffer_puts(out, " |\n");
	}
	buffer_puts(out,
	            "| `@packages` | in `sandbox.network`: registries that the package managers "
	            "of the machine use; see docs/network.md |\n"
	            "| `@forges` | in `sandbox.network`: GitHub, GitLab, Codeberg, Bitbucket and "
	            "the repository's remotes; see docs/network.md |\n");
}
