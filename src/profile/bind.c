/*
 * The map of a file, key by key. What is common to all types of values is here: finding the key,
 * its place, what is said about it; the types themselves are in texts.c, numbers.c and rules.c.
 */
#include "profile/bind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/suggest.h"
#include "profile/profile.h"
#include "profile/value.h"
#include "yaml/yaml.h"

#define NAME_SIZE 128 /* of a key with all those that it is in */

int bind_fail(struct binder *b, const struct yaml_node *at, const char *format, ...)
{
	char what[sizeof(b->err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_set(b->err, ERROR_INPUT, EINVAL, "%s:%u:%u: %s", yaml_name_shown(b->file),
	                 at->line, at->column, what);
}

int bind_no_memory(struct binder *b)
{
	return error_set(b->err, ERROR_LIMIT, ENOMEM, "%s: no memory for the profile", b->file);
}

struct policy_place bind_place(const struct binder *b, const struct yaml_node *at)
{
	return (struct policy_place){.file = b->file, .line = at->line, .column = at->column};
}

int bind_wrong_type(struct binder *b, const struct yaml_node *at, const char *key,
                    const char *wanted)
{
	if (at->kind == YAML_SCALAR && strcmp(wanted, "a text") == 0 &&
	    yaml_scalar_type(at) != YAML_TYPE_NULL)
		return bind_fail(b, at, "'%s' wants a text, not %s: write \"%.60s\"", key,
		                 yaml_node_describe(at), at->text);
	return bind_fail(b, at, "'%s' wants %s, not %s", key, wanted, yaml_node_describe(at));
}

/* What the layers below have, and behind it what is new. */
static int add_texts(struct binder *b, const char *const *old, const char *const *more,
                     const char *const **ret_texts)
{
	size_t n = bind_texts_count(old);
	const char **texts =
		arena_new_array(b->arena, const char *, n + bind_texts_count(more) + 1);

	if (!texts)
		return bind_no_memory(b);
	if (n)
		memcpy(texts, old, n * sizeof(*texts));
	for (; *more; more++)
		if (!bind_texts_have(texts, *more))
			texts[n++] = *more;
	*ret_texts = texts;
	return 0;
}

int bind_loosens(struct binder *b, const struct yaml_node *at, const char *name)
{
	return bind_fail(b, at,
	                 "'%s' would loosen the profile; the file of a project can only tighten",
	                 name);
}

static int bind_list(struct binder *b, const struct key *key, const char *name,
                     const struct yaml_node *node, void *base)
{
	const char *const **to = (const char *const **)((char *)base + key->offset);
	const char *const *old = *to, *const * texts;
	int r;

	if (base == b->profile && b->tighten && key->tighten == KEY_NOBODY)
		return bind_loosens(b, node, name);
	r = bind_texts(b, key, name, node, old, &texts);
	if (r < 0)
		return r;
	if (base == b->profile && key->tighten == KEY_ADD) {
		r = add_texts(b, old, texts, &texts);
		if (r < 0)
			return r;
	}
	if (base == b->profile && b->tighten && key->tighten == KEY_REDUCE)
		for (const char *const *t = texts; *t; t++)
			if (!bind_texts_have(old, *t))
				return bind_loosens(b, node, name);
	r = key->check == KEY_CHECK_CACHE ? bind_caches(b, name, node, texts) : 0;
	if (r < 0)
		return r;
	*to = texts;
	return 0;
}

static int bind_pairs(struct binder *b, const struct key *key, const char *name,
                      const struct yaml_node *node, void *base)
{
	const char *const **to = (const char *const **)((char *)base + key->offset);
	size_t n = 0, old = bind_texts_count(*to);
	const char **pairs;
	const char *text;
	int r;

	if (node->kind != YAML_MAP)
		return bind_wrong_type(b, node, name, "a map of names and texts");
	if (b->tighten && node->first)
		return bind_loosens(b, node, name);
	pairs = arena_new_array(b->arena, const char *, old + node->count + 1);
	if (!pairs)
		return bind_no_memory(b);
	for (size_t i = 0; i < old; i++) { /* what is named again is replaced */
		size_t len = strcspn((*to)[i], "=");
		bool again = false;

		for (const struct yaml_node *e = node->first; e; e = e->next)
			again |= e->key->len == len && memcmp(e->key->text, (*to)[i], len) == 0;
		if (!again)
			pairs[n++] = (*to)[i];
	}
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		if (!bind_is_variable(e->key->text, false))
			return bind_fail(b, e->key, "'%s': '%.60s' is no name of a variable", name,
			                 e->key->text);
		r = bind_text(b, key, name, e, &text);
		if (r < 0)
			return r;
		pairs[n] = arena_printf(b->arena, "%s=%s", e->key->text, text);
		if (!pairs[n++])
			return bind_no_memory(b);
	}
	*to = pairs;
	return 0;
}

static int bind_string(struct binder *b, const struct key *key, const char *name,
                       const struct yaml_node *node, void *base)
{
	const char **to = (const char **)((char *)base + key->offset), *text;
	int r;

	r = bind_text(b, key, name, node, &text);
	if (r < 0)
		return r;
	if (key->type == KEY_WORD && !key_choice_find(key->choices, text))
		return bind_fail_choice(b, key, name, node);
	if (b->tighten && base == b->profile && key->tighten == KEY_NOBODY &&
	    (!*to || strcmp(*to, text) != 0))
		return bind_loosens(b, node, name);
	*to = text;
	return 0;
}

static int note_origin(struct binder *b, const struct key *key, const struct yaml_node *node)
{
	struct profile_origin *o = arena_new_object(b->arena, struct profile_origin);

	if (!o)
		return bind_no_memory(b);
	o->key = key;
	o->place = bind_place(b, node);
	o->next = b->origins;
	b->origins = o;
	if (key->offset == offsetof(struct profile, timeout.default_ms)) {
		b->default_set = true;
		b->default_place = o->place;
	}
	return 0;
}

/* The key that the N bytes of a dotted path name. */
static const struct key *find_path(const struct key *table, const char *path, size_t n)
{
	size_t first;

	for (; table->name; table++) {
		first = strlen(table->name);
		if (first > n || strncmp(table->name, path, first) != 0)
			continue;
		if (first == n)
			return table;
		if (path[first] == '.' && (table->type == KEY_GROUP || table->type == KEY_NETWORK))
			return find_path(table->sub, path + first + 1, n - first - 1);
	}
	return NULL;
}

static int remove_flag(struct binder *b, const struct key *key, const char *name)
{
	const struct key_choice *choice = key_choice_find(key->choices, name);
	uint64_t bits = value_load(key, b->profile);

	if (!choice || !(bits & choice->value))
		return -ENODATA;
	value_store(key, b->profile, bits & ~(uint64_t)choice->value);
	return 0;
}

static int remove_text(struct binder *b, const struct key *key, const char *text)
{
	const char *const **list = (const char *const **)((char *)b->profile + key->offset);
	const char **texts;
	size_t n = 0;

	if (!bind_texts_have(*list, text))
		return -ENODATA;
	texts = arena_new_array(b->arena, const char *, bind_texts_count(*list) + 1);
	if (!texts)
		return bind_no_memory(b);
	for (const char *const *t = *list; *t; t++)
		if (strcmp(*t, text) != 0)
			texts[n++] = *t;
	*list = texts;
	return 0;
}

int bind_remove_entry(struct binder *b, const struct yaml_node *node)
{
	size_t n = strcspn(node->text, ":");
	const struct key *key = node->text[n] ? find_path(profile_keys, node->text, n) : NULL;
	int r;

	if (!key || key->tighten != KEY_ADD)
		return -ENOENT;
	r = key->type == KEY_FLAGS          ? remove_flag(b, key, node->text + n + 1)
	    : key->type == KEY_DESTINATIONS ? bind_destination_remove(b, key, node->text + n + 1)
	                                    : remove_text(b, key, node->text + n + 1);
	if (r == -ENODATA)
		return bind_fail(b, node, "'%.*s' holds no '%.60s'", (int)n, node->text,
		                 node->text + n + 1);
	return r < 0 ? r : note_origin(b, key, node);
}

/* A list of `shell` is the only one: what is not in it is refused. */
static int bind_rule_list(struct binder *b, const struct key *key, const char *path,
                          const struct yaml_node *node)
{
	enum policy_list list = (enum policy_list)key->min;
	int r = bind_rules(b, list, node);

	if (r < 0 || !*path || list != POLICY_ALLOW)
		return r;
	b->profile->rules.fallback = POLICY_VERDICT_DENY;
	return note_origin(b, key_find(profile_keys, "default"), node);
}

static int bind_value(struct binder *b, const struct key *key, const char *path, const char *name,
                      const struct yaml_node *node, void *base)
{
	switch (key->type) {
	case KEY_TEXT:
	case KEY_WORD:
		return bind_string(b, key, name, node, base);
	case KEY_CHOICE_OR_GROUP:
		if (node->kind == YAML_MAP)
			return bind_map(b, key->sub, name, node, base);
		return bind_number(b, key, name, node, base);
	case KEY_BOOL:
	case KEY_CHOICE:
	case KEY_COUNT:
	case KEY_SIZE:
	case KEY_DURATION:
	case KEY_SECONDS:
		return bind_number(b, key, name, node, base);
	case KEY_TEXTS:
	case KEY_WORDS:
		return bind_list(b, key, name, node, base);
	case KEY_FLAGS:
		return bind_flags(b, key, name, node, base);
	case KEY_PAIRS:
		return bind_pairs(b, key, name, node, base);
	case KEY_RULES:
		if (key->sub && node->kind == YAML_MAP)
			return bind_map(b, key->sub, name, node, base);
		return bind_rule_list(b, key, path, node);
	case KEY_SETS:
		return bind_sets(b, node);
	case KEY_REMOVE:
		return b->tighten ? bind_loosens(b, node, name) : bind_removals(b, node);
	case KEY_EXAMPLES:
		return bind_examples(b, node);
	case KEY_GROUP:
		return bind_map(b, key->sub, name, node, base);
	case KEY_NETWORK:
		return bind_network(b, key, name, node);
	case KEY_DESTINATIONS:
		return bind_destinations(b, key, name, node);
	case KEY_VIA:
		return bind_via(b, name, node);
	case KEY_PUBLISH:
		return bind_publish(b, key, name, node);
	}
	return 0;
}

/* For messages; there is one for every entry, and printf() would need a tenth of the loading. */
static const char *name_in(const char *path, const char *name, char into[NAME_SIZE])
{
	size_t above = strlen(path), n = strlen(name);

	if (above == 0 || above + n + 2 > NAME_SIZE)
		return name;
	memcpy(into, path, above);
	into[above] = '.';
	memcpy(into + above + 1, name, n + 1);
	return into;
}

static int bind_entry(struct binder *b, const struct key *table, const char *path,
                      const struct yaml_node *entry, void *base)
{
	const struct key *key = key_find(table, entry->key->text);
	char space[NAME_SIZE];
	const char *near, *name;
	int r;

	if (!key) {
		near = suggest_from(entry->key->text, table, SIZE_MAX, sizeof(*table));
		if (near)
			return bind_fail(b, entry->key, "unknown key '%.60s', did you mean '%s'?",
			                 entry->key->text, near);
		return bind_fail(b, entry->key, "unknown key '%.60s'%s%s%s", entry->key->text,
		                 *path ? " in '" : "", path, *path ? "'" : "");
	}
	name = name_in(path, key->name, space);
	r = bind_value(b, key, path, name, entry, base);
	if (r == 0 && base == b->profile && key->width &&
	    (key->type == KEY_NETWORK || !(key->sub && entry->kind == YAML_MAP)))
		r = note_origin(b, key, entry);
	return r;
}

/* Sets are used and rules removed by the rest of the file, wherever they stand in it. */
static bool goes_first(const char *name)
{
	return strcmp(name, "sets") == 0 || strcmp(name, "remove") == 0;
}

int bind_map(struct binder *b, const struct key *table, const char *path,
             const struct yaml_node *map, void *base)
{
	bool top = table == profile_keys;
	int r;

	if (map->kind != YAML_MAP)
		return *path ? bind_wrong_type(b, map, path, "a map")
		             : bind_fail(b, map, "a map is wanted, not %s",
		                         yaml_node_describe(map));
	for (const struct yaml_node *e = map->first; top && e; e = e->next) {
		r = goes_first(e->key->text) ? bind_entry(b, table, path, e, base) : 0;
		if (r < 0)
			return r;
	}
	for (const struct yaml_node *e = map->first; e; e = e->next) {
		r = top && goes_first(e->key->text) ? 0 : bind_entry(b, table, path, e, base);
		if (r < 0)
			return r;
	}
	return 0;
}

int bind_layer(struct binder *b, const struct yaml_node *root)
{
	struct profile_timeout *t = &b->profile->timeout;
	struct bind_set *sets = b->sets;
	int r;

	b->layer++;
	b->default_set = false;
	b->fallback_below = b->profile->rules.fallback;
	r = bind_map(b, profile_keys, "", root, b->profile);
	if (b->tighten) /* a file above must not get other members by a name that it knows */
		b->sets = sets;
	if (r < 0)
		return r;
	if (t->default_ms <= t->max_ms)
		return 0;
	if (b->default_set) /* a lower maximum alone takes the default with it */
		return error_set(b->err, ERROR_INPUT, EINVAL,
		                 "%s:%u:%u: the default of the timeout is above its maximum",
		                 b->default_place.file, b->default_place.line,
		                 b->default_place.column);
	t->default_ms = t->max_ms;
	return 0;
}

static int bind_default_list(struct binder *b, const struct key *key)
{
	const char *const **to = (const char *const **)((char *)b->profile + key->offset);
	const char **texts = arena_new_array(b->arena, const char *, 64);
	size_t n = 0, len;

	for (const char *p = key->fallback; texts && *p && n < 63;
	     p += len + strspn(p + len, " ")) {
		len = strcspn(p, " ");
		texts[n] = arena_strndup(b->arena, p, len);
		if (!texts[n++])
			return bind_no_memory(b);
	}
	*to = texts;
	return texts ? 0 : bind_no_memory(b);
}

static int defaults_of(struct binder *b, const struct key *table)
{
	int r = 0;

	for (const struct key *k = table; k->name && r == 0; k++) {
		struct yaml_node node = {.plain = true, .text = k->fallback};

		if (k->type == KEY_GROUP)
			r = defaults_of(b, k->sub);
		else if (k->fallback && k->type == KEY_TEXTS)
			r = bind_default_list(b, k);
		else if (k->fallback && k->type == KEY_TEXT)
			*(const char **)((char *)b->profile + k->offset) = k->fallback;
		else if (k->fallback) {
			node.len = strlen(k->fallback);
			r = bind_value(b, k, "", k->name, &node, b->profile);
		}
	}
	return r;
}

int bind_defaults(struct binder *b)
{
	b->file = "default";
	return defaults_of(b, profile_keys);
}

/* The proof of such a profile is about arguments, and programs read more than these: what an
 * earlier call left in home would change what a listed program does. */
static void bound_share(struct profile *p)
{
	if (p->sandbox.tier != SANDBOX_TIER_STRICT)
		p->room.share = PROFILE_SHARE_NONE;
	if (p->room.share == PROFILE_SHARE_ALL &&
	    (p->sandbox.exec == SANDBOX_EXEC_LISTED || p->rules.fallback == POLICY_VERDICT_DENY))
		p->room.share = PROFILE_SHARE_TMP;
	if (p->room.share != PROFILE_SHARE_ALL)
		p->room.caches = NULL;
}

int bind_finish(struct binder *b)
{
	struct profile *p = b->profile;
	int r;

	p->container = p->mode == PROFILE_MODE_CONTAINER;
	p->sandbox.tier = p->mode == PROFILE_MODE_NONE        ? SANDBOX_TIER_NONE
	                  : p->mode == PROFILE_MODE_LANDLOCK  ? SANDBOX_TIER_LANDLOCK
	                  : p->mode == PROFILE_MODE_CONTAINER ? SANDBOX_TIER_CONTAINER
	                                                      : SANDBOX_TIER_STRICT;
	r = bind_finish_rules(b);
	if (r == 0)
		r = bind_finish_network(b);
	bound_share(p);
	return r;
}
