/*
 * Names by number: how the pass finds a variable or an effect again among many.
 *
 * Most texts have a few, which are compared one by one. From FEW on there is a hash table, so that
 * a text of thousands of names does not cost their square.
 */
#include "shell/pass.h"

#include <string.h>

#define FEW 8

uint32_t pass_hash(struct shell_text name)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (unsigned char)name.bytes[i]) * 16777619u;
	return hash ^ hash >> 15;
}

size_t pass_names_find(const struct pass_names *n, struct shell_text name)
{
	if (!n->slots) {
		for (size_t i = 0; i < n->count; i++)
			if (pass_text_equal(n->names[i], name))
				return i;
		return PASS_NAME_NONE;
	}
	for (size_t slot = pass_hash(name);; slot++) {
		uint32_t found = n->slots[slot & (n->slot_count - 1)];

		if (!found)
			return PASS_NAME_NONE;
		if (pass_text_equal(n->names[found - 1], name))
			return found - 1;
	}
}

static void enter(struct pass_names *n, size_t number)
{
	size_t slot = pass_hash(n->names[number]);

	while (n->slots[slot & (n->slot_count - 1)])
		slot++;
	n->slots[slot & (n->slot_count - 1)] = (uint32_t)number + 1;
}

bool pass_names_add(struct shell_pass *p, struct pass_names *n, struct shell_text name)
{
	struct shell_text *grown =
		pass_grow(p, n->names, sizeof(*grown), n->count, &n->capacity, UINT32_MAX / 4);

	if (!grown)
		return false;
	n->names = grown;
	n->names[n->count++] = name;
	if (n->count <= FEW)
		return true;
	if (n->count * 2 <= n->slot_count) {
		enter(n, n->count - 1);
		return true;
	}
	n->slot_count = n->slot_count ? n->slot_count * 4 : 8 * (size_t)FEW;
	n->slots = pass_alloc(p, sizeof(*n->slots), n->slot_count);
	if (!n->slots)
		return false;
	for (size_t i = 0; i < n->count; i++)
		enter(n, i);
	return true;
}
