/*
 * Texts and lists of texts: what may stand in them, and what the names of sets stand for.
 */
#include <stdio.h>
#include <string.h>
#include "audit/mask.h"
#include "base/arena.h"
#include "base/suggest.h"
#include "profile/bind.h"
#include "yaml/yaml.h"

static bool is_name(const char *text)
{
	return *text &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                          "0123456789-_.")] &&
	       *text != '.' && *text != '-' && strlen(text) <= 64;
}

bool bind_is_variable(const char *text, bool glob)
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

/* [HOST[:PORT]/]NAME[:TAG][@DIGEST] has no other characters, and does not begin like an option. */
static bool is_image(const char *text)
{
	return *text && *text != '-' &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                          "0123456789-_./:@")];
}

static bool is_owner(const char *text)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 10)
		return false;
	if (!text[n])
		return true;
	text += n + 1;
	n = strspn(text, "0123456789");
	return text[-1] == ':' && n > 0 && n <= 10 && !text[n];
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
		return bind_is_variable(text, true) ? NULL : "is no name of a variable";
	case KEY_CHECK_IMAGE:
		return is_image(text) ? NULL : "is no name of an image";
	case KEY_CHECK_OWNER:
		return is_owner(text) ? NULL : "is no UID or UID:GID";
	case KEY_CHECK_REGEX:
		return mask_check(text, (char[1]){0}, 1) == 0 ? NULL : "is no pattern";
	case KEY_CHECK_CACHE:
		return bind_cache_fault(text);
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
	if (key->type == KEY_TEXT && key->max && node->len > key->max)
		return bind_fail(b, node, "'%s': longer than %u bytes", name, (unsigned)key->max);
	wrong = key->type == KEY_PAIRS ? NULL : what_is_wrong(key->check, node->text);
	if (wrong)
		return bind_fail(b, node, "'%s': '%.80s' %s", name, node->text, wrong);
	*ret_text = node->text; /* in the arena of the profile */
	return 0;
}

bool bind_texts_have(const char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (**list == *text && strcmp(*list, text) == 0)
			return true;
	return false;
}

size_t bind_texts_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

int bind_fail_choice(struct binder *b, const struct key *key, const char *name,
                     const struct yaml_node *node)
{
	const char *near = suggest_from(node->text, key->choices, SIZE_MAX, sizeof(*key->choices));
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
			return bind_fail_choice(b, key, name, e);
		r = members ? 0 : bind_text(b, key, name, e, &text);
		if (r < 0)
			return r;
		capacity += members ? bind_texts_count(members) : 1;
	}
	b->text_count += capacity;
	if (capacity > BIND_LIST_MAX || b->text_count > BIND_TEXT_MAX)
		return bind_fail(b, list, "'%s': too many entries", name);
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
