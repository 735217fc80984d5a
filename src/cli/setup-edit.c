/*
 * Our entries in the text of a client's file.
 *
 * Of a list of hooks only the line that we run is ours. It is known by its words "hook CLIENT" and
 * a program named nacre. The entry around it goes with it when nothing else is in it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/setup.h"
#include "edit/jsonc.h"
#include "edit/toml.h"

#define ARENA_MAX ((size_t)256 << 20)

struct place {
	struct jsonc_step steps[SETUP_STEPS_MAX + 4];
	size_t count;
};

static void begin_place(const struct setup_edit *e, struct place *p)
{
	*p = (struct place){.count = 0};
	while (e->path[p->count]) {
		p->steps[p->count].key = e->path[p->count];
		p->count++;
	}
}

static void step_into(struct place *p, const char *key, size_t index)
{
	p->steps[p->count++] = (struct jsonc_step){.key = key, .index = index};
}

static bool is_our_line(const char *text)
{
	return text && strstr(text, "nacre") && strstr(text, " hook ");
}

/* Which members of an entry may have a line: those of the clients' documents. */
static const char *line_key(const struct jsonc_node *entry)
{
	static const char *const keys[] = {"command", "bash"};

	for (const struct jsonc_node *m = entry->first; m; m = m->next)
		for (size_t i = 0; entry->kind == JSONC_OBJECT && i < array_size(keys); i++)
			if (strcmp(m->key, keys[i]) == 0 && is_our_line(m->text))
				return keys[i];
	return NULL;
}

/* Our line in a list of hooks: in an entry itself, or in the list "hooks" of one. */
static const char *find_line(const struct jsonc_node *list, struct place *p, bool *ret_nested)
{
	const char *key;
	size_t i = 0, j;

	if (!list || list->kind != JSONC_ARRAY)
		return NULL;
	for (const struct jsonc_node *e = list->first; e; e = e->next, i++) {
		const struct jsonc_node *inner =
			jsonc_find(e, &(struct jsonc_step){.key = "hooks"}, 1);

		*ret_nested = false;
		key = line_key(e);
		if (key) {
			step_into(p, NULL, i);
			return key;
		}
		if (!inner || inner->kind != JSONC_ARRAY)
			continue;
		j = 0;
		for (const struct jsonc_node *h = inner->first; h; h = h->next, j++) {
			key = line_key(h);
			if (key) {
				*ret_nested = true;
				step_into(p, NULL, i);
				step_into(p, "hooks", 0);
				step_into(p, NULL, j);
				return key;
			}
		}
	}
	return NULL;
}

struct text {
	const char *bytes;
	size_t n;
	struct arena *arena;
	struct jsonc_node *root;
	struct buffer *into;
	struct error *err;
};

static int read_json(struct text *t)
{
	return jsonc_read(t->bytes, t->n, t->arena, &t->root, t->err);
}

static int keep(const struct text *t)
{
	buffer_append(t->into, t->bytes, t->n);
	return buffer_error(t->into) < 0 ? error_nomem(t->err) : 0;
}

/* The line in the entry that EDIT would add. */
static int own_line(const struct setup_edit *e, struct arena *arena, const char **ret)
{
	struct jsonc_node *root, list = {.kind = JSONC_ARRAY};
	struct place p = {.count = 0};
	const struct jsonc_node *node;
	const char *key;
	bool nested;

	if (jsonc_read(e->value, strlen(e->value), arena, &root, NULL) < 0 || !root)
		return -EINVAL;
	list.first = root;
	key = find_line(&list, &p, &nested);
	if (!key)
		return -EINVAL;
	step_into(&p, key, 0);
	node = jsonc_find(&list, p.steps, p.count);
	*ret = arena_strndup(arena, e->value + node->start, node->end - node->start);
	return *ret ? 0 : -ENOMEM;
}

static int apply_hook(struct setup_edit *e, struct text *t)
{
	const char *key, *line;
	struct place p;
	bool nested;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	key = find_line(jsonc_find(t->root, p.steps, p.count), &p, &nested);
	if (!key)
		return jsonc_append(t->bytes, t->n, p.steps, p.count, e->value, t->into, t->err);
	r = own_line(e, t->arena, &line);
	if (r < 0)
		return error_nomem(t->err);
	step_into(&p, key, 0);
	return jsonc_set(t->bytes, t->n, p.steps, p.count, line, t->into, t->err);
}

/* Whether two values are the same but for blanks. */
static bool same_value(const char *a, size_t n, const char *b)
{
	size_t i = 0;

	for (;; i++, b++) {
		while (i < n && strchr(" \t\r\n", a[i]))
			i++;
		while (*b && strchr(" \t\r\n", *b))
			b++;
		if (i == n || !*b || a[i] != *b)
			return i == n && !*b;
	}
}

static int apply_set(struct setup_edit *e, struct text *t)
{
	const struct jsonc_node *node;
	struct place p;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	node = jsonc_find(t->root, p.steps, p.count);
	if (node && same_value(t->bytes + node->start, node->end - node->start, e->value))
		return keep(t);
	if (node) {
		e->before =
			arena_strndup(t->arena, t->bytes + node->start, node->end - node->start);
		if (!e->before)
			return error_nomem(t->err);
	}
	return jsonc_set(t->bytes, t->n, p.steps, p.count, e->value, t->into, t->err);
}

/* The entry of a list of texts. */
static bool find_entry(const struct setup_edit *e, const struct jsonc_node *list, const char *bytes,
                       struct place *p)
{
	size_t i = 0;

	for (const struct jsonc_node *n = list ? list->first : NULL; n; n = n->next, i++)
		if (n->kind == JSONC_STRING &&
		    same_value(bytes + n->start, n->end - n->start, e->value)) {
			step_into(p, NULL, i);
			return true;
		}
	return false;
}

static int apply_entry(struct setup_edit *e, struct text *t)
{
	struct place p;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	if (find_entry(e, jsonc_find(t->root, p.steps, p.count), t->bytes, &p))
		return keep(t);
	return jsonc_append(t->bytes, t->n, p.steps, p.count, e->value, t->into, t->err);
}

static int apply_key(struct setup_edit *e, struct text *t)
{
	const char *there;
	int r = toml_find(t->bytes, t->n, e->path, t->arena, &there, t->err);

	if (r < 0)
		return r;
	if (there && strcmp(there, e->value) == 0)
		return keep(t);
	e->before = there;
	return toml_set(t->bytes, t->n, e->path, e->value, t->into, t->err);
}

static int apply_one(struct setup_edit *e, struct text *t)
{
	switch (e->kind) {
	case SETUP_SET:
		return apply_set(e, t);
	case SETUP_HOOK:
		return apply_hook(e, t);
	case SETUP_ENTRY:
		return apply_entry(e, t);
	case SETUP_KEY:
	case SETUP_TABLE:
		return apply_key(e, t);
	}
	return -EINVAL;
}

static int remove_at(struct text *t, struct place *p)
{
	int r = jsonc_remove(t->bytes, t->n, p->steps, p->count, t->into, t->err);

	return r == -ENOENT ? keep(t) : r;
}

/* The members around what was taken out that have nothing in them any more go as well. */
static void rise(const struct text *t, struct place *p)
{
	while (p->count > 1) {
		const struct jsonc_node *around = jsonc_find(t->root, p->steps, p->count - 1);

		if (!around || !around->first || around->first->next)
			return;
		p->count--;
	}
}

static int strip_hook(const struct setup_edit *e, struct text *t)
{
	const struct jsonc_node *list;
	struct place p;
	bool nested = false;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	if (!find_line(jsonc_find(t->root, p.steps, p.count), &p, &nested))
		return keep(t);
	if (nested) { /* the entry has a matcher beside its list */
		list = jsonc_find(t->root, p.steps, p.count - 1);
		if (list && list->first && !list->first->next)
			p.count -= 2;
	}
	rise(t, &p);
	return remove_at(t, &p);
}

static int strip_set(const struct setup_edit *e, struct text *t)
{
	const struct jsonc_node *node;
	struct place p;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	node = jsonc_find(t->root, p.steps, p.count);
	/* A value that is not ours by now is somebody's own. */
	if (!node || !same_value(t->bytes + node->start, node->end - node->start, e->value))
		return keep(t);
	if (e->before)
		return jsonc_set(t->bytes, t->n, p.steps, p.count, e->before, t->into, t->err);
	rise(t, &p);
	return remove_at(t, &p);
}

static int strip_entry(const struct setup_edit *e, struct text *t)
{
	struct place p;
	int r = read_json(t);

	if (r < 0)
		return r;
	begin_place(e, &p);
	if (!find_entry(e, jsonc_find(t->root, p.steps, p.count), t->bytes, &p))
		return keep(t);
	rise(t, &p);
	return remove_at(t, &p);
}

static int strip_key(const struct setup_edit *e, struct text *t)
{
	const char *path[SETUP_STEPS_MAX + 1], *there;
	int r;

	memcpy(path, e->path, sizeof(path));
	if (e->kind == SETUP_TABLE) {
		path[strings_count(path) - 1] = NULL;
		r = toml_remove_table(t->bytes, t->n, path, t->into, t->err);
		return r == -ENOENT ? keep(t) : r;
	}
	r = toml_find(t->bytes, t->n, path, t->arena, &there, t->err);
	if (r < 0)
		return r;
	if (!there || strcmp(there, e->value) != 0)
		return keep(t);
	return e->before ? toml_set(t->bytes, t->n, path, e->before, t->into, t->err)
	                 : toml_remove(t->bytes, t->n, path, t->into, t->err);
}

static int strip_one(const struct setup_edit *e, struct text *t)
{
	switch (e->kind) {
	case SETUP_SET:
		return strip_set(e, t);
	case SETUP_HOOK:
		return strip_hook(e, t);
	case SETUP_ENTRY:
		return strip_entry(e, t);
	case SETUP_KEY:
	case SETUP_TABLE:
		return strip_key(e, t);
	}
	return -EINVAL;
}

int setup_edit_apply(struct setup_target *target, const char *text, size_t n, struct arena *arena,
                     struct buffer *into, struct error *err)
{
	scoped(buffer_donep) struct buffer now = {0}, next = {0};
	int r = 0;

	buffer_append(&now, text, n);
	for (size_t i = 0; r == 0 && i < target->count; i++) {
		struct text t = {buffer_str(&now), now.len, arena, NULL, &next, err};
		struct buffer swap;

		r = apply_one(&target->edits[i], &t);
		swap = now;
		now = next;
		next = swap;
		buffer_clear(&next);
	}
	if (r < 0)
		return error_wrap(err, "%s/%s", target->base, target->rel);
	buffer_append(into, buffer_str(&now), now.len);
	return buffer_error(into) < 0 || buffer_error(&now) < 0 ? error_nomem(err) : 0;
}

int setup_edit_strip(const struct setup_target *target, const char *text, size_t n,
                     struct buffer *into, struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(buffer_donep) struct buffer now = {0}, next = {0};
	int r = arena ? 0 : error_nomem(err);

	buffer_append(&now, text, n);
	for (size_t i = target->count; r == 0 && i-- > 0;) {
		struct text t = {buffer_str(&now), now.len, arena, NULL, &next, err};
		struct buffer swap;

		r = strip_one(&target->edits[i], &t);
		swap = now;
		now = next;
		next = swap;
		buffer_clear(&next);
	}
	if (r < 0)
		return error_wrap(err, "%s/%s", target->base, target->rel);
	buffer_append(into, buffer_str(&now), now.len);
	return buffer_error(into) < 0 || buffer_error(&now) < 0 ? error_nomem(err) : 0;
}

int setup_edit_command(const struct setup_target *target, const char *text, size_t n,
                       struct arena *arena, const char **ret_command, struct error *err)
{
	struct text t = {text, n, arena, NULL, NULL, err};
	const struct jsonc_node *node;
	const char *key;
	struct place p;
	bool nested;
	int r;

	*ret_command = NULL;
	for (size_t i = 0; i < target->count; i++) {
		if (target->edits[i].kind != SETUP_HOOK)
			continue;
		r = read_json(&t);
		if (r < 0)
			return error_wrap(err, "%s/%s", target->base, target->rel);
		begin_place(&target->edits[i], &p);
		key = find_line(jsonc_find(t.root, p.steps, p.count), &p, &nested);
		if (!key)
			continue;
		step_into(&p, key, 0);
		node = jsonc_find(t.root, p.steps, p.count);
		*ret_command = node ? node->text : NULL;
	}
	return 0;
}

int setup_edit_index(const struct setup_target *target, const char *text, size_t n,
                     struct arena *arena, size_t ret_index[2])
{
	struct text t = {text, n, arena, NULL, NULL, NULL};
	struct place p;
	bool nested;

	if (target->count == 0 || read_json(&t) < 0)
		return -ENOENT;
	begin_place(&target->edits[0], &p);
	if (!find_line(jsonc_find(t.root, p.steps, p.count), &p, &nested) || !nested)
		return -ENOENT;
	ret_index[0] = p.steps[p.count - 3].index;
	ret_index[1] = p.steps[p.count - 1].index;
	return 0;
}
