/*
 * A change is at most two insertions, or one cut, in the text that was read; all else is copied.
 *
 * A new entry stands behind the last token or comment of its object: so a comment that belongs to
 * the entry before stays with it. If that entry has no comma yet, the comma is put right behind its
 * value. Where an object is on one line, so is what is added to it.
 */
#include "edit/jsonc.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#define ARENA_MAX ((size_t)256 << 20)

struct edit {
	const char *text;
	size_t n;
	struct jsonc_node *root;
	struct buffer *into;
	struct error *err;
	const char *newline, *unit;
	size_t unit_len;
};

const struct jsonc_node *jsonc_find(const struct jsonc_node *root, const struct jsonc_step *path,
                                    size_t steps)
{
	const struct jsonc_node *node = root;

	for (size_t i = 0; node && i < steps; i++) {
		const struct jsonc_node *entry = node->first, *found = NULL;

		if (node->kind != (path[i].key ? JSONC_OBJECT : JSONC_ARRAY))
			return NULL;
		for (size_t at = 0; entry; entry = entry->next, at++)
			if (path[i].key ? strcmp(entry->key, path[i].key) == 0
			                : at == path[i].index)
				found = entry; /* of several, readers take the last */
		node = found;
	}
	return node;
}

/* Where the line of AT begins, and how far its blanks go. */
static size_t line_of(const struct edit *e, size_t at, size_t *ret_blanks)
{
	size_t start = at, end;

	while (start > 0 && e->text[start - 1] != '\n')
		start--;
	for (end = start; end < at && (e->text[end] == ' ' || e->text[end] == '\t'); end++)
		;
	*ret_blanks = end - start;
	return start;
}

static bool begins_line(const struct edit *e, size_t at)
{
	size_t blanks, start = line_of(e, at, &blanks);

	return start + blanks == at;
}

/* The indentation of the first entry that begins a line, or two blanks. */
static void find_style(struct edit *e)
{
	const struct jsonc_node *first = e->root ? e->root->first : NULL;
	size_t blanks, start;

	e->newline = memmem(e->text, e->n, "\r\n", 2) ? "\r\n" : "\n";
	e->unit = "  ";
	e->unit_len = 2;
	if (!first || !begins_line(e, first->member))
		return;
	start = line_of(e, first->member, &blanks);
	if (blanks > 0) {
		e->unit = e->text + start;
		e->unit_len = blanks;
	}
}

static int begin(struct edit *e, struct arena *arena)
{
	int r = jsonc_read(e->text, e->n, arena, &e->root, e->err);

	if (r == 0)
		find_style(e);
	return r;
}

static void copy(struct edit *e, size_t from, size_t to)
{
	buffer_append(e->into, e->text + from, to - from);
}

static void put_line(struct edit *e, const char *indent, size_t n, size_t levels)
{
	buffer_puts(e->into, e->newline);
	buffer_append(e->into, indent, n);
	while (levels-- > 0)
		buffer_append(e->into, e->unit, e->unit_len);
}

static void put_string(struct buffer *into, const char *text)
{
	buffer_putc(into, '"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			buffer_printf(into, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			buffer_printf(into, "\\u%04x", (unsigned)*text);
		else
			buffer_putc(into, *text);
	buffer_putc(into, '"');
}

/* VALUE is indented by one blank a level. FLAT: on one line. */
static void put_value(struct edit *e, const char *value, const char *indent, size_t n,
                      size_t levels, bool flat)
{
	for (; *value; value++) {
		size_t deep = 0;

		if (*value != '\n') {
			buffer_putc(e->into, *value);
			continue;
		}
		while (value[1] == ' ') {
			deep++;
			value++;
		}
		if (!flat)
			put_line(e, indent, n, levels + deep);
	}
}

/* What is missing of the path, and the value in it; steps of an array become its first entry. */
static void put_chain(struct edit *e, const struct jsonc_step *path, size_t steps,
                      const char *value, const char *indent, size_t n, size_t levels, bool flat)
{
	if (steps == 0) {
		put_value(e, value, indent, n, levels, flat);
		return;
	}
	buffer_putc(e->into, path->key ? '{' : '[');
	if (!flat)
		put_line(e, indent, n, levels + 1);
	if (path->key) {
		put_string(e->into, path->key);
		buffer_puts(e->into, ": ");
	}
	put_chain(e, path + 1, steps - 1, value, indent, n, levels + 1, flat);
	if (!flat)
		put_line(e, indent, n, levels);
	buffer_putc(e->into, path->key ? '}' : ']');
}

/* The end of the last token or comment in front of the closing bracket. */
static size_t last_of(const struct edit *e, const struct jsonc_node *node)
{
	size_t at = node->end - 1;

	while (at > node->start + 1 && strchr(" \t\r\n", e->text[at - 1]))
		at--;
	return at;
}

/* Puts an entry, the first of PATH, at the end of NODE. */
static void insert(struct edit *e, const struct jsonc_node *node, const struct jsonc_step *path,
                   size_t steps, const char *value)
{
	const struct jsonc_node *last = node->first;
	size_t at = last_of(e, node), blanks, start, from;
	bool flat;

	while (last && last->next)
		last = last->next;
	flat = last && !begins_line(e, last->member);
	start = line_of(e, last ? last->member : node->start, &blanks);
	from = last ? last->end : at;
	copy(e, 0, from);
	if (last && !last->comma)
		buffer_putc(e->into, ',');
	copy(e, from, at);
	/* A comment that ends with its line is in no flat list. */
	flat = flat && !memchr(e->text + last->end, '\n', node->end - last->end);
	if (flat)
		buffer_putc(e->into, ' ');
	else
		put_line(e, e->text + start, blanks, last ? 0 : 1);
	if (path->key) {
		put_string(e->into, path->key);
		buffer_puts(e->into, ": ");
	}
	put_chain(e, path + 1, steps - 1, value, e->text + start, blanks, last ? 0 : 1, flat);
	if (last && last->comma) /* as the others have it */
		buffer_putc(e->into, ',');
	if (!last && !memchr(e->text + at, '\n', node->end - at))
		put_line(e, e->text + start, blanks, 0);
	copy(e, at, e->n);
}

static int check_once(struct edit *e, const struct jsonc_node *node, const char *key)
{
	int times = 0;

	for (const struct jsonc_node *entry = node->first; entry; entry = entry->next)
		times += strcmp(entry->key, key) == 0;
	return times > 1 ? error_set(e->err, ERROR_INPUT, EEXIST, "'%.60s' stands there twice", key)
	                 : 0;
}

static int check_kind(struct edit *e, const struct jsonc_node *node, const struct jsonc_step *step,
                      const char *name)
{
	if (node->kind != (step->key ? JSONC_OBJECT : JSONC_ARRAY))
		return error_set(e->err, ERROR_INPUT, EINVAL, "%s%.60s%s is not %s",
		                 name ? "'" : "", name ? name : "the whole", name ? "'" : "",
		                 step->key ? "an object" : "a list");
	return step->key ? check_once(e, node, step->key) : 0;
}

static int put(struct edit *e, const struct jsonc_step *path, size_t steps, const char *value)
{
	const struct jsonc_node *node = e->root, *next;
	const char *name = NULL;
	size_t i;
	int r;

	if (!node) { /* an empty file, or comments alone */
		copy(e, 0, e->n);
		if (e->n > 0 && e->text[e->n - 1] != '\n')
			buffer_puts(e->into, e->newline);
		put_chain(e, path, steps, value, "", 0, 0, false);
		buffer_puts(e->into, e->newline);
		return 0;
	}
	for (i = 0; i < steps; i++) {
		r = check_kind(e, node, &path[i], name);
		if (r < 0)
			return r;
		next = jsonc_find(node, &path[i], 1);
		if (!next)
			break;
		name = path[i].key;
		node = next;
	}
	if (i < steps) {
		insert(e, node, path + i, steps - i, value);
	} else {
		size_t blanks, start = line_of(e, node->member, &blanks);

		copy(e, 0, node->start);
		put_value(e, value, e->text + start, blanks, 0, !begins_line(e, node->member));
		copy(e, node->end, e->n);
	}
	return 0;
}

static int finish(const struct edit *e)
{
	return buffer_error(e->into) < 0 ? error_nomem(e->err) : 0;
}

int jsonc_set(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
              const char *value, struct buffer *into, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct edit e = {.text = text, .n = n, .into = into, .err = err};
	int r;

	if (!arena)
		return error_nomem(err);
	r = begin(&e, arena);
	if (r == 0)
		r = put(&e, path, steps, value);
	return r < 0 ? r : finish(&e);
}

int jsonc_append(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
                 const char *value, struct buffer *into, struct error *err)
{
	struct jsonc_step all[JSONC_PATH_MAX + 1];

	if (steps > JSONC_PATH_MAX)
		return error_set(err, ERROR_INPUT, E2BIG, "the path is too long");
	if (steps > 0)
		memcpy(all, path, steps * sizeof(*all));
	all[steps] = (struct jsonc_step){.index = SIZE_MAX};
	return jsonc_set(text, n, all, steps + 1, value, into, err);
}

static const struct jsonc_node *before(const struct jsonc_node *parent,
                                       const struct jsonc_node *entry)
{
	const struct jsonc_node *found = NULL;

	for (const struct jsonc_node *other = parent->first; other != entry; other = other->next)
		found = other;
	return found;
}

/* What stands before the cut may be a comment that ends with its line: then that line end stays,
 * unless what follows the cut begins with one. */
static size_t after_comment(const struct edit *e, size_t from, size_t member, size_t to)
{
	const char *end = memchr(e->text + from, '\n', member - from);

	while (to < e->n && (e->text[to] == ' ' || e->text[to] == '\t'))
		to++;
	if (!end || to == e->n || e->text[to] == '\n' || e->text[to] == '\r')
		return from;
	return (size_t)(end - e->text) + 1;
}

/* From behind the entry before (or the bracket) to its own end, with one of the two commas. */
static void cut(struct edit *e, const struct jsonc_node *parent, const struct jsonc_node *entry)
{
	const struct jsonc_node *previous = before(parent, entry);
	size_t from = entry->member, to = entry->comma ? entry->comma + 1 : entry->end, end;

	while (from > parent->start + 1 && strchr(" \t\r\n", e->text[from - 1]))
		from--;
	from = after_comment(e, from, entry->member, to);
	if (!previous && !entry->next) { /* nothing is left but, perhaps, comments */
		end = parent->end - 1;
		if (from == parent->start + 1 && last_of(e, parent) == to)
			to = end;
	}
	if (previous && previous->comma && !entry->comma) {
		copy(e, 0, previous->comma);
		copy(e, previous->comma + 1, from);
	} else {
		copy(e, 0, from);
	}
	/* A flat list keeps the blank in front of what follows; so none is left at its start. */
	if (!previous && entry->next && from == parent->start + 1 && e->text[from] != '\n' &&
	    e->text[from] != '\r' && e->text[from] != ' ')
		while (to < e->n && e->text[to] == ' ')
			to++;
	copy(e, to, e->n);
}

int jsonc_remove(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
                 struct buffer *into, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	struct edit e = {.text = text, .n = n, .into = into, .err = err};
	const struct jsonc_node *parent, *entry;
	int r;

	if (!arena)
		return error_nomem(err);
	r = begin(&e, arena);
	if (r < 0)
		return r;
	parent = steps > 0 ? jsonc_find(e.root, path, steps - 1) : NULL;
	entry = parent ? jsonc_find(parent, path + steps - 1, 1) : NULL;
	if (!entry)
		return -ENOENT;
	cut(&e, parent, entry);
	return finish(&e);
}
