/*
 * The tree is built from libyaml's events, with a stack of open collections of our own:
 * yaml_parser_load() needs quadratic time for nested text and would expand what we refuse. libyaml
 * never sees bytes that are not UTF-8, and its reader is told the encoding, so that no byte order
 * mark can change how the rest is read.
 */
#include "yaml/yaml.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <yaml.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/utf8.h"

#define NAME_SHOWN 100 /* bytes */

struct open_collection {
	struct yaml_node *node;
	struct yaml_node *last; /* entry */
	struct yaml_node *key;  /* read, its value is not */
};

struct reader {
	struct arena *arena;
	const char *name;
	struct error *err;
	struct open_collection stack[YAML_DEPTH_MAX];
	size_t depth;
	size_t nodes;
	struct yaml_node *root;
	bool document_seen;
};

const char *yaml_name_shown(const char *name)
{
	size_t n = strlen(name);

	if (n > NAME_SHOWN)
		name += n - NAME_SHOWN;
	while (n > NAME_SHOWN && ((unsigned char)*name & 0xc0) == 0x80)
		name++;
	return name;
}

static int fail(struct reader *r, size_t line, size_t column, const char *what)
{
	return error_set(r->err, ERROR_INPUT, EINVAL, "%s:%zu:%zu: %s", r->name, line, column,
	                 what);
}

static int fail_at(struct reader *r, yaml_mark_t at, const char *what)
{
	return fail(r, at.line + 1, at.column + 1, what);
}

/* Line and column of a byte of valid UTF-8. */
static void place_of(const char *bytes, size_t at, size_t *ret_line, size_t *ret_column)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at; i++) {
		if (bytes[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)bytes[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

static int check_bytes(struct reader *r, const char *bytes, size_t n)
{
	const char *nul;
	size_t valid, line, column;

	if (n > YAML_BYTES_MAX)
		return error_set(r->err, ERROR_LIMIT, EFBIG,
		                 "%s:1:1: the file is larger than 1 MiB", r->name);
	valid = utf8_valid_prefix(bytes, n);
	nul = memchr(bytes, '\0', valid);
	if (nul)
		valid = (size_t)(nul - bytes);
	if (valid == n)
		return 0;
	place_of(bytes, valid, &line, &column);
	return fail(r, line, column, nul ? "a NUL byte" : "this is not UTF-8");
}

static int parser_failed(struct reader *r, const yaml_parser_t *parser, const char *bytes, size_t n)
{
	const char *problem = parser->problem ? parser->problem : "cannot be read";
	size_t line, column, at;

	switch (parser->error) {
	case YAML_MEMORY_ERROR:
		return error_set(r->err, ERROR_SYSTEM, ENOMEM, "%s: no memory", r->name);
	case YAML_READER_ERROR: /* has no mark, only an offset */
		at = parser->problem_offset < n ? parser->problem_offset : n;
		place_of(bytes, at, &line, &column);
		return fail(r, line, column, problem);
	case YAML_NO_ERROR:
	case YAML_SCANNER_ERROR:
	case YAML_PARSER_ERROR:
	case YAML_COMPOSER_ERROR:
	case YAML_WRITER_ERROR:
	case YAML_EMITTER_ERROR:
		break;
	}
	return fail_at(r, parser->problem_mark, problem);
}

static struct yaml_node *new_node(struct reader *r, enum yaml_kind kind, yaml_mark_t at)
{
	struct yaml_node *node = arena_new_object(r->arena, struct yaml_node);

	if (!node)
		return NULL;
	node->kind = kind;
	node->line = (uint32_t)at.line + 1;
	node->column = (uint32_t)at.column + 1;
	return node;
}

static int take_key(struct reader *r, struct open_collection *in, struct yaml_node *node)
{
	if (node->kind != YAML_SCALAR)
		return fail(r, node->line, node->column, "a key must be a plain text");
	for (const struct yaml_node *n = in->node->first; n; n = n->next)
		if (n->key->len == node->len && memcmp(n->key->text, node->text, node->len) == 0)
			return error_set(r->err, ERROR_INPUT, EINVAL,
			                 "%s:%u:%u: the key '%.60s' comes twice, first in line %u",
			                 r->name, node->line, node->column, node->text,
			                 n->key->line);
	if (in->node->count >= YAML_KEY_MAX)
		return fail(r, node->line, node->column, "a map with more than 256 keys");
	in->key = node;
	return 0;
}

/* Puts a new node into the innermost open collection, as a key or as a value. */
static int place_node(struct reader *r, struct yaml_node *node)
{
	struct open_collection *in = r->depth ? &r->stack[r->depth - 1] : NULL;

	if (!in) {
		r->root = node;
		return 0;
	}
	assert(in->node);
	if (in->node->kind == YAML_MAP && !in->key)
		return take_key(r, in, node);
	node->key = in->key;
	in->key = NULL;
	if (in->last)
		in->last->next = node;
	else
		in->node->first = node;
	in->last = node;
	in->node->count++;
	return 0;
}

static int add_node(struct reader *r, const yaml_event_t *event, enum yaml_kind kind,
                    const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct yaml_node *node;
	int e;

	if (anchor)
		return fail_at(r, event->start_mark, "anchors are not taken here");
	if (tag)
		return fail_at(r, event->start_mark, "tags are not taken here");
	if (++r->nodes > YAML_NODE_MAX)
		return fail_at(r, event->start_mark, "the file holds too much");
	if (kind != YAML_SCALAR && r->depth == YAML_DEPTH_MAX)
		return fail_at(r, event->start_mark, "nested too deep");
	node = new_node(r, kind, event->start_mark);
	if (node && kind == YAML_SCALAR) {
		node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		node->len = event->data.scalar.length;
		node->text =
			arena_strndup(r->arena, (const char *)event->data.scalar.value, node->len);
	}
	if (!node || (kind == YAML_SCALAR && !node->text))
		return error_set(r->err, ERROR_LIMIT, ENOMEM, "%s: no memory", r->name);
	/* "\0" in double quotes: every later reader of the text would stop there. */
	if (kind == YAML_SCALAR && memchr(node->text, '\0', node->len))
		return fail_at(r, event->start_mark, "a NUL character");
	e = place_node(r, node);
	if (e == 0 && kind != YAML_SCALAR)
		r->stack[r->depth++] = (struct open_collection){.node = node};
	return e;
}

static int begin_document(struct reader *r, const yaml_event_t *event)
{
	if (r->document_seen)
		return fail_at(r, event->start_mark, "a second document; one is wanted");
	if (event->data.document_start.tag_directives.start !=
	    event->data.document_start.tag_directives.end)
		return fail_at(r, event->start_mark, "tags are not taken here");
	r->document_seen = true;
	return 0;
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return begin_document(r, event);
	case YAML_ALIAS_EVENT:
		return fail_at(r, event->start_mark, "aliases are not taken here");
	case YAML_SCALAR_EVENT:
		return add_node(r, event, YAML_SCALAR, event->data.scalar.anchor,
		                event->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return add_node(r, event, YAML_LIST, event->data.sequence_start.anchor,
		                event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return add_node(r, event, YAML_MAP, event->data.mapping_start.anchor,
		                event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

int yaml_read(struct arena *arena, const char *name, const char *bytes, size_t n,
              const struct yaml_node **ret_root, struct error *err)
{
	struct reader reader = {.arena = arena, .name = yaml_name_shown(name), .err = err};
	yaml_parser_t parser;
	yaml_event_t event;
	bool ended = false;
	int r;

	r = check_bytes(&reader, bytes, n);
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&parser))
		return error_set(err, ERROR_SYSTEM, ENOMEM, "%s: no memory", reader.name);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		n -= 3;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
	while (r == 0 && !ended) {
		if (!yaml_parser_parse(&parser, &event)) {
			r = parser_failed(&reader, &parser, bytes, n);
			break;
		}
		ended = event.type == YAML_STREAM_END_EVENT;
		r = take_event(&reader, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (r < 0)
		return r;
	if (!reader.root)
		return error_set(err, ERROR_INPUT, EINVAL, "%s:1:1: the file is empty",
		                 reader.name);
	*ret_root = reader.root;
	return 0;
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (**words == *text && strcmp(text, *words) == 0)
			return true;
	return false;
}

static size_t digits(const char *text, const char *set)
{
	return strspn(text, set);
}

static enum yaml_type number_type(const char *p)
{
	static const char decimal[] = "0123456789";
	size_t whole, part = 0;

	if (p[0] == '0' && p[1] == 'o' && p[2] && !p[2 + digits(p + 2, "01234567")])
		return YAML_TYPE_INTEGER;
	if (p[0] == '0' && p[1] == 'x' && p[2] && !p[2 + digits(p + 2, "0123456789abcdefABCDEF")])
		return YAML_TYPE_INTEGER;
	p += *p == '-' || *p == '+';
	if (one_of(p, (const char *const[]){".inf", ".Inf", ".INF", NULL}))
		return YAML_TYPE_FLOAT;
	whole = digits(p, decimal);
	p += whole;
	if (whole && !*p)
		return YAML_TYPE_INTEGER;
	if (*p == '.') {
		part = digits(p + 1, decimal);
		p += 1 + part;
	}
	if (!whole && !part)
		return YAML_TYPE_TEXT;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '-' || *p == '+';
		part = digits(p, decimal);
		if (!part)
			return YAML_TYPE_TEXT;
		p += part;
	}
	return *p ? YAML_TYPE_TEXT : YAML_TYPE_FLOAT;
}

enum yaml_type yaml_scalar_type(const struct yaml_node *node)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {"true",  "True",  "TRUE", "false",
	                                    "False", "FALSE", NULL};

	/* Most are texts, and most of these are seen by how they begin. */
	if (!node->plain || !strchr("~nNtTfF.+-0123456789", node->text[0]))
		return YAML_TYPE_TEXT;
	if (one_of(node->text, nulls))
		return YAML_TYPE_NULL;
	if (one_of(node->text, bools))
		return YAML_TYPE_BOOL;
	if (one_of(node->text, (const char *const[]){".nan", ".NaN", ".NAN", NULL}))
		return YAML_TYPE_FLOAT;
	return number_type(node->text);
}

const char *yaml_node_describe(const struct yaml_node *node)
{
	static const char *const types[] = {
		[YAML_TYPE_TEXT] = "a text",
		[YAML_TYPE_NULL] = "nothing",
		[YAML_TYPE_BOOL] = "true or false",
		[YAML_TYPE_INTEGER] = "a number",
		[YAML_TYPE_FLOAT] = "a number with a point",
	};

	if (node->kind == YAML_LIST)
		return "a list";
	if (node->kind == YAML_MAP)
		return "a map";
	return types[yaml_scalar_type(node)];
}

const struct yaml_node *yaml_map_get(const struct yaml_node *map, const char *key)
{
	if (map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *n = map->first; n; n = n->next)
		if (strcmp(n->key->text, key) == 0)
			return n;
	return NULL;
}
