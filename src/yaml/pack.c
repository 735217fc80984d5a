/*
 * The number of all nodes; then each node before those in it, an entry of a map behind its key. A
 * node is what it is, its place, and a number: of the bytes of a text, which follow with a NUL, or
 * of entries. Numbers have seven bits a byte, the lowest first.
 */
#include "yaml/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "yaml/yaml.h"

#define PLAIN 0x10 /* beside the kind */

static void put_number(struct buffer *into, size_t number)
{
	for (; number > 0x7f; number >>= 7)
		buffer_putc(into, (char)(number | 0x80));
	buffer_putc(into, (char)number);
}

static size_t count_nodes(const struct yaml_node *node)
{
	size_t n = 1;

	for (const struct yaml_node *e = node->first; e; e = e->next)
		n += count_nodes(e) + (e->key ? 1 : 0);
	return n;
}

static void put_node(const struct yaml_node *node, struct buffer *into)
{
	bool text = node->kind == YAML_SCALAR;

	buffer_putc(into, (char)(node->kind | (node->plain ? PLAIN : 0)));
	put_number(into, node->line);
	put_number(into, node->column);
	put_number(into, text ? node->len : node->count);
	if (text)
		buffer_append(into, node->text, node->len + 1);
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		if (e->key)
			put_node(e->key, into);
		put_node(e, into);
	}
}

void yaml_pack(const struct yaml_node *root, struct buffer *into)
{
	put_number(into, count_nodes(root));
	put_node(root, into);
}

struct unpacker {
	const char *at, *end;
	struct yaml_node *nodes;
	size_t left; /* of them */
	bool bad;
};

static size_t take_number(struct unpacker *u)
{
	size_t number = 0;

	for (unsigned shift = 0; u->at < u->end && shift < 32; shift += 7) {
		unsigned char byte = (unsigned char)*u->at++;

		number |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return number;
	}
	u->bad = true;
	return 0;
}

static void take_text(struct unpacker *u, struct yaml_node *node)
{
	if (node->len >= (size_t)(u->end - u->at) || u->at[node->len]) {
		u->bad = true;
		return;
	}
	node->text = u->at;
	u->at += node->len + 1;
}

static struct yaml_node *take_node(struct unpacker *u, int depth)
{
	const struct yaml_node **to;
	struct yaml_node *node = u->nodes, *key = NULL, *entry;
	unsigned what;
	size_t number;

	what = u->at < u->end ? (unsigned char)*u->at++ : ~0U;
	if (u->left == 0 || depth > YAML_DEPTH_MAX || (what & ~(unsigned)PLAIN) > YAML_MAP) {
		u->bad = true;
		return NULL;
	}
	u->nodes++;
	u->left--;
	node->kind = (enum yaml_kind)(what & ~(unsigned)PLAIN);
	node->plain = what & PLAIN;
	node->line = (uint32_t)take_number(u);
	node->column = (uint32_t)take_number(u);
	number = take_number(u);
	if (node->kind == YAML_SCALAR) {
		node->len = number;
		take_text(u, node);
		return node;
	}
	node->count = number;
	to = &node->first;
	for (size_t i = 0; i < number && !u->bad; i++) {
		if (node->kind == YAML_MAP)
			key = take_node(u, YAML_DEPTH_MAX);
		u->bad |= key && key->kind != YAML_SCALAR;
		entry = u->bad ? NULL : take_node(u, depth + 1);
		if (!entry)
			break;
		entry->key = key;
		*to = entry;
		to = &entry->next;
	}
	return node;
}

int yaml_unpack(struct arena *arena, const char *bytes, size_t n, const struct yaml_node **ret_root)
{
	struct unpacker u = {.at = bytes, .end = bytes + n};
	struct yaml_node *root;

	u.left = take_number(&u);
	if (u.bad || u.left > n) /* a node is more than a byte */
		return -EBADMSG;
	u.nodes = arena_new_array(arena, struct yaml_node, u.left);
	if (!u.nodes)
		return -ENOMEM;
	root = take_node(&u, 0);
	if (u.bad || u.left > 0 || u.at != u.end)
		return -EBADMSG;
	*ret_root = root;
	return 0;
}
