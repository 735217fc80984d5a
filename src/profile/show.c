/*
 * Values are read from struct profile by their offset in the table of keys, and where a value comes
 * from is found by the same offset. Text and JSON visit the same values in the same order.
 */
#include "profile/show.h"

#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "json/write.h"
#include "policy/policy.h"
#include "profile/bind.h"
#include "profile/network.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "profile/value.h"

/* Two keys can set the same value (timeout.max, shell.max_timeout): it is found by where it lies.
 */
static bool is_origin(const struct profile_origin *o, const struct key *key)
{
	return key->width && o->key->width && o->key->offset == key->offset;
}

static const struct profile_origin *find_origin(const struct profile *p, const struct key *key)
{
	for (const struct profile_origin *o = p->store->origins; o; o = o->next)
		if (is_origin(o, key))
			return o;
	return NULL;
}

static const char *const *list_of(const struct key *key, const struct profile *p)
{
	return *(const char *const *const *)((const char *)p + key->offset);
}

static void put_flags(const struct key *key, uint64_t bits, struct json_writer *w)
{
	json_array_begin(w);
	for (const struct key_choice *c = key->choices; c->name; c++)
		if (bits & c->value)
			json_put_string(w, c->name);
	json_array_end(w);
}

static void put_pairs(const char *const *list, struct json_writer *w)
{
	json_object_begin(w);
	for (; list && *list; list++) {
		size_t n = strcspn(*list, "=");
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)(n < 255 ? n : 255), *list);
		json_member_string(w, name, *list + n + ((*list)[n] == '='));
	}
	json_object_end(w);
}

static void put_value(const struct key *key, const struct profile *p, struct json_writer *w)
{
	uint64_t value;
	char text[32];

	switch (key->type) {
	case KEY_TEXT:
	case KEY_WORD:
		json_put_string(w, *(const char *const *)((const char *)p + key->offset));
		return;
	case KEY_TEXTS:
	case KEY_WORDS:
		json_put_strings(w, list_of(key, p));
		return;
	case KEY_PAIRS:
		put_pairs(list_of(key, p), w);
		return;
	case KEY_BOOL:
		json_put_bool(w, (value_load(key, p) != 0) != key->invert);
		return;
	case KEY_CHOICE:
	case KEY_CHOICE_OR_GROUP:
		json_put_string(
			w, key_choice_by_value(key->choices, (uint32_t)value_load(key, p))->name);
		return;
	case KEY_FLAGS:
		put_flags(key, value_load(key, p), w);
		return;
	case KEY_COUNT:
		json_put_uint(w, value_load(key, p));
		return;
	case KEY_SIZE:
	case KEY_DURATION:
	case KEY_SECONDS:
		value = value_load(key, p);
		value_format_number(key, value, text);
		if (text[strspn(text, "0123456789")])
			json_put_string(w, text);
		else
			json_put_uint(w, value);
		return;
	case KEY_NETWORK:
	case KEY_DESTINATIONS:
	case KEY_VIA:
	case KEY_PUBLISH:
		profile_network_put(key, p, w);
		return;
	case KEY_RULES:
	case KEY_SETS:
	case KEY_REMOVE:
	case KEY_EXAMPLES:
	case KEY_GROUP:
		break;
	}
	json_put_null(w);
}

typedef void visit(const struct profile *p, const struct key *key, const char *path, void *context);

/* Every key with one value of its own, with its path. */
static void each_value(const struct profile *p, const struct key *table, const char *path,
                       visit *visitor, void *context)
{
	char name[128];

	for (const struct key *k = table; k->name; k++) {
		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "." : "", k->name);
		if (k->sub && (k->type == KEY_RULES || k->type == KEY_GROUP) &&
		    strcmp(name, "coding") != 0)
			each_value(p, k->sub, name, visitor, context);
		else if (k->width)
			visitor(p, k, name, context);
		if (k->type == KEY_NETWORK && p->sandbox.network == SANDBOX_NETWORK_NAMES)
			each_value(p, k->sub, name, visitor, context);
	}
}

static void put_place(const struct policy_place *place, struct json_writer *w)
{
	json_member_string(w, "file", place->file);
	json_member_uint(w, "line", place->line);
	json_member_uint(w, "column", place->column);
}

static void put_json(const struct profile *p, const struct key *key, const char *path,
                     void *context)
{
	struct json_writer *w = context;
	const struct profile_origin *o = find_origin(p, key);

	json_member_object(w, path);
	json_put_key(w, "value");
	put_value(key, p, w);
	json_put_key(w, "from");
	if (!o) {
		json_put_null(w);
	} else if (key->tighten != KEY_ADD) {
		json_object_begin(w);
		put_place(&o->place, w);
		json_object_end(w);
	} else {
		json_array_begin(w);
		for (; o; o = o->next)
			if (is_origin(o, key)) {
				json_object_begin(w);
				put_place(&o->place, w);
				json_object_end(w);
			}
		json_array_end(w);
	}
	json_object_end(w);
}

static void put_rule(const struct policy_rule *r, struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "id", r->id);
	json_member_string(w, "list", policy_list_name(r->list));
	json_member_string(w, "text", r->text);
	put_place(&r->place, w);
	if (r->reason)
		json_member_string(w, "reason", r->reason);
	if (r->use)
		json_member_strings(w, "recommended", r->use);
	json_object_end(w);
}

void profile_write_json(const struct profile *p, struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "profile", p->name);
	json_member_string(w, "base", p->base);
	json_member_array(w, "layers");
	for (const struct profile_layer *l = p->store->layers; l; l = l->next)
		json_put_string(w, l->name);
	json_array_end(w);
	json_member_object(w, "values");
	each_value(p, profile_keys, "", put_json, w);
	json_object_end(w);
	json_member_array(w, "rules");
	for (int list = 0; list < POLICY_LIST_MAX; list++)
		for (size_t i = 0; i < p->rules.rule_count; i++)
			if ((int)p->rules.rules[i].list == list)
				put_rule(&p->rules.rules[i], w);
	json_array_end(w);
	profile_network_write(p, w);
	json_member_strings(w, "programs", p->sandbox.programs);
	json_member_strings(w, "denied_programs", p->sandbox.denied);
	json_object_end(w);
}

struct printing {
	struct buffer *out;
	bool names;
};

static const char *shown(const struct printing *t, const char *file)
{
	const char *slash = t->names ? strrchr(file, '/') : NULL;

	return slash ? slash + 1 : file;
}

static void print_place(const struct printing *t, const struct policy_place *place)
{
	buffer_printf(t->out, "%s:%u:%u", shown(t, place->file), place->line, place->column);
}

static void print_value(const struct profile *p, const struct key *key, const char *path,
                        void *context)
{
	scoped(buffer_donep) struct buffer value = {0};
	struct json_writer w = {.out = &value};
	const struct profile_origin *o = find_origin(p, key);
	const struct printing *t = context;
	struct buffer *out = t->out;

	put_value(key, p, &w);
	if (strcmp(buffer_str(&value), "null") == 0)
		return;
	buffer_printf(out, "%s: %s", path, buffer_str(&value));
	buffer_puts(out, "  # ");
	if (!o)
		buffer_puts(out, "default");
	else
		print_place(t, &o->place);
	for (o = o ? o->next : NULL; o && key->tighten == KEY_ADD; o = o->next)
		if (is_origin(o, key)) {
			buffer_puts(out, ", ");
			print_place(t, &o->place);
		}
	buffer_putc(out, '\n');
}

static void print_list(const struct profile *p, enum policy_list list, const struct printing *t)
{
	struct buffer *out = t->out;
	bool any = false;

	for (size_t i = 0; i < p->rules.rule_count; i++) {
		const struct policy_rule *r = &p->rules.rules[i];

		if (r->list != list)
			continue;
		if (!any)
			buffer_printf(out, "\n%s:\n", policy_list_name(list));
		any = true;
		buffer_printf(out, "  - %s  # %s, ", r->text, r->id);
		print_place(t, &r->place);
		buffer_putc(out, '\n');
	}
}

void profile_print(const struct profile *p, bool names, struct buffer *out)
{
	struct printing t = {.out = out, .names = names};

	buffer_puts(out, "# layers, the lowest first:");
	for (const struct profile_layer *l = p->store->layers; l; l = l->next)
		buffer_printf(out, " %s%s", shown(&t, l->name), l->next ? "," : "\n");
	each_value(p, profile_keys, "", print_value, &t);
	for (int list = 0; list < POLICY_LIST_MAX; list++)
		print_list(p, (enum policy_list)list, &t);
	profile_network_print(p, names, out);
}
