/*
 * Values that are stored as numbers: sizes, times, counts, switches, and words out of a few. Here a
 * layer that may only tighten is compared with what stands below it.
 */
#include <errno.h>
#include <string.h>
#include "base/number.h"
#include "profile/bind.h"
#include "profile/profile.h"
#include "profile/value.h"
#include "yaml/yaml.h"

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
	case KEY_USUAL:
		return new != old && (!old || !new || new > old);
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
	case KEY_TURN:
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

int bind_number(struct binder *b, const struct key *key, const char *name,
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
			return bind_fail_choice(b, key, name, node);
		value = choice->value;
	} else {
		r = read_number(b, key, name, node, &value);
		if (r < 0)
			return r;
	}
	if (b->tighten && base == b->profile && is_looser(key, value_load(key, base), value))
		return bind_loosens(b, node, name);
	value_store(key, base, value);
	return 0;
}

int bind_flags(struct binder *b, const struct key *key, const char *name,
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
			return bind_fail_choice(b, key, name, e);
		bits |= choice->value;
	}
	value_store(key, base, bits);
	return 0;
}
