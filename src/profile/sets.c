/*
 * Sets: lists with a name. The built-in ones hold what every profile would have to repeat.
 */
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/suggest.h"
#include "policy/runners.h"
#include "profile/bind.h"
#include "yaml/yaml.h"

#define MEMBERS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ROOT(path)   path, path "/[*]"

static const struct {
	const char *name;
	const char *const *members;
} builtin[] = {
	{"shells", policy_shells},
	{"interpreters", policy_interpreters},
	{"editors", policy_editors},
	/* A star in brackets is a star: what is meant is all that lies in a root, not each. */
	{"roots", MEMBERS("/", "/[*]", ROOT("~"), ROOT("/home"), ROOT("/root"), ROOT("/bin"),
                          ROOT("/boot"), ROOT("/dev"), ROOT("/etc"), ROOT("/lib"), ROOT("/lib64"),
                          ROOT("/opt"), ROOT("/proc"), ROOT("/sbin"), ROOT("/srv"), ROOT("/sys"),
                          ROOT("/usr"), ROOT("/var"))},
	{"block-devices",
         MEMBERS("/dev/sd*", "/dev/hd*", "/dev/vd*", "/dev/xvd*", "/dev/nvme*", "/dev/mmcblk*",
                 "/dev/loop*", "/dev/dm-*", "/dev/md*", "/dev/mapper/**", "/dev/disk/**",
                 "/dev/mem", "/dev/kmem", "/dev/port", "/dev/sr*", "/dev/nbd*", "/dev/zram*",
                 "/dev/ram*", "/dev/bcache*", "/dev/rbd*", "/dev/drbd*", "/dev/pmem*")},
};

const char *const *bind_set_find(const struct binder *b, const char *name)
{
	for (const struct bind_set *s = b ? b->sets : NULL; s; s = s->next)
		if (strcmp(s->name, name) == 0)
			return s->members;
	for (size_t i = 0; i < array_size(builtin); i++)
		if (strcmp(builtin[i].name, name) == 0)
			return builtin[i].members;
	return NULL;
}

const char *bind_set_suggest(const struct binder *b, const char *name)
{
	const char *found = NULL;
	unsigned best = SUGGEST_NONE;

	for (const struct bind_set *s = b->sets; s; s = s->next)
		if (suggest_is_near(name, s->name, &best))
			found = s->name;
	for (size_t i = 0; i < array_size(builtin); i++)
		if (suggest_is_near(name, builtin[i].name, &best))
			found = builtin[i].name;
	return found;
}

const char *bind_set_builtin(size_t index)
{
	return index < array_size(builtin) ? builtin[index].name : NULL;
}

static bool is_builtin(const char *name)
{
	for (size_t i = 0; i < array_size(builtin); i++)
		if (strcmp(builtin[i].name, name) == 0)
			return true;
	return strcmp(name, "inherited") == 0;
}

int bind_sets(struct binder *b, const struct yaml_node *node)
{
	static const struct key member = {
		.name = "sets", .type = KEY_TEXTS, .check = KEY_CHECK_SETS};
	char label[96];
	int r;

	if (node->kind != YAML_MAP)
		return bind_wrong_type(b, node, "sets", "a map of lists");
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		struct bind_set *set = arena_new_object(b->arena, struct bind_set);

		if (!set)
			return bind_no_memory(b);
		if (!e->key->len ||
		    e->key->text[strspn(e->key->text, "abcdefghijklmnopqrstuvwxyz0123456789-_")])
			return bind_fail(b, e->key, "'%.60s' is no name of a set (a-z, 0-9, -, _)",
			                 e->key->text);
		if (is_builtin(e->key->text))
			return bind_fail(b, e->key, "the set '%s' is built in", e->key->text);
		set->name = e->key->text;
		snprintf(label, sizeof(label), "sets.%.80s", set->name);
		r = bind_texts(b, &member, label, e, NULL, &set->members);
		if (r < 0)
			return r;
		set->next = b->sets; /* found before one of a lower layer */
		b->sets = set;
	}
	return 0;
}
