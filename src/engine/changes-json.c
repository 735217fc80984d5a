#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "engine/changes.h"
#include "json/write.h"

#define CONFLICTS_SHOWN 200
#define DIFF_LINE       "[the rest is left out: nacre diff %s PATH shows one path]\n"

static void put_kind(struct json_writer *w, const struct change *c)
{
	const char letter[2] = {change_letter(c), 0};

	json_member_string(w, "kind", letter);
	json_member_bytes(w, "path", c->path, strlen(c->path));
	if (c->from)
		json_member_bytes(w, "was", c->from, strlen(c->from));
	if (S_ISDIR(c->after.inode ? c->after.mode : c->before.mode))
		json_member_bool(w, "directory", true);
	if (c->kind == CHANGE_CONTENTS && c->before.links > 1)
		json_member_uint(w, "other_names", c->before.links - 1);
}

/* The old name of a renaming is told with the new one. */
static bool is_told_elsewhere(const struct change_list *l, const struct change *c)
{
	for (size_t i = 0; c->kind == CHANGE_DELETED && i < l->count; i++)
		if (l->items[i].from && strcmp(l->items[i].from, c->path) == 0)
			return true;
	return false;
}

void task_changes_put(struct json_writer *w, enum change_state state, const struct change_list *l,
                      size_t most)
{
	size_t shown = 0, more = 0;

	json_member_string(w, "state", change_state_name(state));
	json_member_uint(w, "added", l->added);
	json_member_uint(w, "changed", l->changed);
	json_member_uint(w, "deleted", l->deleted);
	json_member_uint(w, "bytes", l->bytes);
	json_member_array(w, "list");
	for (size_t i = 0; i < l->count; i++) {
		if (!change_letter(&l->items[i]) || !l->items[i].chosen)
			continue;
		if (shown == most) {
			more++;
			continue;
		}
		if (l->count <= 4 * TASK_CHANGES_LIST && is_told_elsewhere(l, &l->items[i]))
			continue;
		json_object_begin(w);
		put_kind(w, &l->items[i]);
		json_object_end(w);
		shown++;
	}
	json_array_end(w);
	json_member_uint(w, "more", more);
	json_member_array(w, "conflicts");
	for (size_t i = 0; i < l->conflict_count && i < CHANGE_CONFLICTS_MAX && i < CONFLICTS_SHOWN;
	     i++) {
		json_object_begin(w);
		json_member_bytes(w, "path", l->conflicts[i].path, strlen(l->conflicts[i].path));
		json_member_string(w, "why", l->conflicts[i].why);
		json_object_end(w);
	}
	json_array_end(w);
}

static void put_about(struct json_writer *w, const char *task, const struct changes_about *a)
{
	json_member_string(w, "task_id", task);
	json_member_bytes(w, "command", a->command, strlen(a->command));
	json_member_bytes(w, "workspace", a->workspace, strlen(a->workspace));
}

void task_changes_put_all(struct json_writer *w, const struct task_changes *t,
                          const struct change_list *l, size_t most)
{
	json_object_begin(w);
	put_about(w, t->changes.task, &t->about);
	json_member_int(w, "expires_ms", task_changes_expires_ms(t));
	task_changes_put(w, t->changes.state, l, most);
	json_object_end(w);
}

void task_changes_put_diff(const struct task_changes *t, const struct change_list *l,
                           struct buffer *into)
{
	bool applied = t->changes.state == CHANGE_APPLIED;

	for (size_t i = 0; i < l->count; i++) {
		scoped(buffer_donep) struct buffer one = {.max = into->max};

		if (!l->items[i].chosen || is_told_elsewhere(l, &l->items[i]) ||
		    !change_put_diff(&t->at, &l->items[i], applied, &one))
			continue;
		if (buffer_error(&one) < 0 || into->len + one.len + 200 > into->max) {
			buffer_printf(into, DIFF_LINE, t->changes.task);
			return;
		}
		buffer_append(into, one.data, one.len);
	}
}

static int put_task(void *context, const struct changes *c, const struct changes_about *about)
{
	struct json_writer *w = context;

	json_object_begin(w);
	put_about(w, c->task, about);
	json_member_string(w, "state", c->running ? "running" : change_state_name(c->state));
	json_member_int(w, "since_ms", c->used_ms);
	json_member_int(w, "expires_ms", about->keep_ms > 0 ? c->used_ms + about->keep_ms : 0);
	json_object_end(w);
	return 0;
}

int task_changes_put_tasks(const struct task_changes_source *from, struct json_writer *w,
                           struct error *err)
{
	int r;

	json_array_begin(w);
	r = task_changes_each(from, put_task, w, err);
	json_array_end(w);
	return r;
}
