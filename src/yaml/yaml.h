#pragma once
/*
 * YAML: the bytes of a small file as a tree of nodes that know where they stand.
 *
 * Only what a configuration needs: maps, lists and scalars. Anchors, aliases, tags, a second
 * document, keys that are no scalars or come twice, NUL and whatever is not UTF-8 are refused, and
 * so is what is too large or too deep, before it costs much. Scalars are typed by whoever reads
 * them; yaml_scalar_type() tells what YAML 1.2 (core schema) says of a plain one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

#define YAML_BYTES_MAX ((size_t)1 << 20)
#define YAML_DEPTH_MAX 32
#define YAML_NODE_MAX  100000
#define YAML_KEY_MAX   256 /* of one map */
#define YAML_ARENA_MAX ((size_t)64 << 20)

enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP,
};

enum yaml_type {
	YAML_TYPE_TEXT,
	YAML_TYPE_NULL,
	YAML_TYPE_BOOL,
	YAML_TYPE_INTEGER,
	YAML_TYPE_FLOAT,
};

struct yaml_node {
	enum yaml_kind kind;
	uint32_t line, column; /* from 1; columns count characters */
	bool plain;            /* SCALAR: neither quoted nor a block */
	const char *text;      /* SCALAR; holds no NUL */
	size_t len;
	const struct yaml_node *key;   /* of an entry of a map: its name */
	const struct yaml_node *first; /* LIST, MAP: entries, linked by next */
	const struct yaml_node *next;
	size_t count;
};

/* NAME is for messages: "NAME:LINE:COLUMN: what is wrong". The tree is in the arena and does not
 * point into BYTES. An empty text is an error. */
int yaml_read(struct arena *arena, const char *name, const char *bytes, size_t n,
              const struct yaml_node **ret_root, struct error *err);

/* The end of a long name: what is wrong must fit behind it. */
const char *yaml_name_shown(const char *name);

enum yaml_type yaml_scalar_type(const struct yaml_node *node);
/* "a list", "a map", "a number" ... for messages. */
const char *yaml_node_describe(const struct yaml_node *node);
/* The value of a key of a map; NULL: it is not there. */
const struct yaml_node *yaml_map_get(const struct yaml_node *map, const char *key);
