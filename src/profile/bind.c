#include "profile/bind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"
#include "profile/profile.h"
#include "profile/value.h"
#include "yaml/yaml.h"

int bind_fail(struct binder *b, const struct yaml_node *at, const char *format, ...)
{
	char what[sizeof(b->err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_set(b->err, ERROR_INPUT, EINVAL, "%s:%u:%u: %s", b->file, at->line, at->column,
	                 what);
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

static bool is_name(const char *text)
{
	return *text &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                          "0123456789-_.")] &&
	       *text != '.' && *text != '-' && strlen(text) <= 64;
}

static bool is_variable(const char *text, bool glob)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (n == 0 || (*text >= '0' && *text <= '9'))
		return false;
	return !text[n] || (glob && text[n] == '*' && !text[n + 1]);
}

static bool leaves_upwards(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

static const char *what_is_wrong(enum key_check check, const char *text)
{
	switch (check) {
	case KEY_CHECK_NAME:
		return is_name(text) ? NULL : "is no name (letters, digits, - _ .)";
	case KEY_CHECK_ABSOLUTE:
		if (text[0] != '/' && strncmp(text, "~/", 2) != 0 && strcmp(text, "~") != 0)
			return "is no absolute path, nor one that begins with ~/";
		return leaves_upwards(text) ? "holds '..'" : NULL;
	case KEY_CHECK_RELATIVE:
		if (text[0] == '/' || text[0] == '~')
			return "is no path below the workspace";
		return leaves_upwards(text) ? "holds '..'" : NULL;
	case KEY_CHECK_VARIABLE:
		return is_variable(text, true) ? NULL : "is no name of a variable";
	case KEY_CHECK_NONE:
	case KEY_CHECK_SETS:
		break;
	}
	return NULL;
}

int bind_text(struct binder *b, const struct key *key, const char *name,
              const struct yaml_node *node, const char **ret_text)
{
	const char *wrong;

	if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_TEXT)
		return bind_wrong_type(b, node, name, "a text");
	if (!node->len && key->type != KEY_PAIRS)
		return bind_fail(b, node, "'%s' wants a text that is not empty", name);
	wrong = key->type == KEY_PAIRS ? NULL : what_is_wrong(key->check, node->text);
	if (wrong)
		return bind_fail(b, node, "'%s': '%.80s' %s", name, node->text, wrong);
	*ret_text = node->text; /* in the arena of the profile */
	return 0;
}

bool bind_texts_have(const char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static size_t count_texts(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static int fail_choice(struct binder *b, const struct key *key, const char *name,
                       const struct yaml_node *node)
{
	const char *near = key_suggest_choice(key->choices, node->text);
	char all[160] = "";
	size_t used = 0;

	if (near)
		return bind_fail(b, node, "'%s' does not know '%.40s', did you mean '%s'?", name,
		                 node->text, near);
	for (const struct key_choice *c = key->choices; c->name && used < sizeof(all) - 20; c++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "",
		                         c->name);
	return bind_fail(b, node, "'%s' does not know '%.40s'; it knows %s", name, node->text, all);
}

/* What one entry of a list stands for: itself, or the members of a set. */
static int entry_members(struct binder *b, const struct key *key, const char *name,
                         const struct yaml_node *node, const char *const *old,
                         const char *const **ret_members)
{
	static const char *const none[] = {NULL};
	const char *near;

	if (strcmp(node->text, "@inherited") == 0 && key->tighten == KEY_REDUCE) {
		*ret_members = old ? old : none;
		return 0;
	}
	if (key->check != KEY_CHECK_SETS || node->text[0] != '@' || !node->text[1]) {
		*ret_members = NULL;
		return 0;
	}
	*ret_members = bind_set_find(b, node->text + 1);
	if (*ret_members)
		return 0;
	near = bind_set_suggest(b, node->text + 1);
	if (near)
		return bind_fail(b, node, "'%s': there is no set '%.40s', did you mean '@%s'?",
		                 name, node->text, near);
	return bind_fail(b, node, "'%s': there is no set '%.40s'", name, node->text);
}

int bind_texts(struct binder *b, const struct key *key, const char *name,
               const struct yaml_node *list, const char *const *old, const char *const **ret_texts)
{
	const char *const *members, *text;
	size_t n = 0, capacity = 1;
	const char **texts;
	int r;

	if (list->kind != YAML_LIST)
		return bind_wrong_type(b, list, name, "a list of texts");
	/* Twice: the first round checks and counts. */
	for (const struct yaml_node *e = list->first; e; e = e->next) {
		if (e->kind != YAML_SCALAR || yaml_scalar_type(e) != YAML_TYPE_TEXT)
			return bind_wrong_type(b, e, name, "a text");
		r = entry_members(b, key, name, e, old, &members);
		if (r < 0)
			return r;
		if (key->type == KEY_WORDS && !key_choice_find(key->choices, e->text))
			return fail_choice(b, key, name, e);
		r = members ? 0 : bind_text(b, key, name, e, &text);
		if (r < 0)
			return r;
		capacity += members ? count_texts(members) : 1;
	}
	texts = arena_new_array(b->arena, const char *, capacity);
	if (!texts)
		return bind_no_memory(b);
	for (const struct yaml_node *e = list->first; e; e = e->next) {
		(void)entry_members(b, key, name, e, old, &members);
		if (!members)
			texts[n++] = e->text;
		for (; members && *members; members++)
			texts[n++] = *members;
	}
	*ret_texts = texts;
	return 0;
}

/* What the layers below have, and behind it what is new. */
static int add_texts(struct binder *b, const char *const *old, const char *const *more,
                     const char *const **ret_texts)
{
	size_t n = count_texts(old);
	const char **texts = arena_new_array(b->arena, const char *, n + count_texts(more) + 1);

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

static int loosens(struct binder *b, const struct yaml_node *at, const char *name)
{
	return bind_fail(b, at,
	                 "'%s' would loosen the profile; the file of a project can only tighten",
	                 name);
}

static bool is_looser(const struct key *key, uint64_t old, uint64_t new)
{
	const struct key_choice *from, *to;

	switch (key->tighten) {
	case KEY_NOBODY:
		return new != old;
	case KEY_LOWER:
		return new > old;
	case KEY_LIMIT:
		return old ? !new || new > old : false;
	case KEY_TRUE:
		return old && !new;
	case KEY_FALSE: /* of what is written; an inverted one is stored as its contrary */
		return key->invert ? old && !new : !old &&new;
	case KEY_BY_RANK:
		from = key_choice_by_value(key->choices, (uint32_t)old);
		to = key_choice_by_value(key->choices, (uint32_t) new);
		if (!from || !to || from == to)
			return from != to;
		return from->rank < 0 || to->rank < 0 || to->rank < from->rank;
	case KEY_FREE:
	case KEY_ADD:
	case KEY_REDUCE:
	case KEY_RULE:
		break;
	}
	return false;
}

static int read_number(struct binder *b, const struct key *key, const char *name,
                       const struct yaml_node *node, uint64_t *ret_value)
{
	enum yaml_type type = node->kind == YAML_SCALAR ? yaml_scalar_type(node) : YAML_TYPE_NULL;
	bool whole = type == YAML_TYPE_INTEGER, text = type == YAML_TYPE_TEXT;
	int64_t ms = 0;
	uint64_t value = 0;
	int r = -EINVAL;

	if (key->type == KEY_COUNT) {
		if (!whole)
			return bind_wrong_type(b, node, name, "a whole number");
		r = number_parse_u64(node->text, &value);
	} else if (key->type == KEY_SIZE) {
		if (!whole && !text)
			return bind_wrong_type(b, node, name, "a size such as 4096, 64K, 2G");
		r = number_parse_size(node->text, &value);
	} else if (key->type == KEY_SECONDS && whole) {
		r = number_parse_u64(node->text, &value);
		if (r == 0 && __builtin_mul_overflow(value, (uint64_t)1000, &value))
			r = -ERANGE;
	} else {
		if (whole && strcmp(node->text, "0") != 0)
			return bind_fail(b, node,
			                 "'%s': %.20s has no unit; write %.20ss or %.20sms", name,
			                 node->text, node->text, node->text);
		if (!whole && !text)
			return bind_wrong_type(b, node, name, "a time such as 500ms, 5s, 2m");
		r = number_parse_duration_ms(node->text, &ms);
		value = (uint64_t)ms;
	}
	if (r == -EINVAL)
		return bind_fail(b, node, "'%s': '%.40s' is no %s", name, node->text,
		                 key->type == KEY_COUNT  ? "whole number"
		                 : key->type == KEY_SIZE ? "size such as 4096, 64K, 2G"
		                                         : "time such as 500ms, 5s, 2m");
	if (r < 0 || value < key->min || value > key->max) {
		char low[32], high[32];

		value_format_number(key, key->min / (key->divisor ? key->divisor : 1), low);
		value_format_number(key, key->max / (key->divisor ? key->divisor : 1), high);
		return bind_fail(b, node, "'%s': %.40s is out of range (%s to %s)", name,
		                 node->text, low, high);
	}
	*ret_value = key->divisor > 1 ? (value + key->divisor - 1) / key->divisor : value;
	return 0;
}

static int bind_number(struct binder *b, const struct key *key, const char *name,
                       const struct yaml_node *node, void *base)
{
	const struct key_choice *choice;
	uint64_t value = 0;
	int r;

	if (key->type == KEY_BOOL) {
		if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_BOOL)
			return bind_wrong_type(b, node, name, "true or false");
		value = (node->text[0] | 32) == 't';
		value ^= key->invert;
	} else if (key->type == KEY_CHOICE || key->type == KEY_CHOICE_OR_GROUP) {
		if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_TEXT)
			return bind_wrong_type(b, node, name, "a word");
		choice = key_choice_find(key->choices, node->text);
		if (!choice)
			return fail_choice(b, key, name, node);
		value = choice->value;
	} else {
		r = read_number(b, key, name, node, &value);
		if (r < 0)
			return r;
	}
	if (b->tighten && base == b->profile && is_looser(key, value_load(key, base), value))
		return loosens(b, node, name);
	value_store(key, base, value);
	return 0;
}

static int bind_list(struct binder *b, const struct key *key, const char *name,
                     const struct yaml_node *node, void *base)
{
	const char *const **to = (const char *const **)((char *)base + key->offset);
	const char *const *old = *to, *const * texts;
	int r;

	if (base == b->profile && b->tighten && key->tighten == KEY_NOBODY)
		return loosens(b, node, name);
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
				return loosens(b, node, name);
	*to = texts;
	return 0;
}

static int bind_flags(struct binder *b, const struct key *key, const char *name,
                      const struct yaml_node *node, void *base)
{
	uint64_t bits = value_load(key, base);

	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, name, "a list of words");
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		const struct key_choice *choice;

		if (e->kind != YAML_SCALAR || yaml_scalar_type(e) != YAML_TYPE_TEXT)
			return bind_wrong_type(b, e, name, "a word");
		choice = key_choice_find(key->choices, e->text);
		if (!choice)
			return fail_choice(b, key, name, e);
		bits |= choice->value;
	}
	value_store(key, base, bits);
	return 0;
}

static int bind_pairs(struct binder *b, const struct key *key, const char *name,
                      const struct yaml_node *node, void *base)
{
	const char *const **to = (const char *const **)((char *)base + key->offset);
	size_t n = 0, old = count_texts(*to);
	const char **pairs;
	const char *text;
	int r;

	if (node->kind != YAML_MAP)
		return bind_wrong_type(b, node, name, "a map of names and texts");
	if (b->tighten && node->first)
		return loosens(b, node, name);
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
		if (!is_variable(e->key->text, false))
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
		return fail_choice(b, key, name, node);
	if (b->tighten && base == b->profile && key->tighten == KEY_NOBODY &&
	    (!*to || strcmp(*to, text) != 0))
		return loosens(b, node, name);
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
		return bind_rule_list(b, key, path, node);
	case KEY_SETS:
		return bind_sets(b, node);
	case KEY_REMOVE:
		return b->tighten ? loosens(b, node, name) : bind_removals(b, node);
	case KEY_EXAMPLES:
		return bind_examples(b, node);
	case KEY_GROUP:
		return bind_map(b, key->sub, name, node, base);
	}
	return 0;
}

static int bind_entry(struct binder *b, const struct key *table, const char *path,
                      const struct yaml_node *entry, void *base)
{
	const struct key *key = key_find(table, entry->key->text);
	const char *near;
	char name[128];
	int r;

	if (!key) {
		near = key_suggest(table, entry->key->text);
		if (near)
			return bind_fail(b, entry->key, "unknown key '%.60s', did you mean '%s'?",
			                 entry->key->text, near);
		return bind_fail(b, entry->key, "unknown key '%.60s'%s%s%s", entry->key->text,
		                 *path ? " in '" : "", path, *path ? "'" : "");
	}
	snprintf(name, sizeof(name), "%s%s%s", path, *path ? "." : "", key->name);
	r = bind_value(b, key, path, name, entry, base);
	if (r == 0 && base == b->profile && key->width && !(key->sub && entry->kind == YAML_MAP))
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
	int r;

	b->layer++;
	b->default_set = false;
	b->fallback_below = b->profile->rules.fallback;
	r = bind_map(b, profile_keys, "", root, b->profile);
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

int bind_finish(struct binder *b)
{
	struct profile *p = b->profile;

	p->container = p->mode == PROFILE_MODE_CONTAINER;
	p->sandbox.tier = p->mode == PROFILE_MODE_NONE       ? SANDBOX_TIER_NONE
	                  : p->mode == PROFILE_MODE_LANDLOCK ? SANDBOX_TIER_LANDLOCK
	                                                     : SANDBOX_TIER_FULL;
	return bind_finish_rules(b);
}
